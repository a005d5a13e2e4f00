"""JSON patch (RFC 6902): operations on JSON pointers, strictly as the RFC says or as leniently as a real API server.

Leniently, as recorded from kube-apiserver 1.36: `replace` and `copy` of a missing member work, a pointer without a
leading `/` loses its first part, a missing value is null, a missing member passes a test against null, list positions
may be negative or written `+1` or `01`, and only `replace` can reach the whole document.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from trainplane.api.merge import Fault, PatchError, same

_STRICT_INDEX = re.compile(r"0|[1-9][0-9]*")
_LENIENT_INDEX = re.compile(r"[+-]?[0-9]+")
_LONGEST_INDEX = 18
MAX_COPIED = 3 * 1024 * 1024
"""The characters that all copies of a patch may come to: each can double a document, and there may be many."""


def apply(document: Any, operations: Any, *, lenient: bool = False) -> Any:
    """Apply a JSON patch, all of it or nothing; the arguments stay as they are. Raises PatchError."""
    if not isinstance(operations, list):
        raise PatchError(Fault.TYPE, (), "a JSON patch is a list of operations", "wrap the operation in [ ]")
    copied = 0
    for i, operation in enumerate(operations):
        if not isinstance(operation, Mapping):
            raise PatchError(Fault.TYPE, (i,), "an operation is a map", 'write {"op": "add", "path": "/a", "value": 1}')
        step = _Operation(i, operation, lenient)
        document = step.on(document)
        copied += step.copied
        if copied > MAX_COPIED:
            raise PatchError(Fault.OPERATION, (i,), "what is copied becomes too large", "copy less of the object")
    return document


def escape(key: str) -> str:
    """The key as one part of a JSON pointer: `a/b` as `a~1b`."""
    return key.replace("~", "~0").replace("/", "~1")


def pointer(path: tuple[str | int, ...]) -> str:
    """The JSON pointer of a path."""
    return "".join(f"/{escape(str(step))}" for step in path)


class _Operation:
    """One operation of a patch, at its place in it."""

    def __init__(self, at: int, raw: Mapping[str, Any], lenient: bool) -> None:
        self.at = at
        self.raw = raw
        self.lenient = lenient
        self.copied = 0
        """About how many characters it adds by copying."""

    def on(self, document: Any) -> Any:
        """The document after this operation."""
        match self.raw.get("op"):
            case "add":
                return self._put(document, self._parts("path"), self._value())
            case "remove":
                return self._take(document, self._parts("path"))
            case "replace":
                return self._replace(document, self._parts("path"), self._value())
            case "move":
                source, target = self._parts("from"), self._parts("path")
                if len(target) > len(source) and target[: len(source)] == source:
                    raise self._fault(Fault.POINTER, "nothing can move into itself", "choose another path")
                value = self._get(document, source)
                return self._put(self._take(document, source), target, value)
            case "copy":
                value = self._get(document, self._parts("from"), or_null=self.lenient)
                self.copied = _size(value)
                return self._put(document, self._parts("path"), value)
            case "test":
                self._test(document)
                return document
            case other:
                known = "use add, remove, replace, move, copy or test"
                raise self._fault(Fault.OPERATION, f"unknown op {other!r}" if other else "the op is missing", known)

    def _test(self, document: Any) -> None:
        parts, expected = self._parts("path"), self._value()
        actual = self._get(document, parts, or_null=self.lenient)
        # The RFC compares numbers by value; the real server compares their text.
        if not (same if self.lenient else _equal)(actual, expected):
            raise self._fault(Fault.TEST, "the value is not what the test expects", "read the object again and retry")

    def _value(self) -> Any:
        if "value" not in self.raw and not self.lenient:
            raise self._fault(Fault.OPERATION, "the value is missing", "give a value; null is one")
        return self.raw.get("value")

    def _parts(self, field: str) -> list[str]:
        text = self.raw.get(field)
        if not isinstance(text, str):
            raise self._fault(Fault.POINTER, f"{field} must be a JSON pointer", "write it such as /metadata/labels/a")
        first, *parts = text.split("/")
        if self.lenient:
            whole = text == "" and self.raw["op"] == "replace"
            if not parts and not whole:
                raise self._fault(Fault.POINTER, f"{text!r} names no member", "write it such as /metadata/labels/a")
            return [_unescape(part) for part in parts]
        if first:
            raise self._fault(Fault.POINTER, f"{text!r} does not begin with /", f"write /{text}")
        if re.search(r"~(?![01])", text):
            raise self._fault(Fault.POINTER, f"{text!r} has a ~ that escapes nothing", "write ~0 for ~ and ~1 for /")
        return [_unescape(part) for part in parts]

    def _get(self, document: Any, parts: list[str], *, or_null: bool = False) -> Any:
        for i, part in enumerate(parts):
            document = self._child(document, part, parts[:i], or_null=or_null and i == len(parts) - 1)
        return document

    def _child(self, parent: Any, part: str, above: list[str], *, or_null: bool = False) -> Any:
        if isinstance(parent, Mapping):
            if part in parent:
                return parent[part]
            if or_null:
                return None
            raise self._fault(Fault.POINTER, f"{_shown(above)} has no {part!r}", "correct the path, or add it first")
        if isinstance(parent, list):
            return parent[self._index(part, len(parent), above)]
        raise self._fault(Fault.POINTER, f"{_shown(above)} is neither a map nor a list", "end the path there")

    def _put(self, document: Any, parts: list[str], value: Any) -> Any:
        def put(parent: Any, part: str) -> Any:
            if isinstance(parent, Mapping):
                return {**parent, part: value}
            at = len(parent) if part == "-" else self._index(part, len(parent) + 1, parts[:-1])
            return [*parent[:at], value, *parent[at:]]

        return self._change(document, parts, put) if parts else value

    def _replace(self, document: Any, parts: list[str], value: Any) -> Any:
        def replace(parent: Any, part: str) -> Any:
            if isinstance(parent, Mapping):
                if part not in parent and not self.lenient:
                    self._child(parent, part, parts[:-1])
                return {**parent, part: value}
            at = self._index(part, len(parent), parts[:-1])
            return [*parent[:at], value, *parent[at + 1 :]]

        return self._change(document, parts, replace) if parts else value

    def _take(self, document: Any, parts: list[str]) -> Any:
        def take(parent: Any, part: str) -> Any:
            if isinstance(parent, Mapping):
                self._child(parent, part, parts[:-1])
                return {key: value for key, value in parent.items() if key != part}
            at = self._index(part, len(parent), parts[:-1])
            return [*parent[:at], *parent[at + 1 :]]

        return self._change(document, parts, take) if parts else None

    def _change(self, document: Any, parts: list[str], change: Callable[[Any, str], Any]) -> Any:
        """The document with the parent of the last part changed, and every map and list on the way to it made anew."""
        way: list[Any] = [document]
        for i, part in enumerate(parts[:-1]):
            way.append(self._child(way[-1], part, parts[:i]))
        if not isinstance(way[-1], Mapping | list):
            self._child(way[-1], parts[-1], parts[:-1])
        result = change(way.pop(), parts[-1])
        for part, parent in zip(reversed(parts[:-1]), reversed(way), strict=True):
            if isinstance(parent, Mapping):
                result = {**parent, part: result}
            else:
                at = self._index(part, len(parent), [])
                result = [*parent[:at], result, *parent[at + 1 :]]
        return result

    def _index(self, part: str, size: int, above: list[str]) -> int:
        shape = _LENIENT_INDEX if self.lenient else _STRICT_INDEX
        if not shape.fullmatch(part) or len(part) > _LONGEST_INDEX:
            raise self._fault(
                Fault.POINTER, f"{part!r} is no position in the list {_shown(above)}", "use 0 to the length less one"
            )
        at = int(part)
        at += size if at < 0 else 0
        if not 0 <= at < size:
            raise self._fault(Fault.POINTER, f"the list {_shown(above)} has no position {part}", "use a smaller one")
        return at

    def _fault(self, fault: Fault, what: str, todo: str) -> PatchError:
        name = f"{self.raw.get('op') or 'operation'} {self.raw.get('path') or ''}".strip()
        return PatchError(fault, (self.at,), f"{name}: {what}", todo)


def _size(value: Any) -> int:
    """About how many characters a value has as JSON; what is too large to copy is not looked at to its end."""
    size, left = 0, [value]
    while left and size <= MAX_COPIED:
        match left.pop():
            case dict() as items:
                size += sum(map(len, items))
                left += items.values()
            case list() as items:
                left += items
            case str() as text:
                size += len(text)
        size += 2
    return size


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _shown(parts: list[str]) -> str:
    return pointer(tuple(parts)) or "the document"


def _equal(a: Any, b: Any) -> bool:
    """Equality of JSON values as the RFC has it: numbers by value, `true` never 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b)
