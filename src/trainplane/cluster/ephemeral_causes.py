"""What the API server refuses in ephemeral containers: most of what other containers may say, and every change."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.merge import same
from trainplane.api.meta import Raw
from trainplane.cluster.causes import Cause, forbidden, not_found
from trainplane.cluster.go_structs import difference

_OTHERS = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe", "readinessProbe"),
    *("startupProbe", "lifecycle"),
)
_WORDS = "cannot be set for an Ephemeral Container"


def ephemeral_causes(spec: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What an ephemeral container says that only others may."""
    names = [each.get("name") for kind in ("initContainers", "containers") for each in spec.get(kind) or ()]
    for index, each in enumerate(spec.get("ephemeralContainers") or ()):
        where = f"{at}.ephemeralContainers[{index}]"
        target = each.get("targetContainerName")
        if target and target not in names:
            yield not_found(f"{where}.targetContainerName", target)
        for name in _OTHERS:
            if each.get(name):
                yield forbidden(f"{where}.{name}", _WORDS)
        for number, mount in enumerate(each.get("volumeMounts") or ()):
            for name in ("subPath", "subPathExpr"):
                if mount.get(name):
                    yield forbidden(f"{where}.volumeMounts[{number}].{name}", _WORDS)


def ephemeral_change_causes(spec: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
    """What is done to ephemeral containers that are there: they can only become more."""
    now: dict[Any, Raw] = {each.get("name"): each for each in spec.get("ephemeralContainers") or ()}
    for before in old.get("ephemeralContainers") or ():
        name = before.get("name")
        if name not in now:
            words = f'existing ephemeral containers "{name}" may not be removed\n'
            yield forbidden("spec.ephemeralContainers", words)
        elif not same(before, now[name]):
            shown = difference(before, now[name], "EphemeralContainer")
            words = f'existing ephemeral containers "{name}" may not be changed\n{shown}'
            yield forbidden("spec.ephemeralContainers", words)
