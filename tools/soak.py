"""Look for rare faults: a store killed 200 times, 10,000 malformed requests, jobs one of whose processes is killed 100
times, then fresh cases until the time is up."""

import argparse
import os
import random
import subprocess
import sys
import time

from tools import ROOT, bold

ROUNDS = 100
KILLS = 200
MALFORMED = 10_000
FAULTS = 100


def main() -> int:
    """Play the long trials, then run the property tests until the time is up or one fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=float(os.environ.get("MINUTES", "30")), help="at most this long"
    )
    end = time.monotonic() + parser.parse_args().minutes * 60
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-x"]
    seed = random.randrange(2**32)
    trials = {
        f"a store killed {KILLS} times, and servers": (
            ["tests/cluster/test_crash.py", "tests/cluster/test_server_faults.py"],
            {"TRAINPLANE_KILLS": KILLS},
        ),
        f"{MALFORMED} malformed requests, of the seed {seed}": (
            ["tests/cluster/test_malformed.py"],
            {"TRAINPLANE_MALFORMED": MALFORMED, "TRAINPLANE_SEED": seed},
        ),
        f"{FAULTS} jobs, and a process killed in each, of the seed {seed}": (
            ["tests/node/test_faults.py"],
            {"TRAINPLANE_FAULTS": FAULTS, "TRAINPLANE_SEED": seed},
        ),
    }
    for words, (files, settings) in trials.items():
        print(bold(f"== {words}"), flush=True)
        environ = os.environ | {name: str(value) for name, value in settings.items()}
        if subprocess.run([*pytest, *files], cwd=ROOT, env=environ, check=False).returncode:
            told = " ".join(f"{name}={value}" for name, value in settings.items())
            print(bold(f"FAILED: look again with {told} .venv/bin/pytest {' '.join(files)}"))
            return 1
    command = [*pytest, "-m", "hypothesis"]
    for number in range(1, ROUNDS + 1):
        left = end - time.monotonic()
        if left <= 0:
            break
        print(bold(f"== round {number}, {left / 60:.0f} minutes left"), flush=True)
        try:
            done = subprocess.run(
                command, cwd=ROOT, env={**os.environ, "HYPOTHESIS_PROFILE": "soak"}, timeout=left, check=False
            )
        except subprocess.TimeoutExpired:
            break
        if done.returncode:
            print(bold("FAILED: the case above is kept in .hypothesis and runs first next time."))
            return 1
    print(bold("The time is up, and no fault was found."))
    return 0


if __name__ == "__main__":
    sys.exit(main())
