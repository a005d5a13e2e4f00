"""docs/coverage-jobset.md: what JobSet's own tests and traps ask of an implementation, and what shows it here."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from tools import ROOT
from tools.generated import NOTICE, main

PATH = ROOT / "docs" / "coverage-jobset.md"
LIST = ROOT / "tools" / "jobset_checklist.yaml"
LEFT = "left: "
FOLDERS = {
    "case ": ("tests/conformance/controllers", ".yaml"),
    "job story ": ("tests/golden/job", ""),
    "story ": ("tests/golden/jobset", ""),
}

INTRODUCTION = """\
JobSet's own tests, its known gaps and the traps that implementers fall into, row by row, and the tests here that hold
us to each. A case is played on the whole embedded cluster against what JobSet 0.12 and Kubernetes 1.36 made of the same
documents and steps; a story was recorded from them too.
"""


class Row(NamedTuple):
    """One thing that is asked for, and what shows it."""

    number: str
    asked: str
    shown: tuple[str, ...]


def sections() -> dict[str, list[Row]]:
    """Everything on the list."""
    raw = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return {
        title: [Row(number, asked, tuple(shown)) for number, (asked, *shown) in rows.items()]
        for title, rows in raw.items()
    }


def place_of(shown: str) -> tuple[str, str]:
    """The file or folder where a test is, from the root, and the name by which it goes."""
    for word, (folder, ending) in FOLDERS.items():
        if shown.startswith(word):
            name = shown.removeprefix(word)
            return f"{folder}/{name}{ending}", name
    file, _, name = shown.partition("::")
    room, _, part = file.partition("/")
    return f"tests/{room}/test_{part}.py", name


def is_there(shown: str) -> bool:
    """Whether what a row names exists."""
    path, name = place_of(shown)
    return (ROOT / path).exists() and ("::" not in shown or name in _functions(ROOT / path))


@cache
def _functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def render() -> str:
    """The page."""
    parts = [NOTICE, "# Coverage of JobSet", INTRODUCTION.rstrip()]
    for title, rows in sections().items():
        table = ["| | Asked | Shown by |", "| --- | --- | --- |"]
        for row in rows:
            links = ", ".join(f"[{name}](../{path})" for path, name in map(place_of, row.shown))
            table.append(f"| {row.number} | {row.asked} | {links} |")
        parts += [f"## {title[0].upper()}{title[1:]}", "\n".join(table)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main(PATH, render)
