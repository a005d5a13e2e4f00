"""What is wrong with a text that cannot be read, and what to do about it."""

import re
from typing import Any

import msgspec

from trainplane.api import rules
from trainplane.api.problem import Rule

_TAB = re.compile(r"[ ]*\t")
_KEY = re.compile(r"\s*(?:- +)*(?:\"[^\"]*\"|'[^']*'|[^\s#\"'\[{][^#\"']*?)\s*:(?:\s|$)")
_COLON_WITHOUT_SPACE = re.compile(r"\s*(?:- +)*[A-Za-z][\w.-]*:(?=[^\s/])")
_TEMPLATE = re.compile(r"\{\{.*\}\}|\{%.*%\}")
_TWO_KEYS = re.compile(r"\s*(?:- +)*[^\s:][^:]*:\s+[^\s\"'\[{|>].*:(?:\s|$)")
_NEAR = 200
"""How many lines are looked at."""
_LONGEST_KEY = 1024


class Broken(msgspec.Struct, frozen=True):
    """The rule a text breaks, where, how, and the remedy."""

    rule: Rule
    offset: int
    what: str
    todo: str


class _Line(msgspec.Struct, frozen=True):
    start: int
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())

    @property
    def first(self) -> int:
        return self.start + self.indent

    @property
    def fields(self) -> int:
        """The column where the fields of its object begin: behind the dash, for an item of a list."""
        return len(self.text) - len(self.text.lstrip(" -")) if self.text.lstrip().startswith("- ") else self.indent


def explain_yaml(text: str, error: Any, *, start: int = 0) -> Broken:
    """Say in plain words why the YAML parser stopped; `start` is where in the text it had begun."""
    at = start + (error.problem_mark.index if error.problem_mark else 0)
    context = start + error.context_mark.index if error.context_mark else at
    line, above = _line(text, at), _above(text, at)
    return (
        _tab(line)
        or _dots(line)
        or (_dots(above) if above else None)
        or _template(line)
        or (_template(above) if above else None)
        or _by_message(text, error.problem or "", at=at, context=context)
    )


def template(text: str, at: int) -> Broken:
    """Say that a text is a template."""
    return _template(_line(text, at)) or Broken(
        rules.SYNTAX, at, "{{ opens a placeholder of a template", "render the template first"
    )


def explain_json(text: str, message: str, at: int) -> Broken:
    """Say in plain words why the JSON parser stopped."""
    here = text[at : at + 1]
    before = text[:at].rstrip()[-1:]
    if "control character" in message:
        return Broken(
            rules.SYNTAX, at, "a text in quotes goes on over the end of its line", "write \\n, or close the quotes"
        )
    if "Unterminated string" in message:
        return Broken(rules.SYNTAX, at, "the quote that opens here is never closed", 'add the closing "')
    if "escape" in message:
        return Broken(rules.SYNTAX, at, "JSON knows no such escape", "write \\\\ for a backslash")
    if not text[at:].strip():
        return Broken(rules.SYNTAX, at, "the text ends before the last bracket is closed", "add the missing } or ]")
    if before == "," and (here in "]}" or "Illegal trailing comma" in message):
        return Broken(rules.SYNTAX, at, "JSON allows no comma before a closing bracket", "remove the comma")
    if here == "'":
        return Broken(rules.SYNTAX, at, "JSON knows no single quotes", 'write "')
    if here in "#/":
        return Broken(rules.SYNTAX, at, "JSON has no comments", "remove it, or write the document as YAML")
    if "Expecting ',' delimiter" in message:
        return Broken(rules.SYNTAX, at, "a comma or a closing bracket is missing before this", "add it")
    if "Expecting ':' delimiter" in message:
        return Broken(rules.SYNTAX, at, "a colon is missing between the key and its value", "add it")
    if "property name" in message:
        return Broken(rules.SYNTAX, at, "a key in double quotes belongs here", "quote the key")
    return Broken(rules.SYNTAX, at, f"no JSON value begins with {here!r}", "write a value; texts need double quotes")


def _line(text: str, at: int) -> _Line:
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return _Line(start, (text[start:] if end < 0 else text[start:end]).rstrip("\r"))


def _above(text: str, at: int) -> _Line | None:
    """The nearest line above that is neither empty nor a comment, where it is near."""
    line = _line(text, at)
    for _ in range(_NEAR):
        if line.start == 0:
            break
        line = _line(text, line.start - 1)
        stripped = line.text.strip()
        if stripped and not stripped.startswith("#"):
            return line
    return None


def _tab(line: _Line) -> Broken | None:
    tab = _TAB.match(line.text)
    if tab is None:
        return None
    return Broken(
        rules.TAB, line.start + tab.end() - 1, "the line is indented with a tab", "replace each tab by two spaces"
    )


def _dots(line: _Line) -> Broken | None:
    if line.text.strip().lstrip("- ") not in ("...", "…"):
        return None
    if line.text.startswith("..."):
        what = "... ends the document here, and kubectl reads nothing that follows it"
        return Broken(rules.ELLIPSIS, line.first, what, "remove the line, or begin the next document with ---")
    what = "three dots stand where a field or an item belongs"
    return Broken(rules.ELLIPSIS, line.first, what, "remove the line, or make it a comment: # ...")


def _template(line: _Line) -> Broken | None:
    found = _TEMPLATE.search(line.text)
    if found is None:
        return None
    what = f"{found.group()[:40]} is a placeholder of a template"
    return Broken(rules.SYNTAX, line.start + found.start(), what, "render the template first")


def _by_message(text: str, message: str, *, at: int, context: int) -> Broken:
    """The remedy that belongs to what the parser missed."""
    line = _line(text, at)
    here = text[at : at + 1]
    opened = _line(text, context)

    def syntax(offset: int, what: str, todo: str) -> Broken:
        return Broken(rules.SYNTAX, offset, what, todo)

    if "cannot start any token" in message:
        if line.text.strip().startswith("```"):
            return syntax(at, "``` is Markdown, not YAML", "take only the lines between the fences")
        return syntax(at, f"no unquoted text may begin with {here}", "put the text into quotes")
    if "mapping values are not allowed" in message:
        return _unexpected_colon(text, line, at)
    if "could not find expected ':'" in message:
        what = f"{opened.text.strip()[:40]!r} is neither a field nor an item of a list"
        return syntax(opened.first, what, "write it as `key: value` or `- item`, or indent it under the line above")
    if "expected ',' or" in message or "node content" in message:
        bracket = text[context : context + 1]
        if bracket in ("[", "{"):
            return syntax(
                context, f"the {bracket} that opens here is not closed properly", "check its commas and brackets"
            )
        return syntax(at, "a value is missing here", "write one, or remove the comma")
    if "unexpected end of stream" in message:
        return syntax(context, "the quote that opens here is never closed", "close it, or double a quote inside: ''")
    if "escape" in message:
        todo = "write \\\\ for a backslash, or use single quotes"
        return syntax(at, "there is no such escape between double quotes", todo)
    if "alphabetic or numeric" in message or "did not find the expected '>'" in message:
        return syntax(
            context, f"an unquoted {text[context : context + 1]} has a meaning of its own", "put the text into quotes"
        )
    if "block sequence entries" in message:
        return syntax(at, "an item of a list cannot begin on the line of its key", "put it on a line of its own")
    if "comment or line break" in message:
        return syntax(at, "nothing may follow | or > on its line", "begin the text on the next line, indented")
    if "did not find expected" in message:
        return _indentation(text, line, at=at, context=context)
    return syntax(at, "the text cannot be read from here on", "check the line and the one above it")


def _unexpected_colon(text: str, line: _Line, at: int) -> Broken:
    above = _above(text, at)
    if at - line.first > _LONGEST_KEY:
        return Broken(rules.SYNTAX, line.first, f"a key has at most {_LONGEST_KEY} characters", "shorten it")
    if _TWO_KEYS.match(line.text):
        return Broken(rules.SYNTAX, at, "an unquoted text cannot hold a colon and a space", "put the text into quotes")
    if above is not None and _COLON_WITHOUT_SPACE.match(above.text) and not _KEY.match(above.text):
        colon = above.start + above.text.index(":")
        return Broken(rules.SYNTAX, colon, "a space is missing after the colon", "write `key: value`")
    if above is not None and not _KEY.match(above.text):
        what = f"{above.text.strip()[:40]!r} is neither a field nor an item of a list"
        return Broken(rules.SYNTAX, above.first, what, "did you forget a colon after it?")
    what = "the line is indented deeper than the one above, which has a value already"
    todo = f"indent it by {above.fields} spaces" if above is not None else "remove the spaces before it"
    return Broken(rules.SYNTAX, line.first, what, todo)


def _indentation(text: str, line: _Line, *, at: int, context: int) -> Broken:
    """A line that begins where no open object or list does, or text after the end of a value."""
    if at > line.first:
        rest = line.text[at - line.start :].strip()[:20]
        if not rest:
            return Broken(
                rules.SYNTAX, line.first, "the line ends too early", "complete it, or put the text into quotes"
            )
        what = f"the value ends before {rest!r}"
        return Broken(rules.SYNTAX, at, what, "put the whole text into quotes; double a quote inside single ones: ''")
    columns = _open_columns(text, at)
    opened = text.count("\n", 0, context) + 1
    if line.indent in columns:
        if line.text.lstrip().startswith("- "):
            what = f"an item of a list stands among the fields that begin at line {opened}"
            return Broken(rules.SYNTAX, line.first, what, "remove the dash, or indent the list under its key")
        what = f"a field stands among the items of the list that begins at line {opened}"
        above = _above(text, at)
        if above is not None and above.indent == line.indent and _KEY.match(above.text):
            todo = f"indent it by {above.fields} spaces to make it a field of the item above, or begin it with a dash"
            return Broken(rules.SYNTAX, line.first, what, todo)
        return Broken(rules.SYNTAX, line.first, what, "begin it with a dash, or indent it by less")
    near = min(columns, key=lambda column: (abs(column - line.indent), -column), default=0)
    what = f"the line is indented by {line.indent} spaces, and nothing above it is"
    return Broken(rules.SYNTAX, line.first, what, f"indent it by {near} spaces, as its neighbours")


def _open_columns(text: str, at: int) -> set[int]:
    """The columns at which the objects and lists above that could still go on begin."""
    columns: set[int] = set()
    line = _above(text, at)
    for _ in range(_NEAR):
        if line is None:
            break
        if not columns or line.indent < min(columns):
            columns.add(line.indent)
        if line.indent == 0:
            break
        line = _above(text, line.start)
    return columns
