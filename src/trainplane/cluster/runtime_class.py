"""RuntimeClass: what a pod's class adds to it, and refuses."""

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.cluster.admission import Lookup
from trainplane.cluster.errors import Forbidden


def classed(spec: Raw, lookup: Lookup, *, pod: str) -> Raw:
    """A pod's spec with the overhead, the nodes and the tolerations of its RuntimeClass; raises Forbidden."""

    def refused(words: str) -> Forbidden:
        return Forbidden.of("pods", pod, f"pod rejected: {words}")

    name = spec.get("runtimeClassName")
    found = lookup(Ref("node.k8s.io", "RuntimeClass", "", name)) if name else None
    if name and found is None:
        raise refused(f'RuntimeClass "{name}" not found')
    overhead = look(found, "overhead", "podFixed")
    if spec.get("overhead") and not overhead:
        raise refused("Pod Overhead set without corresponding RuntimeClass defined Overhead")
    if spec.get("overhead") and spec["overhead"] != overhead:
        raise refused("Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    if overhead:
        spec = {**spec, "overhead": overhead}
    if chosen := look(found, "scheduling", "nodeSelector"):
        mine = spec.get("nodeSelector") or {}
        for key in sorted(chosen.keys() & mine.keys()):
            if chosen[key] != mine[key]:
                words = f"runtimeClass.scheduling.nodeSelector[{key}] = {chosen[key]}"
                raise Forbidden.of("pods", pod, f"conflict: {words}; pod.spec.nodeSelector[{key}] = {mine[key]}")
        spec = {**spec, "nodeSelector": {**mine, **chosen}}
    if tolerated := look(found, "scheduling", "tolerations"):
        given = list(spec.get("tolerations") or ())
        spec = {**spec, "tolerations": [*given, *(one for one in tolerated if one not in given)]}
    return spec
