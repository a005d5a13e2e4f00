"""Text in, mended text out: one fault at a time, each accepted only if the text then says what it was meant to say."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from trainplane.api import rules
from trainplane.api.documents import parse
from trainplane.api.problem import Located, Severity
from trainplane.fix.mends import MENDS, Mend
from trainplane.fix.page import Page
from trainplane.lint import Findings, Read, judge, lint, understand
from trainplane.trainjob import runtime_rules as of_runtime

LONGEST = 128 * 1024
"""How many characters a document may have to be mended: every step reads all of it."""

HIDING = (
    rules.UNKNOWN_FIELD,
    rules.MISPLACED,
    of_runtime.POLICY_NAME,
    of_runtime.POD_IN_JOBSET,
    of_runtime.POD_IN_JOB,
)
"""Faults below which nothing else is said of a document."""
HIDING_ALL = (rules.UNKNOWN_KIND, of_runtime.INDENTATION_LOST)
"""Faults beside which nothing else is said of a document."""
FIRST_OF_SCHEMA = rules.UNKNOWN_FIELD.id
"""The rules before it are about texts that cannot be read."""

Score = tuple[int, float, int, int, int]


class Fixed(NamedTuple):
    """A text after mending, and what was mended, in the order in which that was done."""

    text: str
    mended: tuple[Located, ...]


def fix(text: str, file: str = "-") -> Fixed:
    """The text with every fault mended whose remedy is certain; the same text where there is none.

    Each step is linted again. It counts only if there is less to say of the text than before, and if the documents
    mean what they meant, but for the field that was mended. Faults that hide others weigh most, then errors, then
    warnings, then information.
    """
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        return Fixed(text, ())
    start = "\ufeff" if text.startswith("\ufeff") else ""
    parts, mended, line = [start], list[Located](), 0
    for part in _parts(text[len(start) :]):
        fixed = _fix_part(part, file)
        mended += [replace(found, line=found.line + line) for found in fixed.mended]
        parts.append(fixed.text)
        line += len(part.splitlines())
    return Fixed("".join(parts), tuple(mended))


def _parts(text: str) -> list[str]:
    """The documents of a text, each with the line of dashes before it."""
    return re.split(r"^(?=---)", text, flags=re.MULTILINE)


def _fix_part(text: str, file: str) -> Fixed:
    """One document mended; every step leaves less to say, so that there is a last one."""
    mended: list[Located] = []
    refused: set[tuple[str, str]] = set()
    while len(text) <= LONGEST:
        step = _step(text, file, refused)
        if step is None:
            break
        text, found = step
        mended.append(found)
    return Fixed(text, tuple(mended))


def _step(text: str, file: str, refused: set[tuple[str, str]]) -> tuple[str, Located] | None:
    """The text with one more fault mended, and which; None where nothing more can be."""
    score = _score(lint([(file, text)]))
    for found, mend in _candidates(text, file):
        key = (found.problem.rule.id, str(found.problem))
        if key in refused:
            continue
        if mend != text and _score(lint([(file, mend)])) < score:
            return mend, found
        refused.add(key)
    return None


def _candidates(text: str, file: str) -> Iterator[tuple[Located, str]]:
    """Faults with the text that would mend each, as far as that text means what it should."""
    page = Page(text)
    parsed = parse(text, file)
    for found in parsed.problems:
        new = _as_text(page, found)
        if new is not None:
            yield found, new
    reads = [understand(document) for document in parsed.documents]
    for number, read in enumerate(reads):
        for found in judge(read):
            mend = MENDS.get(found.problem.rule)
            made = mend(page, read, found.problem) if mend else None
            if made is not None and _means(made, reads, number):
                yield found, made.text


def _means(mend: Mend, reads: list[Read], number: int) -> bool:
    """Whether the new text has the same documents as before, but for the change that was meant."""
    wanted = [mend.value if i == number else read.document.value for i, read in enumerate(reads)]
    return [document.value for document in parse(mend.text).documents] == wanted


def _as_text(page: Page, found: Located) -> str | None:
    """A text that cannot be read, with the tab or the dots that break it taken out."""
    number = found.line - 1
    if found.problem.rule is rules.TAB:
        return "".join(
            re.sub(r"^[ \t]+", lambda indent: indent[0].replace("\t", "  "), line)
            if i == number or line.startswith("\t")
            else line
            for i, line in enumerate(page.lines)
        )
    if found.problem.rule is rules.ELLIPSIS and page.lines[number].strip() == "...":
        # At the margin the dots end the document: what follows them is not part of it, and must not become so.
        rest = range(number + 1, len(page.lines))
        following = next((page.lines[i] for i in rest if not page.says_nothing(i)), "---")
        if not page.lines[number].startswith("...") or following.startswith("---"):
            return page.with_lines(number, number + 1, [])
    return None


def _score(findings: Findings) -> Score:
    """How bad a text is; less is better."""
    total = sum(map(hides_all, findings.located))
    # The higher a fault stands, the more it hides: one of them outweighs all that may come to light below it.
    partly = sum(16.0 ** -len(found.problem.path) for found in findings.located if found.problem.rule in HIDING)
    errors, warnings, infos = map(findings.how_many, (Severity.ERROR, Severity.WARNING, Severity.INFO))
    return total, partly, errors, warnings, infos


def hides_all(found: Located) -> bool:
    """Whether little or nothing can be said of a document as long as it has this fault."""
    rule = found.problem.rule
    if rule is rules.MISPLACED:
        return len(found.problem.path) <= 1
    return rule in HIDING_ALL or (found.severity is Severity.ERROR and rule.id < FIRST_OF_SCHEMA)
