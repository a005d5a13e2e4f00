"""The rules of JobSets, TP150-TP199; runtimes have a JobSet template and obey them too."""

from trainplane.api.problem import Rule, Severity

FIRST_WAITS = Rule(
    "TP150",
    Severity.ERROR,
    "The first replicated job depends on another",
    "Jobs start in the order in which they are listed, and a job may wait only for those before it; nothing is before "
    "the first. A server refuses the JobSet. Move the job behind the one it waits for.",
    bad="replicatedJobs:\n- name: node\n  dependsOn:\n  - name: data\n    status: Complete\n- name: data",
    good="replicatedJobs:\n- name: data\n- name: node\n  dependsOn:\n  - name: data\n    status: Complete",
)
WAITS_FOR_NOBODY = Rule(
    "TP151",
    Severity.ERROR,
    "A job depends on one that is not listed before it",
    "A job waits only for jobs listed before it. One that does not exist, comes later or is the job itself never lets "
    "it start. Correct the name, or the order.",
    bad="- name: data\n- name: node\n  dependsOn:\n  - name: dataset\n    status: Complete",
    good="- name: data\n- name: node\n  dependsOn:\n  - name: data\n    status: Complete",
)
ORDERED_TWICE = Rule(
    "TP152",
    Severity.ERROR,
    "startupPolicy InOrder and dependsOn at once",
    "Both say in which order the jobs start, and a server refuses a JobSet with the two. Keep dependsOn: it says "
    "for whom a job waits, and for what.",
    bad="startupPolicy:\n  startupPolicyOrder: InOrder\nreplicatedJobs:\n- name: data\n- name: node\n"
    "  dependsOn:\n  - name: data\n    status: Complete",
    good="replicatedJobs:\n- name: data\n- name: node\n  dependsOn:\n  - name: data\n    status: Complete",
)
SUBDOMAIN = Rule(
    "TP153",
    Severity.ERROR,
    "The subdomain cannot be the name of a service",
    "The headless Service of a JobSet is called as network.subdomain says, and the pods have their addresses in it. "
    "It has at most 63 lower-case letters, digits and dashes, beginning with a letter.",
    bad="network:\n  subdomain: 1st_team",
    good="network:\n  subdomain: first-team",
)
MANAGED_BY = Rule(
    "TP154",
    Severity.ERROR,
    "managedBy is not a path below a domain",
    "The field names the controller that runs the JobSet, as a domain, a slash and a name, in at most 63 characters.",
    bad="managedBy: me",
    good="managedBy: kueue.x-k8s.io/multikueue",
)
TOO_MANY_PODS = Rule(
    "TP155",
    Severity.ERROR,
    "More pods than can be counted",
    "Replicas times parallelism of a replicated job must fit 32 bits: at most 2147483647.",
    bad="- name: node\n  replicas: 70000\n  template:\n    spec:\n      parallelism: 70000",
    good="- name: node\n  replicas: 1\n  template:\n    spec:\n      parallelism: 70000",
)
GROUP_NAME = Rule(
    "TP156",
    Severity.ERROR,
    "The group name is not a label",
    "groupName has at most 63 lower-case letters, digits and dashes, and begins with a letter.",
    bad="groupName: Group_A",
    good="groupName: group-a",
)
LONG_NAME = Rule(
    "TP157",
    Severity.ERROR,
    "The names made from this one are too long or have the wrong form",
    "Jobs and pods are called after the JobSet, the replicated job and two numbers; together that may have 63 "
    "lower-case letters, digits and dashes. Shorten the name of the JobSet or of the replicated job.",
    bad="name: Trainer_Node",
    good="name: trainer-node",
)
NO_SUCH_TARGET = Rule(
    "TP158",
    Severity.ERROR,
    "A policy names a job that does not exist",
    "targetReplicatedJobs of a success or failure policy name replicated jobs of the same JobSet. With a name that is "
    "not there the policy would never apply, so a server refuses it.",
    bad="replicatedJobs:\n- name: launcher\n...\nsuccessPolicy:\n  operator: All\n  targetReplicatedJobs: [launchr]",
    good="replicatedJobs:\n- name: launcher\n...\nsuccessPolicy:\n  operator: All\n  targetReplicatedJobs: [launcher]",
)
FAILURE_RULE = Rule(
    "TP159",
    Severity.ERROR,
    "The name of a failure rule has the wrong form or is used twice",
    "The name appears as a condition's reason: letters, digits and _ , : with a letter first, at most 128 of them, and "
    "each name once.",
    bad="rules:\n- name: on-oom\n  action: FailJobSet",
    good="rules:\n- name: OnOutOfMemory\n  action: FailJobSet",
)
FAILURE_REASON = Rule(
    "TP160",
    Severity.ERROR,
    "A reason for which no job fails",
    "onJobFailureReasons lists reasons of the Job controller: BackoffLimitExceeded, DeadlineExceeded, FailedIndexes, "
    "MaxFailedIndexesExceeded, PodFailurePolicy. A rule with another would never match.",
    bad="rules:\n- name: OnExit\n  action: FailJobSet\n  onJobFailureReasons: [OOMKilled]",
    good="rules:\n- name: OnExit\n  action: FailJobSet\n  onJobFailureReasons: [PodFailurePolicy]",
)
COORDINATOR = Rule(
    "TP161",
    Severity.ERROR,
    "The coordinator is a pod that does not exist",
    "The coordinator names one pod: a replicated job, the index of a job below its replicas, and the index of a pod "
    "below its completions, which must be written in the template.",
    bad="coordinator:\n  replicatedJob: node\n  jobIndex: 1",
    good="coordinator:\n  replicatedJob: node\n  jobIndex: 0",
)
CLAIM = Rule(
    "TP162",
    Severity.ERROR,
    "A volume claim that cannot serve its jobs",
    "A claim of volumeClaimPolicies becomes a volume of its own name in the jobs that mount it. The name must be there "
    "once, fit together with the JobSet's name into 63 characters, not be a volume already, and be mounted by "
    "some container.",
    bad="volumeClaimPolicies:\n- templates:\n  - metadata:\n      name: data",
    good="volumeClaimPolicies:\n- templates:\n  - metadata:\n      name: data\n...\nvolumeMounts:\n"
    "- name: data\n  mountPath: /data",
)
BEHIND_GATE = Rule(
    "TP163",
    Severity.WARNING,
    "A feature that is off unless its gate is opened",
    "JobSet refuses InPlaceRestart and the actions RestartJob and RestartJobAndIgnoreMaxRestarts unless its controller "
    "runs with the feature gate. On a cluster without it use Recreate and RestartJobSet.",
    bad="restartStrategy: InPlaceRestart",
    good="restartStrategy: Recreate",
)
NO_COMPLETIONS = Rule(
    "TP164",
    Severity.ERROR,
    "parallelism without completions",
    "Jobs of a JobSet count their pods (completionMode Indexed), and such a job needs completions. With parallelism "
    "alone every Job is refused, and the JobSet waits for ever. Write completions, usually the same number.",
    bad="kind: JobSet\nspec:\n  replicatedJobs:\n  - name: node\n    template:\n      spec:\n        parallelism: 4",
    good="kind: JobSet\nspec:\n  replicatedJobs:\n  - name: node\n    template:\n      spec:\n"
    "        parallelism: 4\n        completions: 4",
)
