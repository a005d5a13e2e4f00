"""The checklist of what the source documents promise or ask: tools/checklist.yaml as rows, and as a page's tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tools import ROOT

PATH = ROOT / "tools" / "checklist.yaml"
RULE = "$rule "
"""How a rule is named in place of the test that it finds its mistake."""
OF_RULES = "tests/rules/test_rules.py::test_what_is_shown_as_wrong_is_found"


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a document promises or asks, and what shows it."""

    number: str
    claim: str
    tests: tuple[str, ...]
    """Each as `path::name`."""
    rules: tuple[str, ...]
    part: str
    """The part of Trainplane that will show the rest of it; "" where nothing is left."""
    rest: str


@dataclass(frozen=True, slots=True)
class Section:
    """Claims of one source."""

    title: str
    claims: tuple[Claim, ...]


def sections() -> list[Section]:
    """Everything on the list."""
    return [Section(section["title"], tuple(_claim(row) for row in section["rows"])) for section in _data()["sections"]]


def parts() -> dict[str, str]:
    """The parts that are still to come, and what they are."""
    return dict(_data()["parts"])


def _data() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(PATH.read_text(encoding="utf-8"))
    return data


def _claim(row: dict[str, Any]) -> Claim:
    named = row.get("tests", [])
    part, rest = row.get("later", ("", ""))
    return Claim(
        number=str(row["number"]),
        claim=row["claim"],
        tests=tuple(name for name in named if not name.startswith(RULE)),
        rules=tuple(name.removeprefix(RULE) for name in named if name.startswith(RULE)),
        part=part,
        rest=rest,
    )


def tables() -> Iterator[str]:
    """The list as Markdown."""
    for section in sections():
        yield f"## {section.title}\n"
        yield "| | Claim | Shown by | Still to come |\n| ---: | --- | --- | --- |"
        yield "\n".join(_line(claim) for claim in section.claims) + "\n"


def _line(claim: Claim) -> str:
    shown = [f"[{rule}](rules.md#{rule.lower()})" for rule in claim.rules]
    shown += [f"[{name.rpartition('::')[2]}](../{name.partition('::')[0]})" for name in claim.tests]
    later = f"{claim.part}: {claim.rest}" if claim.part else "nothing"
    return f"| {claim.number} | {claim.claim} | {', '.join(shown) or 'nothing yet'} | {later} |"
