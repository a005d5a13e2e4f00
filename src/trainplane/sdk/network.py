"""A JobSet whose pods measure the network between them, and what their findings come to."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import orjson

from trainplane.api.meta import Raw
from trainplane.sdk import source
from trainplane.sdk.source import Archive

PROGRAM = "network.py"
MARK = "trainplane-network: "
"""Before the line in which a pod tells what it found."""
PORT = 29460
STEP = "node"
KEYS = "/var/run/trainplane/keys"
SLOW = 4.0
"""A node whose links are this many times as slow as those of the others is the odd one."""
_LEAST = 3
"""Among fewer nodes nobody can say which of them is odd."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be measured."""

    name: str
    nodes: int
    namespace: str = "default"
    image: str = "python:3.12-slim"
    seconds: float = 0.5
    """How long each pair is measured, in each direction."""
    wait: float = 60.0
    """How long pods wait for each other."""
    gpus: int = 0
    ssh: bool = False
    collective: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """What one node found on the way to another."""

    origin: int
    target: int
    dns: float | None = None
    tcp: float | None = None
    """Seconds, where it worked."""
    rate: float | None = None
    """Bytes a second."""
    ssh: float | None = None
    error: str = ""
    """The first thing that did not work, and why."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the pods found, and who is the odd one."""

    nodes: int
    links: Sequence[Link]
    silent: Sequence[int]
    """Those that said nothing."""
    odd: Mapping[int, str]
    """Who stands out, and by what."""
    collective: Mapping[str, Any] = field(default_factory=dict)

    @property
    def healthy(self) -> bool:
        """Whether all reach each other, about equally well."""
        broken = self.silent or self.odd or any(link.error for link in self.links)
        return not broken and "error" not in self.collective


def hosts(asked: Asked) -> list[str]:
    """The names of the pods, as programs call them."""
    return [f"{asked.name}-{STEP}-0-{rank}.{asked.name}" for rank in range(asked.nodes)]


def jobset(asked: Asked, archive: Archive) -> Raw:
    """The JobSet: a pod on each of so many nodes, none beside another."""
    words = [source.PYTHON, PROGRAM, "--seconds", str(asked.seconds), "--wait", str(asked.wait)]
    words += ["--collective"] if asked.collective else []
    words += ["--ssh", KEYS] if asked.ssh else []
    container: Raw = {
        "name": STEP,
        "image": asked.image,
        "command": source.command([*words, *(f"{host}:{PORT}" for host in hosts(asked))]),
        "ports": [{"containerPort": PORT}],
        "volumeMounts": [source.mount()],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
    }
    if asked.gpus:
        container["resources"]["limits"] = {"nvidia.com/gpu": str(asked.gpus)}
    volumes = [source.volume(archive)]
    if asked.ssh:
        volumes.append({"name": "keys", "secret": {"secretName": asked.name, "defaultMode": 0o400}})
        container["volumeMounts"].append({"name": "keys", "mountPath": KEYS, "readOnly": True})
    labels = {"trainplane.dev/network": asked.name}
    apart = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    pod = {
        "restartPolicy": "Never",
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
        "volumes": volumes,
        "containers": [container],
    }
    job = {
        "backoffLimit": 0,
        "parallelism": asked.nodes,
        "completions": asked.nodes,
        "completionMode": "Indexed",
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": asked.name, "namespace": asked.namespace},
        "spec": {
            # Whoever is interrupted before cleaning up leaves nothing for long.
            "ttlSecondsAfterFinished": 600,
            "replicatedJobs": [{"name": STEP, "replicas": 1, "template": {"spec": job}}],
        },
    }


def keys(asked: Asked) -> Raw:
    """A Secret with a key pair for whoever logs in, and one for the hosts."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    data = {}
    for name in ("id", "host"):
        key = Ed25519PrivateKey.generate()
        data[name] = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
        data[f"{name}.pub"] = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode() + "\n"
    metadata = {"name": asked.name, "namespace": asked.namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


def read(line: str) -> Raw | None:
    """What a pod found, from a line of its output; None for any other line."""
    if not line.startswith(MARK):
        return None
    try:
        said = orjson.loads(line.removeprefix(MARK))
    except orjson.JSONDecodeError:
        return None
    return said if isinstance(said, dict) and isinstance(said.get("rank"), int) else None


def judge(asked: Asked, told: Iterable[Raw]) -> Findings:
    """What the findings of all pods come to."""
    by_rank = {each["rank"]: each for each in told if 0 <= each["rank"] < asked.nodes}
    links = [
        _link(found, rank, other, asked)
        for rank, found in sorted(by_rank.items())
        for other in range(asked.nodes)
        if other != rank
    ]
    silent = [rank for rank in range(asked.nodes) if rank not in by_rank]
    collective = _collective(by_rank) if asked.collective else {}
    return Findings(asked.nodes, links, silent, _odd(asked.nodes, links, silent), collective)


def _link(found: Raw, origin: int, target: int, asked: Asked) -> Link:
    said = {word: (found.get(word) or {}).get(str(target)) or {} for word in ("dns", "tcp", "rate", "ssh")}
    wanted = ("dns", "tcp", "rate", *(["ssh"] if asked.ssh else []))
    errors = [f"{_WORDS[word]}: {_short(said[word]['error'])}" for word in wanted if said[word].get("error")]
    if not errors and "rate" not in said["rate"]:
        errors = ["not measured"]
    return Link(
        origin,
        target,
        said["dns"].get("seconds"),
        said["tcp"].get("seconds"),
        said["rate"].get("rate"),
        said["ssh"].get("seconds"),
        errors[0] if errors else "",
    )


_WORDS = {"dns": "name", "tcp": "connection", "rate": "transfer", "ssh": "ssh"}


def _short(error: str) -> str:
    """An error in one line, without the number that Python puts before it."""
    return re.sub(r"^\[Errno -?\d+\] ", "", " ".join(str(error).split()))[:120]


def _collective(by_rank: Mapping[int, Raw]) -> Raw:
    found = {rank: each.get("collective") or {"error": "it did not take part"} for rank, each in by_rank.items()}
    failed = [f"node {rank}: {_short(each['error'])}" for rank, each in sorted(found.items()) if "error" in each]
    if failed or not found:
        return {"error": failed[0] if failed else "nobody took part"}
    # All wait for the slowest, so it is the slowest figure that says how fast the collective is.
    return min(found.values(), key=lambda each: float(each["rate"]))


def _odd(nodes: int, links: Sequence[Link], silent: Sequence[int]) -> dict[int, str]:
    """Who has more broken links than the others, or much slower ones."""
    if nodes < _LEAST:
        return {}
    there = [rank for rank in range(nodes) if rank not in silent]
    if broken := _broken(there, links):
        return broken
    rates = {rank: [each.rate for each in links if each.rate and rank in (each.origin, each.target)] for rank in there}
    usual = {rank: median(found) for rank, found in rates.items() if found}
    odd = {}
    for rank, rate in usual.items():
        others = [each.rate for each in links if each.rate and rank not in (each.origin, each.target)]
        if others and rate * SLOW < median(others):
            odd[rank] = f"its links have {rate / 1e6:,.0f} MB/s, those of the others {median(others) / 1e6:,.0f}"
    return odd


def _broken(there: Sequence[int], links: Sequence[Link]) -> dict[int, str]:
    """Those at an end of every broken link, as far as the broken links leave a doubt: the fewest that explain them."""
    left = [link for link in links if link.error and link.origin in there and link.target in there]
    found: dict[int, str] = {}
    while left:
        count = {rank: sum(rank in (link.origin, link.target) for link in left) for rank in there}
        worst = max(count, key=lambda rank: count[rank])
        # One broken link has two ends, and neither is to blame more than the other.
        if sum(value == count[worst] for value in count.values()) > 1:
            break
        found[worst] = f"{count[worst]} of its links are broken"
        left = [link for link in left if worst not in (link.origin, link.target)]
    return found
