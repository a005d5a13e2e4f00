"""Outlines of pods' specs: their JSON less what only tells apart the pods of a set, so that much is worked out once.

The pods of a Job are alike but for the values of their variables, their hostname, and the name that chance gave to the
volume of their token; those of many jobs are alike but for their subdomain too. Whatever looks at none of these comes
out alike for all specs that have one outline.
"""

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, TypeGuard

import orjson

from trainplane.api.meta import Raw
from trainplane.cluster.causes import Cause
from trainplane.cluster.memo import Memo
from trainplane.cluster.names import SUFFIX_CHARACTERS, is_label
from trainplane.cluster.pod_accounts import VOLUME_PREFIX

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
HOST_NAMES = ("hostname", "subdomain")
"""What a pod is called by others, of which an outline says no more than that it is there."""
_LONGEST = 1 << 14
_NAME, _VALUE = itemgetter("name"), itemgetter("value")
_DICT, _STR, _TWO = {dict}, {str}, {2}
_AS_SENT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
# No JSON has it, so that nothing that somebody sends can look like an outline.
_MARK = b"~"
_MARKED = orjson.Fragment(_MARK)
_LETTERS = frozenset(SUFFIX_CHARACTERS)
_TOKEN = len(VOLUME_PREFIX) + 5


def outline(spec: Raw) -> bytes | None:
    """The outline of a pod's spec; None where it has none, being too long or of a shape that no spec has."""
    bare = dict(spec)
    for kind in CONTAINERS:
        containers = spec.get(kind)
        if not containers:
            continue
        if containers.__class__ is not list or set(map(type, containers)) != _DICT:
            return None
        bare[kind] = [_without_values(each) for each in containers]
    for name in HOST_NAMES:
        text = spec.get(name)
        if text and text.__class__ is str:
            bare[name] = _MARKED
    try:
        whole = orjson.dumps(bare, option=_AS_SENT)
    except orjson.JSONEncodeError:
        return None
    return whole if len(whole) <= _LONGEST else None


def placed_outline(spec: Raw) -> bytes | None:
    """The outline of the spec of a pod that was admitted: whatever name its token's volume was given."""
    text = outline(spec)
    for volume in spec.get("volumes") or ():
        name = volume.get("name") or ""
        if text and len(name) == _TOKEN and name.startswith(VOLUME_PREFIX) and _LETTERS.issuperset(name[-5:]):
            return text.replace(name.encode(), _MARK)
    return text


def _without_values(container: Raw) -> Raw:
    env = container.get("env")
    if not has_variables(env):
        return container
    return {**container, "env": orjson.Fragment(_MARK + orjson.dumps(names_in(env), option=_AS_SENT))}


_GOOD: Memo[bool] = Memo(256)
"""The outlines of specs with which nothing was wrong."""


def judged(spec: Raw, causes: Callable[[], Iterable[Cause]]) -> Iterable[Cause]:
    """What is wrong with a spec, as `causes` finds it; nothing, where one with its outline was right."""
    text = placed_outline(spec)
    if text and _GOOD.get(text) and all(is_label(spec.get(name) or "a") for name in HOST_NAMES):
        return ()
    found = list(causes())
    if text and not found:
        _GOOD.put(text, True)
    return found


def has_variables(env: Any) -> TypeGuard[list[Raw]]:
    """Whether that is a list of objects, as an outline takes it apart."""
    return bool(env) and env.__class__ is list and set(map(type, env)) == _DICT


def names_in(env: list[Raw]) -> list[Any]:
    """The variables in order: by their names alone where they have a name, a value and nothing else."""
    if set(map(len, env)) == _TWO:
        try:
            names, values = list(map(_NAME, env)), list(map(_VALUE, env))
        except KeyError:
            return [_name(each) for each in env]
        if set(map(type, names)) == set(map(type, values)) == _STR and all(values):
            return names
    return [_name(each) for each in env]


def _name(variable: Raw) -> Any:
    name, value = variable.get("name"), variable.get("value")
    is_plain = len(variable) == 2 and name.__class__ is str and value.__class__ is str and value
    return name if is_plain else variable
