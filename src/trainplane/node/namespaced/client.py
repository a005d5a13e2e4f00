"""The Runner's end of the fork server: starts it, asks it, hears what it reports."""

import array
import asyncio
import contextlib
import json
import os
import pwd
import select
import shutil
import socket
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trainplane.node.namespaced import channel
from trainplane.node.namespaced.channel import Message
from trainplane.node.namespaced.identity import RANGE
from trainplane.node.runner import Unable as Unable

LINE = "import sys; sys.path.insert(0, sys.argv[1]); from trainplane.node.namespaced.boot import main; main()"
"""What the interpreter is given; it starts without site-packages, because they take a third of its time."""
_READY_SECONDS = 60.0
_END_SECONDS = 10.0

LOG = "server.log"
"""Where a fork server writes what went wrong with itself, in the folder of its Runner."""


class Lost(Exception):
    """The fork server has ended."""


class Line:
    """The way to a fork server that nobody else asks yet: whoever reads an answer waits, in a thread of its own."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._number = 0
        self._heard: deque[Message] = deque()

    def ask(self, verb: str, *, files: Sequence[int] = (), **fields: Any) -> None:
        """Ask for something; answers come in the same order. Raises Closed."""
        # Below 0, so that none is taken for that of somebody who asks later.
        self._number -= 1
        channel.send(self._end, {"verb": verb, "number": self._number, **fields}, files=files)

    def refused(self) -> str:
        """Why what was asked for is refused, or "" where it is done; raises Closed."""
        while "answers" not in (said := channel.receive(self._end)[0]):
            self._heard.append(said)
        return str(said.get("message", ""))

    def begun(self) -> Message:
        """What became of the container that was asked for: whether it has started, or why not; raises Closed."""
        while (said := self._heard.popleft() if self._heard else channel.receive(self._end)[0])["event"] == "named":
            pass
        return said


class Ahead(NamedTuple):
    """An interpreter that was started ahead of its time."""

    process: subprocess.Popen[bytes]
    line: Line
    end: socket.socket
    hello: Message | None
    """What it was told already."""

    def leave(self) -> None:
        """End it: it is of no use."""
        self.end.close()
        self.process.wait()


class ForkServer:
    """A fork server, as long as it runs."""

    def __init__(self, log: Path, *, hear: Callable[[Message, int], None], lost: Callable[[], None]) -> None:
        """`log` is where it writes what went wrong with itself."""
        self._log = log
        self._hear = hear
        self._lost = lost
        self._end: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, asyncio.Future[tuple[Message, list[int]]]] = {}
        self._outgoing: deque[tuple[memoryview, list[int]]] = deque()
        self._number = 0
        self._is_writing = False
        self._kept: list[int] = []
        """The users and the network of the last one, open, so that the next one can go on in them."""
        self.pids: list[int] = []
        """The processes that hold it up: the one that waits for it, and itself."""
        self.has_users = True
        """Whether it can make user namespaces."""

    @property
    def runs(self) -> bool:
        """Whether it can be asked."""
        return self._end is not None

    async def start(self, hello: Message, *, first: Callable[[Line], None]) -> None:
        """Start it; raises Unable where the kernel refuses. `first` asks before all others, in a thread."""
        await self._bury()
        ahead = _AHEAD.pop(self._log, None)
        if ahead and ahead.hello not in (None, hello):
            await asyncio.to_thread(ahead.leave)
            ahead = None
        process, line, ours, told = ahead or interpreter(self._log)
        self._process = process
        try:
            if told is None:
                channel.send(ours, hello, files=self._kept)
            await asyncio.to_thread(self._greet, ours, hello)
            await asyncio.to_thread(first, line)
        except (Unable, channel.Closed, TimeoutError) as error:
            ours.close()
            process.kill()
            process.wait()
            raise error if isinstance(error, Unable) else Unable(f"the fork server did not start: {error!r}") from error
        ours.settimeout(None)
        self._end = ours
        asyncio.get_running_loop().add_reader(ours.fileno(), self._read)

    def _greet(self, end: socket.socket, hello: Message) -> None:
        end.settimeout(_READY_SECONDS)
        while True:
            said, files, pid = channel.receive(end)
            if said["event"] == "ready":
                self._let_go()
                self._kept = files
                self.pids, self.has_users = [self._process.pid if self._process else 0, pid], said["users"]
                return
            if said["event"] == "unshared":
                _give_ranges(pid, hello)
                channel.send(end, {})
            else:
                raise Unable(refusal(said["errno"], said["message"]))

    async def ask(self, verb: str, *, files: Sequence[int] = (), **fields: Any) -> tuple[Message, list[int]]:
        """Ask for something; raises OSError where it is refused, and Lost where nobody is there to answer."""
        if self._end is None:
            raise Lost("the fork server has ended")
        self._number += 1
        number = self._number
        answer: asyncio.Future[tuple[Message, list[int]]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        body = json.dumps({"verb": verb, "number": number, **fields}, separators=(",", ":")).encode()
        # The files travel with the header; what is queued keeps its own copies of them.
        self._outgoing.append((memoryview(struct.pack("=I", len(body))), [os.dup(file) for file in files]))
        self._outgoing.append((memoryview(body), []))
        self._write()
        message, passed = await answer
        if "errno" in message:
            raise OSError(message["errno"], message["message"])
        return message, passed

    def _write(self) -> None:
        """Send what is queued; never waits, because the fork server may be waiting for us to read."""
        end = self._end
        if end is None:
            return
        while self._outgoing:
            data, files = self._outgoing[0]
            extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files).tobytes())] if files else []
            try:
                sent = end.sendmsg([data], extra, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                self._closed()
                return
            for file in files:
                os.close(file)
            self._outgoing.popleft()
            if sent < len(data):
                self._outgoing.appendleft((data[sent:], []))
        if bool(self._outgoing) != self._is_writing:
            self._is_writing = bool(self._outgoing)
            loop = asyncio.get_running_loop()
            if self._is_writing:
                loop.add_writer(end.fileno(), self._write)
            else:
                loop.remove_writer(end.fileno())

    def _read(self) -> None:
        if self._end is None:
            return
        try:
            message, files, pid = channel.receive(self._end)
        except channel.Closed:
            self._closed()
            return
        if "answers" not in message:
            self._hear(message, pid)
            return
        answer = self._waiting.pop(message["answers"], None)
        if answer and not answer.done():
            answer.set_result((message, files))
        else:
            for file in files:
                os.close(file)

    def _closed(self) -> None:
        end, self._end = self._end, None
        if end is None:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(end.fileno())
        loop.remove_writer(end.fileno())
        end.close()
        for _, files in self._outgoing:
            for file in files:
                os.close(file)
        self._outgoing.clear()
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(Lost("the fork server has ended"))
        self._lost()

    async def stop(self) -> None:
        """Have it end everything and itself, and wait until it has."""
        if self._end is not None:
            # The fork server reads the end of the stream and ends what it made.
            self._closed()
        self._let_go()
        await self._bury()

    def _let_go(self) -> None:
        for file in self._kept:
            os.close(file)
        self._kept = []

    async def _bury(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if not await asyncio.to_thread(_has_ended, process):
            process.kill()
        process.wait()


_AHEAD: dict[Path, Ahead] = {}
"""By the log that they write to."""


def start_ahead(folder: Path) -> None:
    """Start the interpreter of the fork server that the Runner in a folder will soon want.

    It waits for its hello, and ends with this process where none comes.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _AHEAD[folder / LOG] = interpreter(folder / LOG)


def tell_ahead(folder: Path, hello: Message) -> Line:
    """Tell it what it needs to begin; raises KeyError where none was started, and Closed."""
    ahead = _AHEAD[folder / LOG]
    channel.send(ahead.end, hello)
    _AHEAD[folder / LOG] = ahead._replace(hello=hello)
    return ahead.line


def interpreter(log: Path) -> Ahead:
    """A process that will be a fork server."""
    ours, theirs = channel.pair()
    root = str(Path(__file__).resolve().parents[3])
    with theirs, log.open("ab") as errors:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-I", "-S", "-c", LINE, root, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            cwd="/",
            env={"LC_ALL": "C.UTF-8"},
        )
    return Ahead(process, Line(ours), ours, None)


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Wait for the end of a process, not for ever; `wait` with a limit would look for it ever more seldom."""
    if process.poll() is not None:
        return True
    ended = os.pidfd_open(process.pid)
    try:
        return bool(select.select([ended], [], [], _END_SECONDS)[0])
    finally:
        os.close(ended)


def _give_ranges(pid: int, hello: Message) -> None:
    for tool, first, start in (("newuidmap", os.getuid(), "uids"), ("newgidmap", os.getgid(), "gids")):
        program = shutil.which(tool)
        if program is None:
            raise Unable(f"{tool} is gone")
        words = [program, str(pid), "0", str(first), "1", "1", str(hello["ranges"][start]), str(RANGE - 1)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed program
        if done.returncode:
            raise Unable(f"{tool} refused the users of /etc/subuid: {done.stderr.strip()}")


def ranges() -> dict[str, int] | None:
    """The first of this user's subordinate users and groups; None where there are too few, or nobody can give them."""
    found: dict[str, int] = {}
    for key, path, tool in (("uids", "/etc/subuid", "newuidmap"), ("gids", "/etc/subgid", "newgidmap")):
        if shutil.which(tool) is None:
            return None
        with contextlib.suppress(OSError):
            for line in Path(path).read_text(encoding="utf-8").splitlines():
                name, _, rest = line.partition(":")
                start, _, count = rest.partition(":")
                if name in _names() and count.isdigit() and int(count) >= RANGE - 1:
                    found.setdefault(key, int(start))
    return found if len(found) == 2 else None


def _names() -> tuple[str, ...]:
    with contextlib.suppress(KeyError):
        return str(os.getuid()), pwd.getpwuid(os.getuid()).pw_name
    return (str(os.getuid()),)


_REMEDIES = {
    28: "the kernel allows none: set the sysctl user.max_user_namespaces (and max_net_, max_pid_, max_mnt_) above 0",
    1: "the system forbids it to this user: allow unprivileged user namespaces (on Ubuntu the sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it privileged)",
    22: "this kernel was built without them",
    38: "this kernel was built without them",
}


def refusal(number: int, message: str) -> str:
    """One sentence: what was refused and what to do."""
    return f"namespaces are refused ({message}); {_REMEDIES.get(number, 'run as root or use the process runner')}"
