"""The rules of TrainJobs, TP100-TP119, and of access, TP140-TP149; those of runtimes are in `runtime_rules`."""

from trainplane.api.problem import Rule, Severity

SWAPPED = Rule(
    "TP100",
    Severity.ERROR,
    "Name and kind of the reference look swapped",
    "runtimeRef.kind is one of two words, ClusterTrainingRuntime or TrainingRuntime; this looks like the name of a "
    "runtime. A server would say that no such kind exists. Nothing is swapped for you: both could be wrong.",
    bad="runtimeRef:\n  name: my-runtime\n  kind: torch-cluster-runtime",
    good="runtimeRef:\n  name: torch-cluster-runtime\n  kind: ClusterTrainingRuntime",
)
REFERENCE_KIND = Rule(
    "TP101",
    Severity.ERROR,
    "The reference names a kind that does not exist",
    "runtimeRef.kind is ClusterTrainingRuntime or TrainingRuntime, spelled exactly so; ClusterTrainingRuntime where it "
    "is left out. The TrainJob would be refused.",
    bad="runtimeRef:\n  name: torch-distributed\n  kind: ClusterRuntime",
    good="runtimeRef:\n  name: torch-distributed\n  kind: ClusterTrainingRuntime",
)
EMPTY_GROUP = Rule(
    "TP102",
    Severity.ERROR,
    "The reference names the empty group",
    "An empty apiGroup is the group of pods and services; there are no runtimes in it, and the TrainJob is refused. "
    "Leave the field out: then it means trainer.kubeflow.org.",
    bad="runtimeRef:\n  apiGroup: ''\n  name: torch-distributed",
    good="runtimeRef:\n  name: torch-distributed",
)
REFERENCE_GROUP = Rule(
    "TP103",
    Severity.ERROR,
    "The reference names a group without runtimes",
    "Runtimes live in trainer.kubeflow.org, and in the groups of the dialects, kubeflow.org and ome.io. A TrainJob "
    "that names another group is refused. Leave the field out to mean trainer.kubeflow.org.",
    bad="runtimeRef:\n  apiGroup: batch\n  name: torch-distributed",
    good="runtimeRef:\n  apiGroup: trainer.kubeflow.org\n  name: torch-distributed",
)
RESERVED_ENV = Rule(
    "TP104",
    Severity.ERROR,
    "A variable that the runtime's policy sets",
    "The policy computes this variable for every node; a fixed value would give all of them the same one, so the "
    "TrainJob is refused. Set the field it is computed from, such as spec.trainer.numNodes.",
    bad="trainer:\n  env:\n  - name: PET_NNODES\n    value: '4'",
    good="trainer:\n  numNodes: 4",
)
PATCH_MANAGER = Rule(
    "TP105",
    Severity.ERROR,
    "The patch's manager is not a path below a domain",
    "A patch says who made it, so that two tools never overwrite each other's. The form is a domain, a slash and a "
    "name; the TrainJob is refused otherwise.",
    bad="runtimePatches:\n- manager: kueue",
    good="runtimePatches:\n- manager: kueue.x-k8s.io/manager",
)
JOB_OUTSIDE_BOUNDS = Rule(
    "TP106",
    Severity.ERROR,
    "More or fewer nodes than the runtime allows",
    "The runtime is elastic between minNodes and maxNodes, and the TrainJob asks for a start outside of them. Choose a "
    "number within the bounds, or a runtime with other bounds.",
    bad="elasticPolicy:\n  minNodes: 2\n  maxNodes: 4\n...\ntrainer:\n  numNodes: 8",
    good="elasticPolicy:\n  minNodes: 2\n  maxNodes: 8\n...\ntrainer:\n  numNodes: 8",
)
RUNTIME_NOT_GIVEN = Rule(
    "TP107",
    Severity.INFO,
    "The runtime is not among these files",
    "What depends on the runtime (reserved variables, elastic bounds, the image) could not be checked. That is usual: "
    "runtimes live in the cluster. To check both together give the runtime's file as well.",
    bad="runtimeRef:\n  name: lives-in-the-cluster",
    good="runtimeRef:\n  name: torch-distributed",
)
RUNTIME_NEARLY = Rule(
    "TP108",
    Severity.WARNING,
    "No runtime of this name, but one that is nearly called so",
    "The files hold a runtime whose name differs by a letter or two, so this is probably a slip of the pen. If a "
    "runtime of exactly this name is in the cluster, nothing is wrong.",
    bad="runtimeRef:\n  name: torch-distibuted",
    good="runtimeRef:\n  name: torch-distributed",
)
RUNTIME_OTHER_KIND = Rule(
    "TP109",
    Severity.WARNING,
    "The runtime of this name is of the other kind",
    "A reference without kind means ClusterTrainingRuntime. The files hold a runtime of this name, but of the other "
    "kind, and it would not be found. Say the kind.",
    bad="kind: TrainingRuntime\n...\nruntimeRef:\n  name: torch-distributed",
    good="kind: TrainingRuntime\n...\nruntimeRef:\n  name: torch-distributed\n  kind: TrainingRuntime",
)
RUNTIME_OTHER_NAMESPACE = Rule(
    "TP110",
    Severity.WARNING,
    "The runtime of this name lives in another namespace",
    "A TrainJob finds a TrainingRuntime only in its own namespace. Move one of them, or make the runtime a "
    "ClusterTrainingRuntime, which serves every namespace.",
    bad="kind: TrainingRuntime\nmetadata:\n  namespace: team-a\n...\nkind: TrainJob\nmetadata:\n"
    "  namespace: team-b\nspec:\n  runtimeRef:\n    kind: TrainingRuntime\n    name: torch-distributed",
    good="kind: TrainingRuntime\nmetadata:\n  namespace: team-a\n...\nkind: TrainJob\nmetadata:\n"
    "  namespace: team-a\nspec:\n  runtimeRef:\n    kind: TrainingRuntime\n    name: torch-distributed",
)
IMAGE_NOWHERE = Rule(
    "TP111",
    Severity.ERROR,
    "Neither the runtime nor the TrainJob names an image",
    "The runtime leaves the image of its trainer to the TrainJob, and the TrainJob does not say one, so there is "
    "nothing to run. Set spec.trainer.image.",
    bad="containers:\n- name: node\n...\ntrainer:\n  command: [python]",
    good="containers:\n- name: node\n...\ntrainer:\n  image: registry.example.com/train:1",
)
LAUNCHER_NOWHERE = Rule(
    "TP112",
    Severity.ERROR,
    "More than one MPI node without a launcher, or without workers",
    "The runtime has MPI workers and no launcher, so each node would start an mpirun of its own and none would reach "
    "another; or its launcher is to be one node of several, and there is no job for the others. Give the runtime both, "
    "or run on a single node.",
    bad="mpi: {}\nreplicatedJobs:\n- name: worker\n...\ntrainer:\n  numNodes: 2",
    good="mpi: {}\nreplicatedJobs:\n- name: launcher\n- name: worker\n...\ntrainer:\n  numNodes: 2",
)
INITIALIZER_NOWHERE = Rule(
    "TP113",
    Severity.ERROR,
    "An initializer that the runtime cannot serve",
    "spec.initializer is carried out by the runtime's job dataset-initializer or model-initializer, which puts what it "
    "fetches into the volume initializer. Without the job nothing is fetched, without the volume it is lost. Use a "
    "runtime that has both, or remove the field.",
    bad="initializer:\n  dataset:\n    storageUri: hf://org/data",
    good="trainer:\n  env:\n  - name: DATASET\n    value: hf://org/data",
)
RUNTIME_DEPRECATED = Rule(
    "TP114",
    Severity.WARNING,
    "The TrainJob uses a deprecated runtime",
    "The runtime carries the label trainer.kubeflow.org/support: deprecated and may be removed. Move the TrainJob to "
    "the runtime that takes its place.",
    bad="metadata:\n  labels:\n    trainer.kubeflow.org/support: deprecated\n...\nruntimeRef:\n"
    "  name: torch-distributed",
    good="metadata:\n  labels:\n    trainer.kubeflow.org/framework: torch\n...\nruntimeRef:\n  name: torch-distributed",
)
PATCH_NOWHERE = Rule(
    "TP115",
    Severity.ERROR,
    "The patch names a job or container that the runtime does not have",
    "A patch changes what is there; it cannot add a job or a container. Merged as it is, it would add half a job "
    "that a server refuses later. Use the names of the runtime's template.",
    bad="runtimePatches:\n- manager: example.com/me\n  trainingRuntimeSpec:\n    template:\n      spec:\n"
    "        replicatedJobs:\n        - name: nod\n          template:\n            spec:\n"
    "              template:\n                spec:\n                  nodeSelector:\n"
    "                    zone: a",
    good="runtimePatches:\n- manager: example.com/me\n  trainingRuntimeSpec:\n    template:\n      spec:\n"
    "        replicatedJobs:\n        - name: node\n          template:\n            spec:\n"
    "              template:\n                spec:\n                  nodeSelector:\n"
    "                    zone: a",
)
PATCH_ENV = Rule(
    "TP116",
    Severity.ERROR,
    "The patch sets variables that have a field of their own",
    "The environment of the trainer is spec.trainer.env, that of an initializer spec.initializer.*.env. A patch for "
    "the same container could contradict them, so it is refused.",
    bad="runtimePatches:\n- manager: example.com/me\n  trainingRuntimeSpec:\n    template:\n      spec:\n"
    "        replicatedJobs:\n        - name: node\n          template:\n            spec:\n"
    "              template:\n                spec:\n                  containers:\n"
    "                  - name: node\n                    env:\n                    - name: EPOCHS\n"
    "                      value: '3'",
    good="trainer:\n  env:\n  - name: EPOCHS\n    value: '3'",
)
PATCH_FINALIZERS = Rule(
    "TP117",
    Severity.ERROR,
    "The patch sets finalizers",
    "A patch adds labels and annotations to what it patches. Pods with a finalizer stay until somebody lifts it, so "
    "the job could be neither suspended nor deleted. Mark the pods with a label or an annotation instead.",
    bad="runtimePatches:\n- manager: example.com/me\n  trainingRuntimeSpec:\n    template:\n      spec:\n"
    "        replicatedJobs:\n        - name: node\n          template:\n            metadata:\n"
    "              finalizers: [example.com/hold]",
    good="runtimePatches:\n- manager: example.com/me\n  trainingRuntimeSpec:\n    template:\n      spec:\n"
    "        replicatedJobs:\n        - name: node\n          template:\n            metadata:\n"
    "              labels:\n                team: vision",
)

CLUSTER_SCOPED_IN_ROLE = Rule(
    "TP140",
    Severity.WARNING,
    "A Role names a resource that is not in any namespace",
    "A Role grants rights within its namespace, and this resource lives outside of all namespaces: the rule has no "
    "effect, and whoever is bound to it still gets 'forbidden'. Put it into a ClusterRole with a ClusterRoleBinding.",
    bad="kind: Role\nrules:\n- apiGroups: [ome.io]\n  resources: [clustertrainingruntimes]\n  verbs: [get]",
    good="kind: ClusterRole\nrules:\n- apiGroups: [ome.io]\n  resources: [clustertrainingruntimes]\n  verbs: [get]",
)
