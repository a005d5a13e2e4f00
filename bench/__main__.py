"""`python -m bench`: measure, print the tables, and with --record write docs/bench.md."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import yaml

from bench.beginning import beginning
from bench.documents import fill, trainjob
from bench.measure import Row, interleaved, rates, table
from bench.placing import placing
from bench.rendering import growth, profile, rendering
from bench.storing import storing
from tools import ROOT, bold
from trainplane.api.decode import decode
from trainplane.api.trainer import TrainJob

PAGE = ROOT / "docs" / "bench.md"
PASS = [sys.executable, "-c", "pass"]
TRAINPLANE = [str(Path(sys.executable).parent / "trainplane")]


def decoding() -> Row:
    """Decode and validate a two-node torch TrainJob, beside `json.loads` of the same text."""
    text = json.dumps(yaml.safe_load(trainjob())).encode()
    rate, plain = rates([lambda: decode(text, TrainJob), lambda: json.loads(text)], rounds=9, seconds=0.2)
    return Row(
        what="decode and validate a two-node torch TrainJob, one core",
        figure=f"{rate:,.0f}/s",
        aim="at least 20,000/s",
        baseline=f"json.loads alone: {plain:,.0f}/s",
        ratio=f"{plain / rate:.1f}×",
        reached=rate >= 20_000,
    )


def linting(*, rounds: int) -> Row:
    """Lint a thousand documents from a cold start, beside PyYAML's C loader reading the same files."""
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), documents=1000)
        read = (
            "import pathlib, sys, yaml\n"
            "for file in pathlib.Path(sys.argv[1]).iterdir():\n"
            "    list(yaml.load_all(file.read_bytes(), yaml.CSafeLoader))\n"
        )
        seconds, plain = interleaved(
            [[*TRAINPLANE, "lint", folder], [sys.executable, "-c", read, folder]], rounds=rounds
        )
    return Row(
        what="`trainplane lint` of 1,000 documents, cold",
        figure=f"{seconds:.2f} s",
        aim="under 3 s",
        baseline=f"reading the YAML alone: {plain:.2f} s",
        ratio=f"{seconds / plain:.1f}×",
        reached=seconds < 3,
    )


def starting(*, rounds: int) -> list[Row]:
    """How long the command takes to answer, beside an interpreter that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trainjob.yaml"
        file.write_text(trainjob(), encoding="utf-8")
        nothing, version, lint = interleaved(
            [PASS, [*TRAINPLANE, "--version"], [*TRAINPLANE, "lint", str(file)]], rounds=rounds
        )
    return [
        Row(
            what=what,
            figure=f"{seconds * 1000:.0f} ms",
            aim=f"at most {times}×",
            baseline=f"python -c pass: {nothing * 1000:.0f} ms",
            ratio=f"{seconds / nothing:.1f}×",
            reached=seconds <= times * nothing,
        )
        for what, seconds, times in (("`trainplane --version`", version, 4), ("`trainplane lint` of one file", lint, 8))
    ]


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the tables to docs/bench.md")
    parser.add_argument("--rounds", type=int, default=21, help="runs of each command (default 21)")
    given = parser.parse_args()
    words = table([decoding()])
    few = max(3, given.rounds // 4)
    commands = table([*starting(rounds=given.rounds), linting(rounds=few), *beginning(rounds=few)])
    renders = table([*rendering(), *growth()])
    stores = table(storing())
    places = table(placing())
    profiles = "\n\n".join(profile(blame=blame) for blame in (False, True))
    print(f"{bold('The words')}\n\n{words}\n\n{bold('Rendering')}\n\n{renders}\n")
    print(f"{bold('What dominates rendering, plain and with blame')}\n\n{profiles}\n")
    print(
        f"{bold('The store')}\n\n{stores}\n\n{bold('The scheduler')}\n\n{places}\n\n{bold('The command')}\n\n{commands}"
    )
    if given.record:
        page = PAGE_TEXT.format(
            words=words, renders=renders, profiles=profiles, stores=stores, places=places, commands=commands
        )
        PAGE.write_text(page, encoding="utf-8")


PAGE_TEXT = """\
# Speed

`make bench` prints these tables; `python -m bench --record` writes this page. The figures are medians from a machine
with 2 cores. Each has its baseline from the same run beside it: between machines compare ratios, not figures.
No test is timed. Rates count processor time. Commands are timed by the clock, so on a busy machine their ratios wander;
this page was recorded on one that had much else to do.

## The words

{words}

## Rendering

{renders}

What dominates, plain and then with blame, over 200 renders:

```text
{profiles}
```

## The store

On the disk that holds temporary files. An acknowledged create is on that disk, so its figure is mostly the disk's.

{stores}

## The scheduler

Processor time of one decision; the View is there already.

{places}

## The command

{commands}
"""

if __name__ == "__main__":
    main()
