"""The rules of a TrainJob on its runtime, TP130-TP139: settings without effect, and what does not go together."""

from trainplane.api.problem import Rule, Severity

ARGUMENTS_AND_SIZE = Rule(
    "TP130",
    Severity.WARNING,
    "The arguments contradict the size of this job",
    "The TrainJob and its runtime together say how many nodes and processes there are, and the arguments that the "
    "container is started with say something else. Arguments win inside the container, so processes wait for partners "
    "that never come. Leave the numbers out of the arguments, or write $(NUM_NODES), $(NPROC_PER_NODE) or $(MPI_NP).",
    bad="containers:\n- name: node\n  args: [--nnodes=2, train.py]\n...\ntrainer:\n  numNodes: 4",
    good="containers:\n- name: node\n  args: [--nnodes=$(NUM_NODES), train.py]\n...\ntrainer:\n  numNodes: 4",
)
PROCESSES_WITHOUT_EFFECT = Rule(
    "TP131",
    Severity.WARNING,
    "numProcPerNode has no effect on this runtime",
    "Only torch and MPI start several processes on a node. JAX runs one, XGBoost one for each GPU, and a plain runtime "
    "whatever its command starts, so the number is passed over. Remove it, or use a runtime of torch or MPI.",
    bad="jax: {}\n...\ntrainer:\n  numProcPerNode: 4",
    good="torch: {}\n...\ntrainer:\n  numProcPerNode: 4",
)
RESOURCES_WITHOUT_EFFECT = Rule(
    "TP132",
    Severity.WARNING,
    "resourcesPerNode has no effect on this runtime",
    "A runtime without mlPolicy takes no resources from a TrainJob, as Kubeflow Trainer has it: the pods ask for what "
    "the template says. Give the runtime an mlPolicy (numNodes: 1 is enough), or change the resources with a patch.",
    bad="runtime:\n  mlPolicy: null\n...\ntrainer:\n  resourcesPerNode:\n    limits:\n      cpu: 4",
    good="runtime:\n  mlPolicy:\n    numNodes: 1\n...\ntrainer:\n  resourcesPerNode:\n    limits:\n      cpu: 4",
)
DEADLINE_TWICE = Rule(
    "TP133",
    Severity.INFO,
    "Two deadlines, of the TrainJob and of a Job",
    "activeDeadlineSeconds of the TrainJob ends all of it; the same field in a replicated job of the runtime ends that "
    "Job, and the failure policy may then start it again. The shorter one acts first. Keep the TrainJob's alone, "
    "unless a single stage shall have a limit of its own.",
    bad="replicatedJobs:\n- name: node\n  template:\n    spec:\n      activeDeadlineSeconds: 600\n...\n"
    "spec:\n  activeDeadlineSeconds: 3600",
    good="spec:\n  activeDeadlineSeconds: 3600",
)
NO_CHECKPOINTS = Rule(
    "TP134",
    Severity.WARNING,
    "The job begins anew and has nowhere to keep checkpoints",
    "When a job is restarted or changes its size its pods are made anew, and what they had written is gone with them: "
    "training begins at its first step each time. Mount a persistent volume claim into the trainer's container, or "
    "write checkpoints to $TRAINPLANE_OUTPUT, which Trainplane's own nodes keep. Where the program finds its place by "
    "itself, name it in an argument or a variable.",
    bad="failurePolicy:\n  maxRestarts: 3",
    good="failurePolicy:\n  maxRestarts: 3\n...\nvolumes:\n- name: state\n  persistentVolumeClaim:\n"
    "    claimName: state\n...\nvolumeMounts:\n- name: state\n  mountPath: /checkpoints",
)
WITHOUT_EFFECT = (PROCESSES_WITHOUT_EFFECT, RESOURCES_WITHOUT_EFFECT)
"""What says of a setting that it changes nothing, and why."""
