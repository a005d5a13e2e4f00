"""A folder is shipped whole but for what is ignored, the same every time, and runs where it is unpacked."""

import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from trainplane.cluster.credentials import credentials
from trainplane.control import clock
from trainplane.sdk.source import KEY, MOUNT, Archive, NotShipped, command, configmap, pack


def names(archive: Archive) -> list[str]:
    with tarfile.open(fileobj=BytesIO(archive.data)) as opened:
        return opened.getnames()


def fill(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path, encoding="utf-8")


def test_what_nobody_wants_stays_behind(tmp_path: Path) -> None:
    fill(tmp_path, "train.py", "lib/a.py", ".git/config", "lib/__pycache__/a.pyc", ".venv/bin/python", ".env")
    assert names(pack(tmp_path)) == [".env", "lib/a.py", "train.py"]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("*.csv", ["big/x.bin", "data/b.txt", "train.py"]),
        ("data/", ["a.csv", "big/x.bin", "train.py"]),
        ("/a.csv", ["big/x.bin", "data/b.txt", "data/c.csv", "train.py"]),
        ("data/*\n!data/b.txt", ["a.csv", "big/x.bin", "data/b.txt", "train.py"]),
        ("**/c.csv", ["a.csv", "big/x.bin", "data/b.txt", "train.py"]),
        ("b[a-i]g", ["a.csv", "data/b.txt", "data/c.csv", "train.py"]),
        ("# data/\n\n?.csv", ["big/x.bin", "data/b.txt", "train.py"]),
    ],
)
def test_the_ignore_file_is_heeded(tmp_path: Path, line: str, left: list[str]) -> None:
    fill(tmp_path, "train.py", "a.csv", "data/b.txt", "data/c.csv", "big/x.bin")
    (tmp_path / ".gitignore").write_text("train.py\n", encoding="utf-8")
    (tmp_path / ".trainplaneignore").write_text(line, encoding="utf-8")
    assert [name for name in names(pack(tmp_path)) if not name.startswith(".")] == left


def test_keys_stay_behind(tmp_path: Path) -> None:
    fill(tmp_path, "train.py", ".ssh/id_ed25519", ".kube/config", "lib/pki/names.py", "state/trainplane/q/kubeconfig")
    credentials(tmp_path / "state/trainplane/q/pki", name="q", now=clock.now())
    assert names(pack(tmp_path)) == ["lib/pki/names.py", "train.py"]


def test_the_same_files_make_the_same_archive(tmp_path: Path) -> None:
    fill(tmp_path / "one", "train.py", "lib/a.py")
    fill(tmp_path / "two", "lib/a.py", "train.py")
    os.utime(tmp_path / "two" / "train.py", (1, 1))
    one, two = pack(tmp_path / "one"), pack(tmp_path / "two")
    assert one == two
    assert one.name == two.name
    fill(tmp_path / "two", "more.py")
    assert pack(tmp_path / "two").name != one.name


def test_a_folder_that_is_too_large_is_refused_with_the_largest_files(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(os.urandom(1_200_000))
    fill(tmp_path, "train.py")
    with pytest.raises(NotShipped, match=r"1\.2 MB packed and at most 0\.9 MB .* model\.bin \(1\.2 MB\).*ignore"):
        pack(tmp_path)


def test_the_command_unpacks_and_becomes_the_program(tmp_path: Path) -> None:
    fill(tmp_path / "code", "lib/a.txt")
    (tmp_path / "code" / "train.py").write_text(
        "import sys; print(open('lib/a.txt').read(), sys.argv[1:])", encoding="utf-8"
    )
    archive = pack(tmp_path / "code")
    place = tmp_path / "mounted"
    place.mkdir()
    (place / KEY).write_bytes(archive.data)
    work = tmp_path / "work"
    work.mkdir()
    words = command([sys.executable, "train.py", "a b", "$(x)"], python=sys.executable)
    words = [word.replace(MOUNT, str(place)) for word in words]
    done = subprocess.run(words, cwd=work, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "lib/a.txt ['a b', '$(x)']\n"


def test_a_link_is_shipped_as_a_link(tmp_path: Path) -> None:
    fill(tmp_path, "a.txt", "lib/b.txt")
    (tmp_path / "again").symlink_to("lib")
    assert names(pack(tmp_path)) == ["a.txt", "again", "lib/b.txt"]


def test_the_configmap_cannot_change(tmp_path: Path) -> None:
    fill(tmp_path, "train.py")
    made = configmap(pack(tmp_path), namespace="team")
    assert made["immutable"] is True
    assert made["metadata"]["name"].startswith("source-")
