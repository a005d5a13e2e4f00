"""Which cluster a verb is about: its name, and the folder that it lives in."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

DEFAULT = "trainplane"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


def _checked(ctx: click.Context, parameter: click.Parameter, value: str) -> str:  # noqa: ARG001 - click's signature
    if not _NAME.fullmatch(value):
        raise click.BadParameter("use at most 40 lower-case letters, digits and '-'")
    return value


def named(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that says which cluster."""
    help_ = "The cluster's name; several can live side by side."
    return click.option("--name", default=DEFAULT, show_default=True, callback=_checked, help=help_)(command)


def folder_of(name: str) -> Path:
    """Where a cluster keeps its data: under the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "trainplane" / name
