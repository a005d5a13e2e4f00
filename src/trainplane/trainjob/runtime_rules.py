"""The rules of runtimes, TP050-TP074; those of their pods are in `pod_rules`."""

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
