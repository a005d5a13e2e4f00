"""The first steps of the fork server, from a fresh interpreter to the first process of its own namespaces."""

import contextlib
import os
import resource
import socket
import sys
import traceback
from typing import NoReturn

from trainplane.node.namespaced import channel, kernel
from trainplane.node.namespaced.network import open_namespace
from trainplane.node.namespaced.server import Server
from trainplane.node.namespaced.users import become_root_of_own


def main() -> NoReturn:
    """Make the namespaces, and serve in them; the socket's number is the second argument."""
    end = socket.socket(fileno=int(sys.argv[2]))
    os.set_inheritable(end.fileno(), False)
    try:
        hello, kept, _ = channel.receive(end)
        _separate(end, hello, kept)
        pid = os.fork()
        if pid == 0:
            _serve(end, hello)
        end.close()
        kernel.prctl(kernel.PR_SET_NAME, b"trainplane-pods")
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    except OSError as error:
        channel.send(end, {"event": "refused", "errno": error.errno, "message": f"{error.filename}: {error.strerror}"})
    except channel.Closed:
        pass
    os._exit(1)


def _separate(end: socket.socket, hello: channel.Message, kept: list[int]) -> None:
    """Leave the host's namespaces; `kept` are the users and the network of a fork server that has ended, if any."""
    hello["host_net"] = None if hello["rootless"] else open_namespace("net")
    if hello["rootless"]:
        _become_root(end, hello, kept)
    # Keys of whoever started the cluster are not for pods; where the kernel has none, there is nothing to keep.
    with contextlib.suppress(OSError):
        kernel.leave_session_keys()
    # Its own names and shared memory too: it must be able to come back to them from those of a pod.
    kernel.unshare(kernel.NEW_MOUNT | kernel.NEW_PID | kernel.NEW_UTS | kernel.NEW_IPC)
    if kept:
        kernel.setns(kept[1], kernel.NEW_NET)
    else:
        kernel.unshare(kernel.NEW_NET)
    hello["is_new"] = not kept
    for file in kept:
        os.close(file)


def _become_root(end: socket.socket, hello: channel.Message, kept: list[int]) -> None:
    if kept:
        kernel.setns(kept[0], kernel.NEW_USER)
    elif hello["ranges"]:
        kernel.unshare(kernel.NEW_USER)
        channel.send(end, {"event": "unshared"})
        channel.receive(end)
    else:
        become_root_of_own(os.getuid(), os.getgid())
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def _serve(end: socket.socket, hello: channel.Message) -> NoReturn:
    kernel.die_with_parent()
    try:
        kernel.mount(None, "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("proc", "/proc", kind="proc", flags=kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        hello["open_files"] = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        kernel.prctl(kernel.PR_SET_NAME, b"trainplane-fork")
        server = Server(end, hello)
    except OSError as error:
        channel.send(end, {"event": "refused", "errno": error.errno, "message": f"{error.filename}: {error.strerror}"})
        os._exit(1)
    try:
        server.serve()
    except BaseException:
        # It goes to the log in the Runner's folder; whoever asked hears that the fork server has ended.
        traceback.print_exc()
        raise
    finally:
        os._exit(0)
