"""The rules of frameworks, TP120-TP138: what is surprising or impossible in how torch, MPI and torchtune start."""

from trainplane.api.problem import Rule, Severity

GPUS_UNDECLARED = Rule(
    "TP120",
    Severity.WARNING,
    "One process for each GPU, and no GPU is asked for",
    "numProcPerNode: gpu counts the GPUs of the trainer's container, which asks for none. torchrun is left to count "
    "them itself, and fails on a machine without any. Ask for GPUs in the container's limits, or write auto.",
    bad="torch:\n  numProcPerNode: gpu\n...\nresources: {}",
    good="torch:\n  numProcPerNode: gpu\n...\nresources:\n  limits:\n    nvidia.com/gpu: 4",
)
LAUNCHER_AFTER_WORKERS = Rule(
    "TP121",
    Severity.INFO,
    "The launcher starts when the workers are ready",
    "mpirun reaches its workers over ssh and gives up when they do not answer yet. The runtime does not say that the "
    "launcher waits, so it is made to: it depends on the workers and stands behind them. To say it yourself, list the "
    "launcher after the workers with a dependsOn.",
    bad="mpi: {}\nreplicatedJobs:\n- name: launcher\n- name: worker",
    good="mpi: {}\nreplicatedJobs:\n- name: worker\n- name: launcher\n  dependsOn:\n  - name: worker\n"
    "    status: Ready",
)
DONE_WITH_THE_LAUNCHER = Rule(
    "TP122",
    Severity.INFO,
    "The job is complete when its launcher is",
    "Workers run sshd, which never ends, so a job that waits for all of its pods would never be complete. The runtime "
    "has no successPolicy, so one is added that names the launcher.",
    bad="mpi: {}\nreplicatedJobs:\n- name: launcher\n- name: worker",
    good="mpi: {}\nreplicatedJobs:\n- name: launcher\n- name: worker\n...\nsuccessPolicy:\n  operator: All\n"
    "  targetReplicatedJobs: [launcher]",
)
ELASTIC_WITHOUT_RESTARTS = Rule(
    "TP123",
    Severity.WARNING,
    "An elastic job that may not restart its workers",
    "When a node goes away, the workers that are left fail in their next exchange, and torchrun starts them again only "
    "as often as maxRestarts allows: never, when it is left out. Give elasticPolicy a maxRestarts.",
    bad="elasticPolicy:\n  minNodes: 2\n  maxNodes: 8",
    good="elasticPolicy:\n  minNodes: 2\n  maxNodes: 8\n  maxRestarts: 3",
)
COUNT_UNKNOWN = Rule(
    "TP124",
    Severity.WARNING,
    "A variable whose value is not known beforehand",
    "The size of the world is the number of nodes times the processes on each. With a number that torchrun finds out "
    "itself, or with nodes that come and go, it is known only to the running processes. Write a number for "
    "numProcPerNode, or let the program ask torch.distributed.",
    bad="torch:\n  numProcPerNode: gpu\n...\nargs: [train.py, --world=$(WORLD_SIZE)]",
    good="torch:\n  numProcPerNode: 4\n...\nargs: [train.py, --world=$(WORLD_SIZE)]",
)
TUNE_MODEL = Rule(
    "TP125",
    Severity.ERROR,
    "torchtune has no recipe for this model",
    "In tune run mode the model is read from the runtime's name, such as torchtune-llama3.2-1b, and only some models "
    "have recipes. Use the runtime of one that has, or write the whole tune command yourself.",
    bad="metadata:\n  name: my-tune\n...\nruntimeRef:\n  name: my-tune\ntrainer:\n  command: [tune, run]",
    good="metadata:\n  name: torchtune-llama3.2-1b\n...\nruntimeRef:\n  name: torchtune-llama3.2-1b\ntrainer:\n"
    "  command: [tune, run]",
)
TUNE_NODES = Rule(
    "TP126",
    Severity.ERROR,
    "torchtune cannot spread this training over nodes",
    "Only the full fine-tuning of llama3.3-70b has a recipe for several nodes; for anything else torchtune finds no "
    "configuration and ends at once. Use one node, with more GPUs where that is not enough.",
    bad="metadata:\n  name: torchtune-llama3.2-1b\n...\nruntimeRef:\n  name: torchtune-llama3.2-1b\ntrainer:\n"
    "  command: [tune, run]\n  numNodes: 2",
    good="metadata:\n  name: torchtune-llama3.2-1b\n...\nruntimeRef:\n  name: torchtune-llama3.2-1b\ntrainer:\n"
    "  command: [tune, run]\n  numNodes: 1",
)
TUNE_QLORA = Rule(
    "TP127",
    Severity.ERROR,
    "torchtune has no QLoRA recipe for this model and size",
    "Quantized LoRA of the small models exists for a single GPU only, and for some models not at all. Use one process "
    "with one GPU, or LoRA without model.quantize_base.",
    bad="metadata:\n  name: torchtune-llama3.2-1b\n...\nruntimeRef:\n  name: torchtune-llama3.2-1b\ntrainer:\n"
    '  command: [tune, run]\n  args: ["model.lora_attn_modules=[q_proj]", model.quantize_base=True]\n'
    "  resourcesPerNode:\n    limits:\n      nvidia.com/gpu: 2",
    good="metadata:\n  name: torchtune-llama3.2-1b\n...\nruntimeRef:\n  name: torchtune-llama3.2-1b\ntrainer:\n"
    '  command: [tune, run]\n  args: ["model.lora_attn_modules=[q_proj]", model.quantize_base=True]\n'
    "  resourcesPerNode:\n    limits:\n      nvidia.com/gpu: 1",
)
TUNE_MANAGED = Rule(
    "TP128",
    Severity.ERROR,
    "An argument that the torchtune runtime sets",
    "Where the model, the tokenizer and the output lie is decided by the runtime, whose volumes are mounted there; "
    "another place would be lost with the pod. Leave the argument out.",
    bad="metadata:\n  name: torchtune-llama3.2-1b\n...\nruntimeRef:\n  name: torchtune-llama3.2-1b\ntrainer:\n"
    "  command: [tune, run]\n  args: [output_dir=/elsewhere]",
    good="metadata:\n  name: torchtune-llama3.2-1b\n...\nruntimeRef:\n  name: torchtune-llama3.2-1b\ntrainer:\n"
    "  command: [tune, run]\n  args: [epochs=2]",
)
INJECTION_NOWHERE = Rule(
    "TP129",
    Severity.ERROR,
    "envInjection names a job or container that the runtime does not have",
    "The rendezvous variables go into the containers named in the runtime's torch.envInjection, and one of them is not "
    "in the template, so it would never get them. Correct the name in the runtime, or remove the target.",
    bad="targets:\n- jobName: node\n  containerNames: [chek]",
    good="targets:\n- jobName: node\n  containerNames: [check]",
)
