"""The rules of admitting JobSets, TP170-TP179: gates that are closed, and what may not change."""

from trainplane.api.problem import Rule, Severity

GATE_CLOSED = Rule(
    "TP170",
    Severity.ERROR,
    "This cluster does not do that",
    "JobSet knows features that a cluster may leave out. Restarting pods in place is not done here; restarting a "
    "single Job is done where the cluster was started with that option. Use restartStrategy Recreate and the action "
    "RestartJobSet, which start all Jobs again.",
    bad="restartStrategy: InPlaceRestart",
    good="restartStrategy: Recreate",
)
FIXED = Rule(
    "TP171",
    Severity.ERROR,
    "This cannot change once the JobSet is created",
    "The Jobs of a JobSet are made from it, and they would no longer be what it says. While it is suspended, the "
    "labels, annotations, nodeSelector, tolerations and schedulingGates of its pods may change. Everything else takes "
    "a new JobSet.",
)
SIZE = Rule(
    "TP172",
    Severity.ERROR,
    "A size that a running Job cannot take",
    "A JobSet can be resized where the cluster was started with that option: parallelism and completions together, to "
    "the same number of at least one, of Jobs that count their pods, before the JobSet has ended.",
)
MANY_JOBS = Rule(
    "TP173",
    Severity.ERROR,
    "Too many Jobs to restart one by one",
    "The restarts of single Jobs are counted in the status, which has room for 1024 Jobs of a replicated job. Use "
    "fewer replicas, or the action RestartJobSet.",
)
CLAIM_EXISTS = Rule(
    "TP174",
    Severity.ERROR,
    "A claim of that name exists already",
    "A JobSet may go on with a claim that an earlier one left, if it asks for the same and leaves it too: otherwise it "
    "would delete what it did not make. Set retentionPolicy.whenDeleted to Retain and keep the spec, or rename "
    "the claim.",
)
NOT_PLACED = Rule(
    "TP175",
    Severity.ERROR,
    "The place of this pod is not known yet",
    "The pods of an exclusively placed Job follow its first pod. They are refused until that has a node, and the Job "
    "controller tries them again.",
)
NEGATIVE = Rule(
    "TP176",
    Severity.ERROR,
    "Fewer Jobs than none",
    "replicas says how many Jobs are made of a template. With a number below zero none is made, and the JobSet never "
    "ends. Write how many Jobs there shall be.",
)
NO_CONTAINERS = Rule(
    "TP177",
    Severity.ERROR,
    "Pods without containers",
    "Every replicated job has a template of pods, and a pod runs at least one container. A runtime may leave that to "
    "the TrainJob; a JobSet may not.",
)
