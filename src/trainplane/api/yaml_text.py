"""YAML text to values with marks, read as kubectl reads it: YAML 1.1 with a few words of its own."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

from trainplane.api import rules
from trainplane.api.assemble import MERGE, Assembly, Marks, Noted, TooMuchError
from trainplane.api.broken import Broken, explain_yaml, template
from trainplane.api.problem import Problem
from trainplane.api.scalars import Scalar, resolve, surprise

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")
_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_MAX_RESTARTS = 20
_TAG = "tag:yaml.org,2002:"
_TAGGED: dict[str, Any] = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
_PLAIN_TAGS = frozenset(_TAG + name for name in ("map", "seq", "set", "omap", "pairs"))


def read_yaml(text: str, assembly: Assembly) -> Iterator[Marks]:
    """The documents of a YAML text; what cannot be read is noted, and reading goes on at the next `---`."""
    control = _CONTROL.search(text)
    if control:
        assembly.note(
            rules.NOT_TEXT,
            control.start(),
            f"the character U+{ord(control.group()):04X} is not text",
            todo="remove it; is this the right file?",
        )
        return
    start: int | None = 0
    restarts = 0
    while start is not None:
        reader = _Reader(text, start, assembly)
        yield from reader.documents()
        restarts += 1
        start = reader.resume if restarts < _MAX_RESTARTS else None


class _TemplateError(Exception):
    """The text is a template that nobody has rendered."""


class _Reader:
    """One run of the YAML parser, until the end of the text or the first error."""

    def __init__(self, text: str, start: int, assembly: Assembly) -> None:
        self.text = text
        self.start = start
        self.assembly = assembly
        self.at = start
        self.resume: int | None = None

    def documents(self) -> Iterator[Marks]:
        """The documents up to the first that is broken."""
        # PyYAML takes longer to import than a small file takes to read: only those who meet YAML pay for it.
        import yaml
        from yaml._yaml import CParser

        parser = CParser(self.text[self.start :] if self.start else self.text)
        try:
            yield from self._documents(parser.get_event, yaml)
        except TooMuchError as error:
            self.assembly.notes.append(Noted(Problem(rules.TOO_MUCH, (), error.what, error.todo), self.at))
        except _TemplateError:
            self._broken(template(self.text, self.at), self.at)
        except yaml.MarkedYAMLError as error:
            after = self.start + (error.problem_mark.index if error.problem_mark else 0)
            self._broken(explain_yaml(self.text, error, start=self.start), after)

    def _documents(self, get: Callable[[], Any], yaml: Any) -> Iterator[Marks]:
        assembly, start = self.assembly, self.start
        scalar, mapping, sequence = yaml.ScalarEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent
        ends = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
        while True:
            event = get()
            kind = type(event)
            self.at = at = start + event.start_mark.index
            if kind is scalar:
                if assembly.expects_key:
                    assembly.key(self._key(event), at)
                else:
                    assembly.scalar(self._scalar(event), at, event.anchor)
            elif kind is mapping:
                self._open(event, {})
            elif kind is sequence:
                self._open(event, [])
            elif kind in ends:
                assembly.close()
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                assembly.begin(at)
                self._document_start(event)
            elif kind is yaml.DocumentEndEvent:
                yield assembly.finish()
            elif kind is yaml.StreamEndEvent:
                return

    def _document_start(self, event: Any) -> None:
        if event.version or event.tags:
            self.assembly.note(
                rules.SYNTAX, self.at, "kubectl cannot read lines that begin with %", todo="remove the directive"
            )

    def _open(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        if self.assembly.expects_key:
            if self.text.startswith("{{", self.at - 1):
                raise _TemplateError
            what = f"{'an object' if isinstance(value, dict) else 'a list'} cannot be a key"
            self.assembly.note(rules.NOT_A_VALUE, self.at, what, todo="quote it if it is meant as text")
        if event.tag is not None and event.tag != "!" and event.tag not in _PLAIN_TAGS:
            self._unknown_tag(event.tag)
        self.assembly.open(value, self.at, event.anchor)

    def _alias(self, event: Any) -> None:
        if self.assembly.expects_key:
            self.assembly.note(rules.NOT_A_VALUE, self.at, "an alias cannot be a key", todo="write the key out")
        self.assembly.alias(event.anchor, self.at)

    def _key(self, event: Any) -> Any:
        if event.implicit[0] and event.value == "<<":
            return MERGE
        value = self._scalar(event)
        if type(value) is str:
            return value
        if value is None:
            self.assembly.note(
                rules.NOT_A_VALUE, self.at, "a key is missing before the colon", todo="write a key, or quote it"
            )
            return event.value
        key = ("false", "true")[value] if isinstance(value, bool) else str(value)
        if key != event.value:
            self.assembly.note(
                rules.READ_OTHERWISE,
                self.at,
                f"the key {event.value} is read as {key}",
                todo=f'quote it: "{event.value}"',
            )
        return key

    def _scalar(self, event: Any) -> Scalar:
        text: str = event.value
        if event.tag is not None and event.tag != "!":
            return self._tagged(event.tag, text)
        if event.tag == "!" or not event.implicit[0]:
            return text
        value = resolve(text)
        if type(value) is float or (type(value) is str and text[0] in "0123456789+-."):
            return self._number(text, value)
        return value

    def _number(self, text: str, value: str | float) -> Scalar:
        if isinstance(value, float) and not isfinite(value):
            self.assembly.note(
                rules.NOT_A_VALUE, self.at, f"{text} has no place in an object", todo="write a number, or quote it"
            )
            return text
        what = surprise(text, value)
        if what:
            self.assembly.note(
                rules.READ_OTHERWISE, self.at, what, todo=f'quote it if it is meant as text: "{text[:40]}"'
            )
        return value

    def _tagged(self, tag: str, text: str) -> Scalar:
        name = tag.removeprefix(_TAG)
        if name in ("str", "timestamp"):
            return text
        if name == "binary":
            try:
                return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
            except binascii.Error:
                self.assembly.note(rules.NOT_A_VALUE, self.at, "!!binary wants base64", todo="encode the value")
                return text
        if name not in _TAGGED:
            self._unknown_tag(tag)
            return text
        value = resolve(text)
        if not isinstance(value, _TAGGED[name]) or (isinstance(value, bool) and name != "bool"):
            self.assembly.note(
                rules.NOT_A_VALUE,
                self.at,
                f"{text[:40]!r} is no !!{name}",
                todo="remove the tag, or write such a value",
            )
            return text
        return self._number(text, value) if isinstance(value, float) else value

    def _unknown_tag(self, tag: str) -> None:
        short = tag.replace(_TAG, "!!", 1)[:60]
        self.assembly.note(
            rules.NOT_A_VALUE,
            self.at,
            f"the tag {short} means nothing in a manifest",
            todo="remove the tag, or run the tool that understands it first",
        )

    def _broken(self, broken: Broken, after: int) -> None:
        self.assembly.notes.append(Noted(Problem(broken.rule, (), broken.what, broken.todo), broken.offset))
        separator = _SEPARATOR.search(self.text, max(after, self.at + 1))
        self.resume = separator.start() if separator else None
