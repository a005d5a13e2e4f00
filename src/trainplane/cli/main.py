"""The `trainplane` command: reads the first word and loads only the verb that is asked for."""

import sys
from importlib import import_module

from trainplane import __version__

VERBS: dict[str, str] = {}
"""Verb → the module of `trainplane.cli` whose function of the same name is its click command."""


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Before click is imported: this is the first thing people type, and it should feel instant.
        sys.stdout.write(f"trainplane {__version__}\n")
        return
    from trainplane.cli.group import command

    command(prog_name="trainplane")


def load(verb: str) -> object:
    """The click command of a verb."""
    return getattr(import_module(f"trainplane.cli.{VERBS[verb]}"), VERBS[verb])
