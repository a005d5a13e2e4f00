"""A container's program: how it starts, is signalled, joined and ended."""

import asyncio
import os
import pty
import signal
from pathlib import Path

import pytest

from tests.node.namespaced.boxes import mark, once, town, until
from trainplane.node.runner import CREATE_ERROR, START_ERROR, Mount, NotStarted, Stdio


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        pytest.param("exit 0", 0, 0, id="done"),
        pytest.param("exit 7", 7, 0, id="an exit code"),
        pytest.param("kill -KILL $$", 0, signal.SIGKILL, id="killed by itself"),
        pytest.param("kill -SEGV $$", 0, signal.SIGSEGV, id="a crash"),
        pytest.param("kill -TERM 1; sleep 20", 0, signal.SIGTERM, id="process 1 stands for the program"),
    ],
)
def test_the_end_of_a_program_is_told(tmp_path: Path, script: str, code: int, number: int) -> None:
    ended, _ = asyncio.run(once(tmp_path, "sh", "-c", script))
    assert (ended.code, ended.signal, ended.oom) == (code, number, False)


def test_output_goes_where_it_was_told(tmp_path: Path) -> None:
    _, text = asyncio.run(once(tmp_path, "sh", "-c", "echo out; echo err >&2; cat; pwd", cwd="/usr"))
    assert text == "out\nerr\n/usr\n"


def test_a_working_folder_is_made_where_it_is_missing(tmp_path: Path) -> None:
    ended, text = asyncio.run(once(tmp_path, "sh", "-c", "pwd; touch x", cwd="/app/new", read_only_root=False))
    assert (ended.code, text) == (0, "/app/new\n")


@pytest.mark.parametrize(
    ("argv", "fields", "reason", "words"),
    [
        pytest.param(("nosuch",), {}, START_ERROR, ("nosuch", "PATH"), id="a command that is not in the path"),
        pytest.param(("/no/such",), {}, START_ERROR, ("/no/such", "No such file"), id="a path that is not there"),
        pytest.param(("/etc/passwd",), {}, START_ERROR, ("Permission denied",), id="a file that is no program"),
        pytest.param(
            ("true",), {"cwd": "/usr/no/where"}, START_ERROR, ("/usr/no/where",), id="a working folder that cannot be"
        ),
        pytest.param(
            ("true",), {"mounts": (Mount("/data", Path("/no/volume")),)}, CREATE_ERROR, ("/no/volume",), id="a volume"
        ),
    ],
)
def test_what_cannot_start_says_why(
    tmp_path: Path, argv: tuple[str, ...], fields: dict[str, object], reason: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(NotStarted) as refused:
        asyncio.run(once(tmp_path, *argv, **fields))
    assert refused.value.reason == reason
    assert all(word in refused.value.message for word in words), refused.value.message


def test_a_program_gets_its_signals_and_the_host_number_is_its_own(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            pod = await here.pod(
                "p", "sh", "-c", "trap 'echo asked; exit 3' TERM; echo up; while :; do sleep 0.1; done"
            )
            await pod.says("up")
            assert "trap" in Path(f"/proc/{pod.started.pid}/cmdline").read_text(encoding="utf-8")
            await here.runner.kill(pod.started, signal.SIGTERM)
            assert (await pod.end()).code == 3
            assert "asked" in pod.text
            await here.runner.kill(pod.started, signal.SIGTERM)

    asyncio.run(story())


def test_sigkill_ends_what_has_run_away_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            ours = mark()
            pod = await here.pod("p", "sh", "-c", f"setsid sh -c 'setsid sleep {ours} & echo up' & sleep {ours}")
            await pod.says("up")
            await until(lambda: len(_running(ours)) == 2, "both sleeps")
            await here.runner.kill(pod.started, signal.SIGKILL)
            assert (await pod.end()).signal == signal.SIGKILL
            assert _running(ours) == []

    asyncio.run(story())


def test_the_end_of_the_first_program_is_the_end_of_all(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            ours = mark()
            pod = await here.pod("p", "sh", "-c", f"setsid sleep {ours} & sleep 0.1")
            assert (await pod.end()).code == 0
            assert _running(ours) == []

    asyncio.run(story())


def _running(argument: str) -> list[int]:
    found = []
    for each in Path("/proc").iterdir():
        try:
            words = (each / "cmdline").read_bytes().split(b"\0") if each.name.isdigit() else []
        except OSError:
            continue
        if words[:2] == [b"sleep", argument.encode()]:
            found.append(int(each.name))
    return found


def test_another_program_joins_a_container(tmp_path: Path) -> None:
    ours = mark()

    async def story() -> None:
        async with town(tmp_path) as here:
            pod = await here.pod("p", "sh", "-c", f"echo mine > /tmp/file; sleep {ours}", env={"A": "1"}, cwd="/usr")
            await until(lambda: bool(_running(ours)), "the sleep")
            ended, text = await pod.run(
                "sh", "-c", "cat /tmp/file; hostname; pwd; echo $A$B; ps ax; exit 5", env={"B": "2"}
            )
            assert ended.code == 5
            assert text.startswith("mine\np\n/usr\n12\n")
            assert f"sleep {ours}" in text, "it sees the container's processes"
            with pytest.raises(NotStarted, match="nosuch"):
                await pod.run("nosuch")
            await here.runner.kill(pod.started, signal.SIGKILL)
            await pod.end()
            with pytest.raises(NotStarted, match="not running"):
                await pod.run("true")

    asyncio.run(story())


def test_killing_a_guest_leaves_its_container_alone(tmp_path: Path) -> None:
    ours = mark()

    async def story() -> None:
        async with town(tmp_path) as here:
            pod = await here.pod("p", "sleep", "600")
            with open(os.devnull, "r+b") as nothing:
                stdio = Stdio(nothing.fileno(), nothing.fileno(), nothing.fileno())
                guest = await here.runner.exec(pod.started, ("sleep", ours), stdio)
            await here.runner.kill(guest, signal.SIGKILL)
            assert (await here.runner.wait(guest)).signal == signal.SIGKILL
            await until(lambda: _running(ours) == [], "the guest's end")
            assert (await pod.run("echo", "still here"))[1] == "still here\n"

    asyncio.run(story())


def test_a_terminal_becomes_the_programs_own(tmp_path: Path) -> None:
    async def story() -> str:
        async with town(tmp_path) as here:
            pod = await here.pod("p", "sleep", "600")
            far, near = pty.openpty()
            guest = await here.runner.exec(
                pod.started,
                ("sh", "-c", "test -t 0 && echo a > /dev/tty; read x; stty size"),
                Stdio(near, near, near, True),
            )
            os.close(near)
            os.write(far, b"go\n")
            await here.runner.wait(guest)
            text = b""
            try:
                while part := await asyncio.to_thread(os.read, far, 4096):
                    text += part
            except OSError:
                pass  # That is how a terminal says that nobody is left.
            os.close(far)
            return text.decode()

    assert asyncio.run(story()).split() in (["go", "a", "0", "0"], ["a", "go", "0", "0"])


def test_the_fork_servers_death_is_told_and_survived(tmp_path: Path) -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"the API")
        writer.close()

    async def story() -> None:
        async with town(tmp_path) as here:
            door = await here.runner.listen(6443)
            async with await asyncio.start_server(serve, sock=door):
                for _ in range(2):
                    ours = mark()
                    pod = await here.pod("p", "sleep", ours)
                    os.kill(here.runner.processes[1], signal.SIGKILL)
                    assert (await pod.end()).signal == signal.SIGKILL
                    await until(lambda ours=ours: _running(ours) == [], "the program's end")
                    script = "getent hosts p.job; hostname -I; cat < /dev/tcp/10.244.0.1/6443"
                    again, output = await here.start(pod.box, ("bash", "-c", script))
                    assert (await here.runner.wait(again)).code == 0
                    text = output.read_text(encoding="utf-8")
                    assert text.count(pod.addresses[0]) == 2, "a box is made again, as it was"
                    assert text.endswith("the API"), "and what listened to pods still does"
                    await here.runner.remove(pod.box)

    asyncio.run(story())


def test_containers_of_a_pod_may_share_their_processes(tmp_path: Path) -> None:
    child, first, second, third = (mark() for _ in range(4))

    async def story() -> None:
        async with town(tmp_path) as here:
            script = f"setsid sleep {child} & sleep {first}"
            pod = await here.pod("p", "sh", "-c", script, box={"share_processes": True})
            await until(lambda: bool(_running(child) and _running(first)), "both sleeps")
            script = f"ps ax; kill -TERM $(pgrep -f '^sh -c setsid sleep {child}'); sleep {second}"
            other, output = await here.start(pod.box, ("sh", "-c", script), container="other")
            assert (await pod.end()).signal == signal.SIGTERM
            assert f"sleep {child}" in output.read_text(encoding="utf-8")
            assert _running(child) == [], "what it started has ended with it"
            await until(lambda: len(_running(second)) == 1, "the other one, which goes on")
            again, _ = await here.start(
                pod.box, ("sh", "-c", f"setsid sleep {third} & sleep {third}"), container="again"
            )
            await until(lambda: len(_running(third)) == 2, "both")
            await here.runner.kill(again, signal.SIGKILL)
            assert (await here.runner.wait(again)).signal == signal.SIGKILL
            assert _running(third) == []
            await here.runner.remove(pod.box)
            assert (await here.runner.wait(other)).signal == signal.SIGKILL
            assert _running(second) == []

    asyncio.run(story())
