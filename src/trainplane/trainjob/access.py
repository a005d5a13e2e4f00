"""What a Role cannot grant: rights to resources that live outside of all namespaces."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.kinds import DIALECT_KINDS, KINDS
from trainplane.api.loose import objects_at, texts_at
from trainplane.api.problem import Problem
from trainplane.trainjob.rules import CLUSTER_SCOPED_IN_ROLE

_ELSEWHERE = {
    "": ("nodes", "namespaces", "persistentvolumes", "componentstatuses"),
    "storage.k8s.io": ("storageclasses", "volumeattachments", "csidrivers", "csinodes"),
    "scheduling.k8s.io": ("priorityclasses",),
    "rbac.authorization.k8s.io": ("clusterroles", "clusterrolebindings"),
    "apiextensions.k8s.io": ("customresourcedefinitions",),
    "admissionregistration.k8s.io": ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
    "kueue.x-k8s.io": ("clusterqueues", "resourceflavors", "workloadpriorityclasses"),
    "scheduling.volcano.sh": ("queues", "hypernodes"),
}


def _cluster_scoped() -> frozenset[tuple[str, str]]:
    ours = {(kind.group, kind.plural) for kind in (*KINDS, *DIALECT_KINDS) if not kind.namespaced}
    return frozenset(ours | {(group, plural) for group, plurals in _ELSEWHERE.items() for plural in plurals})


CLUSTER_SCOPED = _cluster_scoped()
"""Group and plural of the resources that a Role cannot grant."""


def role(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """The entries of a namespaced Role that have no effect."""
    for path, rule in objects_at(obj, "rules"):
        groups = [group for _, group in texts_at(rule, "apiGroups")]
        for where, resource in texts_at(rule, "resources"):
            plural = resource.partition("/")[0]
            if any((group, plural) in CLUSTER_SCOPED for group in groups):
                what = f"{resource} are in no namespace, so a Role grants nothing on them"
                todo = "move them to a ClusterRole, and bind it with a ClusterRoleBinding"
                yield Problem(CLUSTER_SCOPED_IN_ROLE, (*path, *where), what, todo)
