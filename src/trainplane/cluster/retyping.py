"""The kind of what a patch made of an object: whether it is still the one that the path is about.

A strategic merge is read into the kind's own struct and cannot change it. What another patch made is read as a text,
by the apiVersion and kind that stand in it then.
"""

from typing import Any

from trainplane.api.kinds import kind_of
from trainplane.api.meta import Raw
from trainplane.api.raw import as_object
from trainplane.cluster.causes import invalid
from trainplane.cluster.errors import BadRequest, InternalError, Invalid
from trainplane.cluster.go_words import go, json_word
from trainplane.cluster.ground import Call
from trainplane.cluster.options import IGNORE, STRICT
from trainplane.cluster.refusals import kind_words, unnamed
from trainplane.cluster.resources import resource_of


def retyped(raw: Raw, call: Call, patch: Any) -> Raw:
    """What a patch made of an object, if it is still of its kind; raises Invalid, BadRequest or Internal."""
    row = call.asked
    kind, version = raw.get("kind"), raw.get("apiVersion")
    if kind == row.kind and version == row.api_version:
        return raw
    text = patch() if callable(patch) else patch
    if isinstance(text, str):
        _check_words(raw, text)
        if resource_of(row).custom:
            _check_custom(raw, call, text)
        else:
            _check_built_in(raw, call, text)
    return {**raw, "kind": row.kind, "apiVersion": row.api_version}


def bad_patch(patch: Any, fault: str) -> Invalid:
    """The refusal of what a patch made; the API server names neither kind nor object there."""
    return Invalid.of("", "", [invalid("patch", patch if isinstance(patch, str) else go(patch), fault)])


def _check_words(raw: Raw, text: str) -> None:
    for name in ("apiVersion", "kind"):
        said = raw.get(name)
        if not isinstance(said, str | None):
            fault = f"json: cannot unmarshal {json_word(said)} into Go struct field .{name} of type string"
            raise bad_patch(text, f"couldn't get version/kind; json parse error: {fault}")
    if (raw.get("apiVersion") or "").count("/") > 1:
        raise bad_patch(text, f"unexpected GroupVersion string: {raw['apiVersion']}")


def _check_custom(raw: Raw, call: Call, text: str) -> None:
    row, kind = call.asked, raw.get("kind")
    if not kind:
        raise bad_patch(text, f"Object 'Kind' is missing in '{text}'")
    if "apiVersion" in raw and raw["apiVersion"] is None:
        raise bad_patch(text, ".apiVersion accessor error: <nil> is of the type <nil>, expected string")
    group, version = _group_and_version(raw)
    if not version:
        words = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
        raise InternalError(f"Internal error occurred: {words}", details={"causes": [{"message": words}]})
    said = f"{group}/{version}" if group else version
    name, qualified = as_object(raw.get("metadata")).get("name") or "", f"{kind}.{group}" if group else kind
    causes = [invalid("kind", kind, f"must be {row.kind}")] if kind != row.kind else []
    causes += [invalid("apiVersion", said, f"must be {row.api_version}")] if said != row.api_version else []
    if causes:
        refusal = Invalid.of(qualified, name, causes)
        if kind == row.kind and group == row.group and call.options.field_validation != IGNORE:
            # A version that there is not has no schema, and so no fields.
            refusal.warnings = _unknown(raw, "metadata")
        raise refusal


def _check_built_in(raw: Raw, call: Call, text: str) -> None:
    """Refuse what is not of the kind; one that is left out is taken for it."""
    row = call.asked
    group, version = _group_and_version(raw)
    kind = raw.get("kind") or row.kind
    if not group and not version:
        # Read as nothing that there is: no field of it is known, its name neither.
        unknown = _unknown(raw)
        if call.options.field_validation == STRICT:
            raise bad_patch(text, f"strict decoding error: {', '.join(unknown)}")
        refusal = unnamed(call.name)
        refusal.warnings = () if call.options.field_validation == IGNORE else unknown
        raise refusal
    if not version:
        raise bad_patch(text, f"Object 'apiVersion' is missing in '{text}'")
    said = f"{group}/{version}" if group else version
    if kind_of(said, kind) is None:
        words = f'no kind "{kind}" is registered for version "{said}" in scheme "pkg/runtime/scheme.go:111"'
        raise bad_patch(text, words)
    if kind != row.kind:
        raise BadRequest(f"invalid object type: {kind_words(raw)}")


def _unknown(raw: Raw, *known: str) -> tuple[str, ...]:
    names = sorted(name for name in raw if name not in ("apiVersion", "kind", *known))
    return tuple(f'unknown field "{name}"' for name in names)


def _group_and_version(raw: Raw) -> tuple[str, str]:
    group, _, version = (raw.get("apiVersion") or "").rpartition("/")
    return group, version
