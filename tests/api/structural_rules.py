"""The rules of Kubernetes' structural schemas, by which an API server takes or refuses a CRD's schema."""

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

TYPES = ("object", "array", "string", "integer", "number", "boolean")
SCALARS = ("string", "integer", "number", "boolean")
KNOWN = {
    *("type", "description", "default", "format", "enum", "required", "properties", "items", "additionalProperties"),
    *("minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "minProperties", "anyOf"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-int-or-string"),
    *("x-kubernetes-validations", "x-kubernetes-preserve-unknown-fields"),
}
"""The words our CRDs may use; a CRD knows more, and drops in silence what it does not know."""
PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}


def faults(node: Schema, path: str = "", *, past: bool = True) -> Iterator[str]:
    """What an API server would not take; `past` says whether the value has an old one that rules may look at."""
    yield from (f"{path}: unknown word {word}" for word in node.keys() - KNOWN)
    yield from _type_faults(node, path)
    yield from _list_faults(node, path)
    yield from _value_faults(node, path)
    for rule in node.get("x-kubernetes-validations", ()):
        if "oldSelf" in rule["rule"] and not past:
            yield f"{path}: a rule looks at an old value that cannot be found"
        if not rule["message"] or "\n" in rule["message"]:
            yield f"{path}: a rule needs a message of one line"
    for name, child in node.get("properties", {}).items():
        yield from faults(child, f"{path}.{name}", past=past)
    if "items" in node:
        yield from faults(node["items"], f"{path}[]", past=past and node.get("x-kubernetes-list-type") == "map")
    if "additionalProperties" in node:
        yield from faults(node["additionalProperties"], f"{path}{{}}", past=past)


def _type_faults(node: Schema, path: str) -> Iterator[str]:
    either = node.get("x-kubernetes-int-or-string", False)
    if either:
        if "type" in node:
            yield f"{path}: int-or-string has no type"
        if node.get("anyOf") != [{"type": "integer"}, {"type": "string"}]:
            yield f"{path}: int-or-string is written as anyOf"
    elif node.get("type") not in TYPES and not node.get("x-kubernetes-preserve-unknown-fields"):
        yield f"{path}: no type"
    if "anyOf" in node and not either:
        yield f"{path}: anyOf outside int-or-string"
    if "properties" in node and "additionalProperties" in node:
        yield f"{path}: both properties and additionalProperties"
    if ("properties" in node or "additionalProperties" in node) and node.get("type") != "object":
        yield f"{path}: fields of what is no object"
    if (node.get("type") == "array") != ("items" in node):
        yield f"{path}: an array, and nothing else, has items"
    yield from (f"{path}: requires {name}, which is no field" for name in _required(node) - set(_fields(node)))


def _list_faults(node: Schema, path: str) -> Iterator[str]:
    kind, keys = node.get("x-kubernetes-list-type"), node.get("x-kubernetes-list-map-keys", [])
    if kind is not None and node.get("type") != "array":
        yield f"{path}: a list type on what is no array"
    if "x-kubernetes-map-type" in node and node.get("type") != "object":
        yield f"{path}: a map type on what is no object"
    if bool(keys) != (kind == "map"):
        yield f"{path}: a map list, and no other, has keys"
    for key in keys:
        field = _fields(node["items"]).get(key, {})
        if field.get("type") not in SCALARS and not field.get("x-kubernetes-int-or-string"):
            yield f"{path}: the key {key} is no scalar field of the items"
        if key not in _required(node["items"]) and "default" not in field:
            yield f"{path}: the key {key} is neither required nor defaulted"
    if kind == "set" and node["items"].get("type") not in SCALARS:
        yield f"{path}: a set of what is no scalar"


def _value_faults(node: Schema, path: str) -> Iterator[str]:
    if "pattern" in node:
        if re.search(r"\(\?[=!<]|\\[1-9]", node["pattern"]):
            yield f"{path}: RE2 has no lookaround and no back references"
        re.compile(node["pattern"])
    if "default" not in node:
        return
    value = node["default"]
    expected = PYTHON_TYPES.get(node.get("type", ""), (int, str))
    if not isinstance(value, expected) or (isinstance(value, bool) and node.get("type") != "boolean"):
        yield f"{path}: the default {value!r} has another type"
    elif "enum" in node and value not in node["enum"]:
        yield f"{path}: the default {value!r} is not in the enum"
    elif "minimum" in node and value < node["minimum"]:
        yield f"{path}: the default {value!r} is below the minimum"


def _fields(node: Schema) -> Schema:
    fields: Schema = node.get("properties", {})
    return fields


def _required(node: Schema) -> set[str]:
    return set(node.get("required", ()))
