"""The API over HTTPS measured: creating, reading, patching, listing and watching, by clients of another process.

Beside it stands a server that only echoes, and a real kube-apiserver where TRAINPLANE_REAL_KUBECONFIG names one.
"""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import orjson

from bench.asking import Connection, Server, load
from bench.measure import ENVIRONMENT, Row
from bench.storing import pod

TRAINPLANE = str(Path(sys.executable).parent / "trainplane")
REAL = "TRAINPLANE_REAL_KUBECONFIG"
CLIENTS = 16
WATCHERS = 50
PODS = 5_000
WATCHED = 1_000
LISTS = 21
OBJECTS = 10_000
STATUS = orjson.dumps(
    {
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.7",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T12:00:00Z"}],
        }
    }
)
STRATEGIC = "application/strategic-merge-patch+json"


class Took(msgspec.Struct, frozen=True):
    """How many a second, and how long half of them and all but one in a hundred took at most, in seconds."""

    rate: float
    p50: float
    p99: float

    @classmethod
    def of(cls, rate: float, times: list[float]) -> "Took":
        """From sorted times."""
        return cls(rate, times[len(times) // 2], times[len(times) * 99 // 100])

    def __str__(self) -> str:
        """As tables show it."""
        return f"p50 {self.p50 * 1000:.1f} ms, p99 {self.p99 * 1000:.1f} ms"


class Figures(msgspec.Struct, frozen=True):
    """What was measured of one server."""

    create: Took
    get: Took
    patch: Took
    list: Took
    watch: Took


class Paths(msgspec.Struct, frozen=True):
    """Where a server takes what."""

    pods: str
    watch: str
    list: str

    def pod(self, number: int) -> str:
        """One pod."""
        return f"{self.pods}/train-{number}"


def body(number: int, namespace: str) -> bytes:
    """A pod of about 2 kB that no scheduler is asked to place."""
    raw = pod(number)
    del raw["status"]
    metadata = {**raw["metadata"], "namespace": namespace}
    spec: dict[str, Any] = {**raw["spec"], "schedulerName": "nobody"}
    return orjson.dumps({**raw, "metadata": metadata, "spec": spec})


async def figures(server: Server, paths: Paths, namespace: str) -> Figures:
    """Measure everything at one server; it has PODS and WATCHED pods afterwards."""
    bodies = [body(number, namespace) for number in range(PODS + WATCHED)]

    async def create(connection: Connection, number: int) -> None:
        await connection.ask("POST", paths.pods, bodies[number])

    async def get(connection: Connection, number: int) -> None:
        await connection.ask("GET", paths.pod(number))

    async def patch(connection: Connection, number: int) -> None:
        await connection.ask("PATCH", f"{paths.pod(number)}/status", STATUS, media=STRATEGIC)

    async def listing(connection: Connection, _: int) -> None:
        await connection.ask("GET", paths.list)

    made = Took.of(*await load(server, create, count=PODS, clients=CLIENTS))
    got = Took.of(*await load(server, get, count=PODS, clients=CLIENTS))
    patched = Took.of(*await load(server, patch, count=PODS, clients=CLIENTS))
    listed = Took.of(*await load(server, listing, count=LISTS, clients=1))
    return Figures(made, got, patched, listed, await watching(server, paths, bodies[PODS:]))


async def watching(server: Server, paths: Paths, bodies: list[bytes]) -> Took:
    """Events that watchers are given while pods are made, and how long after the request for a pod each has it."""
    sent: dict[bytes, float] = {}
    late: list[float] = []
    name = re.compile(rb'"name":"(train-\d+)"')
    connections = [await Connection.open(server) for _ in range(WATCHERS)]
    page = orjson.loads(await connections[0].ask("GET", f"{paths.list}?limit=1"))
    for connection in connections:
        await connection.send("GET", paths.watch + page["metadata"]["resourceVersion"])
        await connection.head()

    async def follow(connection: Connection) -> None:
        told, rest = 0, b""
        while told < len(bodies):
            *lines, rest = (rest + await connection.chunk()).split(b"\n")
            now = time.perf_counter()
            for line in lines:
                found = name.search(line)
                if found and found[1] in sent:
                    told += 1
                    late.append(now - sent[found[1]])

    async def create(connection: Connection, number: int) -> None:
        found = name.search(bodies[number])
        assert found
        sent[found[1]] = time.perf_counter()
        await connection.ask("POST", paths.pods, bodies[number])

    start = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for connection in connections:
            tasks.create_task(follow(connection))
        tasks.create_task(load(server, create, count=len(bodies), clients=CLIENTS))
    rate = len(late) / (time.perf_counter() - start)
    for connection in connections:
        connection.close()
    return Took.of(rate, sorted(late))


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[Server, int]]:
    """A cluster of ours in a process of its own, and that process's number."""
    command = [TRAINPLANE, "up", "--data", str(folder)]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        try:
            if not process.stdout.readline():
                raise RuntimeError("trainplane up did not come up")
            yield Server.of(folder / "kubeconfig"), process.pid
        finally:
            process.terminate()
            process.wait(60)


async def _in_namespace(server: Server, namespace: str) -> Figures:
    connection = await Connection.open(server)
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await connection.ask("POST", "/api/v1/namespaces", orjson.dumps(made))
    home = f"/api/v1/namespaces/{namespace}"
    for _ in range(100):
        # A controller makes the account that pods need, where one does.
        with suppress(RuntimeError):
            await connection.ask("GET", f"{home}/serviceaccounts/default")
            break
        await asyncio.sleep(0.1)
    connection.close()
    watch = f"{home}/pods?watch=true&resourceVersion="
    return await figures(server, Paths(f"{home}/pods", watch, f"{home}/pods"), namespace)


async def _real(server: Server) -> Figures:
    namespace = f"bench-{os.getpid()}"
    try:
        return await _in_namespace(server, namespace)
    finally:
        connection = await Connection.open(server)
        await connection.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
        await connection.ask("DELETE", f"/api/v1/namespaces/{namespace}")
        connection.close()


def resident(pid: int) -> float:
    """The megabytes that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    assert found
    return int(found[1]) / 1024


async def _fill(server: Server, *, objects: int) -> float:
    """Create ConfigMaps of 1 kB each until there are so many objects more; returns the megabytes of their JSON."""
    text = "x" * 700

    async def create(connection: Connection, number: int) -> None:
        raw = {"metadata": {"name": f"config-{number}"}, "data": {"text": text}}
        await connection.ask("POST", "/api/v1/namespaces/bench/configmaps", orjson.dumps(raw))

    await load(server, create, count=objects, clients=CLIENTS)
    connection = await Connection.open(server)
    size = 0
    for plural in ("pods", "configmaps"):
        size += len(await connection.ask("GET", f"/api/v1/namespaces/bench/{plural}"))
    connection.close()
    return size / 1e6


async def _kept(server: Server) -> tuple[bytes, bytes]:
    """A pod and all pods, as the server answers with them."""
    connection = await Connection.open(server)
    home = "/api/v1/namespaces/bench/pods"
    item, listed = await connection.ask("GET", f"{home}/train-0"), await connection.ask("GET", home)
    connection.close()
    return item, listed


def _plain(folder: Path, server: Server, item: bytes, listed: bytes) -> Figures:
    """The same asked of a server that only echoes."""
    (folder / "item").write_bytes(item)
    (folder / "list").write_bytes(listed)
    command = [sys.executable, "-m", "bench.plain", str(folder / "data" / "pki" / "serving.pem")]
    with subprocess.Popen(
        [*command, str(folder / "item"), str(folder / "list")], env=ENVIRONMENT, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        try:
            echo = Server(server.host, int(process.stdout.readline()), server.tls, "")
            return asyncio.run(figures(echo, Paths("/pods", "/watch?since=", "/list"), "bench"))
        finally:
            process.terminate()


class Served(msgspec.Struct, frozen=True):
    """What was measured of all servers, and of the memory of ours."""

    ours: Figures
    plain: Figures
    real: Figures | None
    memory: float
    size: float


def measured() -> Served:
    """Ours, one that only echoes, and a real one where it is named."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with cluster(folder / "data") as (server, pid):
            ours = asyncio.run(_in_namespace(server, "bench"))
            item, listed = asyncio.run(_kept(server))
            size = asyncio.run(_fill(server, objects=OBJECTS - PODS - WATCHED))
            memory = resident(pid)
        plain = _plain(folder, server, item, listed)
    real = os.environ.get(REAL)
    return Served(ours, plain, asyncio.run(_real(Server.of(Path(real)))) if real else None, memory, size)


def rows(found: Served) -> list[Row]:
    """What clients of ours see, beside what the road alone costs."""
    ours, plain = found.ours, found.plain
    return [
        _rate("pods created", ours.create, plain.create, aim=1_200),
        _rate("pods read", ours.get, plain.get),
        _rate("pods whose status is patched", ours.patch, plain.patch),
        Row(
            what=f"list of {PODS:,} pods, one client (p99 {ours.list.p99 * 1000:.0f} ms)",
            figure=f"{ours.list.p50 * 1000:.0f} ms",
            aim="under 120 ms",
            baseline=f"the same bytes from a plain server: {plain.list.p50 * 1000:.0f} ms",
            ratio=f"{ours.list.p50 / plain.list.p50:.2f}×",
            reached=ours.list.p50 < 0.12,
        ),
        _rate(f"events given to {WATCHERS} watchers while pods are created", ours.watch, plain.watch, aim=20_000),
        Row(
            what=f"resident memory with {OBJECTS:,} objects, {PODS + WATCHED:,} of them pods",
            figure=f"{found.memory:.0f} MB",
            aim="under 150 MB",
            baseline=f"their JSON: {found.size:.0f} MB",
            ratio=f"{found.memory / found.size:.1f}×",
            reached=found.memory < 150,
        ),
    ]


def _rate(what: str, ours: Took, plain: Took, *, aim: int = 0) -> Row:
    return Row(
        what=f"{what} ({ours})",
        figure=f"{ours.rate:,.0f}/s",
        aim=f"at least {aim:,}/s" if aim else "",
        baseline=f"a plain server that echoes: {plain.rate:,.0f}/s",
        ratio=f"{ours.rate / plain.rate:.2f}×",
        reached=ours.rate >= aim,
    )


def beside(found: Served) -> str:
    """The same asked of a real API server, as a table; a sentence where none was named."""
    if found.real is None:
        return f"No kubeconfig of a real cluster was given in {REAL} when this page was written."
    lines = ["| What | Trainplane | kube-apiserver and etcd | Ratio |", "| --- | --- | --- | --- |"]
    for what, name in (
        ("create", "create"),
        ("get", "get"),
        ("patch status", "patch"),
        (f"events to {WATCHERS} watchers", "watch"),
    ):
        ours, real = getattr(found.ours, name), getattr(found.real, name)
        ratio = f"{ours.rate / real.rate:.2f}× as many"
        lines.append(f"| {what} | {ours.rate:,.0f}/s ({ours}) | {real.rate:,.0f}/s ({real}) | {ratio} |")
    ours, real = found.ours.list, found.real.list
    lines.append(f"| list of {PODS:,} pods | {ours} | {real} | {ours.p50 / real.p50:.2f}× as long |")
    return "\n".join(lines)
