"""Run the named checks, all of them, and close with the names of those that failed."""

import argparse
import subprocess
import sys

from tools import ROOT, bold

BIN = ROOT / ".venv" / "bin"

CHECKS: dict[str, tuple[str, list[str]]] = {
    "format": ("ruff format --check", [str(BIN / "ruff"), "format", "--check", "."]),
    "lint": ("ruff check", [str(BIN / "ruff"), "check", "."]),
    "types": ("mypy --strict src", [str(BIN / "mypy"), "--strict", "src"]),
    "contracts": ("lint-imports", [str(BIN / "lint-imports"), "--no-logo"]),
    "tests": ("pytest -n 2", [sys.executable, "-m", "pytest", "-q", "-n", "2"]),
}
"""Name → the command as a person would type it, and as it is run."""


def main() -> int:
    """Run the checks named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.check", description=__doc__)
    parser.add_argument("checks", nargs="+", choices=CHECKS, metavar="CHECK", help=", ".join(CHECKS))
    failed = []
    for name in parser.parse_args().checks:
        shown, command = CHECKS[name]
        print(f"\n{bold(f'== {name}')}  {shown}", flush=True)
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(name)
    print()
    print(bold(f"FAILED: {', '.join(failed)}" if failed else "All checks passed."))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
