"""Look for rare faults: a store killed 200 times, then the property tests with fresh cases until the time is up."""

import argparse
import os
import subprocess
import sys
import time

from tools import ROOT, bold

ROUNDS = 100
KILLS = 200


def main() -> int:
    """Kill the store, then run the property tests until the time is up or one fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=float(os.environ.get("MINUTES", "30")), help="at most this long"
    )
    end = time.monotonic() + parser.parse_args().minutes * 60
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-x"]
    print(bold(f"== a store killed {KILLS} times"), flush=True)
    kills = {**os.environ, "TRAINPLANE_KILLS": str(KILLS)}
    if subprocess.run([*pytest, "tests/cluster/test_crash.py"], cwd=ROOT, env=kills, check=False).returncode:
        print(bold("FAILED: a killed store was not as it should be."))
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
