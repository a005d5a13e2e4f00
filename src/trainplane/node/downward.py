"""What a container may know of its own pod: fields of the object, and what it asks for and may use."""

import re
from collections.abc import Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.quantity import ZERO, Amount, parse
from trainplane.api.raw import look

_SUBSCRIPT = re.compile(r"^metadata\.(labels|annotations)\['([^']*)'\]$")
_NANO = 10**9


def containers(pod: Raw) -> list[Raw]:
    """The containers of a pod, those that come first at the front, and those that were added to look into it last."""
    spec = pod["spec"]
    return [*(spec.get("initContainers") or ()), *spec["containers"], *(spec.get("ephemeralContainers") or ())]


def container_of(pod: Raw, name: str) -> Raw | None:
    """The container of this name."""
    return next((each for each in containers(pod) if each["name"] == name), None)


def field(pod: Raw, path: str) -> str:
    """A field of the pod as text; raises KeyError for one that containers are not told."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    if subscript := _SUBSCRIPT.match(path):
        held: Mapping[str, Any] = metadata.get(subscript[1]) or {}
        return str(held.get(subscript[2], ""))
    match path:
        case "metadata.labels" | "metadata.annotations":
            return _pairs(metadata.get(path.partition(".")[2]) or {})
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(metadata.get(path.partition(".")[2], ""))
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(spec.get(path.partition(".")[2], ""))
        case "status.hostIP" | "status.podIP":
            return str(status.get(path.partition(".")[2], ""))
        case "status.hostIPs" | "status.podIPs":
            return ",".join(each["ip"] for each in status.get(path.partition(".")[2]) or ())
    raise KeyError(path)


def resource(pod: Raw, selector: Raw, *, container: str, allocatable: Mapping[str, Any]) -> str:
    """What a container asks for or may use, in units of the divisor, rounded up; raises KeyError for what is unknown.

    Where nothing limits it the pod's own limit counts, and then all that the node has.
    """
    which, _, name = selector["resource"].partition(".")
    if which not in ("limits", "requests") or not name:
        raise KeyError(selector["resource"])
    found = container_of(pod, selector.get("containerName") or container)
    amount = look(found, "resources", which, name)
    if amount is None and which == "limits":
        amount = look(pod, "spec", "resources", which, name)
        amount = allocatable.get(name, 0) if amount is None else amount
    given, divisor = parse(amount or 0), parse(selector.get("divisor") or 0) or Amount(_NANO)
    # Downward values are whole numbers: a pod with 1500m asks for two cores.
    return str(-(-given.nano // divisor.nano)) if given != ZERO else "0"


def _pairs(pairs: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={_quoted(pairs[key])}" for key in sorted(pairs))


def _quoted(value: str) -> str:
    plain = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(plain.get(letter, letter) for letter in value) + '"'
