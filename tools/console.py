"""Commands shown in the documents: run each `$ trainplane …` of a console block, and hold its output to what is shown.

A line of `…` in the shown output stands for any number of lines. Blocks run from the top of the checkout.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT
from tools.markdown import Fence, documents, fences

ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TERM": "dumb"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A command and the output that a document shows below it."""

    command: str
    output: str


def commands(fence: Fence) -> list[Shown]:
    """The commands of a console block; empty when its first one is not ours to run."""
    if fence.language not in ("console", "sh") or not fence.text.startswith("$ trainplane"):
        return []
    pieces = re.split(r"^\$ ", fence.text, flags=re.MULTILINE)[1:]
    return [Shown(*piece.split("\n", 1)) for piece in pieces]


def run(command: str) -> str:
    """What the command prints, output and errors together; no shell reads it."""
    words = shlex.split(command)
    if words[0] != "trainplane" or set(words) & {"|", ">", "<", "&&", ";"}:
        raise ValueError(f"a console block runs plain `trainplane` commands only, and no shell: {command}")
    done = subprocess.run(
        [sys.executable, "-m", "trainplane", *words[1:]],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    if done.returncode >= 64:
        raise ValueError(f"`{command}` failed with exit code {done.returncode}:\n{done.stdout}")
    return done.stdout


def agrees(shown: str, actual: str) -> bool:
    """Whether the output is what the document shows, `…` standing for any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line) for line in shown.splitlines(True))
    return re.fullmatch(pattern, actual) is not None


def rewrite(path: Path) -> bool:
    """Put the present output into every console block of a file; True when the file changed."""
    source = path.read_text(encoding="utf-8")
    result = source
    for fence in reversed(list(fences(path))):
        shown = commands(fence)
        if not shown:
            continue
        parts = []
        for each in shown:
            actual = run(each.command)
            parts.append(f"$ {each.command}\n{each.output if agrees(each.output, actual) else actual}")
        result = result[: fence.start] + "".join(parts) + result[fence.end :]
    if result == source:
        return False
    path.write_text(result, encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")
    return True


def main() -> None:
    """Bring the console blocks of every document up to date."""
    for path in documents():
        rewrite(path)


if __name__ == "__main__":
    main()
