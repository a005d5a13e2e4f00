"""Plain processes: started with the host's places in their words, ended with all that they have started."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE, STORY
from trainplane.api.ref import Ref
from trainplane.node.pipes import Drain, open_ends
from trainplane.node.process import ProcessRunner, address_of
from trainplane.node.rewrite import Rewrite
from trainplane.node.runner import START_ERROR, Box, Exit, Mount, NotStarted, Program, Started

DOMAIN = "job.ns.svc.cluster.local"
PATH = os.environ["PATH"]


def box(folder: Path, **said: Any) -> Box:
    folder.mkdir(parents=True, exist_ok=True)
    fields = {"domain": DOMAIN, "job": "ns/job", "ports": (29500,), **said}
    return Box(Ref("", "Pod", "ns", "p"), "uid-1", "job-0", folder, **fields)


def program(*argv: str, **said: Any) -> Program:
    fields = {"env": {"PATH": PATH}, "cwd": "/", **said}
    return Program("c", argv, **fields)


class Runs:
    """A runner, and what its processes say."""

    def __init__(self, runner: ProcessRunner, box: Box) -> None:
        self.runner = runner
        self.box = box
        self.said = bytearray()

    async def start(self, program: Program) -> Started:
        ends = open_ends(stdin=False, terminal=False, joined=True)
        try:
            started = await self.runner.start(self.box, program, ends.stdio)
        except NotStarted:
            ends.give_up()
            raise
        ends.started()
        self.drain = Drain(ends.out, self.said.extend)
        return started

    async def run(self, program: Program) -> Exit:
        exit_ = await self.runner.wait(await self.start(program))
        self.drain.finish()
        return exit_

    async def hear(self, word: str) -> str:
        async with asyncio.timeout(PATIENCE):
            while word.encode() not in self.said:
                await asyncio.sleep(0.01)
        return self.said.decode()


@asynccontextmanager
async def runs(folder: Path, **said: Any) -> AsyncIterator[Runs]:
    runner = ProcessRunner(folder)
    made = box(folder / "box", **said)
    await runner.make(made)
    try:
        yield Runs(runner, made)
    finally:
        await runner.close()


def played(folder: Path, play: Callable[[Runs], Coroutine[Any, Any, None]], **said: Any) -> None:
    async def all_of_it() -> None:
        async with asyncio.timeout(STORY), runs(folder, **said) as made:
            await play(made)

    asyncio.run(all_of_it())


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("argv", "code", "signalled"),
    [
        pytest.param(("sh", "-c", "exit 7"), 7, 0, id="a code"),
        pytest.param(("sh", "-c", "kill -TERM $$"), 0, 15, id="a signal"),
        pytest.param(("true",), 0, 0, id="nothing"),
    ],
)
def test_how_a_process_ends(tmp_path: Path, argv: tuple[str, ...], code: int, signalled: int) -> None:
    async def play(made: Runs) -> None:
        exit_ = await made.run(program(*argv))
        assert (exit_.code, exit_.signal, exit_.oom) == (code, signalled, False)

    played(tmp_path, play)


@pytest.mark.parametrize(
    ("argv", "cwd", "message"),
    [
        pytest.param(("nope",), "/", 'exec: "nope": executable file not found in $PATH', id="no such program"),
        pytest.param(("/etc/passwd",), "/", 'exec: "/etc/passwd": permission denied', id="not a program"),
        pytest.param(
            ("true",), "/no/folder", 'chdir to cwd ("/no/folder") failed: no such file or directory', id="no folder"
        ),
    ],
)
def test_what_cannot_start_says_why(tmp_path: Path, argv: tuple[str, ...], cwd: str, message: str) -> None:
    async def play(made: Runs) -> None:
        with pytest.raises(NotStarted) as caught:
            await made.start(program(*argv, cwd=cwd))
        assert (caught.value.reason, caught.value.message) == (START_ERROR, message)

    played(tmp_path, play)


def test_a_daemon_ends_with_its_container(tmp_path: Path) -> None:
    """As torchrun's workers, which are in sessions of their own."""
    begun = tmp_path / "begun"
    daemon = (
        "import os, sys, time\nif os.fork(): sys.exit(3)\nos.setsid()\nprint(os.getpid(), flush=True)\n"
        f'open("{begun}", "w").close()\ntime.sleep(600)'
    )

    async def play(made: Runs) -> None:
        wait = f"until test -e {begun}; do sleep 0.02; done"
        exit_ = await made.run(program("sh", "-c", f"{sys.executable} -c '{daemon}'; {wait}"))
        assert exit_.code == 0
        pid = int((await made.hear("\n")).strip())
        async with asyncio.timeout(PATIENCE):
            while is_alive(pid):
                await asyncio.sleep(0.02)

    played(tmp_path, play)


def test_kill_reaches_everything_and_term_only_the_first(tmp_path: Path) -> None:
    async def play(made: Runs) -> None:
        started = await made.start(
            program("sh", "-c", "trap 'echo asked' TERM; setsid sleep 600 & echo $!; wait; wait")
        )
        child = int((await made.hear("\n")).split()[0])
        await made.runner.kill(started, signal.SIGTERM)
        await made.hear("asked")
        assert is_alive(child)
        await made.runner.kill(started, signal.SIGKILL)
        assert (await made.runner.wait(started)).signal == signal.SIGKILL
        # Who was killed has let go of all it had before the kernel calls it dead.
        async with asyncio.timeout(PATIENCE):
            while is_alive(child):
                await asyncio.sleep(0.01)

    played(tmp_path, play)


def test_a_limit_on_memory_is_held(tmp_path: Path) -> None:
    async def play(made: Runs) -> None:
        hungry = "x = b'x' * (200 * 1024 * 1024); import time; time.sleep(600)"
        exit_ = await made.run(program(sys.executable, "-c", hungry, memory=50 * 1024 * 1024))
        assert (exit_.signal, exit_.oom) == (9, True)

    played(tmp_path, play)


def test_what_a_pod_uses(tmp_path: Path) -> None:
    async def play(made: Runs) -> None:
        await made.start(program(sys.executable, "-c", "print('up', flush=True)\nwhile True: pass"))
        await made.hear("up")
        async with asyncio.timeout(PATIENCE):
            while (use := await made.runner.use(made.box)).cpu_seconds < 0.05:
                await asyncio.sleep(0.05)
        assert use.memory > 1024 * 1024

    played(tmp_path, play)


def test_another_process_joins_a_container(tmp_path: Path) -> None:
    async def play(made: Runs) -> None:
        volume = tmp_path / "v"
        volume.mkdir()
        first = program("sleep", "600", env={"PATH": PATH, "A": "1"}, cwd="/v", mounts=(Mount("/v", volume),))
        started = await made.start(first)
        ends = open_ends(stdin=False, terminal=False, joined=True)
        joined = await made.runner.exec(started, ["sh", "-c", "echo $A $(pwd) /v/x; exit 4"], ends.stdio)
        ends.started()
        said = bytearray()
        drain = Drain(ends.out, said.extend)
        assert (await made.runner.wait(joined)).code == 4
        drain.finish()
        assert said.decode() == f"1 {volume} {volume}/x\n"
        assert (await made.runner.wait(joined)).code == 4

    played(tmp_path, play)


def test_two_jobs_have_ports_of_their_own_and_are_reached_at_them(tmp_path: Path) -> None:
    serve = (
        "import http.server, os; port = int(os.environ['MASTER_PORT']); print(port, flush=True);"
        "http.server.HTTPServer((os.environ['POD'], port), http.server.BaseHTTPRequestHandler).serve_forever()"
    )

    async def play(made: Runs) -> None:
        env = {"PATH": PATH, "MASTER_PORT": "29500", "POD": f"job-0.{DOMAIN}"}
        await made.start(program(sys.executable, "-c", serve, env=env))
        port = int((await made.hear("\n")).split()[0])
        assert port != 29500
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    (await made.runner.dial(made.box, 29500)).close()
                    break
                except OSError:
                    await asyncio.sleep(0.05)

    played(tmp_path, play)


def test_what_a_former_life_left_is_ended(tmp_path: Path) -> None:
    """The agent is killed hard; the next one finds its pods by their mark."""
    script = f"""
import asyncio, os, sys
from pathlib import Path
from tests.node.test_process import program, runs
async def main():
    async with runs(Path({str(tmp_path)!r})) as made:
        started = await made.start(program("sh", "-c", "setsid sleep 300 & echo $!; sleep 300"))
        print(started.pid, (await made.hear("\\n")).strip(), flush=True)
        os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=False, timeout=PATIENCE)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2
    assert all(is_alive(pid) for pid in pids)

    async def sweep() -> list[str]:
        return list(await ProcessRunner(tmp_path).sweep())

    assert asyncio.run(sweep()) == ["uid-1"]
    end = time.monotonic() + PATIENCE
    while any(is_alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        pytest.param("/v/x", "{v}/x", id="a place in a volume"),
        pytest.param("cat /v/x > /v/y;ls /v", "cat {v}/x > {v}/y;ls {v}", id="wherever it stands"),
        pytest.param("/v/sub/x", "{w}/x", id="the nearest mount counts"),
        pytest.param("/vx /a/v --out=/v", "/vx /a/v --out={v}", id="nothing that only looks like it"),
        pytest.param("job-1.job", "{peer}", id="a peer"),
        pytest.param("tcp://job-1.job.ns.svc.cluster.local:29500/", "tcp://{peer}:4000/", id="with the job's port"),
        pytest.param("job-1.job.ns:80", "{peer}:80", id="and with another"),
        pytest.param("job-1.jobs job-1.job.com", "job-1.jobs job-1.job.com", id="no peer"),
        pytest.param("/dev/termination-log", "{m}", id="a file"),
    ],
)
def test_rewriting(tmp_path: Path, text: str, rewritten: str) -> None:
    places = {name: tmp_path / name for name in ("v", "w", "m")}
    mounts = (
        Mount("/v", places["v"]),
        Mount("/v/sub", places["w"]),
        Mount("/dev/termination-log", places["m"]),
    )
    rewrite = Rewrite(box(tmp_path), program("x", mounts=mounts), address=address_of, port=lambda _: 4000)
    peer = address_of(f"job-1.{DOMAIN}")
    assert rewrite.text(text) == rewritten.format(peer=peer, **places)
    assert rewrite.variable("MASTER_PORT", "29500") == "4000"
    assert rewrite.variable("STEPS", "29500") == "29500"
