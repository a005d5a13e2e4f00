"""The files below /etc that a container has of its own."""

from collections.abc import Sequence
from pathlib import Path

from trainplane.node.namespaced import identity
from trainplane.node.runner import Box

_NSSWITCH = """\
passwd: files
group: files
shadow: files
hosts: files dns
networks: files
protocols: files
services: files
ethers: files
rpc: files
"""


def hosts(box: Box, addresses: Sequence[str]) -> str:
    """/etc/hosts: the loopback, the pod itself, and its hostAliases; every other name is the name server's."""
    lines = ["127.0.0.1\tlocalhost", "::1\tlocalhost ip6-localhost ip6-loopback"]
    full = [f"{box.hostname}.{box.domain}"] if box.domain else []
    for address in addresses:
        lines.append("\t".join([address, *full, box.hostname]))
        # Programs with sockets for both versions ask who they are by the mapped address; a name of its own keeps
        # the answer to the pod's name free of a second address.
        lines.append(f"::ffff:{address}\tmapped-{address.replace('.', '-')}")
    lines += ["\t".join([address, *names]) for address, names in box.hosts]
    return "".join(f"{line}\n" for line in lines)


def searches(box: Box) -> tuple[str, ...]:
    """What is tried behind a name that is not a full one."""
    own = (f"{box.pod.namespace}.svc.cluster.local", "svc.cluster.local", "cluster.local")
    return box.resolver.searches or (own if box.resolver.knows_cluster else ())


def resolv_conf(box: Box, *, gateway: str) -> str:
    """/etc/resolv.conf: the pods' name server, unless the pod wants none of it, and those that the pod names."""
    lines = [f"search {' '.join(searches(box))}"] if searches(box) else []
    servers = (*((gateway,) if box.resolver.knows_cluster else ()), *box.resolver.nameservers)
    lines += [f"nameserver {server}" for server in servers]
    lines.append(f"options {' '.join(box.resolver.options or ('ndots:5', 'timeout:2', 'attempts:3'))}")
    return "".join(f"{line}\n" for line in lines)


def all_files(
    box: Box, addresses: Sequence[str], *, gateway: str, uid: int, gid: int, groups: Sequence[int]
) -> dict[str, str]:
    """Every file of its own that a container has below /etc."""
    name = identity.NAME if uid else "root"
    # In the host's network names are looked up as the host does it; its own files may be links into its /run.
    named = {each: "".join(f"{line}\n" for line in _lines(f"/etc/{each}")) for each in ("hosts", "resolv.conf")}
    if not box.host_network:
        named = {"hosts": hosts(box, addresses), "resolv.conf": resolv_conf(box, gateway=gateway)}
    return {
        **named,
        "hostname": f"{box.nodename}\n",
        "nsswitch.conf": _NSSWITCH,
        "passwd": identity.passwd(_lines("/etc/passwd"), uid=uid, gid=gid),
        "group": identity.group(_lines("/etc/group"), gid=gid, groups=groups),
        # An account without a password is one that sshd lets in by key; one that is missing counts as locked.
        "shadow": f"{name}:*:19000:0:99999:7:::\n",
        "gshadow": "",
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
