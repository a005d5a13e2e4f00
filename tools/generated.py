"""A committed file that the code writes: rewrite it, or with --check say whether it is current."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tools import ROOT

NOTICE = "<!-- Written by `make docs` from the code. Do not edit. -->\n"


def stale(path: Path, text: str) -> bool:
    """Whether the committed file differs from what the code says now."""
    return not path.exists() or path.read_text(encoding="utf-8") != text


def write(path: Path, text: str) -> bool:
    """Write the file where it is not current; True when it changed."""
    if not stale(path, text):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")
    return True


def main(path: Path, render: Callable[[], str]) -> None:
    """The command line of a module that writes one file."""
    parser = argparse.ArgumentParser(description=f"Write {path.relative_to(ROOT)} from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is not current")
    if not parser.parse_args().check:
        write(path, render())
    elif stale(path, render()):
        sys.exit(f"{path.relative_to(ROOT)} is not what the code says; run `make docs`")
