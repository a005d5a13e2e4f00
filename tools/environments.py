"""Virtual environments for programs that tests run beside ours, made once and kept in the user's cache folder.

`python -m tools.environments torch` makes one and prints its path. What is in it stands in tests/environments/NAME.txt,
to the last version; a changed list is a new environment.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

LISTS = Path(__file__).parents[1] / "tests" / "environments"
NAMES = tuple(sorted(file.stem for file in LISTS.glob("*.txt")))
LONGEST = 1800.0
"""Seconds that installing may take; the largest needs two minutes where the network is good."""


class NotMade(Exception):
    """The environment could not be made, and why."""


def environment(name: str) -> Path:
    """The folder of an environment, made now where it is missing; raises NotMade."""
    wanted = LISTS / f"{name}.txt"
    version = ".".join(map(str, sys.version_info[:2]))
    mark = hashlib.sha256(wanted.read_bytes() + sys.base_prefix.encode()).hexdigest()[:12]
    folder = _cache() / f"{name}-{version}-{mark}"
    done = folder / "installed"
    if done.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Tests that run side by side want the same one.
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            _make(folder, wanted)
            done.touch()
    return folder


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "trainplane" / "environments"


def _make(folder: Path, wanted: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input"]
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
        subprocess.run([*pip, "install", "-r", wanted], check=True, timeout=LONGEST, stderr=subprocess.PIPE, text=True)
    except subprocess.CalledProcessError as error:
        raise NotMade(f"{wanted.stem}: {(error.stderr or str(error)).strip().splitlines()[-1]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMade(f"{wanted.stem}: {error}") from error


def main() -> int:
    """Make the environments that are named, or all, and print where they are."""
    for name in sys.argv[1:] or NAMES:
        if name not in NAMES:
            print(f"there is no environment {name}; there are: {', '.join(NAMES)}", file=sys.stderr)
            return 2
        try:
            print(environment(name))
        except NotMade as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
