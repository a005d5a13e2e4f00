"""Problem: where, what is wrong, what to do; Located, one with its file and line; and paths into objects."""

import re
from collections.abc import Iterable
from enum import StrEnum
from itertools import islice

import msgspec

Path = tuple[str | int, ...]
"""A way into an object: keys and list positions."""

_PLAIN = re.compile(r"^[A-Za-z_$][A-Za-z0-9_$-]*$")


class Severity(StrEnum):
    """How much a Problem matters: errors refuse, warnings and information never do."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Rule(msgspec.Struct, frozen=True):
    """One thing that can be wrong, under an id that never changes its meaning."""

    id: str
    severity: Severity
    title: str
    why: str
    """Two or three sentences: the harm, and the usual way out. `trainplane help ID` prints them."""
    bad: str = ""
    good: str = ""


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong, or worth knowing, at one place."""

    rule: Rule
    path: Path
    what: str
    todo: str = ""

    @property
    def severity(self) -> Severity:
        """The rule's severity."""
        return self.rule.severity

    @property
    def field(self) -> str:
        """The path as Kubernetes writes it."""
        return show(self.path)

    def __str__(self) -> str:
        """Where, what, and what to do, in one line."""
        where = f"{self.field}: " if self.path else ""
        return f"{where}{self.what}" + (f"; {self.todo}" if self.todo else "")


class Located(msgspec.Struct, frozen=True):
    """A Problem at its place in a file; lines and columns count from 1."""

    problem: Problem
    file: str
    line: int
    column: int

    @property
    def severity(self) -> Severity:
        """The rule's severity."""
        return self.problem.severity

    def __str__(self) -> str:
        """`file:line:column: severity id: where: what; what to do`."""
        rule = self.problem.rule
        return f"{self.file}:{self.line}:{self.column}: {rule.severity} {rule.id}: {self.problem}"


def show(path: Path) -> str:
    """`("spec", "env", 0, "a.b/c")` as `spec.env[0][a.b/c]`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int) or not _PLAIN.match(step):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if parts else step)
    return "".join(parts)


_MANY = 300
"""How many words are compared with a misspelt one: enough for any schema, and over in milliseconds."""


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """The known word that is nearest to `word`, or "" when none is near; case never matters."""
    # Most documents have nothing misspelt in them, and need not wait for this.
    from difflib import get_close_matches

    by_fold = {k.casefold(): k for k in islice(known, _MANY)}
    near = get_close_matches(word.casefold(), by_fold, n=1, cutoff=cutoff)
    return by_fold[near[0]] if near else ""
