"""The demo on a fresh machine: makes an environment that has torch, once, and trains a small model with it."""

import subprocess
import sys
from pathlib import Path

from tools.environments import NotMade, environment


def main() -> int:
    """Run `trainplane demo`; returns its exit code."""
    print("Looking for torch (the first time it is installed, which takes some minutes)", file=sys.stderr)
    try:
        place = environment("torch")
    except NotMade as error:
        print(f"torch could not be installed: {error}", file=sys.stderr)
        return 1
    command = Path(sys.executable).with_name("trainplane")
    return subprocess.run([command, "demo", "--environment", place]).returncode


if __name__ == "__main__":
    sys.exit(main())
