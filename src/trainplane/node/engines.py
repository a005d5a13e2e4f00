"""Engines: the container engines of this machine, which of them works, and what a former life has left in one."""

import contextlib
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
            (folder / ENGINE_NOTE).write_text(kind.name, encoding="utf-8")
            return engine
    raise Unable(f"no container can be made here ({'; '.join(refused)}); install or mend an engine, or {OTHERWISE}")


async def sweep(folder: Path, environment: Mapping[str, str] = os.environ) -> list[str]:
    """End the containers that a former life has left in an engine; returns the uids of their pods."""
    note = folder / ENGINE_NOTE
    try:
        name = note.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    ground = NamespacedRunner(folder, egress=False, environment=environment)
    uids = list[str]()
    for kind in ENGINES:
        if kind.name == name:
            try:
                uids = await kind(environment, folder=folder, ground=ground).sweep()
            except Failed as error:
                _log.warning("%s may still run containers of a former start, and does not answer: %s", name, error)
                return []
    forget(folder)
    return sorted(set(uids))


def forget(folder: Path) -> None:
    """Note that no engine has anything of ours any more."""
    with contextlib.suppress(FileNotFoundError):
        (folder / ENGINE_NOTE).unlink()
