"""The rules of plans and of change: TP200-TP209 for gangs, TP210-TP219 for what admission alone can see."""

from trainplane.api.problem import Rule, Severity

GANG_DEADLOCK = Rule(
    "TP200",
    Severity.ERROR,
    "A gang that can never be filled",
    "A gang starts only when enough of its pods are there. Here some of them appear only after pods of the same gang "
    "have started, so all of them would wait for ever. The message names the cycle; break it where it is easiest, "
    "usually by removing a dependsOn or the exclusive topology.",
    bad="numNodes: 2\n...\npodGroupPolicy:\n  coscheduling: {}\n...\ntemplate:\n  metadata:\n    annotations:\n"
    "      alpha.jobset.sigs.k8s.io/exclusive-topology: rack",
    good="numNodes: 2\n...\npodGroupPolicy:\n  coscheduling: {}",
)
GANG_TOO_LARGE = Rule(
    "TP201",
    Severity.ERROR,
    "minMember is larger than the gang",
    "The scheduler waits for minMember pods before it starts any, and this many never exist. Set it to the number of "
    "the trainer's pods, or leave it out: Trainplane counts them.",
    bad="numNodes: 2\n...\npodGroupPolicy:\n  volcano:\n    minMember: 3",
    good="numNodes: 2\n...\npodGroupPolicy:\n  volcano:\n    minMember: 2",
)
GANG_TOO_SMALL = Rule(
    "TP202",
    Severity.WARNING,
    "minMember is smaller than the gang",
    "Training starts when minMember pods have a place, and without an elasticPolicy the others are waited for while "
    "the first hold their GPUs. Leave minMember out to wait for all, or let the job be elastic.",
    bad="numNodes: 2\n...\npodGroupPolicy:\n  volcano:\n    minMember: 1",
    good="numNodes: 2\n...\npodGroupPolicy:\n  volcano: {}",
)

RUNTIME_MISSING = Rule(
    "TP210",
    Severity.ERROR,
    "The runtime does not exist",
    "A TrainJob says only what differs from its runtime, so without the runtime there is nothing to run. Create the "
    "runtime first, correct the name, or correct the kind: a TrainingRuntime serves its own namespace alone.",
)
SIZE_IS_FIXED = Rule(
    "TP211",
    Severity.ERROR,
    "The size of this job cannot change",
    "Only torch jobs whose runtime gives elasticPolicy.minNodes and maxNodes can be resized while they run. Any other "
    "framework would lose its ranks. Create the job anew with another spec.trainer.numNodes.",
)
PATCH_WHILE_RUNNING = Rule(
    "TP212",
    Severity.ERROR,
    "Patches cannot change while pods run",
    "A patch changes the pods' template, and running pods keep the old one. Suspend the job, wait until its pods are "
    "gone, change the patches, and resume it.",
)
PRIORITY_MISSING = Rule(
    "TP213",
    Severity.ERROR,
    "The PriorityClass does not exist",
    "Volcano takes the priority of a gang from a PriorityClass of the cluster, and pods that name one that is not "
    "there are refused. Create the class, or name one that `kubectl get priorityclasses` lists.",
)
TRAINER_IS_FIXED = Rule(
    "TP214",
    Severity.ERROR,
    "spec.trainer cannot come or go",
    "The pods of a job are made from spec.trainer when it is created, and the JobSet keeps their template from then "
    "on. A section that is added or removed later could never take effect. Create the job anew.",
)
AFFINITY_IS_FIXED = Rule(
    "TP215",
    Severity.ERROR,
    "The affinity of this job cannot change",
    "A suspended JobSet takes new labels, annotations, node selectors, tolerations and scheduling gates, but no new "
    "affinity: it would refuse every later change of the job with it, so that the job could never be resumed. Use "
    "nodeSelector and tolerations, or create the job anew.",
)
