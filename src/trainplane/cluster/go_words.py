"""Go's words for types and values, which the API server's messages quote."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, get_args

import msgspec

from trainplane.api.meta import Wire
from trainplane.api.problem import Path
from trainplane.api.schema import bare
from trainplane.cluster.go_types import embedded_in, field_type, struct_name, version_of


def go(value: Any, *, typed: bool = False) -> str:
    """A value as Go prints it, plainly or with its types: the API server's messages quote values so."""
    if value is None:
        return "interface {}(nil)" if typed else "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if typed else value
    if isinstance(value, Mapping):
        pairs = [(go(name, typed=typed), go(value[name], typed=typed)) for name in sorted(value)]
        if typed:
            return "map[string]interface {}{" + ", ".join(f"{name}:{item}" for name, item in pairs) + "}"
        return "map[" + " ".join(f"{name}:{item}" for name, item in pairs) + "]"
    if isinstance(value, list):
        items = [go(item, typed=typed) for item in value]
        return "[]interface {}{" + ", ".join(items) + "}" if typed else "[" + " ".join(items) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def json_word(value: Any) -> str:
    """What Go calls a JSON value's type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "object" if isinstance(value, dict) else _list_word(value)


def _list_word(value: Any) -> str:
    return "array" if isinstance(value, list) else "null"


class GoWords(NamedTuple):
    """What Go says of a field that cannot be read."""

    struct: str
    """The struct that holds it."""
    path: str
    """The fields on the way to it, without positions and without keys of maps."""
    type: str
    """The type of what belongs there."""
    is_known: bool = True
    """Whether the struct has such a field."""


def go_words(type_: type[Wire], path: Path) -> GoWords:
    """What Go says of the field at a path."""
    struct, held = type_, type_
    annotation: Any = type_
    names: list[str] = []
    field, known = "", True
    for step in path:
        if isinstance(step, int):
            annotation = get_args(bare(annotation))[0]
        elif isinstance(held, type) and issubclass(held, Wire):
            struct, field = held, step
            fields = {field.encode_name: field.type for field in msgspec.structs.fields(held)}
            annotation, known = fields.get(step, str), step in fields
            names += filter(None, (embedded_in(held, step), step))
        else:
            annotation = get_args(held)[1]
        held = bare(annotation)
    return GoWords(struct_name(struct), ".".join(names), _go_type(annotation, field_type(struct, field)), known)


def _go_type(annotation: Any, named: str = "") -> str:
    """A type in Go's words; `named` is what its values, or those of a list of it, are called there."""
    held = bare(annotation)
    if isinstance(held, type) and issubclass(held, Wire):
        return f"{version_of(held)}.{struct_name(held)}"
    if held is bool:
        return "bool"
    if held is int:
        return "int32" if "int32" in str(annotation) else "int64"
    arguments = get_args(held)
    if arguments and isinstance(arguments[-1], type(...)):
        return f"[]{_go_type(arguments[0], named)}"
    if named:
        return named
    if held is bytes or "byte" in str(annotation):
        return "[]uint8" if len(arguments) != 2 else "map[string][]uint8"
    if held is str or held is datetime:
        return "string"
    if len(arguments) == 2 and arguments[0] is str:
        return f"map[string]{_go_type(arguments[1])}"
    return "int32"
