"""`python -m bench`: measure, print the tables, and with --record write docs/bench.md."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import yaml

from bench.beginning import beginning
from bench.documents import fill, trainjob
from bench.launching import launching
from bench.measure import Row, interleaved, rates, table
from bench.placing import placing
from bench.pods import pods
from bench.rendering import growth, profile, rendering
from bench.running import running
from bench.serving import CLIENTS, beside, measured, rows
from bench.storing import storing
from bench.verbs import writing
from tools import ROOT, bold
from trainplane.api.decode import decode
from trainplane.api.trainer import TrainJob

PAGE = ROOT / "docs" / "bench.md"
OPENING = """\
# Speed

`make bench` prints these tables; `python -m bench --record` writes this page, and with `--only` a part of it. The
figures are medians from a machine with 2 cores. Each has its baseline from the same run beside it: between machines
compare ratios, not figures. No test is timed. Rates count processor time, unless something waits for a disk or for
another process. Commands are timed by the clock, so on a busy machine their ratios wander; this page was recorded on
one that had nothing else to do, but whose pace changed by a quarter within the day.
"""
STORE = """\
On the disk that holds temporary files. An acknowledged create is on that disk, so its figure is mostly the disk's."""
CLUSTERS = """\
TrainJobs created over HTTPS on simulated nodes, with the scheduler and a disk. The figures are the cluster's process;
its memory includes what it takes to begin, about 55 MiB. The queue on virtual time is a
tenth of the one that its aim is about, unless `TRAINPLANE_BENCH_WHOLE=1` is in the environment: then it is 10,000 jobs
on 500 nodes, which takes more than ten times as long and 1.7 GiB."""
PLACES = "Processor time of one decision; the View is there already."
PODS = "By the clock, in namespaces of their own, until the program runs; four processes take turns for each."
LAUNCHES = """\
By the clock, from the command; the ways take turns. The aim is at most 0.5 s over the two bare commands, in the middle
and for one launch in twenty, to the first step and to the end; both rows of `trainplane run` are held to it: it has a
cluster that runs already, or starts one for the job and stops it again. The kubeflow SDK stands beside them: it runs on
one node whatever it is asked for, and makes a virtual environment for each job; it is spared installing torch there."""
API = """\
What a profile said, and what was done about it: half of a create was the set of owned fields, walked, joined and sorted
level by level, so objects with the same fields share one tree, which is sorted in C; a third was Python looking for
cyclic garbage every other write, so it looks seldom while a cluster is served; a status wrote, judged and compared the
spec again, so what is shared with the stored object is passed over; each change was decoded again for each who watches,
so they are given the object that was encoded; a list was copied four times on its way through TLS, so it goes out in
pieces. Then most of a create was worked out anew though the pods of a Job are alike but for the values of variables and
some names, so what is read, filled in, owned and judged of a spec is remembered by its outline, its JSON without those;
a status went through a patch of the whole object, so now nothing else is looked at; half of what is decoded of a pod is
who owns its fields, so that is decoded once for all that have the same; and a strategic merge read the whole object
again, so it reads what the patch names. What is left of a pod's create: a sixth for reading it and filling it in, a
quarter for admission, a fifth for judging it, a third for the log."""
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


class Section(NamedTuple):
    """A part of the page: the word that chooses it, its title, what stands before its tables, and what makes them."""

    word: str
    title: str
    opening: str
    measure: Callable[[int], str]


def _rendering(_: int) -> str:
    profiles = "\n\n".join(profile(blame=blame) for blame in (False, True))
    dominates = f"What dominates, plain and then with blame, over 200 renders:\n\n```text\n{profiles}\n```"
    return f"{table([*rendering(), *growth()])}\n\n{dominates}"


def _api(_: int) -> str:
    found = measured()
    clients = f"Over HTTPS, {CLIENTS} clients in another process, each with a connection that it keeps"
    https = f"{clients}:\n\n{table(rows(found))}"
    real = f"The same beside a real kube-apiserver with etcd, on the same machine in the same run:\n\n{beside(found)}"
    return f"In the process itself:\n\n{table(writing())}\n\n{https}\n\n{real}"


def _commands(rounds: int) -> str:
    few = max(3, rounds // 4)
    return table([*starting(rounds=rounds), linting(rounds=few), *beginning(rounds=few)])


SECTIONS = (
    Section("words", "The words", "", lambda _: table([decoding()])),
    Section("rendering", "Rendering", "", _rendering),
    Section("store", "The store", STORE, lambda _: table(storing())),
    Section("api", "The API", API, _api),
    Section("scheduler", "The scheduler", PLACES, lambda _: table(placing())),
    Section("cluster", "Whole clusters", CLUSTERS, lambda _: running()),
    Section("pods", "Pods", PODS, lambda rounds: table(pods(rounds=2 * rounds))),
    Section("launch", "Launching", LAUNCHES, lambda rounds: launching(rounds=max(3, rounds))),
    Section("command", "The command", "", _commands),
)


def main() -> None:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the tables to docs/bench.md")
    parser.add_argument("--rounds", type=int, default=21, help="runs of each command (default 21)")
    words = [section.word for section in SECTIONS]
    parser.add_argument("--only", nargs="+", choices=words, default=words, help="which parts (default: all)")
    given = parser.parse_args()
    parts = _recorded(PAGE.read_text(encoding="utf-8"))
    for section in SECTIONS:
        if section.word in given.only:
            body = section.measure(given.rounds)
            print(f"{bold(section.title)}\n\n{body}\n", flush=True)
            parts[section.title] = f"{section.opening}\n\n{body}".strip()
    if given.record:
        listed = [f"## {section.title}\n\n{parts[section.title]}\n" for section in SECTIONS if section.title in parts]
        PAGE.write_text("\n".join([OPENING, *listed]), encoding="utf-8")


def _recorded(page: str) -> dict[str, str]:
    """The parts of the page as it is, by title."""
    found = (part.partition("\n") for part in page.split("\n## ")[1:])
    return {title: body.strip() for title, _, body in found}


if __name__ == "__main__":
    main()
