"""The demo: what Trainplane does today, on the examples, with every command shown as you would type it."""

import os
import subprocess
import sys

from tools import ROOT, bold

STEPS: tuple[tuple[str, list[str], int], ...] = (
    (
        "Check the examples. Notes say what was inferred, warnings what may hurt; only errors fail.",
        ["lint", "examples/kubeflow", "examples/guides", "examples/ome"],
        11,
    ),
    (
        "See what is wrong with a document: where, what, and what to do.",
        ["lint", "examples/mistakes/policy-pytorch.yaml", "examples/mistakes/reference-swapped.yaml"],
        20,
    ),
    (
        "Ask what an id means.",
        ["help", "TP051"],
        30,
    ),
    (
        "Read a runtime that was written for OME in Kubeflow Trainer's words.",
        ["convert", "examples/ome/torch-ddp.yaml"],
        32,
    ),
    (
        "See what a TrainJob becomes: the arithmetic, what may surprise, the objects.",
        ["explain", "examples/kubeflow/trainjob.yaml", "--runtime-dir", "examples/kubeflow"],
        30,
    ),
    (
        "Teach Kubernetes the same words: `trainplane crds | kubectl apply -f -`.",
        ["crds", "trainjobs"],
        9,
    ),
)
"""Each step: a sentence, the command, and how many lines of its output to show."""


def main() -> int:
    """Show every step; the exit code says whether one of them broke."""
    broken = 0
    for number, (sentence, words, limit) in enumerate(STEPS, start=1):
        print(f"\n{bold(f'{number}. {sentence}')}\n")
        print(f"  $ trainplane {' '.join(words)}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "trainplane", *words],
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "110"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        for line in _shortened(done.stdout.splitlines(), limit):
            print(f"  {line}".rstrip())
        broken += done.returncode > 1
    print(f"\n{bold('Next:')} `. .venv/bin/activate`, then `trainplane help`; docs/tour.md shows the house.\n")
    return 1 if broken else 0


def _shortened(lines: list[str], limit: int) -> list[str]:
    """At most that many lines: the first ones, a word on those left out, and the last, which often sums up."""
    if len(lines) <= limit:
        return lines
    head = lines[: limit - 2]
    return [*head, f"… {len(lines) - len(head) - 1} more lines …", lines[-1]]


if __name__ == "__main__":
    sys.exit(main())
