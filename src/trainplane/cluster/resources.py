"""What is served: each resource's verbs, subresources and names, in the order that discovery gives them."""

from collections.abc import Iterable
from functools import cache

import msgspec

from trainplane.api.kinds import DIALECT_KINDS, HUB_KINDS, KINDS, Kind

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_PART_VERBS = ("get", "patch", "update")
_STREAM_VERBS = ("create", "get")

BUILT_IN_GROUPS = (
    "",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
)
"""The groups of Kubernetes itself, in a real server's order; those of CRDs come after them."""


class Subresource(msgspec.Struct, frozen=True):
    """A part of an object with verbs of its own; without a group it speaks the kind of its resource's group."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class Resource(msgspec.Struct, frozen=True):
    """One plural of one group and version, as discovery shows it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def singular(self) -> str:
        """The kind in lower case."""
        return self.kind.lower()

    @property
    def custom(self) -> bool:
        """Whether a real cluster has it from a CRD; such resources differ in small ways all over the API."""
        return self.group not in BUILT_IN_GROUPS


def _stream(name: str, kind: str) -> Subresource:
    return Subresource(name, kind, _STREAM_VERBS)


_OWN_PARTS: dict[tuple[str, str], tuple[Subresource, ...]] = {
    ("", "Pod"): (
        _stream("attach", "PodAttachOptions"),
        Subresource("binding", "Binding", ("create",)),
        Subresource("ephemeralcontainers", "Pod", _PART_VERBS),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        _stream("exec", "PodExecOptions"),
        Subresource("log", "Pod", ("get",)),
        _stream("portforward", "PodPortForwardOptions"),
    ),
    ("", "Namespace"): (Subresource("finalize", "Namespace", ("update",)),),
    ("", "ServiceAccount"): (Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io", "v1"),),
}

_NO_COLLECTION = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")


def _review(group: str, kind: str, *, namespaced: bool = False) -> Resource:
    return Resource(group, "v1", f"{kind.lower()}s", kind, namespaced, ("create",))


STATELESS = (
    Resource("", "v1", "bindings", "Binding", True, ("create",)),
    _review("authentication.k8s.io", "SelfSubjectReview"),
    _review("authentication.k8s.io", "TokenReview"),
    _review("authorization.k8s.io", "LocalSubjectAccessReview", namespaced=True),
    _review("authorization.k8s.io", "SelfSubjectAccessReview"),
    _review("authorization.k8s.io", "SelfSubjectRulesReview"),
    _review("authorization.k8s.io", "SubjectAccessReview"),
    Resource(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        False,
        ("create", "get", "list", "patch", "update", "watch"),
        ("crd", "crds"),
        ("api-extensions",),
    ),
    Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", False, ("get", "list")),
    Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics", True, ("get", "list")),
)
"""Resources that are answered but not stored: reviews, bindings, the CRDs of what is served, and what is measured."""

SERVED_KINDS: tuple[Kind, ...] = (
    *KINDS,
    *(row for row in DIALECT_KINDS if row.group not in {hub.group for hub in HUB_KINDS}),
)
"""The kinds that can be stored and read, the dialects' groups as views of the hub's included."""


@cache
def resource_of(kind: Kind) -> Resource:
    """How discovery shows a kind of the Kind table."""
    parts = list(_OWN_PARTS.get((kind.group, kind.kind), ()))
    if kind.scale:
        parts.append(Subresource("scale", "Scale", _PART_VERBS, "autoscaling", "v1"))
    if kind.status:
        parts.append(Subresource("status", kind.kind, _PART_VERBS))
    custom = kind.group not in BUILT_IN_GROUPS
    verbs = _NO_COLLECTION if kind.kind == "Namespace" else _CUSTOM_VERBS if custom else ALL_VERBS
    return Resource(
        kind.group,
        kind.version,
        kind.plural,
        kind.kind,
        kind.namespaced,
        verbs,
        kind.short_names,
        # A dialect shows objects that the hub shows already: `kubectl get training` must not list them twice.
        () if kind in DIALECT_KINDS else kind.categories,
        tuple(parts),
    )


def served(kinds: Iterable[Kind] = SERVED_KINDS) -> tuple[Resource, ...]:
    """All resources of these kinds and the stateless ones, in discovery's order.

    Kubernetes' own groups come first, then the rest as the Kind table has them: where two groups use one name,
    kubectl takes the first, which must be the hub and never a dialect.
    """
    rows = (*map(resource_of, kinds), *STATELESS)
    order = {group: index for index, group in enumerate(dict.fromkeys((*BUILT_IN_GROUPS, *(r.group for r in rows))))}
    return tuple(sorted(rows, key=lambda row: (order[row.group], row.plural)))
