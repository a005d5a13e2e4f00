"""Home: what all pods of one node share: the cluster, the Runner, folders of the host, and settings."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.cluster.client import Client
from trainplane.control.record import Clock
from trainplane.node.devices import Devices
from trainplane.node.images import ImageMapping
from trainplane.node.lifecycle import Said
from trainplane.node.logs import Logs
from trainplane.node.restarts import Pace
from trainplane.node.runner import Box, Resolver, Runner
from trainplane.reconcile.view import View

CLUSTER_DOMAIN = "cluster.local"
EGRESS = "trainplane.dev/egress"
"""A label of a namespace: `none` keeps its pods from reaching anything outside the cluster."""
USERS = "trainplane.dev/users"
"""A label of a namespace: `host` lets the users of its pods be the host's, so that root in them is root."""
JOB_LABELS = ("jobset.sigs.k8s.io/jobset-name", "batch.kubernetes.io/job-name")
WORK = "/workspace"
OUTPUT = "/workspace/output"
HOME = "/home/trainplane"

Token = Callable[[str, str, Raw], Awaitable[str]]
"""A token of a service account: its namespace, its name, and what a TokenRequest's spec says."""
Say = Callable[[Raw, Said], None]
"""Tell of a pod."""


class Folders(msgspec.Struct, frozen=True):
    """Where things lie on the host."""

    state: Path
    """Of pods that are on the node now."""
    jobs: Path
    """What jobs leave behind, kept: the output of each, and the working folders of its pods."""
    claims: Path
    """What persistent volume claims hold."""

    def pod(self, uid: str) -> Path:
        """Of one pod, gone with it."""
        return self.state / "pods" / uid

    def output(self, namespace: str, job: str) -> Path:
        """What the pods of a job share and leave behind."""
        return self.jobs / namespace / job / "output"

    def work(self, namespace: str, job: str, pod: str) -> Path:
        """Where the containers of a pod begin."""
        return self.jobs / namespace / job / "pods" / pod


class Home(msgspec.Struct, frozen=True):
    """One node, as its pods know it."""

    node: str
    client: Client
    runner: Runner
    clock: Clock
    logs: Logs
    folders: Folders
    token: Token
    devices: Devices
    address: str
    """Of the node."""
    allocatable: Mapping[str, Any]
    api_host: str
    api_port: int
    images: Sequence[ImageMapping] = ()
    pace: Pace = msgspec.field(default_factory=Pace)
    egress: bool = True
    refresh: float = 60.0
    say: Say = lambda _pod, _said: None


def job_of(pod: Raw) -> str:
    """The name of the job that a pod belongs to, or its own."""
    labels = pod["metadata"].get("labels") or {}
    return next((str(labels[key]) for key in JOB_LABELS if labels.get(key)), str(pod["metadata"]["name"]))


def log_name(pod: Raw) -> str:
    """The folder of a pod's logs: namespace, name and uid."""
    metadata = pod["metadata"]
    return f"{metadata.get('namespace', '')}_{metadata['name']}_{metadata['uid']}"


def hostname_of(pod: Raw) -> str:
    """The name that a pod's processes see as the host's."""
    spec = pod["spec"]
    name = spec.get("hostnameOverride") or spec.get("hostname") or pod["metadata"]["name"]
    return str(name)[:63].rstrip("-.")


def domain_of(pod: Raw) -> str:
    """What follows a pod's hostname in its full name."""
    subdomain = pod["spec"].get("subdomain")
    return f"{subdomain}.{pod['metadata'].get('namespace', '')}.svc.{CLUSTER_DOMAIN}" if subdomain else ""


def box_of(pod: Raw, home: Home) -> Box:
    """What the containers of a pod share."""
    metadata, spec = pod["metadata"], pod["spec"]
    namespace = metadata.get("namespace", "")
    limits = look(spec, "resources", "limits") or {}
    return Box(
        Ref.of({"apiVersion": "v1", "kind": "Pod", **pod}),
        metadata["uid"],
        hostname_of(pod),
        home.folders.pod(metadata["uid"]) / "box",
        node=home.node,
        domain=domain_of(pod),
        says_full_name=bool(spec.get("setHostnameAsFQDN")),
        job=f"{namespace}/{job_of(pod)}",
        hosts=tuple((each["ip"], tuple(each.get("hostnames") or ())) for each in spec.get("hostAliases") or ()),
        resolver=_resolver(pod),
        ports=tuple(int(port["containerPort"]) for each in spec["containers"] for port in each.get("ports") or ()),
        host_network=bool(spec.get("hostNetwork")),
        share_processes=bool(spec.get("shareProcessNamespace")),
        sysctls={each["name"]: each["value"] for each in look(spec, "securityContext", "sysctls") or ()},
        egress=home.egress,
        cpus=cores(limits.get("cpu")),
        memory=octets(limits.get("memory")),
    )


def with_policy(box: Box, view: View, *, pod: Raw) -> Box:
    """A box as the labels of its namespace let it be; a pod may have users of its own wherever it is."""
    namespace = view.get(Ref("", "Namespace", "", box.pod.namespace))
    labels = look(namespace, "metadata", "labels") or {}
    host_users = labels.get(USERS) == "host" and pod["spec"].get("hostUsers") is not False
    return replace(box, egress=box.egress and labels.get(EGRESS) != "none", host_users=host_users)


def cores(quantity: str | int | float | None) -> float | None:
    """A quantity of CPU in cores."""
    return None if quantity is None else parse(quantity).milli() / 1000


def octets(quantity: str | int | float | None) -> int | None:
    """A quantity of memory in bytes."""
    return None if quantity is None else parse(quantity).value()


def _resolver(pod: Raw) -> Resolver:
    spec, config = pod["spec"], pod["spec"].get("dnsConfig") or {}
    namespace = pod["metadata"].get("namespace", "")
    searches = [f"{namespace}.svc.{CLUSTER_DOMAIN}", f"svc.{CLUSTER_DOMAIN}", CLUSTER_DOMAIN]
    options = {"ndots": "5"}
    if spec.get("dnsPolicy") == "None":
        searches, options = [], {}
    searches += config.get("searches") or ()
    options |= {each.get("name", ""): each.get("value") or "" for each in config.get("options") or ()}
    return Resolver(
        tuple(config.get("nameservers") or ()),
        tuple(dict.fromkeys(searches)),
        tuple(f"{name}:{value}" if value else name for name, value in options.items()),
        knows_cluster=spec.get("dnsPolicy") != "None",
    )
