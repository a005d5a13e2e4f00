"""Who a container runs as: the maps of its user namespace, its line in /etc/passwd, its capabilities."""

from collections.abc import Collection, Iterable, Sequence

RANGE = 65536
"""How many users and groups a container can have."""
POD_USER = 1000
"""Whom a container runs as that does not say, where pods have users of their own."""
NAME = "trainplane"

# fmt: off
CAPABILITIES = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
    "CHECKPOINT_RESTORE",
)
"""By number, as linux/capability.h has them."""
USUAL = frozenset((
    "CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP",
    "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE",
))
"""What a container's root has on Kubernetes when nothing is said."""
# fmt: on

Map = tuple[tuple[int, int, int], ...]
"""Lines of uid_map: the first number inside, the first outside, how many."""


class Users:
    """Which users of the host a container's users are."""

    def __init__(self, base: int, count: int, *, keep: bool) -> None:
        """`base` is the host's number of the container's user 0, as the fork server counts.

        `count` is RANGE, or 1 where only one user is to be had. With `keep` the container's own user is the first one,
        and the others follow.
        """
        self.base = base
        self.count = count
        self.keep = keep

    def map(self, own: int) -> Map:
        """The lines of uid_map or gid_map, when the container runs as `own`."""
        if self.count == 1:
            return ((own, self.base, 1),)
        if own >= self.count:
            # A number beyond the range takes the place that is kept for it.
            first, rest = (self.base, self.base + 1) if self.keep else (self.base + self.count - 1, self.base)
            return ((0, rest, self.count - 1), (own, first, 1))
        if not self.keep:
            return ((0, self.base, self.count),)
        below = ((0, self.base + 1, own),) if own else ()
        above = ((own + 1, self.base + 1 + own, self.count - own - 1),) if own < self.count - 1 else ()
        return (*below, (own, self.base, 1), *above)

    def outside(self, number: int, *, own: int) -> int | None:
        """A user's number outside; None where it has none."""
        for inside, outside, count in self.map(own):
            if inside <= number < inside + count:
                return outside + number - inside
        return None


def capabilities(*, add: Collection[str], drop: Collection[str], privileged: bool) -> list[int]:
    """The numbers of the capabilities that a container's root keeps."""
    if privileged:
        return list(range(len(CAPABILITIES)))
    wanted = {name.upper().removeprefix("CAP_") for name in add}
    unwanted = {name.upper().removeprefix("CAP_") for name in drop}
    kept = set() if "ALL" in unwanted else set(USUAL) - unwanted
    kept |= set(CAPABILITIES) if "ALL" in wanted else wanted
    return [number for number, name in enumerate(CAPABILITIES) if name in kept]


def home_of(uid: int) -> str:
    """The home of a container's user."""
    return f"/home/{NAME}" if uid else "/root"


def passwd(lines: Iterable[str], *, uid: int, gid: int) -> str:
    """/etc/passwd for a container: the host's system users, and the one it runs as."""
    name, home = (NAME, home_of(uid)) if uid else ("root", "/root")
    kept = _system(lines, name=name, number=uid)
    return "".join(f"{line}\n" for line in (f"{name}:x:{uid}:{gid}:{name}:{home}:/bin/sh", *kept))


def group(lines: Iterable[str], *, gid: int, groups: Sequence[int]) -> str:
    """/etc/group for a container: the host's system groups without their members, and those it runs with."""
    name = NAME if gid else "root"
    own = [f"{name}:x:{gid}:", *(f"{NAME}-{number}:x:{number}:" for number in groups if number != gid)]
    taken = {gid, *groups}
    kept = [":".join([*line.split(":")[:3], ""]) for line in _system(lines, name=name, number=gid)]
    return "".join(f"{line}\n" for line in (*own, *(line for line in kept if int(line.split(":")[2]) not in taken)))


def _system(lines: Iterable[str], *, name: str, number: int) -> list[str]:
    kept = []
    for line in lines:
        parts = line.strip().split(":")
        if len(parts) < 4 or not parts[2].isdigit() or parts[0] == name or int(parts[2]) == number:
            continue
        if int(parts[2]) < 1000 or int(parts[2]) == 65534:
            kept.append(line.strip())
    return kept
