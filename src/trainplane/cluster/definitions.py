"""The API's types as OpenAPI definitions that refer to each other by name."""

import inspect
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, get_args

import msgspec

from trainplane.api.documents import parse
from trainplane.api.meta import Wire
from trainplane.api.schema import INT_OR_STRING, VALIDATIONS, Schema, bare, openapi

COMPONENTS = "#/components/schemas/"
"""Where OpenAPI v3 keeps its definitions."""
DEFINITIONS = "#/definitions/"
"""Where OpenAPI v2 keeps its definitions."""

QUANTITY = "dev.trainplane.Quantity"
INT_OR_STRING_NAME = "dev.trainplane.IntOrString"
_UNIONS: dict[str, Schema] = {
    QUANTITY: {
        "description": "An amount with an optional suffix, such as 500m, 4 or 16Gi.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    INT_OR_STRING_NAME: {
        "description": "A whole number, or a text.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}
_UNIONS_V2: dict[str, Schema] = {
    QUANTITY: {"description": _UNIONS[QUANTITY]["description"], "type": "string"},
    INT_OR_STRING_NAME: {
        "description": _UNIONS[INT_OR_STRING_NAME]["description"],
        "type": "string",
        "format": "int-or-string",
    },
}

EVERY_OBJECT = {
    "apiVersion": "The API group and version that the object is written in.",
    "kind": "What the object is.",
    "metadata": "Its name, labels and other facts that every object has.",
}


def name_of(type_: type[Wire]) -> str:
    """The name of a type's definition; kubectl shows what follows the last dot."""
    return f"dev.trainplane.{type_.__module__.rpartition('.')[2]}.{type_.__name__}"


def definitions(types: Iterable[type[Wire]], *, root: str = COMPONENTS) -> dict[str, Schema]:
    """The definitions of these types and of all types inside them, by name and in the form that `root` stands for."""
    found: dict[str, Schema] = {}
    waiting = list(types)
    while waiting:
        type_ = waiting.pop()
        if name_of(type_) not in found:
            found[name_of(type_)] = _definition(type_, root, waiting)
    found |= _UNIONS if root == COMPONENTS else _UNIONS_V2
    return dict(sorted(found.items()))


def reference(name: str, root: str) -> Schema:
    """A reference to a definition."""
    return {"$ref": root + name}


def _definition(type_: type[Wire], root: str, inside: list[type[Wire]]) -> Schema:
    node = openapi(type_)
    said = {key: value for key, value in node.items() if key not in ("properties", "description", VALIDATIONS)}
    properties: Schema = {}
    for field in msgspec.structs.fields(type_):
        name = field.encode_name
        text = _told(type_, name, _about(node["properties"][name], field.type))
        about = {"description": text} if text else {}
        properties[name] = _node(node["properties"][name], field.type, root=root, inside=inside, about=about)
    if properties.keys() >= EVERY_OBJECT.keys():
        # kubectl prints the descriptions of a field and of its type one after the other, and lists a field with its
        # own alone: so fields carry both in one, and only whole objects, which are no fields, have a type's.
        said["description"] = _described(type_)
        for name, text in EVERY_OBJECT.items():
            properties[name] = {**properties[name], "description": text}
    return {**said, **_laws(node), **({"properties": properties} if properties else {})}


def _described(type_: type[Wire]) -> str:
    """What the schema says of a type, or else the first sentence of its own."""
    said: str = openapi(type_).get("description") or (inspect.getdoc(type_) or type_.__name__).partition("\n\n")[0]
    return said


def _told(type_: type[Wire], name: str, said: str) -> str:
    """What is said of a field, or else in the words that are kept beside the types."""
    told = _descriptions()
    return said or told.get(type_.__name__, {}).get(name) or told["*"].get(name, "")


@cache
def _descriptions() -> dict[str, dict[str, str]]:
    text = files("trainplane.cluster").joinpath("descriptions.yaml").read_bytes()
    (document,) = parse(text).documents
    return msgspec.convert(document.value, dict[str, dict[str, str]])


def _about(node: Schema, annotation: Any) -> str:
    """What is said of a field, or else of the type that it holds or holds many of."""
    held = bare(annotation)
    said: str = node.get("description", "")
    if said:
        return said
    if isinstance(held, type) and issubclass(held, Wire):
        return _described(held)
    if "items" in node or "additionalProperties" in node:
        return _about({}, get_args(held)[0 if "items" in node else 1])
    return ""


def _node(node: Schema, annotation: Any, *, root: str, inside: list[type[Wire]], about: Schema | None = None) -> Schema:
    """One node with each type inside it put as a reference; `about` is its description, which items have none of."""
    held = bare(annotation)
    about = about or {}
    if "default" in node:
        about = {**about, "default": node["default"]}
    if isinstance(held, type) and issubclass(held, Wire):
        inside.append(held)
        return _referring(name_of(held), about, root=root)
    if INT_OR_STRING in node:
        return _referring(QUANTITY if "pattern" in node else INT_OR_STRING_NAME, about, root=root)
    dropped = ("properties", "required", "description", VALIDATIONS)
    kept = {key: value for key, value in node.items() if key not in dropped} | about
    if "items" in node:
        kept["items"] = _node(node["items"], get_args(held)[0], root=root, inside=inside)
    if "additionalProperties" in node:
        value = get_args(held)[1]
        kept["additionalProperties"] = _node(node["additionalProperties"], value, root=root, inside=inside)
    return {**kept, **_laws(node)}


def _referring(name: str, about: Schema, *, root: str) -> Schema:
    # In v3 a reference stands alone, so what is said beside it goes around an allOf; v2 lets it stand beside.
    if root == DEFINITIONS or not about:
        return {**about, **reference(name, root)}
    return {**about, "allOf": [reference(name, root)]}


def _laws(node: Schema) -> Schema:
    laws = node.get(VALIDATIONS)
    return {VALIDATIONS: [{"rule": law.cel, "message": law.message} for law in laws]} if laws else {}
