"""What `make` runs: set-up, checks, generated documents, the demo."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The checkout."""


def bold(text: str) -> str:
    """The text in bold, on a terminal."""
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text
