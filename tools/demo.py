"""The demo: what Trainplane does today, on the examples, with every command shown as you would type it."""

import os
import subprocess
import sys

from tools import ROOT, bold

STEPS: tuple[tuple[str, list[str], int], ...] = (
    (
        "Check every example. Warnings and notes do not fail a check; errors do.",
        ["lint", "examples"],
        12,
    ),
    (
        "A runtime written for OME works as it is. In Kubeflow Trainer's words it reads:",
        ["convert", "examples/ome/torch-ddp.yaml"],
        40,
    ),
    (
        "What is wrong is said with its place, its remedy, and an id.",
        ["lint", "examples/mistakes"],
        20,
    ),
    (
        "The id leads to an explanation.",
        ["help", "TP001"],
        20,
    ),
    (
        "Kubernetes learns the same words from these; `trainplane crds | kubectl apply -f -` installs them.",
        ["crds"],
        12,
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
        lines = done.stdout.splitlines()
        for line in lines[:limit]:
            print(f"  {line}")
        if len(lines) > limit:
            print(f"  … {len(lines) - limit} more lines")
        broken += done.returncode > 1
    print(f"\n{bold('Next:')} `. .venv/bin/activate`, then `trainplane help`; docs/tour.md shows the house.\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
