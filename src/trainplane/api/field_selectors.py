"""Field selectors such as `metadata.name=a,status.phase!=Running`: parse, match and print."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from trainplane.api.problem import did_you_mean
from trainplane.api.selectors import SelectorError

_TERM: Final = re.compile(r"(?:\\.|[^,\\]|\\\Z)*", re.DOTALL)
_PARTS: Final = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([\\,=])")
_BAD_ESCAPE: Final = re.compile(r"\\(?![\\,=])(.?)", re.DOTALL)


class FieldTerm(msgspec.Struct, frozen=True):
    """One comparison of a field with a text."""

    field: str
    value: str
    equal: bool = True

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object's field has this text, or has another where the term says `!=`; absent counts as empty."""
        return (field_text(obj, self.field) == self.value) is self.equal

    def __str__(self) -> str:
        """The term with its value escaped."""
        return f"{self.field}{'=' if self.equal else '!='}" + re.sub(r"([\\,=])", r"\\\1", self.value)


class FieldQuery(msgspec.Struct, frozen=True):
    """What a field selector means: all its terms hold. None of them selects everything."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object is selected."""
        return all(term.matches(obj) for term in self.terms)

    def only(self, known: Collection[str]) -> "FieldQuery":
        """The same query, if it asks for known fields only; else SelectorError, as a server refuses it."""
        for term in self.terms:
            if term.field not in known:
                near = did_you_mean(term.field, known)
                todo = f"did you mean {near}?" if near else f"use {', '.join(sorted(known))}"
                raise SelectorError(f"field label not supported: {term.field[:80]}", todo)
        return self

    def __str__(self) -> str:
        """The selector in the form of the `fieldSelector` parameter; parsing it gives the same query."""
        return ",".join(map(str, self.terms))


@lru_cache(maxsize=1024)
def parse_fields(text: str) -> FieldQuery:
    """Read a field selector; a backslash escapes commas, equal signs and itself in values. Raises SelectorError."""
    return FieldQuery(tuple(_parse_term(term) for term in _split(text) if term))


def field_text(obj: Mapping[str, Any], field: str) -> str:
    """The text of a dotted field of a raw object, as selectors compare it: absent is empty, booleans are words."""
    value: Any = obj
    for part in field.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None or isinstance(value, Mapping | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _split(text: str) -> list[str]:
    terms: list[str] = []
    at = 0
    while at <= len(text):
        found = _TERM.match(text, at)
        term = found[0] if found else ""
        terms.append(term)
        at += len(term) + 1
    return terms


def _parse_term(term: str) -> FieldTerm:
    parts = _PARTS.fullmatch(term)
    if parts is None:
        raise SelectorError(f"can't understand '{term[:80]}'", "write field=value or field!=value")
    field, sign, value = parts.groups()
    plain = _ESCAPED.sub("", value)
    if bad := _BAD_ESCAPE.search(plain):
        raise SelectorError(f"invalid escape sequence: \\{bad[1]}", "write \\\\ for a backslash")
    if "=" in plain:
        raise SelectorError(f"unescaped character in value: = in '{value[:80]}'", "write \\= for an equal sign")
    return FieldTerm(field, _ESCAPED.sub(r"\1", value), sign != "!=")
