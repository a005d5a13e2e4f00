"""What a simulated pod reads before it starts: ConfigMaps and Secrets that are not there keep it waiting."""

from collections.abc import Iterator

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.reconcile.news import News
from trainplane.reconcile.view import Ref, View

WAITS = "CreateContainerConfigError"
_SOURCES = (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))
_WHOLE = (("configMapRef", "ConfigMap"), ("secretRef", "Secret"))


def lacking(pod: Raw, view: View) -> str:
    """What keeps the pod from starting, in a node's words; "" where nothing does."""
    namespace = pod["metadata"].get("namespace", "")
    for kind, name, key in needs(pod):
        found = view.get(Ref("", kind, namespace, name))
        if found is None:
            return f'{kind.lower()} "{name}" not found'
        there = {**(found.get("data") or {}), **(found.get("binaryData") or {})}
        if key and key not in there:
            return f"couldn't find key {key} in {kind} {namespace}/{name}"
    return ""


def needs(pod: Raw) -> Iterator[tuple[str, str, str]]:
    """Kind, name and key of each ConfigMap and Secret that the pod cannot do without; no key means all of it."""
    for volume in look(pod, "spec", "volumes") or ():
        for source in (volume, *(look(volume, "projected", "sources") or ())):
            for part, kind, field in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
                given = source.get(part)
                name = (given.get(field) or given.get("name")) if given else None
                if name and not given.get("optional"):
                    yield kind, str(name), ""
    containers = (*(look(pod, "spec", "initContainers") or ()), *(look(pod, "spec", "containers") or ()))
    for container in containers:
        for part, kind in _WHOLE:
            for one in container.get("envFrom") or ():
                given = one.get(part)
                if given and not given.get("optional"):
                    yield kind, str(given["name"]), ""
        sources = [one["valueFrom"] for one in container.get("env") or () if one.get("valueFrom")]
        for part, kind in _SOURCES if sources else ():
            for one in sources:
                given = one.get(part)
                if given and not given.get("optional"):
                    yield kind, str(given["name"]), str(given["key"])


class Waiting:
    """The pods that wait for a ConfigMap or Secret, kept up with the View: few do, and many settings come and go."""

    def __init__(self) -> None:
        self._news = News()
        self._pods: dict[Ref, None] = {}

    def __call__(self, raw: Raw, view: View) -> Iterator[Ref]:
        """The pods that may wait for this ConfigMap or Secret."""
        changed = self._news.of(view, "", "Pod")
        if changed is None:
            self._pods = dict.fromkeys(Ref.of(pod) for pod in view.all("", "Pod") if is_waiting(pod))
        for ref in changed or ():
            self._pods.pop(ref, None)
            if is_waiting(view.get(ref)):
                self._pods[ref] = None
        namespace = raw["metadata"].get("namespace", "")
        yield from [ref for ref in self._pods if ref.namespace == namespace]


def is_waiting(pod: Raw | None) -> bool:
    """Whether a pod lacks something that it reads."""
    statuses = look(pod, "status", "containerStatuses") or ()
    return any(look(one, "state", "waiting", "reason") == WAITS for one in statuses)
