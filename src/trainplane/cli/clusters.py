"""Which cluster a verb is about: its name, the folder that it lives in, and what lies there."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
import msgspec

DEFAULT = "trainplane"
_UNITS = ("kB", "MB", "GB", "TB")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


class Refused(click.ClickException):
    """What was asked for cannot be done as things are; the sentence says why, and what to do."""

    exit_code = 1


class Cluster(msgspec.Struct, frozen=True):
    """A cluster by its name and the folder of its data, whether it runs or not, or was ever started."""

    name: str
    folder: Path
    named_folder: bool = False
    """Whether the folder was named on the command line, so that further commands must name it too."""

    @property
    def store(self) -> Path:
        """The folder of the objects, which the process that serves them holds locked."""
        return self.folder / "store"

    @property
    def pki(self) -> Path:
        """The folder of certificates, keys and tokens."""
        return self.folder / "pki"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's way in."""
        return self.folder / "kubeconfig"

    @property
    def log(self) -> Path:
        """What a cluster in the background says."""
        return self.folder / "log"

    @property
    def record(self) -> Path:
        """What the process that serves says of itself."""
        return self.folder / "up.json"

    @property
    def door(self) -> Path:
        """The socket by which verbs ask the process that serves."""
        return self.folder / "door"

    @property
    def engine(self) -> Path:
        """What is there as long as a container engine may have containers of the cluster."""
        return self.folder / "node" / "namespaced" / "engine"

    @property
    def volumes(self) -> Path:
        """The folders behind persistent volume claims."""
        return self.folder / "volumes"

    @property
    def jobs(self) -> Path:
        """What jobs leave behind: the output of each, and the working folders of its pods."""
        return self.folder / "jobs"

    @property
    def logs(self) -> Path:
        """What containers wrote, those of pods that are gone too."""
        return self.folder / "node" / "logs"

    @property
    def audit(self) -> Path:
        """Where requests are noted, if they are."""
        return self.folder / "audit.log"

    @property
    def disposable(self) -> tuple[Path, ...]:
        """All that a cluster puts into its folder, without what lies behind claims."""
        old_log = self.log.with_name("log.1")
        port = self.folder / "port"
        audits = (self.audit, *(self.audit.with_name(f"{self.audit.name}.{number}") for number in (1, 2, 3)))
        state = (self.store, self.pki, self.folder / "node")
        return (*state, self.kubeconfig, port, self.record, self.door, self.log, old_log, *audits)

    def exists(self) -> bool:
        """Whether it was ever started."""
        return (self.store / "store.db").exists()

    def must_exist(self) -> "Cluster":
        """Itself, if it was ever started; raises Refused."""
        if not self.exists():
            raise Refused(f"there is no cluster {self.name} in {self.folder}; start it with: {self.command('up')}")
        return self

    def command(self, verb: str) -> str:
        """The command line of a verb for this cluster, to be pasted."""
        words = ["trainplane", *verb.split()]
        if self.name != DEFAULT:
            words += ["--name", self.name]
        if self.named_folder:
            words += ["--data", str(self.folder)]
        return shlex.join(words)


def folder_of(name: str) -> Path:
    """Where a cluster keeps its data: under the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state).absolute() / "trainplane" / name


def of_cluster(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options that say which cluster, and the Cluster as its first argument."""

    @wraps(verb)
    def called(*, name: str, data: Path | None, **rest: Any) -> Any:
        return verb(Cluster(name, data.absolute() if data else folder_of(name), data is not None), **rest)

    folder = click.Path(path_type=Path, file_okay=False)
    data_help = "The folder of its data, where that is not the one under the state folder."
    with_data: Callable[..., Any] = click.option("--data", metavar="DIR", type=folder, help=data_help)(called)
    name_help = "Which cluster, of several."
    return click.option("--name", default=DEFAULT, show_default=True, callback=_checked, help=name_help)(with_data)


def confirm(question: str, *, yes: bool) -> None:
    """Go on only if the user agrees, or did beforehand with --yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refused(f"{question}\nNobody is here to be asked: add --yes if that is what you want.")
    click.confirm(question, abort=True, err=True)


def size_of(folder: Path) -> int:
    """The bytes of all files below a folder, as far as they stay while they are counted."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except FileNotFoundError:
                continue
    return total


def readable_size(size: int) -> str:
    """`4.2 MB`."""
    if size < 1000:
        return f"{size} bytes"
    power = min((len(str(size)) - 1) // 3, len(_UNITS))
    return f"{size / 1000**power:.1f} {_UNITS[power - 1]}"


def count(number: int, noun: str) -> str:
    """`1 object`, `2 objects`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _checked(ctx: click.Context, parameter: click.Parameter, value: str) -> str:  # noqa: ARG001 - click's signature
    if not _NAME.fullmatch(value):
        raise click.BadParameter("use at most 40 lower-case letters, digits and '-'")
    return value
