"""How to write what a field wants, for those who wrote something else."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.problem import Path, did_you_mean
from trainplane.api.schema import INT_OR_STRING, Schema

_WANTS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "fields of its own",
}
_LONGEST = 40


def shown(value: Any) -> str:
    """A value in a sentence, cut short where it is long."""
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _LONGEST else f'"{value[:_LONGEST]}…"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return str(value) if isinstance(value, int | float) else kind_of_value(value)


def kind_of_value(value: Any) -> str:
    """What a value is, with its article."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"


def name_of(path: Path) -> str:
    """The field a path leads to, as one would call it: `numNodes`, `item 2 of args`, `the document`."""
    if not path:
        return "the document"
    if isinstance(path[-1], str):
        return path[-1]
    return f"item {path[-1]} of {name_of(path[:-1])}"


def wrong_type(value: Any, schema: Schema, path: Path) -> tuple[str, str]:
    """What is wrong with a value of the wrong type, and what to write instead."""
    wanted = "quantity" if is_quantity(schema) else "integer or text" if INT_OR_STRING in schema else schema["type"]
    wants = _WANTS.get(wanted, "a quantity" if wanted == "quantity" else "a whole number or text")
    found = f"{shown(value)} is {kind_of_value(value)}" if not isinstance(value, list | Mapping) else None
    if isinstance(value, float) and wanted == "integer":
        return f"{value} is not a whole number", "write one, such as 2"
    if found is None:
        what = f"{name_of(path)} wants {wants}, not {kind_of_value(value)}"
    else:
        what = f"{found}, {name_of(path)} wants {wants}"
    return what, _rewritten(value, wanted)


def is_quantity(schema: Schema) -> bool:
    """Whether a field holds a quantity such as 500m or 16Gi."""
    return INT_OR_STRING in schema and "pattern" in schema


def wrong_quantity(text: str) -> str:
    """What to write instead of a text that is no quantity."""
    bare = text.strip().replace(" ", "")
    for suffix, better in (
        ("GiB", "Gi"),
        ("MiB", "Mi"),
        ("KiB", "Ki"),
        ("TiB", "Ti"),
        ("GB", "G"),
        ("MB", "M"),
        ("TB", "T"),
        ("KB", "k"),
        ("kB", "k"),
        ("K", "k"),
        ("g", "G"),
        ("gi", "Gi"),
        ("mi", "Mi"),
    ):
        figure = bare.removesuffix(suffix)
        if figure != bare and figure.replace(".", "", 1).isdigit():
            binary = f", or {figure}{better[0].upper()}i for powers of 1024" if not better.endswith("i") else ""
            return f"write {figure}{better}{binary}"
    if bare != text and bare:
        return f"write it without spaces: {bare}"
    return "write a number with a suffix such as m, k, M, G, Ki, Mi or Gi: 500m, 16Gi"


def wrong_word(word: Any, allowed: list[Any]) -> str:
    """What to write instead of a word that is not allowed."""
    near = did_you_mean(word, [str(item) for item in allowed]) if isinstance(word, str) else ""
    listed = ", ".join(str(item) for item in allowed)
    return f"did you mean {near}? Allowed: {listed}" if near and len(allowed) > 1 else f"write {_one_of(allowed)}"


def _one_of(allowed: list[Any]) -> str:
    words = [str(item) for item in allowed]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _rewritten(value: Any, wanted: str) -> str:
    """The same value, as the field wants it."""
    if wanted == "array":
        if isinstance(value, Mapping):
            return "begin each item with a dash"
        return f"write it as a list: [{shown(value)}]"
    if wanted == "object":
        return "remove the dash before its fields" if isinstance(value, list) else "write its fields below it, indented"
    if isinstance(value, list | Mapping):
        return "write one value, on the same line"
    if wanted in ("integer", "number"):
        return _as_number(value, whole=wanted == "integer")
    if wanted == "boolean":
        return _as_boolean(value)
    if wanted == "quantity":
        return f'write "{_milli(value)}"' if isinstance(value, float) else "write a quantity such as 500m or 16Gi"
    return f'quote it: "{value if isinstance(value, str) else shown(value)}"'


def _as_number(value: Any, *, whole: bool) -> str:
    if isinstance(value, str):
        bare = value.strip()
        if bare.lstrip("-").isdecimal() or (not whole and bare.replace(".", "", 1).lstrip("-").isdecimal()):
            return "remove the quotes" if bare == value else f"write {bare}"
    return "write a number without quotes, such as 2"


def _as_boolean(value: Any) -> str:
    if isinstance(value, str):
        folded = value.casefold()
        if folded in ("true", "false"):
            return f"write {folded} without quotes"
        if folded in ("yes", "on", "y", "no", "off", "n"):
            return f"write {'true' if folded in ('yes', 'on', 'y') else 'false'}"
    return f"write {'true' if value else 'false'}" if value in (0, 1) else "write true or false"


def _milli(value: float) -> str:
    # 0.5 is 500m.
    thousandths = round(value * 1000)
    return f"{thousandths}m" if thousandths / 1000 == value else repr(value)
