"""The door: a socket in the cluster's folder by which its owner asks the process that serves what no API verb says.

Who may enter the folder may use it, and that is the owner alone. A request and an answer are a line of JSON each.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trainplane.cli.clusters import Cluster, Refused
from trainplane.cluster.log import StoreError
from trainplane.cluster.store import Store

if TYPE_CHECKING:
    # It is only handed over here, and takes long to load.
    from trainplane.cluster.api import Api

_PATIENCE = 300.0


class Ask(msgspec.Struct, frozen=True):
    """A request: to count the objects, or to put those of a backup in their place."""

    restore: str = ""
    """The file of a backup; without one the objects are counted."""


class Answer(msgspec.Struct, frozen=True):
    """What is there now, or why what was asked for was not done."""

    revision: int = 0
    objects: dict[str, int] = {}
    refused: str = ""


def counted(store: Store) -> Answer:
    """How many objects of each resource there are, and the newest revision."""
    return Answer(store.revision, {resource: store.count(resource) for resource in store.resources()})


@asynccontextmanager
async def open_door(cluster: Cluster, api: "Api") -> AsyncIterator[None]:
    """Answer at the door as long as the context lasts."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            said = await _answer(api, msgspec.json.decode(await reader.readline(), type=Ask))
            writer.write(msgspec.json.encode(said) + b"\n")
            await writer.drain()
        except (msgspec.DecodeError, ValueError, ConnectionError):
            # Whoever cannot ask, or has left, needs no answer.
            pass
        finally:
            writer.close()

    cluster.door.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    with _short(cluster.door) as path:
        listening.bind(path)
    cluster.door.chmod(0o600)
    server = await asyncio.start_unix_server(answer, sock=listening)
    try:
        yield
    finally:
        server.close()
        cluster.door.unlink(missing_ok=True)


def ask(cluster: Cluster, what: Ask) -> Answer:
    """Ask the process that serves the cluster; raises Refused."""
    try:
        with socket.socket(socket.AF_UNIX) as connection, _short(cluster.door) as path:
            connection.settimeout(_PATIENCE if what.restore else 5.0)
            connection.connect(path)
            connection.sendall(msgspec.json.encode(what) + b"\n")
            with connection.makefile("rb") as stream:
                answer = msgspec.json.decode(stream.readline(), type=Answer)
    except (OSError, msgspec.DecodeError):
        raise Refused(
            f"the process that serves cluster {cluster.name} does not answer; repeat, or stop it: "
            f"{cluster.command('down')}"
        ) from None
    if answer.refused:
        raise Refused(answer.refused)
    return answer


async def _answer(api: "Api", what: Ask) -> Answer:
    from trainplane.cluster.sqlite import read_backup
    from trainplane.furniture import furnish

    store = api.ground.store
    if what.restore:
        try:
            await store.replace(await asyncio.to_thread(read_backup, Path(what.restore)))
            # An older version may have made the backup, and known less of what every cluster has.
            await furnish(api)
        except StoreError as error:
            return Answer(refused=str(error))
    return counted(store)


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """The path in few characters: a socket's address has room for about a hundred."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
