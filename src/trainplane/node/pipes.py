"""Pipes and terminals: open files that processes write to, read as data comes and never waited for."""

import asyncio
import fcntl
import os
import pty
import struct
import termios
from collections.abc import Callable
from contextlib import suppress

import msgspec

from trainplane.node.runner import Stdio

BLOCK = 64 * 1024


class Drain:
    """Hands on what comes from an open file; nothing at all at its end."""

    def __init__(self, fd: int, take: Callable[[bytes], None]) -> None:
        """The file is its own from here on."""
        self._fd = fd
        self._take = take
        self.is_open = True
        os.set_blocking(fd, False)
        asyncio.get_running_loop().add_reader(fd, self._readable)

    def pause(self) -> None:
        """Take nothing for a while; whoever writes will have to wait."""
        if self.is_open:
            asyncio.get_running_loop().remove_reader(self._fd)

    def resume(self) -> None:
        """Go on."""
        if self.is_open:
            asyncio.get_running_loop().add_reader(self._fd, self._readable)

    def finish(self) -> None:
        """Take what is there, and then no more, even where somebody could still write."""
        while self.is_open and self._read():
            pass
        self._end()

    def _readable(self) -> None:
        self._read()

    def _read(self) -> bool:
        """Read once; False where nothing is there."""
        try:
            data = os.read(self._fd, BLOCK)
        except BlockingIOError:
            return False
        except OSError:
            # A terminal says so when nobody is at its other end any more.
            data = b""
        if data:
            self._take(data)
            return True
        self._end()
        return False

    def _end(self) -> None:
        if self.is_open:
            self.is_open = False
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._take(b"")


class Feed:
    """Writes to an open file, waiting while whoever reads is behind."""

    def __init__(self, fd: int) -> None:
        """The file is its own from here on."""
        self.fd = fd
        self.is_open = True
        os.set_blocking(fd, False)

    async def write(self, data: bytes) -> None:
        """Write it all; what nobody reads any more is dropped."""
        loop = asyncio.get_running_loop()
        while data and self.is_open:
            try:
                data = data[os.write(self.fd, data) :]
            except BlockingIOError:
                room: asyncio.Future[None] = loop.create_future()
                loop.add_writer(self.fd, _set, room)
                try:
                    await room
                finally:
                    loop.remove_writer(self.fd)
            except OSError:
                self.close()

    def close(self) -> None:
        """End the input."""
        if self.is_open:
            self.is_open = False
            with suppress(OSError):
                os.close(self.fd)


def _set(room: asyncio.Future[None]) -> None:
    if not room.done():
        room.set_result(None)


class Ends(msgspec.Struct):
    """Both ends of a process's input and output: the files it gets, and what is done with them here."""

    stdio: Stdio
    out: int
    err: int | None
    """None where both come together, as from a terminal."""
    feed: Feed | None
    terminal: int | None
    theirs: tuple[int, ...]

    def started(self) -> None:
        """The process has its files: ours of those can go."""
        for fd in self.theirs:
            os.close(fd)
        self.theirs = ()

    def give_up(self) -> None:
        """No process was started."""
        self.started()
        for fd in (self.out, self.err):
            if fd is not None:
                os.close(fd)
        if self.feed:
            self.feed.close()

    def resize(self, rows: int, columns: int) -> None:
        """Tell a terminal how large it is."""
        if self.terminal is not None:
            with suppress(OSError):
                fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def open_ends(*, stdin: bool, terminal: bool, joined: bool = False) -> Ends:
    """Files for a process that is about to be started; `joined` lets its errors come with its output."""
    if terminal:
        ours, theirs = pty.openpty()
        feed = Feed(os.dup(ours)) if stdin else None
        return Ends(Stdio(theirs, theirs, theirs, terminal=True), ours, None, feed, ours, (theirs,))
    out, their_out = os.pipe()
    err, their_err = (None, their_out) if joined else os.pipe()
    if stdin:
        their_in, our_in = os.pipe()
        feed = Feed(our_in)
    else:
        their_in, feed = os.open(os.devnull, os.O_RDONLY), None
    theirs_all = tuple(dict.fromkeys((their_in, their_out, their_err)))
    return Ends(Stdio(their_in, their_out, their_err), out, err, feed, None, theirs_all)
