"""Selectors of labels and of nodes: parse, match and print, with Kubernetes' grammar and its limits on labels."""

import re
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import msgspec

from trainplane.api.problem import Path, did_you_mean, show

_NAME: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_TOKEN: Final = re.compile(r"==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+")
_SIGNS: Final = frozenset(["==", "!=", *"=!(),<>"])
_MOST: Final = 2**63 - 1


class SelectorError(ValueError):
    """A selector that cannot be used: where (in an object), what is wrong, and what to do."""

    def __init__(self, what: str, todo: str, path: Path = (), *, about: tuple[str, ...] = ()) -> None:
        """`about` is the label that is no label: its key, or its key and value."""
        self.what = what
        self.todo = todo
        self.path = path
        self.about = about
        super().__init__(f"{show(path)}: {what}; {todo}" if path else f"{what}; {todo}")


class Operator(StrEnum):
    """How a requirement compares; the values are the API's words."""

    EQUALS = "="
    NOT_EQUALS = "!="
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GREATER = "Gt"
    LESS = "Lt"


_OF_SIGN: Final = {
    "=": Operator.EQUALS,
    "==": Operator.EQUALS,
    "!=": Operator.NOT_EQUALS,
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    ">": Operator.GREATER,
    "<": Operator.LESS,
}
_LABEL_OPERATORS: Final = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
_NODE_OPERATORS: Final = (*_LABEL_OPERATORS, Operator.GREATER, Operator.LESS)


class Requirement(msgspec.Struct, frozen=True):
    """One thing that a selector asks of a map of strings; values are sorted and told once."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy it; what is absent satisfies `!=` and NotIn."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.EQUALS | Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GREATER | Operator.LESS:
                if value is None or not _is_count(value):
                    return False
                more, bound = int(value), int(self.values[0])
                return more > bound if self.operator is Operator.GREATER else more < bound

    def __str__(self) -> str:
        """The requirement as a label selector writes it."""
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"
            case Operator.GREATER | Operator.LESS:
                return f"{self.key}{'>' if self.operator is Operator.GREATER else '<'}{self.values[0]}"
            case Operator.EQUALS | Operator.NOT_EQUALS:
                return f"{self.key}{self.operator}{self.values[0]}"


class LabelQuery(msgspec.Struct, frozen=True):
    """What a label selector means: all its requirements hold. None of them selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels are selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        """The selector in the form of the `labelSelector` parameter; parsing it gives the same query."""
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = LabelQuery()
NOTHING: Final = LabelQuery((Requirement("none", Operator.DOES_NOT_EXIST), Requirement("none", Operator.EXISTS)))
"""Selects nothing, in words that any server understands: `!none,none`."""


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> LabelQuery:
    """Read a label selector such as `a=b, c!=d, e in (x,y), !f`; raises SelectorError."""
    tokens = _Tokens(_TOKEN.findall(text))
    requirements: list[Requirement] = []
    if tokens.peek() == "":
        return EVERYTHING
    if not tokens.at_requirement():
        raise tokens.unexpected("!, identifier, or 'end of string'", "begin with a label key")
    while True:
        requirements.append(_parse_requirement(tokens))
        if (sign := tokens.take()) == "":
            return LabelQuery(_sorted(requirements))
        if sign != ",":
            raise tokens.unexpected("',' or 'end of string'", "separate requirements with a comma", found=sign)
        if not tokens.at_requirement():
            raise tokens.unexpected("identifier after ','", "remove the comma, or write a requirement after it")


class _Tokens:
    """The words and signs of a selector, read from left to right; "" is the end."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._next = 0

    def peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self._next += 1
        return token

    def at_word(self) -> bool:
        return self.peek() != "" and self.peek() not in _SIGNS

    def at_requirement(self) -> bool:
        return self.at_word() or self.peek() == "!"

    def unexpected(self, expected: str, todo: str, *, found: str | None = None) -> SelectorError:
        token = self.peek() if found is None else found
        return SelectorError(f"found '{_short(token)}', expected: {expected}", todo)


def _parse_requirement(tokens: _Tokens) -> Requirement:
    absent = tokens.peek() == "!"
    if absent:
        tokens.take()
    if not tokens.at_word():
        raise tokens.unexpected("identifier", "write a label key there")
    key = tokens.take()
    if absent:
        return requirement(key, Operator.DOES_NOT_EXIST)
    if tokens.peek() in ("", ","):
        return requirement(key, Operator.EXISTS)
    sign = tokens.take()
    if sign not in _OF_SIGN:
        raise tokens.unexpected("in, notin, =, ==, !=, gt, lt", "write such as a=b, a!=b or a in (b,c)", found=sign)
    operator = _OF_SIGN[sign]
    if operator in (Operator.IN, Operator.NOT_IN):
        return requirement(key, operator, _parse_values(tokens))
    if tokens.peek() in ("", ","):
        return requirement(key, operator, [""])
    if not tokens.at_word():
        raise tokens.unexpected("identifier", f"write one value after {sign}")
    return requirement(key, operator, [tokens.take()])


def _parse_values(tokens: _Tokens) -> list[str]:
    """The values between brackets; nothing before or after a comma is the empty value."""
    if tokens.peek() != "(":
        raise tokens.unexpected("'('", "write the values in brackets: a in (b,c)")
    tokens.take()
    values: list[str] = []
    while True:
        values.append(tokens.take() if tokens.at_word() else "")
        if (sign := tokens.take()) == ")":
            return values
        if sign != ",":
            expected = "',' or ')'" if values != [""] else "',', ')' or identifier"
            raise tokens.unexpected(expected, "separate values with commas and close the bracket", found=sign)


def requirement(key: str, operator: Operator, values: Collection[str] = ()) -> Requirement:
    """A requirement on a label, checked as Kubernetes checks it; raises SelectorError."""
    if fault := label_key_fault(key):
        todo = "write a label key such as app or example.com/app"
        raise SelectorError(f"the key '{_short(key)}' {fault}", todo, about=(key,))
    match operator:
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                raise SelectorError(f"{operator} takes no values", "remove the values, or use In or NotIn")
        case Operator.IN | Operator.NOT_IN:
            if not values:
                raise SelectorError(f"{operator} needs values", "list at least one value, or use Exists")
        case _:
            if len(values) != 1:
                raise SelectorError(f"{operator} takes exactly one value", "give one value")
    for value in values:
        if operator in (Operator.GREATER, Operator.LESS) and not _is_count(value):
            raise SelectorError(f"'{_short(value)}' is not a whole number", f"give {operator} a number such as 3")
        if fault := label_value_fault(value):
            what = f"the value '{_short(value)}' of {key} {fault}"
            raise SelectorError(what, "no label can have it; correct it", about=(key, value))
    return Requirement(key, operator, tuple(sorted(set(values))))


def label_key_fault(key: str) -> str:
    """What is wrong with a label or annotation key; "" when it is a good one."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return "has a prefix that is no lower-case DNS name of at most 253 characters"
    if len(name) > 63 or not _NAME.fullmatch(name):
        return "is not 1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends"
    return ""


def label_value_fault(value: str) -> str:
    """What is wrong with a label value; "" when it is a good one."""
    if value and (len(value) > 63 or not _NAME.fullmatch(value)):
        return "is not at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends"
    return ""


def from_label_selector(selector: Mapping[str, Any] | None) -> LabelQuery:
    """The query of a LabelSelector object: null selects nothing, an empty one everything. Raises SelectorError."""
    if selector is None:
        return NOTHING
    return LabelQuery(_sorted([_good(found) for found in _label_requirements(selector)]))


def label_selector_errors(selector: Mapping[str, Any] | None) -> list[SelectorError]:
    """Everything that is wrong with a LabelSelector object."""
    return [found for found in _label_requirements(selector or {}) if isinstance(found, SelectorError)]


def _label_requirements(selector: Mapping[str, Any]) -> Iterator[Requirement | SelectorError]:
    labels = selector.get("matchLabels") or {}
    if not isinstance(labels, Mapping):
        yield SelectorError("this is not a map", "write label keys and values", ("matchLabels",))
        labels = {}
    for key, value in labels.items():
        yield _checked(("matchLabels", key), key, Operator.EQUALS, [value])
    yield from _expressions(selector, "matchExpressions", _LABEL_OPERATORS)


def _expressions(
    owner: Mapping[str, Any], field: str, allowed: Collection[Operator]
) -> Iterator[Requirement | SelectorError]:
    expressions = owner.get(field) or []
    if not isinstance(expressions, list):
        yield SelectorError("this is not a list", "write a list of key, operator and values", (field,))
        return
    for i, expression in enumerate(expressions):
        if not isinstance(expression, Mapping):
            yield SelectorError("this is not a map", "write key, operator and values", (field, i))
            continue
        word = expression.get("operator")
        if not isinstance(word, str) or word not in allowed:
            near = did_you_mean(str(word), allowed)
            todo = f"did you mean {near}?" if near else f"use {', '.join(allowed)}"
            yield SelectorError(f"unknown operator {word!r}", todo, (field, i, "operator"))
            continue
        yield _checked((field, i), expression.get("key"), Operator(word), expression.get("values") or [])


def _checked(path: Path, key: Any, operator: Operator, values: Any) -> Requirement | SelectorError:
    if not isinstance(key, str) or not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        return SelectorError("keys and values must be strings", 'quote them, such as "1" or "true"', path)
    try:
        return requirement(key, operator, values)
    except SelectorError as error:
        return SelectorError(error.what, error.todo, path)


def _good(found: Requirement | SelectorError) -> Requirement:
    if isinstance(found, SelectorError):
        raise found
    return found


def _sorted(requirements: list[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(set(requirements), key=lambda one: (one.key, one.operator, one.values)))


class NodeTerm(msgspec.Struct, frozen=True):
    """One term of a node selector: all its expressions and fields hold. An empty term matches no node."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the node of this name and these labels is matched."""
        fields = {"metadata.name": name}
        return bool(self.labels or self.fields) and (
            all(one.matches(labels) for one in self.labels) and all(one.matches(fields) for one in self.fields)
        )


class NodeQuery(msgspec.Struct, frozen=True):
    """What a node selector means: at least one of its terms holds."""

    terms: tuple[NodeTerm, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the node of this name and these labels is matched."""
        return any(term.matches(name, labels) for term in self.terms)


def from_node_term(term: Mapping[str, Any]) -> NodeTerm:
    """The meaning of a NodeSelectorTerm, as in preferred affinity; raises SelectorError."""
    if not isinstance(term, Mapping):
        raise SelectorError("this is not a map", "write matchExpressions or matchFields")
    fields = [_good(found) for found in _expressions(term, "matchFields", (Operator.IN, Operator.NOT_IN))]
    for i, one in enumerate(fields):
        if one.key != "metadata.name" or len(one.values) != 1:
            raise SelectorError(
                "only metadata.name with one value can be matched", "match labels instead", ("matchFields", i)
            )
    labels = [_good(found) for found in _expressions(term, "matchExpressions", _NODE_OPERATORS)]
    return NodeTerm(tuple(labels), tuple(fields))


def from_node_selector(selector: Mapping[str, Any] | None) -> NodeQuery:
    """The meaning of a NodeSelector, as in required affinity; without terms it matches none. Raises SelectorError."""
    terms: list[NodeTerm] = []
    given = (selector or {}).get("nodeSelectorTerms") or []
    if not isinstance(given, list):
        raise SelectorError("this is not a list", "write a list of terms", ("nodeSelectorTerms",))
    for i, term in enumerate(given):
        try:
            terms.append(from_node_term(term))
        except SelectorError as error:
            raise SelectorError(error.what, error.todo, ("nodeSelectorTerms", i, *error.path)) from None
    return NodeQuery(tuple(terms))


def _is_count(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 63 and int(value) <= _MOST


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
