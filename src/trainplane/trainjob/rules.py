"""The rules of runtimes and TrainJobs: TP050-TP099 for runtimes, TP100-TP139 for TrainJobs, TP140-TP149 for access."""

from trainplane.api.problem import Rule, Severity

INDENTATION_LOST = Rule(
    "TP050",
    Severity.ERROR,
    "All indentation is lost",
    "In YAML a field belongs to another by being indented under it. Here every field stands at the margin, as in a "
    "text copied from a web page, so that metadata and spec are empty and names collide. Copy the text anew from where "
    "it still has its indentation, or indent every field under the one it belongs to.",
    bad="metadata:\nname: digits\nspec:\nruntimeRef:\nname: torch-distributed\nkind: ClusterTrainingRuntime",
    good="metadata:\n  name: digits\nspec:\n  runtimeRef:\n    name: torch-distributed\n"
    "    kind: ClusterTrainingRuntime",
)
POLICY_NAME = Rule(
    "TP051",
    Severity.ERROR,
    "There is no ML policy of this name",
    "The ML policies are torch, mpi, jax and xgboost. A server would drop another name and run the job as plain pods "
    "that never meet. Frameworks without a policy run on a plain runtime (no policy at all) or over MPI.",
    bad="mlPolicy:\n  pytorch:\n    numProcPerNode: 4",
    good="mlPolicy:\n  torch:\n    numProcPerNode: 4",
)
FLUX = Rule(
    "TP052",
    Severity.ERROR,
    "Flux is not served",
    "Kubeflow Trainer has a policy for the Flux framework; Trainplane has none, and would start pods that wait for a "
    "broker for ever. The mpi policy starts the same programs with mpirun.",
    bad="mlPolicy:\n  flux: {}",
    good="mlPolicy:\n  mpi:\n    mpiImplementation: OpenMPI",
)
POD_IN_JOBSET = Rule(
    "TP053",
    Severity.ERROR,
    "A pod stands where a JobSet is meant",
    "spec.template of a runtime is a JobSet: it lists replicated jobs, and each of those holds a job, which holds a "
    "pod. Containers written straight into it are unknown fields there, and nothing would run. Move the pod into a "
    "replicated job; `node` is the usual name of the one that trains.",
    bad="template:\n  spec:\n    containers:\n    - name: node",
    good="template:\n  spec:\n    replicatedJobs:\n    - name: node\n      template:\n        spec:\n"
    "          template:\n            spec:\n              containers:\n              - name: node",
)
POD_IN_JOB = Rule(
    "TP054",
    Severity.ERROR,
    "A pod stands where a job is meant",
    "A replicated job holds a job template, and that holds a pod template: template.spec.template.spec. Containers "
    "written higher up are unknown fields there, and nothing would run. Move the pod down to its place.",
    bad="replicatedJobs:\n- name: node\n  template:\n    spec:\n      containers:\n      - name: node",
    good="replicatedJobs:\n- name: node\n  template:\n    spec:\n      template:\n        spec:\n"
    "          containers:\n          - name: node",
)
NAME_ONLY = Rule(
    "TP055",
    Severity.ERROR,
    "A replicated job has no template",
    "The template says which pod runs; a job with only a name has nothing to run, and a server refuses it. Write the "
    "template, or name a built-in runtime in the TrainJob, such as torch-distributed, instead of writing one.",
    bad="replicatedJobs:\n- name: node",
    good="replicatedJobs:\n- name: node\n  template:\n    spec:\n      template:\n        spec:\n"
    "          containers:\n          - name: node\n            image: registry.example.com/train:1",
)
TWO_POLICIES = Rule(
    "TP056",
    Severity.ERROR,
    "Two ML policies at once",
    "A policy says how the processes of a job find each other, and there is one way per job. A server refuses a "
    "runtime with two. Keep the one that the image is made for; make a second runtime for the other.",
    bad="mlPolicy:\n  torch: {}\n  mpi: {}",
    good="mlPolicy:\n  torch: {}",
)
TWO_GANGS = Rule(
    "TP057",
    Severity.ERROR,
    "Two pod group policies at once",
    "Coscheduling and Volcano are two schedulers with PodGroups of their own. A pod is placed by one of them; the "
    "other's group would wait for ever. Keep the one that the cluster runs.",
    bad="podGroupPolicy:\n  coscheduling: {}\n  volcano: {}",
    good="podGroupPolicy:\n  coscheduling: {}",
)
BOUNDS_UPSIDE_DOWN = Rule(
    "TP058",
    Severity.ERROR,
    "minNodes is larger than maxNodes",
    "An elastic job has between minNodes and maxNodes nodes; no number lies between these two. Swap or correct them.",
    bad="elasticPolicy:\n  minNodes: 8\n  maxNodes: 2",
    good="elasticPolicy:\n  minNodes: 2\n  maxNodes: 8",
)
OUTSIDE_BOUNDS = Rule(
    "TP059",
    Severity.ERROR,
    "numNodes lies outside the elastic bounds",
    "numNodes beside elasticPolicy is the size that a job starts with, so it must lie between minNodes and maxNodes. "
    "Change it, widen the bounds, or leave it out: then the job starts with minNodes.",
    bad="numNodes: 1\ntorch:\n  elasticPolicy:\n    minNodes: 2\n    maxNodes: 8",
    good="numNodes: 2\ntorch:\n  elasticPolicy:\n    minNodes: 2\n    maxNodes: 8",
)
ONE_BOUND = Rule(
    "TP060",
    Severity.ERROR,
    "Only one elastic bound is given",
    "With one bound the other would be a guess: how far the job may shrink, or how far it may grow. Give both bounds; "
    "or neither, if the job shall keep its size and only restart.",
    bad="elasticPolicy:\n  minNodes: 2",
    good="elasticPolicy:\n  minNodes: 2\n  maxNodes: 8",
)
BELOW_ONE = Rule(
    "TP061",
    Severity.ERROR,
    "A count below one",
    "A job of no nodes counts as complete the moment it starts, and a negative count never starts. To hold a job back "
    "set suspend: true in the TrainJob; otherwise write 1 or more.",
    bad="numNodes: 0",
    good="numNodes: 1",
)
NO_JOBS = Rule(
    "TP062",
    Severity.ERROR,
    "The runtime has no replicated job",
    "A JobSet without jobs starts nothing and never finishes, so a TrainJob on this runtime would wait for ever. Add "
    "a replicated job, usually called node.",
    bad="template:\n  spec:\n    replicatedJobs: []",
    good="template:\n  spec:\n    replicatedJobs:\n    - name: node",
)
STEP_REPLICAS = Rule(
    "TP063",
    Severity.ERROR,
    "A labelled job with other than one replica",
    "The nodes of a job are the pods of one replica: ranks and addresses count them. A second replica would be a "
    "second set of the same ranks. Set the number of nodes with mlPolicy.numNodes instead.",
    bad="- name: node\n  replicas: 2\n  template:\n    metadata:\n      labels:\n"
    "        trainer.kubeflow.org/trainjob-ancestor-step: trainer",
    good="mlPolicy:\n  numNodes: 2",
)
NO_IMAGE = Rule(
    "TP064",
    Severity.INFO,
    "The trainer has no image",
    "A runtime may leave the image of its trainer to the TrainJob. Then every TrainJob on it must set "
    "spec.trainer.image, and is refused without.",
    bad="containers:\n- name: node",
    good="containers:\n- name: node\n  image: registry.example.com/train:1",
)
CHOSEN_GPUS = Rule(
    "TP065",
    Severity.WARNING,
    "CUDA_VISIBLE_DEVICES is set by hand",
    "Which GPUs a container may use is decided when its pod is placed; a list written beforehand names the wrong ones, "
    "or ones that belong to somebody else. Ask for a number of GPUs as a resource limit and remove the variable.",
    bad="env:\n- name: CUDA_VISIBLE_DEVICES\n  value: '0,1'",
    good="resources:\n  limits:\n    nvidia.com/gpu: 2",
)
ARGUMENTS = Rule(
    "TP066",
    Severity.WARNING,
    "The arguments contradict the policy",
    "The ML policy says how many nodes and processes there are, and the launcher's arguments say something else. "
    "Arguments win inside the container, so processes wait for partners that never come. Let both say the same, or "
    "leave the argument out: torchrun reads the policy's numbers from PET_NNODES and PET_NPROC_PER_NODE.",
    bad="numNodes: 4\n...\nargs: ['--nnodes=2', 'train.py']",
    good="numNodes: 4\n...\nargs: ['train.py']",
)
DEPRECATED = Rule(
    "TP067",
    Severity.WARNING,
    "The runtime is deprecated",
    "It carries the label trainer.kubeflow.org/support: deprecated, and may be removed two minor releases after that "
    "was announced. Everyone who lists or uses it is told. Point users to the runtime that takes its place.",
    bad="metadata:\n  labels:\n    trainer.kubeflow.org/support: deprecated",
    good="metadata:\n  labels:\n    trainer.kubeflow.org/framework: torch",
)
SUPPORT_VALUE = Rule(
    "TP068",
    Severity.WARNING,
    "The support label has an unknown value",
    "The label trainer.kubeflow.org/support has one value with a meaning, deprecated. Any other does nothing: nobody "
    "is warned. Write deprecated, or remove the label.",
    bad="metadata:\n  labels:\n    trainer.kubeflow.org/support: retired",
    good="metadata:\n  labels:\n    trainer.kubeflow.org/support: deprecated",
)
RESTARTS_MULTIPLY = Rule(
    "TP069",
    Severity.WARNING,
    "restartPolicy OnFailure hides failures from the failure policy",
    "With restartPolicy OnFailure the container restarts inside its pod, again and again up to backoffLimit, before "
    "the failure policy hears of it, so that restarts at two levels multiply; its peers wait meanwhile. For "
    "distributed training let the pod fail (restartPolicy: Never) and the failure policy restart all of it together.",
    bad="failurePolicy:\n  maxRestarts: 3\n...\nrestartPolicy: OnFailure",
    good="failurePolicy:\n  maxRestarts: 3\n...\nrestartPolicy: Never",
)
PARALLELISM = Rule(
    "TP070",
    Severity.WARNING,
    "parallelism or completions differ from the node count",
    "The node count of the policy, or of the TrainJob, is written over the trainer's parallelism and completions. A "
    "different number in the template has no effect and misleads its reader. Leave both out of the template.",
    bad="numNodes: 4\n...\nparallelism: 2",
    good="numNodes: 4",
)
PORT_NAME_TWICE = Rule(
    "TP071",
    Severity.ERROR,
    "Two ports of a container share a name",
    "A port's name stands for one number; with two the pod is refused when the job creates it, and the TrainJob waits "
    "without a reason. Give every port a name of its own.",
    bad="ports:\n- name: metrics\n  containerPort: 9400\n- name: metrics\n  containerPort: 9401",
    good="ports:\n- name: metrics\n  containerPort: 9400\n- name: profiler\n  containerPort: 9401",
)
MOUNT_WITHOUT_VOLUME = Rule(
    "TP072",
    Severity.WARNING,
    "A mount names a volume that the template does not have",
    "A pod whose mount has no volume is refused when the job creates it. Unless a runtime patch of the TrainJob brings "
    "the volume, add it to volumes or to the JobSet's volumeClaimPolicies.",
    bad="volumeMounts:\n- name: scratch\n  mountPath: /scratch",
    good="volumeMounts:\n- name: scratch\n  mountPath: /scratch\n...\nvolumes:\n- name: scratch\n  emptyDir: {}",
)
ENV_TARGET = Rule(
    "TP073",
    Severity.ERROR,
    "The torch policy names a container that is not there",
    "torch.envInjection hands the PET_* variables to further containers, by the names of their job and of themselves. "
    "A name that the template does not have would leave a container without them, so TrainJobs on it are refused.",
    bad="containers:\n- name: node\n- name: sidecar\n...\nenvInjection:\n  targets:\n  - jobName: node\n"
    "    containerNames: [sidecra]",
    good="containers:\n- name: node\n- name: sidecar\n...\nenvInjection:\n  targets:\n  - jobName: node\n"
    "    containerNames: [sidecar]",
)
EMPTY_QUEUE = Rule(
    "TP074",
    Severity.ERROR,
    "The Volcano queue has an empty name",
    "The annotation scheduling.volcano.sh/queue-name is there and empty, so the pods would belong to no queue. Write "
    "podGroupPolicy.volcano.queue, or remove the annotation to use Volcano's default queue.",
    bad="template:\n  metadata:\n    annotations:\n      scheduling.volcano.sh/queue-name: ''",
    good="podGroupPolicy:\n  volcano:\n    queue: research",
)

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
    "More than one MPI node without a launcher",
    "The runtime has MPI workers and no launcher, so each node would start an mpirun of its own and none would reach "
    "another. Split a launcher out of the runtime, or run on a single node.",
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
