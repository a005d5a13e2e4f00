"""What a launcher says where it cannot start mpirun, and what a rank does with its program."""

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import trainplane
from tests.patience import PATIENCE

PROGRAM = Path(trainplane.__file__).with_name("probe") / "ranks.py"
SCRIPT = """\
import os, sys, time
print("one\\ntwo", end="", flush=True)
match sys.argv[1]:
    case "ends": pass
    case "fails": sys.exit(7)
    case "is-killed": os.kill(os.getpid(), 9)
    case "waits": time.sleep(600)
"""


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """The program with an archive beside it, as pods have them."""
    folder = tmp_path / "source"
    folder.mkdir()
    shutil.copy(PROGRAM, folder)
    with tarfile.open(folder / "source.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("train.py")
        entry.size = len(SCRIPT)
        archive.addfile(entry, io.BytesIO(SCRIPT.encode()))
    return folder / PROGRAM.name


def start(shipped: Path, *words: str, **env: str) -> "subprocess.Popen[str]":
    work = shipped.parents[1] / "work"
    work.mkdir(exist_ok=True)
    temporary = shipped.parents[1] / "tmp"
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, shipped, *words],
        cwd=work,
        env={"PATH": os.environ["PATH"], "TMPDIR": str(temporary), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rank(shipped: Path, number: int, does: str) -> "subprocess.Popen[str]":
    words = ("rank", str(shipped.parents[1] / "work"), "host-0", sys.executable, "train.py", does)
    return start(shipped, *words, OMPI_COMM_WORLD_RANK=str(number))


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "trainplane: the launcher has no hostfile: "),
        (
            {"OMPI_MCA_orte_default_hostfile": "none", "PATH": ""},
            "trainplane: there is no mpirun in the launcher's image; ",
        ),
    ],
)
def test_what_a_launcher_misses_is_said_in_a_sentence(shipped: Path, env: dict[str, str], said: str) -> None:
    with start(shipped, "launch", "A", "python", "train.py", **env) as launcher:
        out, err = launcher.communicate(timeout=PATIENCE)
    assert (launcher.returncode, out) == (127, "")
    assert err.startswith(said)
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("does", "code", "told"),
    [
        ("ends", 0, ""),
        ("fails", 7, "[rank3]: trainplane: this rank ended with exit code 7\n"),
        ("is-killed", 137, "[rank3]: trainplane: this rank ended with signal 9\n"),
    ],
)
def test_each_line_says_whose_it_is_and_the_last_one_how_it_failed(
    shipped: Path, does: str, code: int, told: str
) -> None:
    with rank(shipped, 3, does) as running:
        out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out, err) == (code, "[rank3]: one\n[rank3]: two\n", told)


def test_who_is_told_to_end_ends_its_program_and_takes_no_blame(shipped: Path) -> None:
    with rank(shipped, 0, "waits") as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "[rank0]: one\n"
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out, err) == (143, "[rank0]: two\n", "")


def test_ranks_of_one_pod_unpack_the_code_once_and_all_find_it(shipped: Path) -> None:
    (shipped.parents[1] / "work").mkdir()
    both = [rank(shipped, number, "ends") for number in range(4)]
    ended = [each.communicate(timeout=PATIENCE) for each in both]
    assert [each.returncode for each in both] == [0] * 4, ended
    script = shipped.parents[1] / "work" / "train.py"
    script.write_text(SCRIPT.replace("two", "mine"), encoding="utf-8")
    with rank(shipped, 0, "ends") as later:
        assert later.communicate(timeout=PATIENCE)[0] == "[rank0]: one\n[rank0]: mine\n", "what is there is not undone"
