"""What a patch makes of an object, and what the API server says where it cannot."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson

from trainplane.api import jsonpatch
from trainplane.api.merge import Fault, PatchError, merge_patch, strategic_merge
from trainplane.api.meta import Raw
from trainplane.api.schema import Schema
from trainplane.cluster.causes import invalid
from trainplane.cluster.errors import BadRequest, Internal, Invalid
from trainplane.cluster.go_words import go, json_word
from trainplane.cluster.wire import JSON_PATCH, MERGE_PATCH

MAX_OPERATIONS = 10_000


def patched(old: Raw, form: str, patch: Any, *, schema: Schema) -> tuple[Raw, Any]:
    """The patched object, and what a refusal shows as the patch, or what makes that."""
    if form == JSON_PATCH:
        made = _by_operations(old, patch)
        return made, partial(_text, made)
    if form == MERGE_PATCH:
        if patch is None:
            raise BadRequest("Invalid JSON Patch")
        if not isinstance(patch, dict):
            words = f"json: cannot unmarshal {json_word(patch)} into Go value of type map[string]interface {{}}"
            raise BadRequest(f"error decoding patch: {words}")
        made = merge_patch(old, patch)
        return made, partial(_text, made)
    return _strategic(old, patch, schema), patch


def _text(raw: Raw) -> str:
    return orjson.dumps(raw, option=orjson.OPT_SORT_KEYS).decode()


def _by_operations(old: Raw, patch: Any) -> Raw:
    if not isinstance(patch, list):
        word = json_word(patch)
        raise BadRequest(
            f"error decoding patch: json: cannot unmarshal {word} into Go value of type []handlers.jsonPatchOp"
        )
    if len(patch) > MAX_OPERATIONS:
        raise BadRequest(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}")
    try:
        made = jsonpatch.apply(old, patch, lenient=True)
    except PatchError:
        raise Invalid.patch() from None
    if not isinstance(made, dict):
        raise Invalid.patch()
    return made


def _strategic(old: Raw, patch: Any, schema: Schema) -> Raw:
    if not isinstance(patch, dict):
        word = json_word(patch)
        raise BadRequest(f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}")
    try:
        made = strategic_merge(old, patch, schema)
    except PatchError as error:
        raise _refusal(error, patch) from None
    if wrong := _unlike(patch, schema):
        raise Invalid.of("", "", [invalid("patch", go(patch), wrong)])
    return made


def _refusal(error: PatchError, patch: Raw) -> Exception:
    if error.fault is Fault.RETAIN_KEYS:
        return BadRequest("invalid patch format of retainKeys")
    if error.fault is Fault.TYPE:
        return Invalid.of("", "", [invalid("patch", go(patch), error.what)])
    path = error.path[:-1] if error.path[-1:] == ("$patch",) else error.path
    inner = _look(patch, path)
    if error.fault is Fault.DIRECTIVE and isinstance(inner, Mapping):
        return Internal(f"unknown patch type: {inner.get('$patch')} in map: {go(inner)}")
    if error.fault is Fault.MERGE_KEY and isinstance(inner, Mapping):
        return Internal(f"map: {go(inner)} does not contain declared merge key: {_key_in(error)}")
    return Internal(error.what)


def _key_in(error: PatchError) -> str:
    words = error.what.replace("`", " ").split()
    return words[-1] if words else "name"


def _look(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
    return value


def _unlike(value: Any, schema: Schema) -> str:
    """What keeps a value from being read into its field, in the words of the reader of strategic merges; or ""."""
    kind = schema.get("type")
    if isinstance(value, dict):
        if kind not in (None, "object"):
            return f"cannot restore {'slice' if kind == 'array' else kind} from map"
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, item in value.items():
            # Directives such as $retainKeys are no fields.
            child = None if name.startswith("$") else properties.get(name, others)
            if child is not None and item is not None and (wrong := _unlike(item, child)):
                return wrong
    elif isinstance(value, list):
        if kind not in (None, "array"):
            return f"cannot restore {'map' if 'additionalProperties' in schema else 'struct'} from slice"
        for item in value:
            if wrong := _unlike(item, schema.get("items", {})):
                return wrong
    elif kind == "string" and not isinstance(value, str | None):
        return f"cannot convert {'bool' if isinstance(value, bool) else 'int64'} to string"
    return ""
