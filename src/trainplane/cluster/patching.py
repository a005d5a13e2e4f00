"""What a patch makes of an object, and what the API server says where it cannot."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson

from trainplane.api import jsonpatch
from trainplane.api.merge import DELETE_FROM, SET_ORDER, Fault, PatchError, merge_patch, strategic_merge
from trainplane.api.meta import Raw, Wire
from trainplane.api.schema import openapi
from trainplane.cluster.causes import invalid
from trainplane.cluster.errors import BadRequest, Internal, Invalid
from trainplane.cluster.go_words import go, go_words, json_word
from trainplane.cluster.literal_patches import has_directives, shielded, unshielded
from trainplane.cluster.resources import BUILT_IN_GROUPS
from trainplane.cluster.restoring import Unlike, go_kind, restored
from trainplane.cluster.wire import JSON_PATCH, MERGE_PATCH

MAX_OPERATIONS = 10_000


def patched(old: Raw, form: str, patch: Any, *, type_: type[Wire]) -> tuple[Raw, Any]:
    """The patched object, and what a refusal shows as the patch, or what makes that."""
    if form == JSON_PATCH:
        made = _by_operations(old, patch)
        return made, partial(_text, made, _touched(patch), is_built_in=_is_built_in(old))
    if form == MERGE_PATCH:
        if patch is None:
            raise BadRequest("Invalid JSON Patch")
        if not isinstance(patch, dict):
            words = f"json: cannot unmarshal {json_word(patch)} into Go value of type map[string]interface {{}}"
            raise BadRequest(f"error decoding patch: {words}")
        made = merge_patch(old, patch)
        return made, partial(_text, made, patch, is_built_in=_is_built_in(old))
    return (old, patch) if patch is None else (_strategic(old, patch, type_), patch)


def with_status(old: Raw, status: Raw) -> tuple[Raw, Any]:
    """The object with another status, as `patched` makes it of a JSON patch that adds one."""
    made = {**old, "status": status}
    return made, partial(_text, made, {"status": {}}, is_built_in=_is_built_in(old))


_METADATA = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"),
    "managedFields",
)
_ENTRY = ("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource")


def _text(raw: Raw, touched: Mapping[str, Any], *, is_built_in: bool) -> str:
    """The patched object as refusals show it: what the patch touched is sorted, and other metadata is in Go's order."""
    shown = {name: _sorted(item) for name, item in sorted(raw.items())}
    metadata = raw.get("metadata")
    if isinstance(metadata, dict) and is_built_in:
        names = sorted(metadata) if "metadata" in touched else [name for name in _METADATA if name in metadata]
        shown["metadata"] = {name: _sorted(metadata[name]) for name in names}
        entries = metadata.get("managedFields")
        if isinstance(entries, list) and "managedFields" not in (touched.get("metadata") or {}):
            shown["metadata"]["managedFields"] = [
                {name: _sorted(entry[name]) for name in _ENTRY if name in entry} for entry in entries
            ]
    return orjson.dumps(shown).decode()


def _is_built_in(raw: Raw) -> bool:
    group, slash, _ = str(raw.get("apiVersion") or "").partition("/")
    return not slash or group in BUILT_IN_GROUPS


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(item) for name, item in sorted(value.items())}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _touched(patch: list[Any]) -> Raw:
    """The fields that the operations of a JSON patch lead through, as a merge patch would name them."""
    found: Raw = {}
    for operation in patch:
        at = found
        for step in str(operation.get("path")).split("/")[1:]:
            at = at.setdefault(step, {})
    return found


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


def _strategic(old: Raw, patch: Any, type_: type[Wire]) -> Raw:
    if not isinstance(patch, dict):
        word = json_word(patch)
        raise BadRequest(f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}")
    schema = openapi(type_)
    # Without directives what the patch does not name stays the very object that is stored, and is not read again.
    is_plain = not has_directives(patch)
    seen = patch if is_plain else shielded(old, patch, schema)
    if not is_plain:
        _check_lists(seen, type_, ())
    try:
        made = strategic_merge(old, seen, schema)
        made = made if is_plain else unshielded(made)
    except PatchError as error:
        raise _refusal(error, patch) from None
    try:
        return {**made, **restored({name: item for name, item in made.items() if name in patch}, type_)}
    except Unlike as wrong:
        raise Invalid.of("", "", [invalid("patch", go(patch), str(wrong))]) from None


def _check_lists(patch: Mapping[str, Any], type_: type[Wire], path: tuple[str | int, ...]) -> None:
    """Refuse what says how to change lists that there are not; raises BadRequest or Internal."""
    for name, item in patch.items():
        if name == DELETE_FROM.rstrip("/"):
            raise BadRequest("invalid patch format of primitive list")
        if name.startswith(SET_ORDER):
            field = name.removeprefix(SET_ORDER)
            if not go_words(type_, (*path, field)).is_known:
                struct = go_words(type_, (*path, field)).struct
                raise Internal(f'unable to find api field in struct {struct} for the json field "{field}"')
        elif isinstance(item, Mapping):
            _check_lists(item, type_, (*path, name))
        elif isinstance(item, list):
            for index, element in enumerate(item):
                if isinstance(element, Mapping):
                    _check_lists(element, type_, (*path, name, index))


def _refusal(error: PatchError, patch: Raw) -> Exception:
    match error.fault:
        case Fault.RETAIN_KEYS:
            return BadRequest("invalid patch format of retainKeys")
        case Fault.TYPE if error.values:
            return Internal(f"expected a []interface {{}}, but received a {go_kind(error.values[0])}")
        case Fault.TYPE:
            return Invalid.of("", "", [invalid("patch", go(patch), error.what)])
        case Fault.KINDS:
            if any(step for step in error.path if isinstance(step, str) and step.startswith(SET_ORDER)):
                return Internal("value for key 0 is not a map")
            return Internal(f"list element types are not identical: {go(list(error.values))}")
        case Fault.ORDER if len(error.values) == 2:
            added, order = error.values
            words = f"The order in patch list:\n{go(added)}\n doesn't match $setElementOrder list:\n{go(order)}\n"
            return Internal(words)
        case Fault.ORDER:
            return Internal(f"expected a []interface {{}}, but received a {go_kind(error.values[0])}")
    path = error.path[:-1] if error.path[-1:] == ("$patch",) else error.path
    inner = _look(patch, path)
    if error.fault is Fault.DIRECTIVE and isinstance(inner, Mapping):
        if inner.get("$patch") == "merge" and path and isinstance(path[-1], int):
            return Internal("merging lists cannot yet be specified in the patch")
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
