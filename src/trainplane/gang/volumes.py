"""Claims of a pod: whether they are there, and the nodes on which their volumes can be reached."""

from collections.abc import Callable

from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.api.selectors import NodeQuery, SelectorError, from_node_selector
from trainplane.gang.fit import Node, Pod, claims
from trainplane.reconcile.view import View

SELECTED_NODE = "volume.kubernetes.io/selected-node"


def missing(pod: Pod, view: View) -> str:
    """Which claim keeps the pod from every node; "" where none does."""
    for name in claims(pod):
        claim = view.get(Ref("", "PersistentVolumeClaim", pod.namespace, name))
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim["metadata"].get("deletionTimestamp"):
            return f'persistentvolumeclaim "{name}" is being deleted'
        if (claim.get("status") or {}).get("phase") == "Lost":
            volume = (claim.get("spec") or {}).get("volumeName", "")
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    return ""


def reachable(pod: Pod, view: View) -> Callable[[Node], bool] | None:
    """Which nodes reach all volumes of the pod; None where every node does."""
    names, queries = set(), []
    for name in claims(pod):
        claim = view.get(Ref("", "PersistentVolumeClaim", pod.namespace, name)) or {"metadata": {}}
        if node := (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE):
            names.add(node)
        volume = view.get(Ref("", "PersistentVolume", "", (claim.get("spec") or {}).get("volumeName") or ""))
        if volume is not None and (query := _query(volume)) is not None:
            queries.append(query)
    if not names and not queries:
        return None
    return lambda node: names <= {node.name} and all(query.matches(node.name, node.labels) for query in queries)


def _query(volume: Raw) -> NodeQuery | None:
    required = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required")
    if required is None:
        return None
    try:
        return from_node_selector(required)
    except SelectorError:
        # A volume that cannot be understood is reached from nowhere.
        return NodeQuery()
