"""The rules of a runtime's pods, TP075-TP099: the MPI contract, resources, privileges, and what is easily missed."""

from trainplane.api.problem import Rule, Severity

KEY_PATH = Rule(
    "TP075",
    Severity.WARNING,
    "The MPI keys are not where the container's user looks for them",
    "ssh reads its keys from .ssh in the home of the user it runs as, and they are mounted at sshAuthMountPath "
    "(/root/.ssh where that is left out). Here the pod runs as another user, so mpirun would be asked for a password "
    "and give up. Write the .ssh folder of that user, or run as the user whose folder it is.",
    bad="mpi:\n  sshAuthMountPath: /root/.ssh\n...\nsecurityContext:\n  runAsUser: 1000",
    good="mpi:\n  sshAuthMountPath: /home/mpiuser/.ssh\n...\nsecurityContext:\n  runAsUser: 1000",
)
SLOTS_AND_GPUS = Rule(
    "TP076",
    Severity.WARNING,
    "Processes on a node differ from its GPUs",
    "Frameworks give each process a GPU of its own. With more processes than GPUs some of them fail or share one, with "
    "fewer some GPUs stand idle. Let both say the same; for MPI leave numProcPerNode out to have one for each GPU.",
    bad="mpi:\n  numProcPerNode: 4\n...\nresources:\n  limits:\n    nvidia.com/gpu: 8",
    good="mpi:\n  numProcPerNode: 8\n...\nresources:\n  limits:\n    nvidia.com/gpu: 8",
)
SSHD_PORT = Rule(
    "TP077",
    Severity.WARNING,
    "sshd asks for a port that only root may open",
    "Ports below 1024 belong to root on many clusters, and this pod does not run as root: sshd ends at once and the "
    "launcher finds nobody. Give sshd a port from 1024 up and tell it to the launcher's ssh, or add the capability "
    "NET_BIND_SERVICE.",
    bad="mpi: {}\n...\nsecurityContext:\n  runAsUser: 1000\n...\ncommand: [/usr/sbin/sshd, -De]",
    good="mpi: {}\n...\nsecurityContext:\n  runAsUser: 1000\n...\ncommand: [/usr/sbin/sshd, -De, -p, '2222']",
)
HOST_PATH = Rule(
    "TP078",
    Severity.WARNING,
    "A volume is a folder of the machine",
    "With hostPath the pod sees the machine's own files, which differ from node to node and outlive the job, and the "
    "Pod Security levels baseline and restricted refuse it. Use a claim, an emptyDir or a ConfigMap.",
    bad="volumes:\n- name: data\n  hostPath:\n    path: /mnt/data",
    good="volumes:\n- name: data\n  persistentVolumeClaim:\n    claimName: data",
)
RDMA = Rule(
    "TP079",
    Severity.INFO,
    "RDMA needs a namespace of the level privileged",
    "The devices of /dev/infiniband and the capability IPC_LOCK are what RDMA is commonly given, and the Pod Security "
    "levels baseline and restricted allow neither. Label the namespace with the level privileged, or let an RDMA "
    "device plugin hand the devices out as a resource.",
    bad="volumes:\n- name: rdma\n  hostPath:\n    path: /dev/infiniband",
    good="resources:\n  limits:\n    rdma/hca: 1",
)
PRIVILEGED = Rule(
    "TP080",
    Severity.WARNING,
    "A privileged container",
    "A privileged container has all rights on its machine, and the Pod Security levels baseline and restricted refuse "
    "it. Training does not need it: ask for GPUs as a resource, and for single capabilities where they are needed.",
    bad="containers:\n- name: node\n  securityContext:\n    privileged: true",
    good="containers:\n- name: node\n  securityContext:\n    capabilities:\n      drop: [ALL]",
)
HOST_NAMESPACE = Rule(
    "TP081",
    Severity.WARNING,
    "The pod shares a namespace of the machine",
    "hostNetwork, hostPID and hostIPC take down the wall between the pod and its machine, and the Pod Security levels "
    "baseline and restricted refuse them. With hostNetwork the names of pods and the ports of two jobs on a node also "
    "collide. For shared memory mount an emptyDir with medium Memory at /dev/shm instead of hostIPC.",
    bad="hostIPC: true",
    good="volumes:\n- name: shm\n  emptyDir:\n    medium: Memory",
)
ESCALATION = Rule(
    "TP082",
    Severity.INFO,
    "A container may gain rights",
    "allowPrivilegeEscalation: true lets a program gain more rights than it was started with, and the Pod Security "
    "level restricted refuses it. Training needs none; write false.",
    bad="containers:\n- name: node\n  securityContext:\n    allowPrivilegeEscalation: true",
    good="containers:\n- name: node\n  securityContext:\n    allowPrivilegeEscalation: false",
)
CAPABILITY = Rule(
    "TP083",
    Severity.WARNING,
    "A capability that Pod Security does not allow",
    "The level baseline allows containers only the capabilities that they have by default, and restricted only "
    "NET_BIND_SERVICE; a pod with more is refused in such a namespace. Remove what the program does not need.",
    bad="containers:\n- name: node\n  securityContext:\n    capabilities:\n      add: [SYS_ADMIN]",
    good="containers:\n- name: node\n  securityContext:\n    capabilities:\n      drop: [ALL]",
)
FLOATING_IMAGE = Rule(
    "TP084",
    Severity.INFO,
    "The image can change under the same name",
    "Without a tag, or with the tag latest, two nodes of one job can run different images, and a run cannot be "
    "repeated. Name a tag that stays, or a digest.",
    bad="containers:\n- name: node\n  image: registry.example.com/train:latest",
    good="containers:\n- name: node\n  image: registry.example.com/train:2.8.0",
)
UNEQUAL = Rule(
    "TP085",
    Severity.ERROR,
    "A device is requested in another number than its limit",
    "Devices such as nvidia.com/gpu and huge pages are handed out whole: request and limit must be equal. A server "
    "refuses the pod, and the job would wait without one. Write the limit alone: the request follows it.",
    bad="resources:\n  requests:\n    nvidia.com/gpu: 4\n  limits:\n    nvidia.com/gpu: 8",
    good="resources:\n  limits:\n    nvidia.com/gpu: 8",
)
ABOVE_LIMIT = Rule(
    "TP086",
    Severity.ERROR,
    "A request is above its limit",
    "The limit is the most a container may use, so it cannot be promised more. A server refuses the pod, and the job "
    "would wait without one. Lower the request, or raise the limit.",
    bad="resources:\n  requests:\n    memory: 32Gi\n  limits:\n    memory: 16Gi",
    good="resources:\n  requests:\n    memory: 16Gi\n  limits:\n    memory: 32Gi",
)
ONE_PROCESS = Rule(
    "TP087",
    Severity.INFO,
    "One process on each node",
    "numProcPerNode: auto counts the GPUs of the trainer's container, or its CPUs where it has none. Neither the "
    "runtime nor the TrainJob asks for any, so one process runs on each node. Ask for GPUs or CPUs, or say a number.",
    bad="torch:\n  numProcPerNode: auto",
    good="torch:\n  numProcPerNode: auto\n...\nresources:\n  limits:\n    nvidia.com/gpu: 8",
)
INTERFACE = Rule(
    "TP088",
    Severity.INFO,
    "A network interface that pods usually do not have",
    "The interface of a pod is called eth0 nearly everywhere; NCCL and Gloo end with an error when the one they are "
    "told to use is not there. Where pods have a second network on purpose, nothing is wrong.",
    bad="env:\n- name: NCCL_SOCKET_IFNAME\n  value: ens3",
    good="env:\n- name: NCCL_SOCKET_IFNAME\n  value: eth0",
)
TEMPLATE_TTL = Rule(
    "TP089",
    Severity.WARNING,
    "The JobSet would be removed while its TrainJob stays",
    "ttlSecondsAfterFinished in the runtime's template deletes the JobSet and with it the pods and their logs, and "
    "leaves a TrainJob that can no longer say what became of it. Set ttlSecondsAfterFinished in the TrainJob instead: "
    "it removes all of it together.",
    bad="template:\n  spec:\n    ttlSecondsAfterFinished: 600",
    good="kind: TrainJob\nspec:\n  ttlSecondsAfterFinished: 600",
)
METRICS_PORT = Rule(
    "TP090",
    Severity.INFO,
    "Metrics are asked for, and no port is called metrics",
    "ome.io/metrics-enabled makes Prometheus scrape the trainer's port called metrics. There is none, so port 8080 is "
    "taken, and no PodMonitor is made. Declare the port where the trainer serves its metrics.",
    bad='metadata:\n  annotations:\n    ome.io/metrics-enabled: "true"',
    good='metadata:\n  annotations:\n    ome.io/metrics-enabled: "true"\n...\nports:\n- name: metrics\n'
    "  containerPort: 8080",
)
RESTART_UNSAID = Rule(
    "TP091",
    Severity.INFO,
    "Without restartPolicy containers restart in place",
    "A JobSet fills in restartPolicy: OnFailure where a pod says none. The container then restarts inside its pod, "
    "while its peers wait, and the failure policy hears of it only when the Job gives up. Write restartPolicy: Never.",
    bad="failurePolicy:\n  maxRestarts: 3",
    good="failurePolicy:\n  maxRestarts: 3\n...\nrestartPolicy: Never",
)
NO_LIMIT = Rule(
    "TP092",
    Severity.WARNING,
    "A device is requested without a limit",
    "Devices such as nvidia.com/gpu and huge pages are asked for as limits, and the request follows; a server refuses "
    "a pod that only requests them. A TrainJob or a patch may still bring the limit. Write it under limits.",
    bad="resources:\n  requests:\n    nvidia.com/gpu: 4",
    good="resources:\n  limits:\n    nvidia.com/gpu: 4",
)
