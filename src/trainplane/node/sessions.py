"""Sessions: open streams to pods: a command that runs in a container, one that is watched, and a port."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from signal import SIGKILL

import orjson

from trainplane.api.meta import Raw
from trainplane.node.living import Living
from trainplane.node.pipes import Drain, Ends
from trainplane.node.runner import Exit, Runner, Started

INPUT, OUTPUT, ERRORS, END, SIZE = range(5)
"""The numbers of the wire."""
MOST = 64
"""How many pieces may wait to be received before whoever writes has to wait."""
BLOCK = 64 * 1024


def ended(exit_: Exit) -> bytes:
    """The last word on a command, as a Status."""
    code = 128 + exit_.signal if exit_.signal else exit_.code
    if not code:
        return orjson.dumps({"metadata": {}, "status": "Success"})
    status: Raw = {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: error executing command, exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
    return orjson.dumps(status)


class _Inbox:
    """What has come and was not received yet."""

    def __init__(self) -> None:
        self._items: deque[tuple[int, bytes]] = deque()
        self._more = asyncio.Event()
        self.closed = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, stream: int, data: bytes) -> None:
        self._items.append((stream, data))
        self._more.set()

    def close(self) -> None:
        self.closed = True
        self._more.set()

    def take(self) -> tuple[int, bytes] | None:
        return self._items.popleft() if self._items else None

    async def changed(self) -> None:
        await self._more.wait()
        self._more.clear()


class ExecChannel:
    """A command that was started in a container."""

    def __init__(self, runner: Runner, started: Started, ends: Ends) -> None:
        """The process has been given its files."""
        self._runner = runner
        self._started = started
        self._ends = ends
        self._inbox = _Inbox()
        self._drains = [self._drain(ends.out, OUTPUT)]
        if ends.err is not None:
            self._drains.append(self._drain(ends.err, ERRORS))
        self._is_over = False

    async def send(self, data: bytes, *, stream: int = INPUT) -> None:
        """Send input, the end of it, or the size of the terminal."""
        if stream == SIZE:
            size = orjson.loads(data)
            self._ends.resize(int(size.get("Height") or 0), int(size.get("Width") or 0))
        elif self._ends.feed and not data:
            if self._ends.terminal is not None:
                # A terminal has no end; a program is told of one by this letter.
                await self._ends.feed.write(b"\x04")
            else:
                self._ends.feed.close()
        elif self._ends.feed:
            await self._ends.feed.write(data)

    async def receive(self) -> tuple[int, bytes] | None:
        """The next output, then how the command ended, then nothing."""
        if self._is_over:
            return None
        while not len(self._inbox):
            if not any(drain.is_open for drain in self._drains):
                return await self._last()
            await self._more_or_end()
        item = self._inbox.take()
        if len(self._inbox) < MOST:
            for drain in self._drains:
                drain.resume()
        return item

    async def close(self) -> None:
        """Give it up; the command is killed where it still runs."""
        self._is_over = True
        await self._runner.kill(self._started, SIGKILL)
        self._let_go()

    async def _more_or_end(self) -> None:
        """Wait for output, or for the end of the command, whatever it has left behind that could still write."""
        more = asyncio.ensure_future(self._inbox.changed())
        end = asyncio.ensure_future(self._runner.wait(self._started))
        try:
            await asyncio.wait((more, end), return_when=asyncio.FIRST_COMPLETED)
            if end.done() and not more.done():
                for drain in self._drains:
                    drain.finish()
        finally:
            more.cancel()
            end.cancel()

    async def _last(self) -> tuple[int, bytes]:
        exit_ = await self._runner.wait(self._started)
        self._is_over = True
        self._let_go()
        return END, ended(exit_)

    def _drain(self, fd: int, stream: int) -> Drain:
        def take(data: bytes) -> None:
            if data:
                self._inbox.put(stream, data)
            else:
                self._inbox.close()
            if len(self._inbox) >= MOST:
                drain.pause()

        drain = Drain(fd, take)
        return drain

    def _let_go(self) -> None:
        for drain in self._drains:
            drain.finish()
        if self._ends.feed:
            self._ends.feed.close()


class AttachChannel:
    """A container's own process, watched from now on; what falls behind is lost to the watcher, not to the log."""

    def __init__(self, living: Living, runner: Runner, *, feeds: bool) -> None:
        """`feeds` says whether the one who watches has input for it."""
        self._living = living
        self._runner = runner
        self._feeds = feeds
        self._inbox = _Inbox()
        self._is_over = False
        self._tap: Callable[[int, bytes], None] = self._take
        living.writer.taps.add(self._tap)

    async def send(self, data: bytes, *, stream: int = INPUT) -> None:
        """Send input where the container takes some."""
        ends = self._living.ends
        if stream == SIZE:
            size = orjson.loads(data)
            ends.resize(int(size.get("Height") or 0), int(size.get("Width") or 0))
        elif ends.feed and data:
            await ends.feed.write(data)
        elif ends.feed and ends.terminal is None:
            ends.feed.close()

    async def receive(self) -> tuple[int, bytes] | None:
        """The next output, then that the container has ended, then nothing."""
        if self._is_over:
            return None
        while not len(self._inbox):
            if not self._living.writer.is_open:
                self._is_over = True
                return END, ended(Exit(self._living.started.at))
            heard = self._living.writer.listen()
            more = asyncio.ensure_future(self._inbox.changed())
            end = asyncio.ensure_future(heard.wait())
            try:
                await asyncio.wait((more, end), return_when=asyncio.FIRST_COMPLETED)
            finally:
                more.cancel()
                end.cancel()
                self._living.writer.forget(heard)
        return self._inbox.take()

    async def close(self) -> None:
        """Watch no more; a container that takes input from the first who comes gets no more of it."""
        self._is_over = True
        self._living.writer.taps.discard(self._tap)
        if self._feeds and self._living.container.get("stdinOnce") and self._living.ends.feed:
            self._living.ends.feed.close()

    def _take(self, stream: int, data: bytes) -> None:
        if data and len(self._inbox) < 16 * MOST:
            self._inbox.put(stream, data)


class PortChannel:
    """A connection to a port of a pod: what is sent goes there, and what comes back is output."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    async def send(self, data: bytes, *, stream: int = INPUT) -> None:
        """Send bytes; none at all end what is sent."""
        if stream != INPUT:
            return
        if data:
            await asyncio.get_running_loop().sock_sendall(self._sock, data)
        else:
            self._sock.shutdown(socket.SHUT_WR)

    async def receive(self) -> tuple[int, bytes] | None:
        """What comes back, or None at the end."""
        try:
            data = await asyncio.get_running_loop().sock_recv(self._sock, BLOCK)
        except OSError as error:
            return ERRORS, str(error).encode()
        return (OUTPUT, data) if data else None

    async def close(self) -> None:
        """Hang up."""
        self._sock.close()
