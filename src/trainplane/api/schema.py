"""The OpenAPI and JSON Schemas of the API's types.

`openapi` keeps Law objects where a CRD has CEL rules, so that whoever walks a schema has both forms at hand;
`published` writes them as the API server reads them.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from inspect import get_annotations
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import UnsetType

from trainplane.api.meta import Field, Law, Wire

Schema = dict[str, Any]

VALIDATIONS = "x-kubernetes-validations"
LIST_TYPE = "x-kubernetes-list-type"
LIST_MAP_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
INT_OR_STRING = "x-kubernetes-int-or-string"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
MERGE_KEY = "x-kubernetes-patch-merge-key"
PATCH_STRATEGY = "x-kubernetes-patch-strategy"

_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
}
_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_KEYWORDS = (
    ("description", "description"),
    ("minimum", "minimum"),
    ("maximum", "maximum"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("pattern", "pattern"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("min_properties", "minProperties"),
    ("list_type", LIST_TYPE),
    ("map_type", MAP_TYPE),
    ("merge_key", MERGE_KEY),
    ("patch_strategy", PATCH_STRATEGY),
)
_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_CONSTRAINTS = ("pattern", "minLength", "maxLength", "minItems", "maxItems", "minProperties")


@cache
def openapi(type_: type[Wire]) -> Schema:
    """The OpenAPI schema of a type, with Law objects under `x-kubernetes-validations`.

    Built once and shared, also between the types that contain it: read it, never change it.
    """
    properties: Schema = {}
    required: list[str] = []
    for field in _fields(type_):
        properties[field.encode_name] = _node(field.type)
        if field.required:
            required.append(field.encode_name)
    node: Schema = {"type": "object"}
    if properties:
        node["properties"] = properties
    if required:
        node["required"] = sorted(required)
    about: Field | None = getattr(type_, "SCHEMA", None)
    return _described(node, about) if about else node


def published(schema: Schema) -> Schema:
    """A schema as a CRD holds it: laws as CEL, and without the keys that only strategic merge reads."""
    node: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            node[key] = {name: published(child) for name, child in value.items()}
        elif key in ("items", "additionalProperties"):
            node[key] = published(value)
        elif key == VALIDATIONS:
            node[key] = [{"rule": law.cel, "message": law.message} for law in value]
        elif key not in (MERGE_KEY, PATCH_STRATEGY):
            node[key] = value
    return node


def whole(type_: type[Wire]) -> Schema:
    """The schema of a stored kind as its CRD gives it: metadata is the API server's own to check."""
    schema = published(openapi(type_))
    schema["properties"] = {
        name: {"type": "object"} if name == "metadata" else node for name, node in schema["properties"].items()
    }
    schema["required"] = [name for name in schema.get("required", ()) if name == "spec"]
    if not schema["required"]:
        del schema["required"]
    return schema


def laws_of(schema: Schema) -> tuple[Law, ...]:
    """The laws of one node of an `openapi` schema."""
    found: tuple[Law, ...] = schema.get(VALIDATIONS, ())
    return found


@cache
def strict_json_schema(type_: type[Wire]) -> Schema:
    """A plain JSON Schema that refuses unknown fields and takes nulls as the API server takes them.

    A null counts as nothing said in an object, and is refused in a list.
    Laws, and keys that occur twice in a list, are not in it; `structural` finds those.
    """
    found: dict[type[Wire], Schema] = {}
    waiting = [type_]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found[each], inside = _definition(each)
            waiting += inside
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": f"#/$defs/{_label(type_)}",
        "type": "object",
        "$defs": {_label(each): definition for each, definition in found.items()},
    }


class _Described(NamedTuple):
    """A field of a type: its name on the wire, its annotation, and whether it must be there."""

    encode_name: str
    type: Any
    required: bool


@cache
def _fields(type_: type[Wire]) -> tuple[_Described, ...]:
    """The fields of a type, as msgspec tells them but without evaluating annotations, which takes ten times as long."""
    annotations: dict[str, Any] = {}
    for base in reversed(type_.__mro__):
        annotations |= get_annotations(base)
    given = type_.__struct_defaults__
    defaults = (msgspec.NODEFAULT,) * (len(type_.__struct_fields__) - len(given)) + given
    return tuple(
        _Described(encoded, annotations[name], default is msgspec.NODEFAULT)
        for name, encoded, default in zip(
            type_.__struct_fields__, type_.__struct_encode_fields__, defaults, strict=True
        )
    )


def _node(annotation: Any) -> Schema:
    """The schema of one annotation: a type, with what its Fields add from the inside out."""
    origin = get_origin(annotation)
    if origin is Annotated:
        node = _node(annotation.__origin__)
        for about in annotation.__metadata__:
            if isinstance(about, Field):
                node = _described(node, about)
        return node
    if origin in (Union, UnionType):
        said = [a for a in get_args(annotation) if a not in (UnsetType, type(None))]
        # Unions of scalars have a format, int-or-string or quantity, which replaces this node.
        return _node(said[0]) if len(said) == 1 else {}
    if origin is tuple or origin is list:
        return {"type": "array", "items": _node(get_args(annotation)[0])}
    if origin is not None and issubclass(origin, Mapping):
        value = get_args(annotation)[1]
        if value is Any:
            return {"type": "object", PRESERVE: True}
        return {"type": "object", "additionalProperties": _node(value)}
    if annotation is Any:
        return {PRESERVE: True}
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    return openapi(annotation)


def _described(node: Schema, about: Field) -> Schema:
    """A copy of a node with what `about` says."""
    if about.format in ("int-or-string", "quantity"):
        node = {"anyOf": [{"type": "integer"}, {"type": "string"}], INT_OR_STRING: True}
        if about.format == "quantity":
            node["pattern"] = _QUANTITY
    else:
        node = dict(node)
        if about.format:
            node["format"] = about.format
    for attribute, keyword in _KEYWORDS:
        value = getattr(about, attribute)
        if value is not None and value != "":
            node[keyword] = value
    if not isinstance(about.default, UnsetType):
        node["default"] = about.default
    if about.enum:
        node["enum"] = list(about.enum)
    if about.keys:
        node[LIST_MAP_KEYS] = list(about.keys)
    if about.laws:
        node[VALIDATIONS] = (*node.get(VALIDATIONS, ()), *about.laws)
    return node


@cache
def _definition(type_: type[Wire]) -> tuple[Schema, tuple[type[Wire], ...]]:
    """The strict schema of one type, and the types it refers to."""
    node = openapi(type_)
    inside: list[type[Wire]] = []
    properties, required = {}, []
    for field in _fields(type_):
        name = field.encode_name
        child = node["properties"][name]
        must = field.required and "default" not in child
        properties[name] = _strict(child, field.type, inside, nullable=not must)
        if must:
            required.append(name)
    definition: Schema = {"type": ["object", "null"], "additionalProperties": False, "properties": properties}
    if required:
        definition["required"] = required
    return definition, tuple(inside)


def _strict(node: Schema, annotation: Any, inside: list[type[Wire]], *, nullable: bool) -> Schema:
    """The strict form of one node; `annotation` tells which type an object is, and that type is added to `inside`."""
    held = bare(annotation)
    strict: Schema = {key: node[key] for key in _CONSTRAINTS if key in node}
    kind = ["integer", "string"] if INT_OR_STRING in node else node.get("type")
    if kind is not None:
        strict["type"] = _types(kind, nullable=nullable)
    if isinstance(held, type) and issubclass(held, Wire):
        inside.append(held)
        strict["$ref"] = f"#/$defs/{_label(held)}"
    elif "items" in node:
        strict["items"] = _strict(node["items"], get_args(held)[0], inside, nullable=False)
    elif "additionalProperties" in node:
        strict["additionalProperties"] = _strict(node["additionalProperties"], get_args(held)[1], inside, nullable=True)
    if "enum" in node:
        strict["enum"] = [*node["enum"], None] if nullable else node["enum"]
    low, high = _RANGES.get(node.get("format", ""), (None, None))
    low, high = node.get("minimum", low), node.get("maximum", high)
    strict |= {"minimum": low} if low is not None else {}
    strict |= {"maximum": high} if high is not None else {}
    if node.get("format") == "date-time":
        strict["format"] = "date-time"
    return strict


def _label(type_: type[Wire]) -> str:
    # Two modules may use one name, as batch and jobset do for their success policies.
    return f"{type_.__module__.rpartition('.')[2]}.{type_.__name__}"


def _types(kind: str | list[str], *, nullable: bool) -> str | list[str]:
    if not nullable:
        return kind
    return [*kind, "null"] if isinstance(kind, list) else [kind, "null"]


def bare(annotation: Any) -> Any:
    """The type inside Annotated and unions with UNSET."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return bare(annotation.__origin__)
    if origin in (Union, UnionType):
        said = [a for a in get_args(annotation) if a not in (UnsetType, type(None))]
        return bare(said[0]) if len(said) == 1 else annotation
    return annotation
