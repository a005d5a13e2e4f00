"""A minder: the process between the fork server and a container's process, which it starts, signals and reports on.

A container's minder is the first process of its PID namespace, so everything in it ends with the minder.
"""

import contextlib
import fcntl
import os
import resource
import select
import signal
import socket
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from trainplane.node.namespaced import channel, kernel
from trainplane.node.namespaced.rootfs import Refused, lay_out

START, CREATE = "start", "create"
_MORE_LIKELY = b"500"
"""When memory runs out on the whole machine, a pod goes before the agent."""


def container(order: Mapping[str, Any], control: socket.socket) -> NoReturn:
    """Be the first process of a container: build its root, start its program, mind it."""
    _detach(order, control)
    if order["shares_processes"]:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    try:
        _join(order["namespaces"])
        kernel.unshare(kernel.NEW_MOUNT)
        doors = [os.open(door, os.O_WRONLY | os.O_CLOEXEC) for door in order["doors"]]
        lay_out(order["plan"])
    except Refused as error:
        _fail(control, CREATE, str(error))
    except OSError as error:
        _fail(control, CREATE, f"the container's surroundings cannot be made: {error}")
    _mind(_launch(order, control, doors, is_first=True), control, ends_all=order["shares_processes"])


def keeper(control: socket.socket) -> NoReturn:
    """Be the first process of a pod whose containers share their processes: bury what nobody else does."""
    kernel.die_with_parent()
    kernel.close_all_but((control.fileno(),))
    kernel.prctl(kernel.PR_SET_NAME, b"pause")
    _listen_to_signals()
    try:
        while True:
            if control.fileno() in _ready([control.fileno(), _awake[0]], wait=True):
                os._exit(1)  # The fork server says nothing here, so it has ended.
            os.read(_awake[0], 4096)
            while _buried(0) is not None:
                pass
    finally:
        os._exit(1)


def guest(order: Mapping[str, Any], control: socket.socket) -> NoReturn:
    """Start one more program in a container that runs, and mind it."""
    _detach(order, control)
    try:
        doors = [os.open(door, os.O_WRONLY | os.O_CLOEXEC) for door in order["doors"]]
        _join(order["namespaces"])
    except OSError as error:
        _fail(control, CREATE, f"the container cannot be entered: {error}")
    _mind(_launch(order, control, doors, is_first=False), control, ends_all=False)


def _detach(order: Mapping[str, Any], control: socket.socket) -> None:
    """Depend on the fork server and on nothing else of it."""
    kernel.die_with_parent()
    users = () if order["users"] is None else (order["users"],)
    kernel.close_all_but((control.fileno(), *order["stdio"], *order["namespaces"].values(), *users))
    # A fork server that ended before the kernel was told to watch it has closed its end.
    if _ready([control.fileno()], wait=False):
        os._exit(1)
    kernel.prctl(kernel.PR_SET_NAME, b"minder")
    # Here and not later: in the container's root even /proc may be what the pod has put there.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(_MORE_LIKELY)
    _import_nothing()


def _import_nothing() -> None:
    """From now on run only what is loaded: what lies in the container's root is the pod's, and this is not yet."""
    sys.meta_path.clear()


def _humble(owner: tuple[int, int]) -> None:
    """Be the program's user on the host, and nothing more: so it can signal process 1, but not look into it.

    To an ordinary user's fork server they are one and the same; there the program's user namespace keeps it out.
    """
    if (os.getuid(), os.getgid()) != tuple(owner):
        os.setresgid(owner[1], owner[1], owner[1])
        os.setresuid(owner[0], owner[0], owner[0])
        kernel.die_with_parent()


def _join(namespaces: Mapping[str, int]) -> None:
    # The order is that of the caller: the mount namespace, which hides /proc, comes last.
    for kind, file in namespaces.items():
        kernel.setns(file, getattr(kernel, f"NEW_{kind.upper()}"))


def _fail(control: socket.socket, reason: str, message: str) -> NoReturn:
    with contextlib.suppress(channel.Closed):
        channel.send(control, {"failed": reason, "message": message})
    os._exit(1)


def _launch(order: Mapping[str, Any], control: socket.socket, doors: list[int], *, is_first: bool) -> int:
    """Start the program; returns its number here, once it runs."""
    _listen_to_signals()
    listening, speaking = os.pipe()
    waiting, going = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(listening)
        os.close(going)
        try:
            os.read(waiting, 1)
            _become(order, control, doors)
        except OSError as error:
            os.write(speaking, f"{CREATE}:{error.strerror}".encode())
        except _Unrunnable as error:
            os.write(speaking, f"{START}:{error}".encode())
        finally:
            os._exit(128)
    os.close(speaking)
    os.close(waiting)
    if is_first and not order["shares_processes"]:
        _humble(order["plan"]["owner"])
    os.close(going)
    wrong = b""
    while part := os.read(listening, 65536):
        wrong += part
    os.close(listening)
    for door in doors:
        os.close(door)
    for file in order["stdio"]:
        with contextlib.suppress(OSError):
            os.close(file)
    if wrong:
        os.waitpid(pid, 0)
        reason, _, message = wrong.decode(errors="replace").partition(":")
        _fail(control, reason, message)
    channel.send(control, {"started": True})
    return pid


@contextlib.contextmanager
def _doing(what: str) -> Iterator[None]:
    """Have a refusal say what was tried."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"it cannot {what}: {error.strerror}") from error


class _Unrunnable(Exception):
    """The program cannot be run; the message says why."""


def _become(order: Mapping[str, Any], control: socket.socket, doors: list[int]) -> NoReturn:
    """Turn this process into the program."""
    os.setsid()
    with _doing("join its control groups"):
        for door in doors:
            os.write(door, b"0")
    # What this process remembers of the fork server is nobody's business in the container, which sees it already.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    resource.setrlimit(resource.RLIMIT_NOFILE, order["open_files"])
    if order["cpus"]:
        os.sched_setaffinity(0, order["cpus"])
    # The fork server reads from this message which number the process has for it.
    channel.send(control, {"pid": True})
    for number, file in enumerate(order["stdio"]):
        os.dup2(file, number)
    if order["terminal"]:
        with _doing("take its terminal"):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    with _doing(f"become the user {order['uid']} with the group {order['gid']}"):
        _take_identity(order)
    try:
        os.chdir(order["cwd"])
    except OSError as error:
        raise _Unrunnable(f"the working folder {order['cwd']} cannot be entered: {error.strerror}") from error
    os.umask(0o022)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    env = order["env"]
    try:
        os.execvpe(order["argv"][0], order["argv"], env)  # noqa: S606 - what the pod says
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else str(error)
        looked = "" if "/" in order["argv"][0] else f" in any folder of PATH ({env.get('PATH', os.defpath)})"
        raise _Unrunnable(f"{order['argv'][0]!r} cannot be run{looked}: {what}") from error


def _take_identity(order: Mapping[str, Any]) -> None:
    """Become the container's user, with the capabilities it keeps."""
    if order["users"] is not None:
        kernel.setns(order["users"], kernel.NEW_USER)
    for number in range(64):
        if number not in order["capabilities"]:
            try:
                kernel.prctl(kernel.PR_CAPBSET_DROP, number)
            except OSError:
                break  # There are no more than these.
    if order["filter"]:
        kernel.filter_calls(bytes.fromhex(order["filter"]))
    else:
        with contextlib.suppress(OSError):
            kernel.leave_session_keys()
    if order["may_set_groups"]:
        os.setgroups(order["groups"])
    os.setresgid(order["gid"], order["gid"], order["gid"])
    os.setresuid(order["uid"], order["uid"], order["uid"])
    if order["no_new_privileges"]:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""On Kubernetes the program is process 1, and hooks signal that number; here it is the minder."""
_awake = (-1, -1)


def _listen_to_signals() -> None:
    global _awake
    _awake = os.pipe()
    for end in _awake:
        os.set_blocking(end, False)
    for number in (signal.SIGCHLD, *_PASSED_ON):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(_awake[1], warn_on_full_buffer=False)


def _mind(pid: int, control: socket.socket, *, ends_all: bool) -> NoReturn:
    """Pass signals on, bury orphans, and report the end of the program.

    `ends_all` is for a minder that is not the first process: what it has started does not end with it by itself.
    """
    try:
        while True:
            ready = _ready([control.fileno(), _awake[0]], wait=True)
            arrived = os.read(_awake[0], 4096) if _awake[0] in ready else b""
            while (status := _buried(pid)) is not None:
                if status >= 0:
                    if ends_all:
                        _end_children()
                    channel.send(control, {"exit": status})
                    os._exit(0)
            wanted = [number for number in arrived if number in _PASSED_ON]
            if control.fileno() in ready:
                wanted.append(channel.receive(control)[0]["signal"])
            for number in wanted:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
    finally:
        os._exit(1)


def _end_children() -> None:
    """Kill what is left; who has run away from his parent has become a child of this process."""
    for _ in range(10_000):
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            left = [int(pid) for pid in file.read().split()]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _ready(files: Sequence[int], *, wait: bool) -> list[int]:
    """Which of these can be read; poll, because select takes no numbers above 1023."""
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return [file for file, _ in poll.poll(None if wait else 0)]


def _buried(pid: int) -> int | None:
    """Reap one process: the status of the program, -1 for another one, None where none has ended."""
    try:
        found, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    if found == 0:
        return None
    return status if found == pid else -1
