"""Run the named checks, all of them, and close with the names of those that failed."""

import argparse
import json
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
FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
MOST = 3
"""How many failed tests are looked at once more; more are no bad luck."""


def passes(name: str) -> bool:
    """Whether a check passes."""
    shown, command = CHECKS[name]
    print(f"\n{bold(f'== {name}')}  {shown}", flush=True)
    if name == "tests":
        FAILED.unlink(missing_ok=True)
    passed = not subprocess.run(command, cwd=ROOT, check=False).returncode
    if name == "tests" and not passed:
        tell_unsteady()
    return passed


def tell_unsteady() -> None:
    """Say whether the few tests that failed pass alone, which helps to find out why; it does not make them pass.

    What fails only now and then is a fault too, often of the product.
    """
    try:
        failed = list(json.loads(FAILED.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return
    if not 0 < len(failed) <= MOST:
        return
    print(f"\n{bold('== the same tests again, alone')}", flush=True)
    again = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "0", *failed], cwd=ROOT, check=False)
    if not again.returncode:
        print("\n".join((bold("UNSTEADY, failed beside others and passed alone; find out why:"), *failed)))


def main() -> int:
    """Run the checks named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.check", description=__doc__)
    parser.add_argument("checks", nargs="+", choices=CHECKS, metavar="CHECK", help=", ".join(CHECKS))
    failed = [name for name in parser.parse_args().checks if not passes(name)]
    print()
    print(bold(f"FAILED: {', '.join(failed)}" if failed else "All checks passed."))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
