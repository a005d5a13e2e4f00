"""Runner: starts and stops a Pod's containers; a Box holds them, a Program runs in one, an Exit says how it ended."""

import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from trainplane.api.ref import Ref

CONTAINER = "container"
"""The name of the Runner that has real images."""
ENGINE_NOTE = "engine"
"""The file of a Runner's folder that names the engines which may have containers of this cluster."""
START_ERROR = "StartError"
"""The command cannot be run: it is missing, not executable, or its folder is."""
CREATE_ERROR = "CreateContainerError"
"""The container cannot be made around it: a mount, a user or a limit was refused."""


class Resolver(msgspec.Struct, frozen=True):
    """How a pod looks up names besides the cluster's own, as /etc/resolv.conf says it."""

    nameservers: tuple[str, ...] = ()
    """After the Runner's own, which knows what `Runner.resolve` was told."""
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    knows_cluster: bool = True
    """Whether the Runner's own name server is asked at all."""


class Box(msgspec.Struct, frozen=True):
    """What the containers of a pod share: a network with one address, a host name, limits."""

    pod: Ref
    uid: str
    hostname: str
    folder: Path
    """A folder of the host that is this pod's alone; the agent makes it and removes it after `Runner.remove`."""
    node: str = ""
    domain: str = ""
    """Of the pod's full name, such as `digits.default.svc.cluster.local`; "" where it has no subdomain."""
    says_full_name: bool = False
    """Whether its host name is the full one."""
    job: str = ""
    """What tells apart jobs whose pods look for each other at a port: namespace and name of the job, or of the pod."""
    hosts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """hostAliases: addresses and their names."""
    resolver: Resolver = Resolver()
    ports: tuple[int, ...] = ()
    """The ports that the containers say they listen on."""
    host_network: bool = False
    host_users: bool = False
    """Whether its users are the host's, so that root in it is root; else they are the namespace's own."""
    share_processes: bool = False
    sysctls: Mapping[str, str] = msgspec.field(default_factory=dict)
    egress: bool = True
    """Whether it may reach anything outside the cluster."""
    cpus: float | None = None
    memory: int | None = None
    """Limits of all containers together, in cores and bytes; None is as much as there is."""

    @property
    def nodename(self) -> str:
        """What `hostname` says in it."""
        return f"{self.hostname}.{self.domain}" if self.says_full_name and self.domain else self.hostname


class Mount(msgspec.Struct, frozen=True):
    """Something a container sees at a path: a folder or file of the host, or memory."""

    target: str
    source: Path | None = None
    """None: memory, which the containers of a Box that mount the same `name` share."""
    name: str = ""
    """The volume's name in the pod."""
    sub_path: str = ""
    """The part of the source that is mounted; it exists, and must be looked up without leaving the source."""
    read_only: bool = False
    size: int | None = None
    """Of memory, in bytes; None is as much as the pod may use."""


class Image(msgspec.Struct, frozen=True):
    """What a container engine makes a container of."""

    name: str
    pull: str
    """Always, IfNotPresent or Never, as the API has it."""
    knows_command: bool = False
    """Whether the command line holds but arguments, and the image says what they are given to."""


class Program(msgspec.Struct, frozen=True):
    """What a container runs, and under which conditions."""

    container: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    """The whole environment; nothing is added to it but what the Runner's own way of running needs."""
    cwd: str = "/"
    mounts: tuple[Mount, ...] = ()
    """In the order in which they are made: a mount below another comes after it."""
    root: Path | None = None
    """The folder that is the container's root; None is the host's system folders."""
    image: Image | None = None
    """What the container is made of instead, where the Runner has an engine for that."""
    read_only_root: bool = False
    uid: int | None = None
    """None: whoever the Runner runs as."""
    gid: int | None = None
    groups: tuple[int, ...] = ()
    privileged: bool = False
    add_capabilities: frozenset[str] = frozenset()
    drop_capabilities: frozenset[str] = frozenset()
    """Names as the API has them, such as NET_RAW or ALL."""
    no_new_privileges: bool = False
    unmasked: bool = False
    """Whether it sees all of /proc; only where its users are not the host's."""
    unconfined: bool = False
    """Whether it may make every call of the kernel, and not just those that stay within a container."""
    cpus: float | None = None
    memory: int | None = None
    cpu_request: float = 0.0
    """What it is given when the machine is busy, in cores."""
    beside: str = ""
    """The `Started.id` of a container whose processes it sees and is seen by; "" is none."""
    devices: tuple[str, ...] = ()
    """Device files of the host, beyond those that every container has."""


class Stdio(msgspec.Struct, frozen=True):
    """The open files that become a process's input, output and errors; the Runner copies them and closes none."""

    stdin: int
    stdout: int
    stderr: int
    terminal: bool = False
    """Whether they are the near end of a terminal, which becomes the process's own."""


class Started(msgspec.Struct, frozen=True):
    """A process that was started: a container's first, or one that joined it."""

    id: str
    """Told apart from every other, also from those of an earlier life of the Runner."""
    pod_uid: str
    container: str
    pid: int
    """As the host counts."""
    at: datetime


class Exit(msgspec.Struct, frozen=True):
    """How a process ended; one of code and signal says it."""

    at: datetime
    code: int = 0
    signal: int = 0
    oom: bool = False
    """Whether the kernel killed something of the container for want of memory."""
    lost: bool = False
    """Whether it went down with what ran it, and nobody saw how."""


class Use(msgspec.Struct, frozen=True):
    """What a pod uses: seconds of CPU since it began, and bytes of memory now."""

    cpu_seconds: float
    memory: int


class Ability(msgspec.Struct, frozen=True):
    """Something that a pod can ask for, and whether it gets it here; becomes a condition of the Node."""

    name: str
    """A condition's type, such as MemoryLimits."""
    honoured: bool
    reason: str
    """One word, such as CgroupV1 or NoUserNamespaces."""
    message: str
    """How it is done, or what is missing and how to get it."""
    with_host_users: bool = False
    """Whether it is honoured in namespaces whose users are the host's, where it is not elsewhere."""


class NotStarted(Exception):
    """A box or a process could not be made; says what a person needs to know."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """START_ERROR, CREATE_ERROR, or what is wrong with the image."""
        self.message = message


class Unable(Exception):
    """The machine cannot run pods in this way; the message says what was refused, and what to do."""


class Runner(Protocol):
    """One machine's way of running pods. All nodes that are slices of the machine share one."""

    name: str
    """`namespaced`, `process` or `container`."""
    gateway: str
    """The address at which pods reach what `listen` returns."""

    @property
    def abilities(self) -> Sequence[Ability]:
        """What pods can ask for and whether they get it, found by trying."""
        ...

    def owner(self, box: Box, *, uid: int | None, gid: int | None) -> tuple[int, int]:
        """The user and group of the host that files must have to be theirs in a pod; None: of one that does not say."""
        ...

    async def sweep(self) -> Sequence[str]:
        """End what a former life has left behind; returns the uids of the pods that were ended. Comes first."""
        ...

    async def make(self, box: Box) -> tuple[str, ...]:
        """Make a box; returns its addresses, the first of which is the pod's. Raises NotStarted."""
        ...

    async def start(self, box: Box, program: Program, stdio: Stdio) -> Started:
        """Start a container of a box. Raises NotStarted."""
        ...

    async def exec(
        self, started: Started, argv: Sequence[str], stdio: Stdio, *, env: Mapping[str, str] | None = None
    ) -> Started:
        """Start another process in a container that runs, as whom and where its first one runs. Raises NotStarted."""
        ...

    async def wait(self, started: Started) -> Exit:
        """Wait until a process ends; may be asked again, and by several."""
        ...

    async def kill(self, started: Started, signal: int) -> None:
        """Send a signal to a process; SIGKILL ends the whole container with it. One that has ended is left alone."""
        ...

    async def dial(self, box: Box, port: int) -> socket.socket:
        """A connected socket to a port of a pod, as from inside it; raises OSError where nobody listens."""
        ...

    async def listen(self, port: int) -> socket.socket:
        """A listening socket that pods reach at `gateway`; port 0 is any. Raises OSError where it is taken."""
        ...

    async def resolve(self, names: Mapping[str, tuple[str, ...]]) -> None:
        """From now on these names, fully qualified, have these addresses, and no others of the cluster have any."""
        ...

    async def use(self, box: Box) -> Use:
        """What a pod uses now."""
        ...

    async def remove(self, box: Box) -> None:
        """End everything in a box and give back what it had; one that is gone already is no error."""
        ...

    async def close(self) -> None:
        """Remove every box and whatever the Runner made for itself."""
        ...
