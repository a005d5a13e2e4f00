"""Pods' specs that were read before: their shape and their defaults are not worked out again."""

import orjson

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cluster.memo import Memo
from trainplane.cluster.outlines import CONTAINERS, HOST_NAMES, has_variables, names_in, outline

_KNOWN = 128
_READ: Memo[bytes] = Memo(_KNOWN)
"""By outline, the JSON of the spec that was made of it. It is text, so that nobody can change what is remembered."""


def outline_of(raw: Raw, row: Kind) -> bytes | None:
    """The outline of what is sent as a pod; None where it is not one."""
    spec = raw.get("spec")
    return outline(spec) if row.kind == "Pod" and not row.group and spec.__class__ is dict else None


def remembered(sent: Raw, key: bytes) -> Raw | None:
    """The spec that is made of the one sent, which has this outline; None where none was remembered."""
    text = _READ.get(key)
    if text is None:
        return None
    made: Raw = orjson.loads(text)
    made |= {name: sent[name] for name in HOST_NAMES if name in made}
    for kind in CONTAINERS:
        for container, given in zip(made.get(kind) or (), sent.get(kind) or (), strict=True):
            env = container.get("env")
            if env == 0:
                container["env"] = list(map(dict, given["env"]))
            elif env:
                pairs = zip(env, given["env"], strict=True)
                container["env"] = [dict(there) if here is None else here for here, there in pairs]
    return made


def remember(sent: Raw, key: bytes, made: Raw) -> None:
    """Remember what was made of a spec, with nothing to warn of."""
    kept = dict(made)
    for kind in CONTAINERS:
        if made.get(kind):
            kept[kind] = [_bare(*pair) for pair in zip(made[kind], sent[kind], strict=True)]
    _READ.put(key, orjson.dumps(kept))


def _bare(made: Raw, sent: Raw) -> Raw:
    if not has_variables(sent.get("env")):
        return made
    names = names_in(sent["env"])
    if all(name.__class__ is str for name in names):
        return {**made, "env": 0}
    pairs = zip(names, made["env"], strict=True)
    return {**made, "env": [None if name.__class__ is str else item for name, item in pairs]}
