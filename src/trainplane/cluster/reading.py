"""Reading what is written to the API: an object out of a body, checked against its path and brought into shape."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from trainplane.api.kinds import Kind, kind_of
from trainplane.api.meta import Raw
from trainplane.api.problem import Path, show
from trainplane.api.raw import as_object
from trainplane.cluster.bodies import Body, unrecognized
from trainplane.cluster.defaults import filled
from trainplane.cluster.errors import BadRequest, Internal
from trainplane.cluster.go_words import json_word
from trainplane.cluster.ground import Call
from trainplane.cluster.options import IGNORE, STRICT
from trainplane.cluster.pod_specs import outline_of, remember, remembered
from trainplane.cluster.refusals import kind_words, unnamed
from trainplane.cluster.resources import resource_of
from trainplane.cluster.restoring import Unlike, restored
from trainplane.cluster.retyping import bad_patch
from trainplane.cluster.shape import Findings, WrongShape, built_in, custom

_HEAD: Raw = dict.fromkeys(("kind", "apiVersion", "metadata"))
"""What every object begins with."""
GO_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
"""Where the API server looks for the kind of what it is sent."""


def qualified(row: Kind) -> str:
    """The kind with its group, as refusals of an object name it: `Job.batch`."""
    return f"{row.kind}.{row.group}" if row.group else row.kind


def typed(body: Body, row: Kind, *, data: bytes | None = None) -> Raw:
    """The object in a body, if it is of the kind that the path is about; raises BadRequest."""
    raw = {} if body.value is None else body.value
    if not isinstance(raw, dict):
        fault = f"json: cannot unmarshal {json_word(raw)} into Go value of type {GO_TYPE_META}"
        raise unrecognized(row.kind, _text(body, data), f"couldn't get version/kind; json parse error: {fault}")
    version, kind = raw.get("apiVersion") or "", raw.get("kind") or ""
    for said in (version, kind):
        if not isinstance(said, str):
            fault = f"json: cannot unmarshal {json_word(said)} into Go struct field .kind of type string"
            raise unrecognized(row.kind, _text(body, data), f"couldn't get version/kind; json parse error: {fault}")
    if resource_of(row).custom:
        if not kind:
            text = _text(body, data).decode(errors="replace")
            raise unrecognized(row.kind, _text(body, data), f"Object 'Kind' is missing in '{text}'")
        if version != row.api_version:
            raise BadRequest(_other_version(version, row))
    elif version.count("/") > 1:
        raise unrecognized(row.kind, _text(body, data), f"unexpected GroupVersion string: {version}")
    elif version != row.api_version and {version, row.api_version} == _EVENTS and row.kind == (kind or row.kind):
        raise BadRequest(_other_version(version, row))
    elif (kind and kind != row.kind) or (version and version != row.api_version):
        raise BadRequest(_mismatch(version or row.api_version, kind or row.kind, row))
    return {**raw, "kind": row.kind, "apiVersion": row.api_version}


def _text(body: Body, data: bytes | None) -> bytes:
    return data if data is not None else orjson.dumps(body.value)


_EVENTS = {"v1", "events.k8s.io/v1"}
"""Both groups that have Events, of which each can be turned into one of the other."""
_ELSEWHERE = (("v1", "List"), ("v1", "PersistentVolume"), ("v1", "PodTemplate"), ("batch/v1", "CronJob"))
"""Kinds that a real API server knows, though they are not served here."""


def _other_version(version: str, row: Kind) -> str:
    return f"the API version in the data ({version}) does not match the expected API version ({row.api_version})"


def _mismatch(version: str, kind: str, row: Kind) -> str:
    short = version.rpartition("/")[2]
    said = f'{kind} in version "{short}" cannot be handled as a {row.kind}: '
    if kind_of(version, kind) is None and (version, kind) not in _ELSEWHERE:
        return f'{said}no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
    group = row.group.partition(".")[0] or "core"
    return f"{said}converting (v1.{kind}) to ({group}.{row.kind}): unknown conversion"


def named(raw: Raw, call: Call) -> Raw:
    """The object with the name and namespace of its path; raises BadRequest where it says others."""
    metadata = as_object(raw.get("metadata"))
    name, namespace = metadata.get("name") or "", metadata.get("namespace") or ""
    if call.name:
        if not name:
            raise unnamed(call.name)
        if name != call.name:
            raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({call.name})")
    return {**raw, "metadata": placed(metadata, call, namespace)}


def placed(metadata: Mapping[str, Any], call: Call, namespace: str) -> Raw:
    """The metadata in the namespace of its path."""
    if namespace and call.namespace and namespace != call.namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    made = dict(metadata)
    made.pop("namespace", None)
    if call.namespace:
        made["namespace"] = call.namespace
    return made


def read(
    raw: Raw, call: Call, repeated: Mapping[int, list[str]] | None = None
) -> tuple[Raw, tuple[str, ...], bytes | None]:
    """A new object in its shape and with its defaults, what to warn of, and the outline of its spec if it is a pod's.

    Raises BadRequest.
    """
    findings = Findings(repeated)
    outline = None if repeated else outline_of(raw, call.row)
    spec = remembered(raw["spec"], outline) if outline else None
    if spec is not None:
        known = {"spec": spec}
        made = filled(_in_shape({**raw, **known}, call, findings, known), call.row, known)
    else:
        made = filled(_in_shape(raw, call, findings), call.row)
        if outline and not findings.strict:
            remember(raw["spec"], outline, made["spec"])
    return made, _warnings(findings, call), outline


def shaped(raw: Raw, call: Call, repeated: Mapping[int, list[str]] | None = None) -> tuple[Raw, tuple[str, ...]]:
    """The object of an update in its shape, and what to warn of; raises BadRequest."""
    findings = Findings(repeated)
    return _in_shape(raw, call, findings), _warnings(findings, call)


def _in_shape(raw: Raw, call: Call, findings: Findings, old: Raw | None = None) -> Raw:
    row = call.row
    try:
        made = custom(raw, row, findings) if resource_of(row).custom else built_in(raw, row, findings, old=old)
    except WrongShape as wrong:
        raise BadRequest(_unhandled(row, str(wrong))) from None
    if findings.strict and call.options.field_validation == STRICT:
        raise BadRequest(_unhandled(row, f"strict decoding error: {', '.join(findings.strict)}"))
    return _whole(made)


def _warnings(findings: Findings, call: Call) -> tuple[str, ...]:
    return () if call.options.field_validation == IGNORE else tuple(findings.strict)


def reshaped(
    raw: Raw, call: Call, patch: Any, *, old: Raw | None = None, twice: Iterable[Path] = (), is_applied: bool = False
) -> tuple[Raw, tuple[str, ...]]:
    """What a patch made of an object in its shape, and what to warn of; raises Invalid.

    `twice` are the fields that the patch gives twice.
    """
    row, findings = call.row, Findings()
    findings.strict += [f'duplicate field "{show(path)}"' for path in twice]
    try:
        shape = custom if resource_of(row).custom else built_in
        made = shape(raw, row, findings, old=old)
    except WrongShape as wrong:
        if is_applied:
            raise Internal(_unconverted(patch, row, _unlike(raw, row) or str(wrong))) from None
        raise bad_patch(patch() if callable(patch) else patch, str(wrong)) from None
    if isinstance(patch, dict) and not is_applied:
        # A strategic merge is read from a map, which has no order.
        findings.strict.sort()
    if findings.strict and call.options.field_validation == STRICT:
        raise bad_patch(patch() if callable(patch) else patch, f"strict decoding error: {', '.join(findings.strict)}")
    return _whole(made), _warnings(findings, call)


def _unlike(raw: Raw, row: Kind) -> str:
    """What is wrong with the values of an applied object in the words of whoever reads them without their text."""
    try:
        restored(raw, row.type)
    except Unlike as wrong:
        return str(wrong)
    return ""


def _unconverted(patch: Raw, row: Kind, fault: str) -> str:
    """What the API server says of an applied object that its types cannot hold."""
    metadata, kind = as_object(patch.get("metadata")), kind_words({"kind": row.kind, "apiVersion": row.api_version})
    place = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
    fault = f"error decoding from json: {fault}" if fault.startswith("illegal base64") else fault
    words = f"failed to convert new object ({place}; {kind}) to proper version"
    return f"{words}: unable to convert unstructured object to {kind}: {fault}"


def _whole(raw: Raw) -> Raw:
    whole = {**_HEAD, **raw}
    return whole if whole["metadata"] else {**whole, "metadata": {}}


def _unhandled(row: Kind, fault: str) -> str:
    return f'{row.kind} in version "{row.version}" cannot be handled as a {row.kind}: {fault}'
