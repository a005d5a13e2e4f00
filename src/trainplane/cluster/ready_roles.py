"""The ClusterRoles and bindings that every cluster starts with: Kubernetes' own, and three for training."""

from collections.abc import Sequence

from trainplane.api.kinds import DIALECT_KINDS, HUB_KINDS, RECORD_KIND
from trainplane.api.meta import Raw
from trainplane.cluster.access import AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS

API_VERSION = "rbac.authorization.k8s.io/v1"
VIEWER = "trainplane.dev:viewer"
USER = "trainplane.dev:user"
ADMIN = "trainplane.dev:admin"
GROUPS = {VIEWER: "trainplane.dev:viewers", USER: "trainplane.dev:users", ADMIN: "trainplane.dev:admins"}
"""The group that has each of the three roles from the start, everywhere; RoleBindings give them in one namespace."""

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
ALL = (*WRITE, *READ)

_TRAINING_GROUPS = tuple(dict.fromkeys(kind.group for kind in (*HUB_KINDS, *DIALECT_KINDS)))
_RBAC = "rbac.authorization.k8s.io"
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_STREAMS = ("pods/attach", "pods/exec", "pods/portforward")


def _rule(verbs: Sequence[str], groups: str | Sequence[str], *resources: str) -> Raw:
    return {
        "apiGroups": [groups] if isinstance(groups, str) else list(groups),
        "resources": list(resources),
        "verbs": list(verbs),
    }


def _paths(*urls: str) -> Raw:
    return {"nonResourceURLs": list(urls), "verbs": ["get"]}


_VIEW_RULES = (
    _rule(READ, "", "configmaps", "endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status"),
    _rule(READ, "", "pods", "pods/log", "pods/status", "serviceaccounts", "services", "services/status"),
    _rule(READ, "", "bindings", "limitranges", "namespaces", "namespaces/status"),
    _rule(READ, "", "resourcequotas", "resourcequotas/status"),
    _rule(READ, ("", "events.k8s.io"), "events"),
    _rule(READ, "discovery.k8s.io", "endpointslices"),
    _rule(READ, "autoscaling", "horizontalpodautoscalers", "horizontalpodautoscalers/status"),
    _rule(READ, "batch", "jobs", "jobs/status"),
)
_EDIT_RULES = (
    _rule(READ, "", *_STREAMS, "secrets"),
    _rule(["impersonate"], "", "serviceaccounts"),
    _rule(WRITE, "", "pods", *_STREAMS),
    _rule(["create"], "", "pods/eviction", "serviceaccounts/token"),
    _rule(WRITE, "", "configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts", "services"),
    _rule(WRITE, ("", "events.k8s.io"), "events"),
    _rule(WRITE, "autoscaling", "horizontalpodautoscalers"),
    _rule(WRITE, "batch", "jobs"),
    _rule(ALL, "coordination.k8s.io", "leases"),
)
_ADMIN_RULES = (
    _rule(["create"], "authorization.k8s.io", "localsubjectaccessreviews"),
    _rule(ALL, _RBAC, "rolebindings", "roles"),
)

_TRAINING_VIEW = (
    _rule(READ, _TRAINING_GROUPS, "trainjobs", "trainjobs/status", "trainjobs/scale"),
    _rule(READ, _TRAINING_GROUPS, "trainingruntimes", "clustertrainingruntimes"),
    _rule(READ, RECORD_KIND.group, RECORD_KIND.plural),
    _rule(READ, "jobset.x-k8s.io", "jobsets", "jobsets/status"),
    _rule(READ, ("scheduling.x-k8s.io", "scheduling.volcano.sh"), "podgroups", "podgroups/status", "queues"),
    _rule(READ, "batch", "jobs", "jobs/status"),
    _rule(READ, "", "pods", "pods/log", "pods/status", "persistentvolumeclaims", "resourcequotas"),
    _rule(READ, ("", "events.k8s.io"), "events"),
)
_TRAINING_USE = (
    # Whoever may start training may run what they like in its pods: exec and port-forward give them nothing more.
    _rule(WRITE, _TRAINING_GROUPS, "trainjobs", "trainingruntimes"),
    _rule(("patch", "update"), _TRAINING_GROUPS, "trainjobs/scale"),
    _rule(("create", "get"), "", *_STREAMS),
)
_TRAINING_ADMIN = (
    _rule(WRITE, _TRAINING_GROUPS, "clustertrainingruntimes", "trainjobs/status"),
    _rule(("delete", "deletecollection"), RECORD_KIND.group, RECORD_KIND.plural),
    _rule(ALL, "jobset.x-k8s.io", "jobsets", "jobsets/status"),
    _rule(ALL, ("scheduling.x-k8s.io", "scheduling.volcano.sh"), "podgroups", "queues"),
    _rule(ALL, "batch", "jobs"),
    _rule(ALL, "", "pods", "resourcequotas", "limitranges"),
    _rule(["create"], "", "pods/eviction"),
    _rule(ALL, "scheduling.k8s.io", "priorityclasses"),
    _rule((*READ, "patch"), "", "nodes"),
    _rule(READ, "", "namespaces"),
)


def _role(name: str, rules: Sequence[Raw] = (), *, into: str = "", sums: str = "") -> Raw:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"} | ({f"{_AGGREGATE}{into}": "true"} if into else {})
    role: Raw = {
        "apiVersion": API_VERSION,
        "kind": "ClusterRole",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        },
        "rules": list(rules),
    }
    if sums:
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {f"{_AGGREGATE}{sums}": "true"}}]}
    return role


def _binding(role: str, *groups: str) -> Raw:
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterRoleBinding",
        "metadata": {
            "name": role,
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        },
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group} for group in groups],
    }


_HEALTH = ("/healthz", "/livez")
_VERSION = ("/readyz", "/version", "/version/")
_KEYS = ("/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks")

CLUSTER_ROLES: tuple[Raw, ...] = (
    _role("cluster-admin", [_rule(["*"], "*", "*"), {"nonResourceURLs": ["*"], "verbs": ["*"]}]),
    _role("admin", sums="admin"),
    _role("edit", sums="edit", into="admin"),
    _role("view", sums="view", into="edit"),
    _role("system:aggregate-to-admin", _ADMIN_RULES, into="admin"),
    _role("system:aggregate-to-edit", _EDIT_RULES, into="edit"),
    _role("system:aggregate-to-view", _VIEW_RULES, into="view"),
    _role(
        "system:basic-user",
        [
            _rule(["create"], "authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
            _rule(["create"], "authentication.k8s.io", "selfsubjectreviews"),
        ],
    ),
    _role(
        "system:discovery",
        [_paths("/api", "/api/*", "/apis", "/apis/*", *_HEALTH, "/openapi", "/openapi/*", *_VERSION)],
    ),
    _role("system:public-info-viewer", [_paths(*_HEALTH, *_VERSION)]),
    _role("system:service-account-issuer-discovery", [_paths(*_KEYS, "/openid/v1/jwks/")]),
    _role(VIEWER, _TRAINING_VIEW, into="view"),
    _role(USER, [*_TRAINING_VIEW, *_TRAINING_USE], into="edit"),
    _role(ADMIN, [*_TRAINING_VIEW, *_TRAINING_USE, *_TRAINING_ADMIN]),
)
"""The roles of a new cluster. Those that add up others have no rules of their own; `rbac.aggregated` gives them."""

CLUSTER_ROLE_BINDINGS: tuple[Raw, ...] = (
    _binding("cluster-admin", MASTERS),
    _binding("system:basic-user", AUTHENTICATED),
    _binding("system:discovery", AUTHENTICATED),
    _binding("system:public-info-viewer", AUTHENTICATED),
    _binding("system:service-account-issuer-discovery", SERVICE_ACCOUNTS),
    *(_binding(role, group) for role, group in GROUPS.items()),
)
"""The bindings of a new cluster."""
