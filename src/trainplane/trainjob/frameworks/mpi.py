"""MPI: a hostfile, ssh keys, and the variables by which each mpirun finds them."""

from collections.abc import Iterator

from trainplane.api.meta import Raw, or_else
from trainplane.api.policies import MPI
from trainplane.api.problem import Problem
from trainplane.api.roles import Found, Role
from trainplane.trainjob.frameworks import launcher as launcher_steps
from trainplane.trainjob.frameworks.variables import Variable, inject
from trainplane.trainjob.nodes import launcher_trains
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.processes import gpus, resources_of
from trainplane.trainjob.rules import LAUNCHER_NOWHERE
from trainplane.trainjob.template import companion
from trainplane.trainjob.tree import at

HOSTFILE_FOLDER = "/etc/mpi"
HOSTFILE = f"{HOSTFILE_FOLDER}/hostfile"
PATIENCE = "-o ConnectionAttempts=10"
"""What ssh is told: a worker's sshd may need a moment more than its launcher."""

INTERFACE = "eth0"
"""The interface of a pod's address."""
BACK = Source("", note="workers reach the launcher by its address, for its short name is known to nobody else")

PRIVATE_KEY = "ssh-privatekey"
PUBLIC_KEY = "ssh-publickey"
HOST_KEY = "ssh-host-privatekey"
HOST_PUBLIC_KEY = "ssh-host-publickey"
KNOWN_HOSTS = "known_hosts"
SECRET_KEYS = (PRIVATE_KEY, PUBLIC_KEY, HOST_KEY, HOST_PUBLIC_KEY, KNOWN_HOSTS)
"""What the Secret holds once it is made. The Plan's has no data: keys are drawn where decisions are carried out.

ECDSA P-521 for the pair that logs in (PEM, and a line for authorized_keys), Ed25519 for the host's (in OpenSSH's form).
known_hosts has a line for each public key, with the patterns `JOB-*,[JOB-*]:*`: in many images sshd shows the login key
as its host key.
"""
SSHD_HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"
"""Where an sshd without a configuration of its own looks for its Ed25519 key."""

JOB_SLOTS = ("spec", "trainer", "numProcPerNode")
JOB_RESOURCES = ("spec", "trainer", "resourcesPerNode")
RUNTIME_SLOTS = ("spec", "mlPolicy", "mpi", "numProcPerNode")

RESERVED = {
    "OpenMPI": (
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
        "OMPI_MCA_plm_rsh_args",
    ),
    "Intel": ("I_MPI_HYDRA_HOST_FILE",),
    "MPICH": ("HYDRA_HOST_FILE",),
}
"""The variables that a TrainJob may not set, by implementation."""


def prepare(plan: Plan, policy: MPI) -> Plan:
    """The Plan with hostfile and keys beside it and mounted, and mpirun told where they are."""
    trainer, launcher = plan.roles.trainer, plan.roles.launcher
    count, read = slots(plan, policy)
    if launcher and trainer and launcher.found is not Found.LABEL:
        plan = launcher_steps.start_behind(plan)
        plan = launcher_steps.finish_with(plan)
        trainer, launcher = plan.roles.trainer, plan.roles.launcher
    hosts = list(endpoints(plan))
    plan = plan.with_size(nodes=len(hosts) or 1, procs=str(count), procs_known=count)
    if trainer and not launcher and len(hosts) > 1:
        plan = plan.with_problem(no_launcher(plan, len(hosts)))
    flavour = or_else(policy.mpi_implementation, "") or "OpenMPI"
    folder = or_else(policy.ssh_auth_mount_path, "") or "/root/.ssh"
    starts = launcher or (None if flavour == "OpenMPI" else trainer)
    for role in sorted((r for r in (trainer, launcher) if r), key=lambda r: r.index):
        plan = keys_mounted(plan, role, folder)
        if role is trainer:
            plan = host_key_mounted(plan, role)
        if role is launcher or flavour != "OpenMPI":
            plan = hostfile_mounted(plan, role)
        if role is starts and role.container:
            variables = VARIABLES[flavour](count, read) if flavour in VARIABLES else open_mpi(count, read)
            if flavour == "OpenMPI" and folder.startswith("/root"):
                variables = (*variables, *AS_ROOT)
            plan = inject(plan, role.index, role.container.name, variables=variables, before_users=True)
    return with_companions(plan, hosts, lines=LINES.get(flavour, LINES["OpenMPI"]), slots=count)


def slots(plan: Plan, policy: MPI) -> tuple[int, Source]:
    """The processes on each node: the TrainJob's, the GPUs where the runtime says 1, else the runtime's."""
    asked = at(plan.raw_job, JOB_SLOTS)
    if asked is not None:
        return int(asked), Source("job", JOB_SLOTS)
    written = or_else(policy.num_proc_per_node, 1)
    # A TrainJob's resources reach the workers only where the launcher is one of them, and are meant for each node.
    count = gpus(resources_of(plan, plan.roles.trainer)) or gpus(at(plan.raw_job, JOB_RESOURCES) or {})
    if written == 1 and count > 1:
        return count, Source("", note=f"one for each of {count} GPUs")
    if at(plan.raw_runtime, RUNTIME_SLOTS) is None:
        return written, Source("", note="one where neither the TrainJob nor its runtime says how many")
    return written, Source("runtime", RUNTIME_SLOTS)


def endpoints(plan: Plan) -> Iterator[str]:
    """The names of the pods that run processes, in the order of their jobs."""
    hosting = [plan.roles.trainer, plan.roles.launcher if launcher_trains(plan) else None]
    for role in sorted((r for r in hosting if r), key=lambda r: r.index):
        job = plan.replicated_jobs[role.index]
        for replica in range(int(job.get("replicas", 1))):
            for pod in range(int(at(job, ("template", "spec", "parallelism")) or 1)):
                yield f"{plan.name}-{job['name']}-{replica}-{pod}.{plan.subdomain}"


def no_launcher(plan: Plan, nodes: int) -> Problem:
    """Why several nodes cannot run where every one of them starts an mpirun of its own."""
    asked = at(plan.raw_job, ("spec", "trainer", "numNodes")) is not None
    path = ("spec", "trainer", "numNodes") if asked else ("spec", "runtimeRef")
    what = f"{nodes} nodes are asked for, and the runtime has no job launcher that reaches them"
    todo = "split mpirun out of the runtime into a job called launcher, or run on one node"
    return Problem(LAUNCHER_NOWHERE, path, what, todo)


def open_mpi(count: int, read: Source) -> tuple[Variable, ...]:
    """Open MPI 4 reads OMPI_MCA_orte_*; Open MPI 5 has a runtime of its own, PRRTE, and reads PRTE_MCA_* alone."""
    where, fixed = (
        Source("", note="where the hostfile is mounted"),
        Source("", note="names are kept whole, ssh is patient"),
    )
    itself = Source("", note="PRRTE knows itself by its short name alone, and reaches others by their whole names")
    return (
        Variable("OMPI_MCA_orte_default_hostfile", HOSTFILE, where),
        Variable("OMPI_MCA_orte_keep_fqdn_hostnames", "true", fixed),
        Variable("OMPI_MCA_orte_set_default_slots", str(count), read),
        Variable("OMPI_MCA_plm_rsh_args", PATIENCE, fixed),
        Variable("PRTE_MCA_prte_default_hostfile", HOSTFILE, where, gives_way=True),
        Variable("PRTE_MCA_prte_keep_fqdn_hostnames", "false", itself, gives_way=True),
        Variable("PRTE_MCA_plm_ssh_args", PATIENCE, fixed, gives_way=True),
    )


def intel(count: int, read: Source) -> tuple[Variable, ...]:
    """Intel MPI's Hydra."""
    ssh = Source("", note="workers are reached over ssh, patiently")
    return (
        Variable("I_MPI_HYDRA_HOST_FILE", HOSTFILE, Source("", note="where the hostfile is mounted")),
        Variable("I_MPI_HYDRA_BOOTSTRAP", "ssh", ssh, gives_way=True),
        Variable("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", PATIENCE, ssh, gives_way=True),
        Variable("I_MPI_HYDRA_IFACE", INTERFACE, BACK, gives_way=True),
        Variable("I_MPI_PERHOST", str(count), read, gives_way=True),
    )


def mpich(_: int, __: Source) -> tuple[Variable, ...]:
    """MPICH's Hydra."""
    ssh = Source("", note="workers are reached over ssh, patiently")
    return (
        Variable("HYDRA_HOST_FILE", HOSTFILE, Source("", note="where the hostfile is mounted")),
        Variable("HYDRA_LAUNCHER", "ssh", ssh, gives_way=True),
        Variable("HYDRA_LAUNCHER_EXTRA_ARGS", PATIENCE, ssh, gives_way=True),
        Variable("HYDRA_IFACE", INTERFACE, BACK, gives_way=True),
    )


VARIABLES = {"OpenMPI": open_mpi, "Intel": intel, "MPICH": mpich}
LINES = {"OpenMPI": "{host} slots={slots}\n", "Intel": "{host}:{slots}\n", "MPICH": "{host}:{slots}\n"}
"""One host in each implementation's hostfile."""
_ROOT = Source("", note="sshAuthMountPath is root's, and mpirun would refuse to run as root")
AS_ROOT = (
    Variable("OMPI_ALLOW_RUN_AS_ROOT", "1", _ROOT, gives_way=True),
    Variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", _ROOT, gives_way=True),
)


def keys_mounted(plan: Plan, role: Role, folder: str) -> Plan:
    """The Plan with the keys as the .ssh folder of a role's container."""
    items = [
        # ssh ignores a private key of its own user that others may read.
        {"key": PRIVATE_KEY, "path": "id_rsa", "mode": 0o600},
        {"key": PUBLIC_KEY, "path": "id_rsa.pub", "mode": 0o644},
        {"key": PUBLIC_KEY, "path": "authorized_keys", "mode": 0o644},
        {"key": KNOWN_HOSTS, "path": "known_hosts", "mode": 0o644},
    ]
    secret = {"secretName": f"{plan.name}-mpi-ssh-auth", "defaultMode": 0o400, "items": items}
    plan = plan.with_volume(role.index, {"name": "mpi-ssh-auth", "secret": secret})
    if role.container is None:
        return plan
    return plan.with_mount(role.index, role.container.name, {"name": "mpi-ssh-auth", "mountPath": folder})


def host_key_mounted(plan: Plan, role: Role) -> Plan:
    """The Plan with the host key where the workers' sshd finds it, unless the template has something there itself.

    Both halves of it: sshd warns of a public key beside it that is another's, such as that of the image.
    """
    if role.container is None:
        return plan
    mounts = (plan.container(role.index, role.container.name) or {}).get("volumeMounts") or ()
    if any(str(mount.get("mountPath", "")).startswith("/etc/ssh") for mount in mounts):
        return plan
    folder, _, file = SSHD_HOST_KEY.rpartition("/")
    items = [
        {"key": HOST_KEY, "path": file, "mode": 0o600},
        {"key": HOST_PUBLIC_KEY, "path": f"{file}.pub", "mode": 0o644},
    ]
    secret = {"secretName": f"{plan.name}-mpi-ssh-auth", "defaultMode": 0o400, "items": items}
    plan = plan.with_volume(role.index, {"name": "mpi-ssh-host", "secret": secret})
    for item in items:
        name = item["path"]
        mount = {"name": "mpi-ssh-host", "mountPath": f"{folder}/{name}", "subPath": name, "readOnly": True}
        plan = plan.with_mount(role.index, role.container.name, mount)
    return plan


def hostfile_mounted(plan: Plan, role: Role) -> Plan:
    """The Plan with the hostfile in a role's container."""
    item = {"key": "hostfile", "path": "hostfile", "mode": 0o444}
    volume = {"name": "mpi-hostfile", "configMap": {"name": f"{plan.name}-mpi-hostfile", "items": [item]}}
    plan = plan.with_volume(role.index, volume)
    if role.container is None:
        return plan
    return plan.with_mount(role.index, role.container.name, {"name": "mpi-hostfile", "mountPath": HOSTFILE_FOLDER})


def with_companions(plan: Plan, hosts: list[str], *, lines: str, slots: int) -> Plan:
    """The Plan with the Secret and the ConfigMap beside the JobSet."""
    text = "".join(lines.format(host=host, slots=slots) for host in hosts)
    secret: Raw = companion(
        plan,
        api_version="v1",
        kind="Secret",
        name=f"{plan.name}-mpi-ssh-auth",
        type="kubernetes.io/ssh-auth",
        immutable=True,
    )
    hostfile = companion(
        plan, api_version="v1", kind="ConfigMap", name=f"{plan.name}-mpi-hostfile", data={"hostfile": text}
    )
    note = f"{len(hosts)} hosts with {slots} slots each"
    plan = plan.with_companion(secret, source=Source("", note="keys for this job alone"))
    return plan.with_companion(hostfile, source=Source("", note=note))
