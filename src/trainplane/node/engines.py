"""Engines: the container engines of this machine, which of them works, and what a former life has left in one."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from trainplane.node.docker import Docker
from trainplane.node.engine import Engine, Failed
from trainplane.node.namespaced.runner import NamespacedRunner
from trainplane.node.podman import Podman
from trainplane.node.runner import ENGINE_NOTE, Unable

ENGINES: tuple[type[Engine], ...] = (Podman, Docker)
"""In the order in which they are tried."""
OTHERWISE = "use --runner namespaced, which needs no engine"

_log = logging.getLogger(__name__)


async def find(name: str, environment: Mapping[str, str], *, folder: Path, ground: NamespacedRunner) -> Engine:
    """The engine of a name, or the first that works where it is ""; raises Unable."""
    refused = list[str]()
    for kind in ENGINES:
        if name in ("", kind.name):
            engine = kind(environment, folder=folder, ground=ground)
            try:
                await engine.try_out()
            except Failed as error:
                refused.append(f"{kind.name}: {str(error).replace('; ', ', ')}")
                continue
            _note(folder, {*_noted(folder), kind.name})
            return engine
    raise Unable(f"no container can be made here ({'; '.join(refused)}); install or mend an engine, or {OTHERWISE}")


async def sweep(folder: Path, environment: Mapping[str, str] = os.environ) -> list[str]:
    """End the containers that a former life has left in an engine; returns the uids of their pods."""
    ground, uids, noted = NamespacedRunner(folder, egress=False, environment=environment), set[str](), _noted(folder)
    for kind in ENGINES:
        if kind.name in noted:
            try:
                uids.update(await kind(environment, folder=folder, ground=ground).sweep())
            except Failed as error:
                # It stays noted, for a time at which it answers.
                said = "%s may still run containers of a former start, and does not answer: %s"
                _log.warning(said, kind.name, error)
                continue
            forget(folder, kind.name)
    return sorted(uids)


def forget(folder: Path, name: str) -> None:
    """Note that an engine has nothing of ours any more."""
    _note(folder, _noted(folder) - {name})


def _noted(folder: Path) -> set[str]:
    try:
        return set((folder / ENGINE_NOTE).read_text(encoding="utf-8").split())
    except FileNotFoundError:
        return set()


def _note(folder: Path, names: set[str]) -> None:
    if names:
        (folder / ENGINE_NOTE).write_text("\n".join(sorted(names)), encoding="utf-8")
    else:
        (folder / ENGINE_NOTE).unlink(missing_ok=True)
