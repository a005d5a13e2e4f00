"""What a pod finds of the network between it and its peers: names, connections, bandwidth, ssh, collectives.

It runs in any image with Python 3.8 or later and needs no package; with --collective it uses torch. All pods run it
with the same list of hosts. Each serves on its port, looks up and calls all others, and then does what rank 0 orders,
so that no two measurements share a pod. At the end each writes one line of JSON that begins with MARK.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from io import BufferedReader

    Link = tuple[socket.socket, BufferedReader]

MARK = "trainplane-network: "
PIECE = bytes(1 << 20)
CALL = 5.0
"""Seconds for one attempt to connect."""
COLLECTIVE = 120.0
"""Seconds for the collective, the import of torch included."""
SSHD_PORT = 2222
KEYS = ("id", "id.pub", "host", "host.pub")


def main() -> None:
    """Look at the network from here, and write what was found."""
    asked = arguments()
    if asked.all_reduce:
        sys.stdout.write(json.dumps(all_reduce(asked.rank, len(asked.hosts))) + "\n")
        return
    probe = Probe(asked)
    probe.serve()
    ending = probe.sshd() if asked.ssh else None
    try:
        probe.look()
        probe.obey()
    finally:
        if ending:
            ending.kill()
        shutil.rmtree(probe.keys, ignore_errors=True)
    sys.stdout.write(MARK + json.dumps(probe.found) + "\n")


def arguments() -> argparse.Namespace:
    """What was asked for, on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hosts", nargs="+", help="host:port of every pod, in the order of their ranks")
    parser.add_argument("--rank", type=int, default=int(os.environ.get("JOB_COMPLETION_INDEX") or 0))
    parser.add_argument("--seconds", type=float, default=0.5, help="how long each pair is measured")
    parser.add_argument("--wait", type=float, default=60.0, help="how long peers are waited for")
    parser.add_argument("--ssh", default="", help="the folder with keys; with it, peers are reached over ssh too")
    parser.add_argument("--collective", action="store_true", help="measure an all-reduce with torch too")
    parser.add_argument("--all-reduce", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    asked.hosts = [(host, int(port)) for host, _, port in (each.rpartition(":") for each in asked.hosts)]
    return asked


class Probe:
    """One pod's part."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked = asked
        self.rank = asked.rank
        self.peers = [rank for rank in range(len(asked.hosts)) if rank != asked.rank]
        self.until = time.monotonic() + asked.wait
        self.found: dict[str, Any] = {
            "rank": asked.rank,
            "dns": {},
            "tcp": {},
            "rate": {},
            "ssh": {},
            "collective": None,
        }
        self.joined: dict[int, Link] = {}
        self.over = False
        self.keys = ""
        self.lock = threading.Condition()

    def serve(self) -> None:
        """Answer peers from now on, at our own address where we know it: others may have the port elsewhere."""
        server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((self.address(), self.asked.hosts[self.rank][1]))
        server.listen(128)
        threading.Thread(target=self.accept, args=(server,), daemon=True).start()

    def address(self) -> str:
        """Our own address; "", which is any, where our name is not known yet."""
        try:
            return socket.gethostbyname(self.asked.hosts[self.rank][0])
        except OSError:
            return ""

    def accept(self, server: socket.socket) -> None:
        """Take every call."""
        while True:
            call, _ = server.accept()
            threading.Thread(target=self.answer, args=(call,), daemon=True).start()

    def answer(self, call: socket.socket) -> None:
        """Do what the first line of a call asks for."""
        with contextlib.suppress(OSError, ValueError):
            call.settimeout(self.asked.wait)
            lines = call.makefile("rb")
            word = json.loads(lines.readline() or b"{}")
            if word.get("do") == "join":
                with self.lock:
                    self.joined[word["rank"]] = (call, lines)
                    self.lock.notify_all()
                    is_late = self.over
                if is_late:
                    say(call, {"do": "end"})
                return
            if word.get("do") == "sink":
                count = 0
                while True:
                    data = lines.read1(1 << 20)
                    if not data:
                        break
                    count += len(data)
                say(call, {"bytes": count})
            else:
                say(call, {})
            call.close()

    def look(self) -> None:
        """Look up every peer and call it, all at once, until it answers or time is up."""
        threads = [threading.Thread(target=self.reach, args=(rank,)) for rank in self.peers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def reach(self, rank: int) -> None:
        """Look up one peer and call it."""
        host, port = self.asked.hosts[rank]
        self.found["dns"][rank] = self.patiently(lambda: socket.getaddrinfo(host, port, socket.AF_INET))
        if "error" in self.found["dns"][rank]:
            self.found["tcp"][rank] = {"error": "its name is not known"}
            return

        def call() -> None:
            with socket.create_connection((host, port), timeout=CALL) as link:
                say(link, {"do": "ping"})
                if not link.makefile("rb").readline():
                    raise OSError("it hung up")

        self.found["tcp"][rank] = self.patiently(call)

    def patiently(self, work: Callable[[], object]) -> dict[str, Any]:
        """How long something took, in seconds, once it works; or why it does not."""
        while True:
            began = time.monotonic()
            try:
                work()
            except OSError as error:
                if time.monotonic() > self.until:
                    return {"error": error.strerror or str(error)}
                time.sleep(0.2)
            else:
                return {"seconds": time.monotonic() - began}

    def obey(self) -> None:
        """Join rank 0 and do what it orders; rank 0 gives the orders, to itself as well."""
        if self.rank == 0:
            threading.Thread(target=self.order, daemon=True).start()
        try:
            link = socket.create_connection(self.asked.hosts[0], timeout=CALL)
            say(link, {"do": "join", "rank": self.rank})
            link.settimeout(self.asked.wait + COLLECTIVE + len(self.peers) * (4 * self.asked.seconds + CALL))
            with link, link.makefile("rb") as lines:
                for line in lines:
                    word = json.loads(line)
                    if word["do"] == "end":
                        return
                    self.act(word)
                    say(link, {"done": True})
        except (OSError, ValueError) as error:
            self.found["alone"] = str(error)

    def act(self, word: dict[str, Any]) -> None:
        """One order."""
        if word["do"] == "measure":
            self.found["rate"][word["to"]] = self.measure(word["to"])
        elif word["do"] == "ssh":
            self.found["ssh"] = {rank: self.log_in(rank) for rank in self.peers}
        elif word["do"] == "collective":
            self.found["collective"] = self.collective()

    def measure(self, rank: int) -> dict[str, Any]:
        """How many bytes a second reach a peer."""
        try:
            with socket.create_connection(self.asked.hosts[rank], timeout=CALL) as link:
                say(link, {"do": "sink"})
                began = time.monotonic()
                while time.monotonic() - began < self.asked.seconds:
                    link.sendall(PIECE)
                link.shutdown(socket.SHUT_WR)
                count = json.loads(link.makefile("rb").readline())["bytes"]
                return {"rate": count / (time.monotonic() - began)}
        except (OSError, ValueError, KeyError) as error:
            return {"error": str(error) or type(error).__name__}

    def order(self) -> None:
        """Have all pods that joined measure, pair by pair; each pod is in one pair at a time."""
        with self.lock:
            # Whoever looks for a peer in vain joins only after that; who cannot be reached from here may never.
            late = self.until + 2 * CALL
            awaited = {0, *(rank for rank, found in self.found["tcp"].items() if "error" not in found)}
            while awaited - self.joined.keys() and time.monotonic() < late:
                self.lock.wait(0.2)
            there, self.over = dict(self.joined), True
        for pairs in rounds(sorted(there)):
            for turned in (pairs, [(b, a) for a, b in pairs]):
                together(there, {a: {"do": "measure", "to": b} for a, b in turned})
        if self.asked.ssh:
            together(there, {rank: {"do": "ssh"} for rank in there})
        if self.asked.collective and len(there) == len(self.asked.hosts):
            together(there, {rank: {"do": "collective"} for rank in there})
        for link, _ in there.values():
            with contextlib.suppress(OSError):
                say(link, {"do": "end"})

    def sshd(self) -> subprocess.Popen[bytes] | None:
        """Start sshd with the job's keys; None where it is not installed."""
        program = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        if program is None:
            return None
        self.keys = tempfile.mkdtemp()
        for name in KEYS:
            # ssh refuses keys that others may read, and those of a volume often are.
            path = os.path.join(self.keys, name)
            shutil.copyfile(os.path.join(self.asked.ssh, name), path)
            os.chmod(path, 0o600)
        options = {
            # Where pods share the machine's network, nobody outside of it shall find this sshd.
            "ListenAddress": self.address() or "0.0.0.0",  # noqa: S104 - the pod's own
            "HostKey": f"{self.keys}/host",
            "AuthorizedKeysFile": f"{self.keys}/id.pub",
            "PidFile": "none",
            "UsePAM": "no",
            "StrictModes": "no",
            "PasswordAuthentication": "no",
        }
        with contextlib.suppress(OSError):
            os.makedirs("/run/sshd", exist_ok=True)
        words = [program, "-D", "-e", "-p", str(SSHD_PORT), "-f", "/dev/null"]
        words += [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return subprocess.Popen(  # noqa: S603 - what was found on the PATH
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def log_in(self, rank: int) -> dict[str, Any]:
        """Run `true` at a peer over ssh, its host key verified."""
        program = shutil.which("ssh")
        if program is None or not self.keys:
            return {"error": "ssh or sshd is not in the image"}
        host = self.asked.hosts[rank][0]
        known = os.path.join(self.keys, "known_hosts")
        with open(os.path.join(self.keys, "host.pub")) as key, open(known, "w") as file:
            file.write(f"[{host}]:{SSHD_PORT} {key.read()}")
        options = {"BatchMode": "yes", "UserKnownHostsFile": known, "ConnectTimeout": "5", "IdentitiesOnly": "yes"}
        words = [program, "-F", "/dev/null", "-i", f"{self.keys}/id", "-p", str(SSHD_PORT)]
        words += [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        began = time.monotonic()
        try:
            done = subprocess.run(  # noqa: S603 - what was found on the PATH
                [*words, host, "true"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=20,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"error": "no answer for 20 s"}
        if done.returncode:
            return {"error": (done.stderr.strip().splitlines() or ["it failed"])[-1]}
        return {"seconds": time.monotonic() - began}

    def collective(self) -> dict[str, Any]:
        """Measure an all-reduce of all pods, in a process that can be ended."""
        words = [sys.executable, os.path.abspath(__file__), "--all-reduce", "--rank", str(self.rank)]
        words += [f"{host}:{port}" for host, port in self.asked.hosts]
        env = {**os.environ, "MASTER_ADDR": self.asked.hosts[0][0], "MASTER_PORT": str(self.asked.hosts[0][1] + 1)}
        try:
            done = subprocess.run(  # noqa: S603 - this program
                words, env=env, capture_output=True, text=True, timeout=COLLECTIVE, check=False
            )
        except subprocess.TimeoutExpired:
            return {"error": f"the all-reduce took more than {COLLECTIVE:.0f} s"}
        last = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines() or ["it said nothing"]
        return json.loads(last[-1]) if done.returncode == 0 else {"error": last[-1]}


def say(link: socket.socket, word: dict[str, Any]) -> None:
    """Send one line."""
    link.sendall(json.dumps(word).encode() + b"\n")


def together(there: Mapping[int, Link], orders: Mapping[int, dict[str, Any]]) -> None:
    """Give orders at once, and wait until all are done."""
    for rank, word in orders.items():
        with contextlib.suppress(OSError):
            say(there[rank][0], word)
    for rank in orders:
        with contextlib.suppress(OSError):
            there[rank][1].readline()


def rounds(ranks: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """Every pair once, in rounds in which nobody is in two pairs: all turn around the first."""
    nobody = -1
    circle = [*ranks, *([nobody] if len(ranks) % 2 else [])]
    for _ in range(len(circle) - 1):
        pairs = [(circle[i], circle[-1 - i]) for i in range(len(circle) // 2)]
        yield [pair for pair in pairs if nobody not in pair]
        circle = [circle[0], circle[-1], *circle[1:-1]]


def all_reduce(rank: int, size: int) -> dict[str, Any]:
    """The bandwidth of an all-reduce, as NCCL's own tests count it, with the library that moves the data."""
    torch, dist = import_module("torch"), import_module("torch.distributed")
    on_gpu = torch.cuda.is_available()
    backend = "nccl" if on_gpu else "gloo"
    dist.init_process_group(backend, rank=rank, world_size=size)
    data = torch.ones((64 if on_gpu else 4) << 20, device="cuda" if on_gpu else "cpu")
    for _ in range(2):
        dist.all_reduce(data)
    if on_gpu:
        torch.cuda.synchronize()
    times, began = 5, time.monotonic()
    for _ in range(times):
        dist.all_reduce(data)
    if on_gpu:
        torch.cuda.synchronize()
    seconds = (time.monotonic() - began) / times
    dist.destroy_process_group()
    moved = data.numel() * data.element_size() * 2 * (size - 1) / size
    return {"backend": backend, "rate": moved / seconds, "bytes": data.numel() * data.element_size()}


if __name__ == "__main__":
    main()
