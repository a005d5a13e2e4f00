"""The fork server: a small process with the pods' network, which makes boxes and containers and reports their ends.

It is the first process of a PID namespace, in a network and a mount namespace of its own, so whatever way it ends,
nothing that it made outlives it but control groups and files.
"""

import contextlib
import gc
import os
import select
import signal
import socket
from collections.abc import Callable
from typing import NoReturn

from trainplane.node.namespaced import cgroups, channel, kernel, minder
from trainplane.node.namespaced.boxes import Box, Maker
from trainplane.node.namespaced.channel import Message
from trainplane.node.namespaced.identity import Map
from trainplane.node.namespaced.network import Network, listener, open_namespace, socket_in
from trainplane.node.namespaced.places import Places
from trainplane.node.namespaced.processes import memory_and_seconds
from trainplane.node.namespaced.users import make_users

_WATCH_SECONDS = 1.0


class _Child:
    """A minder, and what it has said so far."""

    def __init__(self, name: str, order: Message, *, box: str, minder: int, control: socket.socket) -> None:
        self.id, self.box, self.order = name, box, order
        self.minder, self.control = minder, control
        self.group, self.first = "", False
        self.memory: int | None = None
        """The limit that is watched over here, for want of control groups."""
        self.started, self.failed = False, False
        self.status: int | None = None
        self.killed_for_memory = False


class Server:
    """The requests of the Runner, and the boxes and containers that they have made."""

    def __init__(self, end: socket.socket, hello: Message) -> None:
        self._end = end
        self._network = Network(hello["gateway"], is_new=hello["is_new"])
        self._home = {kind: open_namespace(kind) for kind in ("net", "uts", "ipc", "pid")}
        self._open_files: tuple[int, int] = hello["open_files"]
        self._groups = cgroups.restored(hello["cgroups"])
        self._maker = Maker(self._network, self._groups, home=self._home, host_net=hello["host_net"])
        self._boxes: dict[str, Box] = {}
        self._children: dict[int, _Child] = {}
        self._by_file: dict[int, _Child] = {}
        self._users: dict[tuple[Map, Map], int] = {}
        self._places = Places(os.sched_getaffinity(0))
        self._poll = select.poll()
        self._awake = os.pipe()
        self._verbs: dict[str, Callable[[Message, list[int]], Message | None]] = {
            "make": self._make,
            "start": self._start,
            "exec": self._exec,
            "signal": self._signal,
            "socket": self._socket,
            "listen": self._listen,
            "use": self._use,
            "remove": self._remove,
        }

    def serve(self) -> None:
        """Answer until the Runner is gone, then end everything."""
        for file in self._awake:
            os.set_blocking(file, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._awake[1], warn_on_full_buffer=False)
        self._poll.register(self._awake[0], select.POLLIN)
        self._poll.register(self._end.fileno(), select.POLLIN)
        # What is here already is never collected, so that children share it.
        gc.freeze()
        try:
            with contextlib.suppress(channel.Closed):
                # Whoever comes after this one can go on in its network, to which others have open sockets.
                users = open_namespace("user")
                ready = {"event": "ready", "users": _can_make_users()}
                channel.send(self._end, ready, files=[users, self._home["net"]], pid=os.getpid())
                os.close(users)
                while True:
                    self._turn()
        finally:
            self._leave()

    def _turn(self) -> None:
        watched = [child for child in self._children.values() if child.memory is not None]
        for file, _ in self._poll.poll(_WATCH_SECONDS * 1000 if watched else None):
            if file == self._awake[0]:
                with contextlib.suppress(BlockingIOError):
                    os.read(file, 4096)
                self._bury()
            elif file == self._end.fileno():
                self._answer()
            elif file in self._by_file:
                self._hear(self._by_file[file])
        for child in watched:
            if child.memory is not None and memory_and_seconds(child.minder)[0] > child.memory:
                child.killed_for_memory = True
                self._end_now(child)

    def _leave(self) -> None:
        for child in self._children.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.minder, signal.SIGKILL)
        for child in self._children.values():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.minder, 0)
        if self._groups:
            for folder in self._groups.folders:
                cgroups.remove(folder)

    def _answer(self) -> None:
        message, files, _ = channel.receive(self._end)
        passed: socket.socket | None = None
        try:
            answer = self._verbs[message["verb"]](message, files)
            if answer is None:
                return
            passed = answer.pop("passed", None)
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            answer = {"errno": error.errno, "message": f"{error.strerror}{where}"}
        except KeyError:
            answer = {"errno": 3, "message": "there is no such box"}
        finally:
            for file in files:
                os.close(file)
        answer["answers"] = message["number"]
        channel.send(self._end, answer, files=[passed.fileno()] if passed else [])
        if passed:
            passed.close()

    # Boxes

    def _make(self, message: Message, files: list[int]) -> Message:
        if former := self._boxes.pop(message["uid"], None):
            former.release()
        self._boxes[message["uid"]] = self._maker.make(message, net=files[0] if files else None)
        return {}

    def _remove(self, message: Message, _: list[int]) -> None:
        uid = message["uid"]
        children, box = self._of(uid), self._boxes[uid]
        box.removals.append(message["number"])
        box.end_shared()
        for child in children:
            self._end_now(child)
        if not children:
            self._forget(uid)

    def _forget(self, uid: str) -> None:
        box = self._boxes.pop(uid)
        box.release()
        self._remove_group(uid)
        for number in box.removals:
            channel.send(self._end, {"answers": number})

    def _remove_group(self, name: str) -> None:
        for folder in self._groups.folders if self._groups else ():
            cgroups.remove(f"{folder}/{name}")

    def _of(self, uid: str) -> list[_Child]:
        return [child for child in self._children.values() if child.box == uid]

    def _socket(self, message: Message, _: list[int]) -> Message:
        namespaces = self._boxes[message["uid"]].namespaces if message["uid"] else self._home
        return {"passed": socket_in(namespaces["net"], home=self._home["net"])}

    def _listen(self, message: Message, _: list[int]) -> Message:
        return {"passed": listener(self._network.gateway, message["port"], datagrams=message["datagrams"])}

    def _use(self, message: Message, _: list[int]) -> Message:
        box = self._boxes[message["uid"]]
        if self._groups:
            seconds, memory = self._groups.use(message["uid"])
        else:
            firsts = [box.keeper] if box.keeper else [child.minder for child in self._of(message["uid"]) if child.first]
            found = [memory_and_seconds(pid) for pid in firsts]
            memory, seconds = sum(one[0] for one in found), sum(one[1] for one in found)
        return {"seconds": seconds, "memory": memory}

    # Containers

    def _start(self, message: Message, files: list[int]) -> Message:
        box, order, limits = self._boxes[message["uid"]], message["order"], message["limits"]
        beside = self._child(message["beside"]).minder if message["beside"] else None
        group = ""
        if self._groups:
            group = f"{message['uid']}/{message['id']}"
            self._groups.make(group, cgroups.Limits(limits["cpus"], limits["memory"], limits["request"]))
        for folder, size in message["memory_folders"]:
            box.memory_folder(folder, size)
        order["stdio"] = files
        order["namespaces"] = box.namespaces
        order["doors"] = self._groups.doors(group) if self._groups else []
        order["users"] = self._users_of(order)
        order["open_files"] = self._open_files
        order["cpus"] = self._places.take(limits["cpus"])
        order["shares_processes"] = box.keeper is not None or beside is not None
        box.enter_processes(beside)
        try:
            child = self._fork(message["id"], box=message["uid"], order=order, become=minder.container)
        finally:
            kernel.setns(self._home["pid"], kernel.NEW_PID)
        child.group, child.first = group, True
        child.memory = None if self._groups or box.keeper else limits["memory"]
        return {}

    def _exec(self, message: Message, files: list[int]) -> Message:
        host = self._child(message["of"])
        order = {**host.order, **message["order"], "stdio": files}
        order["env"] = {**order["env"], **order.pop("more_env")}
        kinds = {"pid": open_namespace("pid", host.minder), "mount": open_namespace("mnt", host.minder)}
        order["namespaces"] = {**self._boxes[host.box].namespaces, **kinds}
        child = self._fork(message["id"], box=host.box, order=order, become=minder.guest)
        child.group = host.group
        for file in kinds.values():
            os.close(file)
        return {}

    def _child(self, name: str) -> _Child:
        """A container that runs."""
        found = next((child for child in self._children.values() if child.id == name), None)
        if found is None or found.status is not None or found.box not in self._boxes:
            raise ProcessLookupError(3, "the container has ended")
        return found

    def _fork(self, name: str, *, box: str, order: Message, become: Callable[..., NoReturn]) -> _Child:
        ours, theirs = channel.pair()
        pid = os.fork()
        if pid == 0:
            try:
                become(order, theirs)
            finally:
                os._exit(1)
        theirs.close()
        child = _Child(name, order, box=box, minder=pid, control=ours)
        self._children[pid] = child
        self._by_file[ours.fileno()] = child
        self._poll.register(ours.fileno(), select.POLLIN)
        return child

    def _users_of(self, order: Message) -> int | None:
        """An open user namespace with these maps; one that was made is kept for the next container."""
        if order["maps"] is None:
            return None
        uids, gids = (tuple((line[0], line[1], line[2]) for line in lines) for lines in order["maps"])
        if (uids, gids) not in self._users:
            self._users[uids, gids] = make_users(uids, gids)
        return self._users[uids, gids]

    def _signal(self, message: Message, _: list[int]) -> Message:
        for child in self._children.values():
            if child.id == message["id"]:
                if message["signal"] == signal.SIGKILL:
                    self._end_now(child)
                else:
                    _pass_on(child, message["signal"])
        return {}

    def _end_now(self, child: _Child) -> None:
        if child.first and not child.order["shares_processes"]:
            os.kill(child.minder, signal.SIGKILL)
        else:
            _pass_on(child, signal.SIGKILL)

    # What minders say, and their ends

    def _hear(self, child: _Child) -> None:
        try:
            said, _, pid = channel.receive(child.control)
        except channel.Closed:
            self._deaf_to(child)
            return
        if "pid" in said:
            # Said at once: of a process that has ended nobody can say which one it was.
            with contextlib.suppress(ProcessLookupError):
                self._tell(child, {"event": "named"}, pid=pid)
        elif "started" in said:
            child.started = True
            self._tell(child, {"event": "started"})
        elif "failed" in said:
            child.failed = True
            self._tell(child, {"event": "failed", "reason": said["failed"], "message": said["message"]})
        elif "exit" in said:
            child.status = said["exit"]

    def _deaf_to(self, child: _Child) -> None:
        if self._by_file.pop(child.control.fileno(), None):
            self._poll.unregister(child.control.fileno())

    def _tell(self, child: _Child, message: Message, *, pid: int | None = None) -> None:
        channel.send(self._end, {**message, "id": child.id}, pid=pid)

    def _bury(self) -> None:
        """Report what has ended; a minder's end is the end of everything in its container."""
        while self._children or any(box.keeper for box in self._boxes.values()):
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            for box in self._boxes.values():
                box.keeper = None if box.keeper == pid else box.keeper
            if child := self._children.get(pid):
                while child.control.fileno() in self._by_file:
                    self._hear(child)
                self._part(child, status)

    def _part(self, child: _Child, status: int) -> None:
        child.control.close()
        del self._children[child.minder]
        oom = child.killed_for_memory or bool(child.group and self._groups and self._groups.kills(child.group))
        if child.first:
            self._places.give_back(child.order["cpus"])
            self._remove_group(child.group)
        ended = status if child.status is None else child.status
        if child.started:
            code, number = (os.WEXITSTATUS(ended), 0) if os.WIFEXITED(ended) else (0, os.WTERMSIG(ended))
            self._tell(child, {"event": "exit", "code": code, "signal": number, "oom": oom})
        elif not child.failed:
            message = "its memory limit is too small to start it" if oom else "it was ended before it ran"
            self._tell(child, {"event": "failed", "reason": minder.CREATE, "message": message})
        box = self._boxes.get(child.box)
        if box and child.first and child.status is None:
            # A minder that was killed could not end what it had started.
            box.end_shared()
        if box and box.removals and not self._of(child.box):
            self._forget(child.box)


def _can_make_users() -> bool:
    try:
        os.close(make_users(((0, 0, 1),), ((0, 0, 1),)))
    except OSError:
        return False
    return True


def _pass_on(child: _Child, number: int) -> None:
    with contextlib.suppress(channel.Closed):
        channel.send(child.control, {"signal": number})
