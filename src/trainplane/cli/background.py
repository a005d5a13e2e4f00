"""A cluster in the background: a process of its own session, whose first or last words reach whoever started it."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import click
import msgspec

from trainplane.cli.clusters import Cluster, Refused

_PATIENCE = 120.0
_LAST_LINES = 5


class Ready(msgspec.Struct, frozen=True, tag=True):
    """What there is to say of a cluster that serves."""

    server: str
    kinds: int
    groups: int
    objects: int
    notes: tuple[str, ...] = ()
    """What was not done, and why."""
    nodes: str = ""
    """Which nodes run pods, and how."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Why it does not serve."""

    why: str


def start(cluster: Cluster, serve: Callable[[Callable[[Ready], None]], int]) -> Ready:
    """Serve in another process; returns when it is ready, and raises Refused with its last words where it is not."""
    log = _new_log(cluster)
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os.close(reader)
        _in_background(log, writer, serve)
    os.close(writer)
    os.close(log)
    try:
        words = _listen(reader)
    except BaseException:
        _end(child)
        raise
    finally:
        os.close(reader)
    if words is None:
        _end(child)
        raise Refused(
            f"cluster {cluster.name} was not ready after {_PATIENCE:.0f} s, and was stopped; see {cluster.log}"
        )
    try:
        said = msgspec.json.decode(words, type=Ready | Failed)
    except msgspec.DecodeError:
        raise Refused(_last_words(cluster, child)) from None
    if isinstance(said, Failed):
        os.waitpid(child, 0)
        raise Refused(said.why)
    return said


def _new_log(cluster: Cluster) -> int:
    """An empty log that nobody else reads; the one before stays beside it."""
    with suppress(FileNotFoundError):
        cluster.log.replace(cluster.log.with_name("log.1"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(cluster.log, flags, 0o600)


def _in_background(log: int, writer: int, serve: Callable[[Callable[[Ready], None]], int]) -> NoReturn:
    """The other process: leave the terminal, serve, and end without whatever the first one still has to do."""
    code = 1

    def say(words: Ready | Failed) -> None:
        with suppress(BrokenPipeError):
            os.write(writer, msgspec.json.encode(words))
        os.close(writer)

    try:
        os.setsid()
        os.chdir("/")
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.close(nothing)
        os.close(log)
        code = serve(say)
    except click.ClickException as error:
        click.echo(error.message, err=True)
        with suppress(OSError):
            say(Failed(error.message))
    except BaseException as error:  # noqa: BLE001 - this is the process's last resort
        import traceback

        traceback.print_exc()
        with suppress(OSError):
            say(Failed(f"internal error: {type(error).__name__}: {error}; please report it, with the log"))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _listen(reader: int) -> bytes | None:
    """What the other process says first, all of it; None where it says nothing for too long."""
    words = b""
    deadline = time.monotonic() + _PATIENCE
    while select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(reader, 65536)
        if not part:
            return words
        words += part
    return None


def _end(child: int) -> None:
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)


def _last_words(cluster: Cluster, child: int) -> str:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    how = f"signal {-status}" if status < 0 else f"exit code {status}"
    lines = cluster.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:]
    said = f"; its last words: {' / '.join(lines)}" if lines else ""
    return f"cluster {cluster.name} ended with {how} before it was ready{said}; the log is {cluster.log}"
