"""Namespaces and what is made in them: whether one takes new objects, and what each holds from the start."""

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause
from trainplane.cluster.errors import Forbidden, NotFound
from trainplane.cluster.ground import Call, Ground
from trainplane.cluster.log import Key, Write, body

_NAMESPACE = "namespaces"


def check_namespace(ground: Ground, call: Call, name: str) -> None:
    """Refuse a new object in a namespace that is not there, or is going; raises NotFound or Forbidden."""
    if not call.namespace:
        return
    stored = ground.find(Key(_NAMESPACE, "", call.namespace))
    if stored is None:
        raise NotFound.of(_NAMESPACE, call.namespace)
    if look(stored.object, "metadata", "deletionTimestamp"):
        words = "because it is being terminated"
        why = f"unable to create new content in namespace {call.namespace} {words}"
        cause = Cause("NamespaceTerminating", "metadata.namespace", f"namespace {call.namespace} is being terminated")
        raise Forbidden.of(call.asked.resource, name, why, causes=[cause])


def companion_writes(ground: Ground, row: Kind, new: Raw) -> list[Write]:
    """What is written together with a new object: where it is a namespace, all that each holds from the start."""
    if row.resource != _NAMESPACE:
        return []
    writes = []
    for raw in ground.companions(new):
        other = ground.row("", raw["kind"])
        key = Key(f"{raw['kind'].lower()}s", new["metadata"]["name"], raw["metadata"]["name"])
        if other is None or ground.find(key):
            continue
        metadata = {**raw["metadata"], "namespace": key.namespace, "uid": ground.uid()}
        metadata["creationTimestamp"] = ground.stamp()
        writes.append(Write(key, body({**raw, "metadata": metadata}), 0))
    return writes
