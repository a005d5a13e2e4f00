"""The defaults, unique items and laws of a schema as functions that look only at the fields concerned.

They answer as `structural` does, for values of the right shape and without nulls, many times faster;
but they say whether, not where.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from trainplane.api.meta import Law, Wire
from trainplane.api.schema import LIST_MAP_KEYS, LIST_TYPE, VALIDATIONS, Schema, openapi

Fill = Callable[[Any], Any]
Test = Callable[[Any], bool]


@cache
def filler(type_: type[Wire], *, blank: bool = True) -> Fill:
    """A function that makes of a type's JSON value another with its defaults; what has none is shared.

    Built-in kinds leave out text that is empty: they are filled in without what is `blank`.
    """
    return _filler(openapi(type_), {}, blank=blank) or _unchanged


@cache
def lawful(type_: type[Wire]) -> Test:
    """A function that says whether the JSON value of a type, defaults filled in, keeps all laws and repeats no item."""
    return _lawful(openapi(type_), {}) or _anything


def _unchanged(value: Any) -> Any:
    return value


def _anything(_: Any) -> bool:
    return True


def _filler(schema: Schema, known: dict[int, Fill | None], *, blank: bool) -> Fill | None:
    """The function of one node; None where nothing below it has a default."""
    if id(schema) in known:
        return known[id(schema)]
    properties: Mapping[str, Schema] = schema.get("properties", {})
    defaults = {
        name: child["default"]
        for name, child in properties.items()
        if "default" in child and (blank or child["default"] != "")
    }
    children = [(name, fill) for name, child in properties.items() if (fill := _filler(child, known, blank=blank))]
    others = _filler(schema["additionalProperties"], known, blank=blank) if "additionalProperties" in schema else None
    items = _filler(schema["items"], known, blank=blank) if "items" in schema else None
    known[id(schema)] = found = _fill(defaults, children) if defaults or children else _fill_each(others, items)
    return found


def _fill(defaults: dict[str, Any], children: list[tuple[str, Fill]]) -> Fill:
    named = frozenset(name for name, _ in children)

    def fill(value: dict[str, Any]) -> dict[str, Any]:
        if not defaults and named.isdisjoint(value):
            return value
        filled = {**defaults, **value}
        for name, fill_child in children:
            if name in value:
                filled[name] = fill_child(value[name])
        return filled

    return fill


def _fill_each(others: Fill | None, items: Fill | None) -> Fill | None:
    if others is not None:
        return lambda value: {name: others(item) for name, item in value.items()}
    if items is not None:
        return lambda value: list(map(items, value))
    return None


def _lawful(schema: Schema, known: dict[int, Test | None]) -> Test | None:
    """The function of one node; None where nothing below it has a law or items that must differ."""
    if id(schema) in known:
        return known[id(schema)]
    properties: Mapping[str, Schema] = schema.get("properties", {})
    tests = [_keeps(law) for law in schema.get(VALIDATIONS, ()) if not law.transition]
    children = [(name, test) for name, child in properties.items() if (test := _lawful(child, known))]
    if children:
        tests.append(lambda value: all(test(value[name]) for name, test in children if name in value))
    others = _lawful(schema["additionalProperties"], known) if "additionalProperties" in schema else None
    if others is not None:
        tests.append(lambda value: all(map(others, value.values())))
    items = _lawful(schema["items"], known) if "items" in schema else None
    if items is not None:
        tests.append(lambda value: all(map(items, value)))
    if schema.get(LIST_TYPE) in ("map", "set"):
        tests.append(_all_differ(schema.get(LIST_MAP_KEYS)))
    known[id(schema)] = found = _every(tests)
    return found


def _keeps(law: Law) -> Test:
    def keeps(value: Any) -> bool:
        try:
            return law.holds(value, None)
        except (AttributeError, KeyError, TypeError):
            # As in `structural`: a law has nothing to say of what it does not speak of.
            return True

    return keeps


def _every(tests: list[Test]) -> Test | None:
    if len(tests) <= 1:
        return tests[0] if tests else None
    return lambda value: all(test(value) for test in tests)


def _all_differ(keys: list[str] | None) -> Test:
    if keys is None:
        return lambda value: len(set(value)) == len(value)
    if len(keys) == 1:
        (key,) = keys
        return lambda value: len({item.get(key) for item in value}) == len(value)
    return lambda value: len({tuple([item.get(key) for key in keys]) for item in value}) == len(value)
