"""AppArmor profiles in annotations, as they were written before containers had a field for them."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, forbidden, invalid

ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_LOCAL = "localhost/"
_TYPES = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
_KNOWN = ("Localhost", "RuntimeDefault", "Unconfined")
_KINDS = ("initContainers", "containers", "ephemeralContainers")
Part = Mapping[str, Any]


def armored(pod: Raw) -> Raw:
    """A new pod whose containers have the profiles that its annotations give them."""
    given = _given(pod.get("metadata") or {})
    if not given:
        return pod
    spec, made = pod["spec"], {}
    whole = look(spec, "securityContext", "appArmorProfile")
    for kind in _KINDS:
        if spec.get(kind):
            made[kind] = [_with_profile(each, given.get(each.get("name")), whole) for each in spec[kind]]
    return {**pod, "spec": {**spec, **made}}


def armor_causes(metadata: Part, spec: Part, at: str) -> Iterator[Cause]:
    """What is wrong with the profiles in the annotations, which stand at a path, of a pod with this spec."""
    given = _given(metadata)
    if not given:
        return
    names = {each.get("name") for kind in _KINDS for each in spec.get(kind) or ()}
    for name, text in given.items():
        where = f"{at}[{ARMOR}{name}]"
        if name not in names:
            yield invalid(where, name, "container not found")
        if text and text not in _TYPES and not text.startswith(_LOCAL):
            yield invalid(where, text, f'invalid AppArmor profile name: "{text}"')


def match_causes(metadata: Part, spec: Part, at: str) -> Iterator[Cause]:
    """Where annotations and the fields of a pod's spec, which stands at a path, say different things."""
    given = _given(metadata)
    if not given or look(spec, "os", "name") == "windows":
        return
    whole = look(spec, "securityContext", "appArmorProfile")
    for kind in _KINDS:
        for index, container in enumerate(spec.get(kind) or ()):
            text = given.get(container.get("name"))
            own = look(container, "securityContext", "appArmorProfile")
            profile = own if own is not None else whole
            # A profile that only the annotation gives becomes the field's.
            if text is None or profile is None or (own is None and _profile(text)):
                continue
            if profile.get("type") not in _KNOWN:
                continue
            where = f"{at}.{kind}[{index}].securityContext.appArmorProfile"
            if profile.get("type") != ("Localhost" if text.startswith(_LOCAL) else _TYPES.get(text)):
                yield forbidden(f"{where}.type", "apparmor type in annotation and field must match")
            elif text.startswith(_LOCAL) and profile.get("localhostProfile") != text.removeprefix(_LOCAL):
                yield forbidden(f"{where}.localhostProfile", "apparmor profile in annotation and field must match")


def armor_warnings(metadata: Part, spec: Part, at: str) -> Iterator[str]:
    """What to warn of: annotations that say what no field does."""
    given = _given(metadata)
    whole = look(spec, "securityContext", "appArmorProfile")
    for kind in _KINDS if given else ():
        for container in spec.get(kind) or ():
            text = given.get(container.get("name"))
            own = look(container, "securityContext", "appArmorProfile")
            if text is not None and own is None and (whole is None or _profile(text) != whole):
                where = f"{at}[{ARMOR}{container['name']}]"
                yield f'{where}: deprecated since v1.30; use the "appArmorProfile" field instead'


def _given(metadata: Part) -> dict[Any, str]:
    """The profiles by the names of containers."""
    annotations = metadata.get("annotations") or {}
    return {key.removeprefix(ARMOR): text for key, text in annotations.items() if key.startswith(ARMOR)}


def _profile(text: str) -> Raw | None:
    """What an annotation says in the words of the field; None where that has none."""
    if text in _TYPES:
        return {"type": _TYPES[text]}
    name = text.removeprefix(_LOCAL)
    if text.startswith(_LOCAL) and name and name == name.strip():
        return {"type": "Localhost", "localhostProfile": name}
    return None


def _with_profile(container: Raw, text: str | None, whole: Any) -> Raw:
    profile = _profile(text) if text else None
    context = container.get("securityContext") or {}
    if profile is None or profile == whole or context.get("appArmorProfile") is not None:
        return container
    return {**container, "securityContext": {**context, "appArmorProfile": profile}}
