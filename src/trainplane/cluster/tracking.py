"""What ownership must know of a kind: how its objects are merged, what a path ignores, and what all of them have."""

from functools import lru_cache

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.schema import LIST_MAP_KEYS, Schema, openapi
from trainplane.cluster.fields import Fields
from trainplane.cluster.resources import BUILT_IN_GROUPS


@lru_cache(maxsize=256)
def merge_schema(row: Kind) -> Schema:
    """The schema to merge objects of a kind by; in built-in kinds a key that is missing counts as empty or 0."""
    schema = openapi(row.type)
    return schema if row.group not in BUILT_IN_GROUPS else _with_keys(schema)


def _with_keys(schema: Schema) -> Schema:
    node = dict(schema)
    if "properties" in node:
        node["properties"] = {name: _with_keys(child) for name, child in node["properties"].items()}
    if "additionalProperties" in node:
        node["additionalProperties"] = _with_keys(node["additionalProperties"])
    if "items" in node:
        items = node["items"] = _with_keys(node["items"])
        for key in node.get(LIST_MAP_KEYS, ()):
            child = items["properties"][key]
            items["properties"][key] = {"default": "" if child.get("type") == "string" else 0, **child}
    return node


@lru_cache(maxsize=256)
def _ignored(row: Kind, subresource: str) -> Fields:
    if subresource != "status":
        return {"f:status": {}} if row.status else {}
    if row.group not in BUILT_IN_GROUPS:
        return {"f:metadata": {}, "f:spec": {}}
    if row.kind == "Pod":
        return {"f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}, "f:spec": {}}
    return {"f:spec": {}}


def ignored_fields(row: Kind, subresource: str = "") -> Fields:
    """The fields that a kind takes no notice of on a path: status on the main one, spec on /status."""
    return _ignored(row, subresource)


_POD_SPEC: Raw = {"containers": None}
_TEMPLATE: Raw = {"metadata": {}, "spec": _POD_SPEC}
_NO_TIMES: Raw = {"eventTime": None, "firstTimestamp": None, "lastTimestamp": None}
_BLANKS: dict[tuple[str, str], Raw] = {
    ("", "Event"): {"involvedObject": {}, "reportingComponent": "", "reportingInstance": "", "source": {}, **_NO_TIMES},
    ("", "LimitRange"): {"spec": {"limits": None}},
    ("", "Namespace"): {"spec": {}, "status": {}},
    ("", "Node"): {"spec": {}, "status": {"daemonEndpoints": {"kubeletEndpoint": {}}, "nodeInfo": {}}},
    ("", "PersistentVolumeClaim"): {"spec": {"resources": {}}, "status": {}},
    ("", "Pod"): {"spec": _POD_SPEC, "status": {}},
    ("", "ResourceQuota"): {"spec": {}, "status": {}},
    ("", "Service"): {"spec": {}, "status": {"loadBalancer": {}}},
    ("autoscaling", "HorizontalPodAutoscaler"): {"spec": {"scaleTargetRef": {}}, "status": {"currentMetrics": None}},
    ("batch", "Job"): {"spec": {"template": _TEMPLATE}, "status": {}},
    ("coordination.k8s.io", "Lease"): {"spec": {}},
    ("discovery.k8s.io", "EndpointSlice"): {"endpoints": None, "ports": None},
    ("events.k8s.io", "Event"): {
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
        "deprecatedSource": {},
        "eventTime": None,
        "regarding": {},
    },
    ("rbac.authorization.k8s.io", "ClusterRole"): {"rules": None},
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): {"roleRef": {}},
    ("rbac.authorization.k8s.io", "Role"): {"rules": None},
    ("rbac.authorization.k8s.io", "RoleBinding"): {"roleRef": {}},
}


def blank_of(row: Kind) -> Raw:
    """What every object of a kind has, however little was said of it: nobody owns these for being there."""
    return {**_BLANKS.get((row.group, row.kind), {}), "metadata": {}}
