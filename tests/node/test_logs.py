"""What containers say is kept line by line, rotated, and read as it was asked for."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from trainplane.cluster.client import Log
from trainplane.control import clock
from trainplane.node.logs import LONGEST_LINE, Logs, Writer

POD = "ns_p_u"


def logs(folder: Path, *said: tuple[str, bytes], close: bool = True) -> Logs:
    made = Logs(folder)
    writer = made.writer(POD, "c", 0)
    for stream, data in said:
        writer.write(stream, data)
    if close:
        made.close(writer)
    return made


def read(made: Logs, **said: Any) -> str:
    async def all_of_it() -> bytes:
        return b"".join([part async for part in made.read(POD, "c", 0, Log(**said))])

    return asyncio.run(all_of_it()).decode()


def test_the_file_is_as_other_runtimes_write_it(tmp_path: Path) -> None:
    logs(tmp_path, ("stdout", b"one\ntw"), ("stderr", b"oops\n"), ("stdout", b"o\nlast"))
    lines = (tmp_path / POD / "c" / "0.log").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [
        "stdout F one",
        "stderr F oops",
        "stdout F two",
        "stdout F last",
    ]
    assert len(lines[0].split(" ")[0]) == len("2026-01-31T12:00:00.000000000Z")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        pytest.param({}, "1\n2\n3\n", id="all"),
        pytest.param({"tail_lines": 2}, "2\n3\n", id="the last two"),
        pytest.param({"tail_lines": 0}, "", id="none"),
        pytest.param({"tail_lines": 9}, "1\n2\n3\n", id="more than there are"),
        pytest.param({"limit_bytes": 3}, "1\n2", id="three letters"),
        pytest.param({"tail_lines": 2, "limit_bytes": 1}, "2", id="both"),
        pytest.param({"since_seconds": 60}, "1\n2\n3\n", id="since a minute"),
        pytest.param({"follow": True}, "1\n2\n3\n", id="a log that is over has an end"),
    ],
)
def test_reading(tmp_path: Path, said: Any, text: str) -> None:
    assert read(logs(tmp_path, ("stdout", b"1\n2\n3")), **said) == text


def test_times_are_shown_when_asked_for(tmp_path: Path) -> None:
    first = read(logs(tmp_path, ("stdout", b"x\n")), timestamps=True)
    time, _, rest = first.partition(" ")
    assert rest == "x\n"
    assert abs(datetime.fromisoformat(time[:26] + "+00:00") - clock.now()) < timedelta(minutes=1)


def test_what_is_older_is_left_out(tmp_path: Path) -> None:
    made = Logs(tmp_path)
    old = datetime(2020, 1, 1, tzinfo=UTC)
    path = made.path(POD, "c", 0)
    writer = Writer(path, now=lambda: old)
    writer.write("stdout", b"old\n")
    writer.close()
    later = Writer(path)
    later.write("stdout", b"new\n")
    later.close()
    assert read(made, since_seconds=60) == "new\n"
    assert read(made, since_time=old + timedelta(days=1)) == "new\n"
    assert read(made, since_time=old) == "old\nnew\n"


def test_one_of_the_streams_alone(tmp_path: Path) -> None:
    made = logs(tmp_path, ("stdout", b"1\n"), ("stderr", b"oops\n"), ("stdout", b"2\n"))
    assert (read(made, stream="Stdout"), read(made, stream="Stderr")) == ("1\n2\n", "oops\n")


def test_carriage_returns_and_long_lines_come_back_as_they_were(tmp_path: Path) -> None:
    bar, long = b"10%\r20%\r\n", b"y" * (2 * LONGEST_LINE + 5) + b"\n"
    assert read(logs(tmp_path, ("stdout", bar + long))) == (bar + long).decode()


def test_files_are_rotated_and_the_oldest_goes(tmp_path: Path) -> None:
    writer = Writer(tmp_path / POD / "c" / "0.log", size=200, files=3)
    for i in range(40):
        writer.write("stdout", f"line {i}\n".encode())
    writer.close()
    assert sorted(path.name for path in (tmp_path / POD / "c").iterdir()) == ["0.log", "0.log.1", "0.log.2"]
    found = read(Logs(tmp_path)).splitlines()
    assert found[-1] == "line 39"
    assert found == [f"line {i}" for i in range(40 - len(found), 40)]
    assert read(Logs(tmp_path), tail_lines=6).splitlines() == [f"line {i}" for i in range(34, 40)]


def test_following_ends_with_the_life_and_loses_nothing_to_rotation(tmp_path: Path) -> None:
    async def follow() -> str:
        made = Logs(tmp_path, size=300)
        writer = made.writer(POD, "c", 0)
        writer.write("stdout", b"before\n")
        parts: list[bytes] = []

        async def listen() -> None:
            parts.extend([part async for part in made.read(POD, "c", 0, Log(follow=True, tail_lines=1))])

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            tasks.create_task(listen())
            for i in range(30):
                await asyncio.sleep(0.002)
                writer.write("stderr" if i % 2 else "stdout", f"{i}\n".encode())
            made.close(writer)
        return b"".join(parts).decode()

    assert asyncio.run(follow()).splitlines() == ["before", *map(str, range(30))]


def test_what_pods_leave_is_bounded_and_what_is_alive_stays(tmp_path: Path) -> None:
    made = Logs(tmp_path, kept=150)
    for i, name in enumerate(("old", "newer", "alive")):
        writer = made.writer(name, "c", 0)
        writer.write("stdout", b"x" * 80 + b"\n")
        made.close(writer)
        os.utime(tmp_path / name, (i, i))
    assert made.prune({"alive"}) == ["old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alive", "newer"]


def test_a_disk_that_is_full_is_told_of_and_ends_nothing(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    path = tmp_path / POD / "c" / "0.log"
    path.parent.mkdir(parents=True)
    path.symlink_to(full)
    writer = Writer(path)
    writer.write("stdout", b"x\n")
    writer.close()
    assert "cannot be written: No space left on device; free some space" in writer.failure


def test_only_some_former_lives_are_kept(tmp_path: Path) -> None:
    made = Logs(tmp_path)
    for life in range(9):
        made.close(made.writer(POD, "c", life))
    assert made.lives(POD, "c") == [3, 4, 5, 6, 7, 8]
