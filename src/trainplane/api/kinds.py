"""The Kind table: each kind's Python type, group, version, plural and scope, and what kubectl shows of it."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from trainplane.api.meta import Wire

HUB = "trainer.kubeflow.org/v1alpha1"
"""The group and version that all dialects are turned into."""


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`; one with a priority above 0 is shown with `-o wide` alone."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    description: str = ""


class Scale(msgspec.Struct, frozen=True):
    """Where the scale subresource finds its figures."""

    spec: str
    status: str
    selector: str


class Kind(msgspec.Struct, frozen=True, cache_hash=True):
    """One kind of object, as discovery and CRDs describe it."""

    group: str
    version: str
    kind: str
    plural: str
    where: str
    """The type as `module:Class` of `trainplane.api`; imported when it is asked for."""
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    status: bool = False
    scale: Scale | None = None

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def singular(self) -> str:
        """The kind in lower case."""
        return self.kind.lower()

    @property
    def list_kind(self) -> str:
        """The kind of a list of it."""
        return f"{self.kind}List"

    @property
    def resource(self) -> str:
        """The qualified plural, which is also the name of a CRD: `trainjobs.trainer.kubeflow.org`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def type(self) -> "type[Wire]":
        """The Python type."""
        return _load(self.where)


@cache
def _load(where: str) -> "type[Wire]":
    module, _, name = where.partition(":")
    found: type[Wire] = getattr(import_module(f"trainplane.api.{module}"), name)
    return found


_AGE = Column("Age", ".metadata.creationTimestamp", "date")
_TRAINJOB_COLUMNS = (
    Column("State", ".status.summary.state", description="Where the job stands."),
    Column("Runtime", ".spec.runtimeRef.name", description="The runtime that the job runs on."),
    Column("Nodes", ".status.summary.nodes", "integer", description="How many nodes it trains on."),
    Column("Progress", ".status.trainerStatus.progressPercentage", "integer", description="Percent done, if reported."),
    Column("Restarts", ".status.summary.restarts", "integer", description="How often it was started again."),
    _AGE,
    Column("Reason", ".status.summary.reason", priority=1, description="Why it is in this state, in a word."),
    Column("Message", ".status.summary.message", priority=1, description="Why it is in this state, in a sentence."),
)
_RUNTIME_COLUMNS = (
    Column("Framework", r".metadata.labels.trainer\.kubeflow\.org/framework", description="The framework's label."),
    Column("Nodes", ".spec.mlPolicy.numNodes", "integer", description="How many nodes when a TrainJob does not say."),
    Column("Support", r".metadata.labels.trainer\.kubeflow\.org/support", description="`deprecated` when it will go."),
    _AGE,
)
_SCALE = Scale(".spec.trainer.numNodes", ".status.nodes", ".status.selector")


def _trainjob(group: str, version: str, *short_names: str) -> Kind:
    return Kind(
        group,
        version,
        "TrainJob",
        "trainjobs",
        "trainer:TrainJob",
        short_names=short_names,
        categories=("training",),
        columns=_TRAINJOB_COLUMNS,
        status=True,
        scale=_SCALE,
    )


def _runtimes(group: str, version: str, *short_names: str) -> Iterator[Kind]:
    for index, kind in enumerate(("TrainingRuntime", "ClusterTrainingRuntime")):
        yield Kind(
            group,
            version,
            kind,
            f"{kind.lower()}s",
            f"trainer:{kind}",
            namespaced=kind == "TrainingRuntime",
            short_names=short_names[index : index + 1],
            categories=("training",),
            columns=_RUNTIME_COLUMNS,
        )


def _core(kind: str, module: str, *short_names: str) -> Kind:
    return Kind("", "v1", kind, f"{kind.lower()}s", f"{module}:{kind}", short_names=short_names)


def _rbac(kind: str, *, namespaced: bool) -> Kind:
    return Kind("rbac.authorization.k8s.io", "v1", kind, f"{kind.lower()}s", f"rbac:{kind}", namespaced=namespaced)


HUB_KINDS = (
    _trainjob("trainer.kubeflow.org", "v1alpha1", "tj"),
    *_runtimes("trainer.kubeflow.org", "v1alpha1", "tr", "ctr"),
)

DIALECT_KINDS = (
    _trainjob("ome.io", "v1beta1"),
    *_runtimes("ome.io", "v1beta1"),
    *_runtimes("kubeflow.org", "v2alpha1"),
    _trainjob("kubeflow.org", "v2alpha1"),
    *_runtimes("trainer.kubeflow.org", "v2alpha1"),
    _trainjob("trainer.kubeflow.org", "v2alpha1"),
    *_runtimes("trainer.kubeflow.org", "v2"),
    _trainjob("trainer.kubeflow.org", "v2"),
)
"""Other names of the hub's kinds, with the same fields; `dialects` turns their objects into the hub's words."""

_JOBSET_COLUMNS = (
    Column("TerminalState", ".status.terminalState"),
    Column("Restarts", ".status.restarts"),
    Column("Completed", '.status.conditions[?(@.type=="Completed")].status'),
    Column("Suspended", ".spec.suspend"),
    _AGE,
)
_PODGROUP_COLUMNS = (
    Column("Phase", ".status.phase"),
    Column("MinMember", ".spec.minMember", "integer"),
    Column("Running", ".status.running", "integer"),
    Column("Succeeded", ".status.succeeded", "integer"),
    Column("Failed", ".status.failed", "integer"),
    _AGE,
)

RECORD_KIND = Kind(
    "trainplane.dev",
    "v1alpha1",
    "TrainJobRecord",
    "trainjobrecords",
    "history:TrainJobRecord",
    short_names=("tjr",),
    columns=(
        Column("TrainJob", ".spec.trainJob.name", description="The job that ended."),
        Column("Outcome", ".spec.outcome", description="How it ended."),
        Column("Runtime", ".spec.runtime.name", description="The runtime that it ran on."),
        Column("Nodes", ".spec.nodes", "integer", description="How many nodes it trained on."),
        Column("Restarts", ".spec.restarts", "integer", description="How often it was started again."),
        Column("Ended", ".spec.completionTime", "date", description="How long ago it ended."),
        Column("Message", ".spec.message", priority=1, description="How it ended, in a sentence."),
    ),
)
"""What is kept of a TrainJob that has ended."""

_OTHER_KINDS = (
    RECORD_KIND,
    Kind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", "jobset:JobSet", columns=_JOBSET_COLUMNS, status=True),
    Kind(
        "scheduling.x-k8s.io",
        "v1alpha1",
        "PodGroup",
        "podgroups",
        "scheduling:PodGroup",
        short_names=("pg", "pgs"),
        columns=_PODGROUP_COLUMNS,
        status=True,
    ),
    Kind(
        "scheduling.volcano.sh",
        "v1beta1",
        "PodGroup",
        "podgroups",
        "scheduling:VolcanoPodGroup",
        short_names=("vg",),
        status=True,
    ),
    Kind(
        "scheduling.volcano.sh",
        "v1beta1",
        "Queue",
        "queues",
        "scheduling:Queue",
        namespaced=False,
        short_names=("q",),
        status=True,
    ),
    Kind("batch", "v1", "Job", "jobs", "batch:Job", categories=("all",), status=True),
    Kind("", "v1", "Pod", "pods", "core:Pod", short_names=("po",), categories=("all",), status=True),
    Kind("", "v1", "Service", "services", "network:Service", short_names=("svc",), categories=("all",), status=True),
    Kind("", "v1", "Node", "nodes", "nodes:Node", namespaced=False, short_names=("no",), status=True),
    Kind("", "v1", "Namespace", "namespaces", "core:Namespace", namespaced=False, short_names=("ns",), status=True),
    Kind("", "v1", "Endpoints", "endpoints", "network:Endpoints", short_names=("ep",)),
    Kind("", "v1", "Event", "events", "events:CoreEvent", short_names=("ev",)),
    Kind(
        "",
        "v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        "claims:PersistentVolumeClaim",
        short_names=("pvc",),
        status=True,
    ),
    Kind("", "v1", "ResourceQuota", "resourcequotas", "quota:ResourceQuota", short_names=("quota",), status=True),
    _core("ConfigMap", "core", "cm"),
    _core("Secret", "core"),
    _core("ServiceAccount", "core", "sa"),
    _core("LimitRange", "quota", "limits"),
    Kind("events.k8s.io", "v1", "Event", "events", "events:Event", short_names=("ev",)),
    Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "network:EndpointSlice"),
    Kind("coordination.k8s.io", "v1", "Lease", "leases", "nodes:Lease"),
    Kind(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
        "scheduling:PriorityClass",
        namespaced=False,
        short_names=("pc",),
    ),
    Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "nodes:RuntimeClass", namespaced=False),
    Kind(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "autoscaling:HorizontalPodAutoscaler",
        short_names=("hpa",),
        categories=("all",),
        status=True,
    ),
    _rbac("Role", namespaced=True),
    _rbac("RoleBinding", namespaced=True),
    _rbac("ClusterRole", namespaced=False),
    _rbac("ClusterRoleBinding", namespaced=False),
)

KINDS: tuple[Kind, ...] = (*HUB_KINDS, *_OTHER_KINDS)
"""Every kind that has a type, dialects aside."""

CRD_KINDS: tuple[Kind, ...] = (
    *HUB_KINDS,
    *(row for row in DIALECT_KINDS if row.group != "trainer.kubeflow.org" and row.kind != "TrainJob"),
    RECORD_KIND,
)
"""The kinds that a real cluster gets a CRD of: the hub's, runtimes of other groups, and what is kept of ended jobs.

Dialect TrainJobs are turned into the hub's before they are sent, and the hub's own group has one version.
"""

_BY_KIND = {(k.api_version, k.kind): k for k in (*KINDS, *DIALECT_KINDS)}
_BY_PLURAL = {(k.group, k.plural): k for k in reversed((*KINDS, *DIALECT_KINDS))}


def kind_of(api_version: str, kind: str) -> Kind | None:
    """The row of an object's apiVersion and kind, dialects included."""
    return _BY_KIND.get((api_version, kind))


def by_plural(group: str, plural: str) -> Kind | None:
    """The row of a resource; where a group has several versions, the hub's."""
    return _BY_PLURAL.get((group, plural))
