"""`doctor` on this machine, and on one that refuses namespaces; `doctor network` on a cluster of real pods."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.clusters import PATIENCE, Clusters


def without_namespaces(clusters: Clusters, kind: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a verb where the kernel allows no namespaces of a kind: as root of a user namespace that has no more."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-Ur", "true"], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces are refused here, so that none can be made which has fewer of them")
    line = f'echo 0 > /proc/sys/user/max_{kind}_namespaces && exec "$@"'
    return subprocess.run(
        [unshare, "-Ur", "sh", "-c", line, "sh", sys.executable, "-m", "trainplane", *words],
        cwd=clusters.home,
        env=clusters.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_machine_is_tried_and_every_gap_has_a_way_out(clusters: Clusters) -> None:
    done = clusters.run("doctor", "-o", "json", code=None)
    said = json.loads(done.stdout)
    found = {each["name"]: each for each in said["findings"]}
    assert done.returncode == (0 if said["healthy"] else 1)
    assert said["healthy"] == (said["runner"] == "namespaced")
    assert str(clusters.folder()) in found["data folder"]["what"]
    assert found["python"]["what"].startswith(sys.version.split()[0])
    assert all(each["todo"] for each in said["findings"] if each["weight"] == "needed" and not each["found"])
    assert not clusters.folder().exists()


@pytest.mark.parametrize("kind", ["net", "pid", "mnt"])
def test_a_kernel_that_allows_none_is_named_with_the_setting(clusters: Clusters, kind: str) -> None:
    done = without_namespaces(clusters, kind, "doctor")
    assert done.returncode == 1, done.stderr
    words = {"net": "network", "pid": "process", "mnt": "mount"}
    lines = done.stdout.splitlines()
    (at,) = [i for i, line in enumerate(lines) if f"{words[kind]} namespaces" in line and "  no " in line]
    assert "to get it: the kernel allows none: set the sysctl user.max_user_namespaces" in lines[at + 1]
    assert lines[-1] == (
        f"missing: {words[kind]} namespaces, isolated pods; "
        "pods would run as plain processes that see each other and your files"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_folder_that_cannot_be_written_is_named(clusters: Clusters) -> None:
    closed = clusters.home / "closed"
    closed.mkdir(mode=0o500)
    assert f"{closed} cannot be written" in clusters.run("doctor", "--data", str(closed / "data"), code=1).stdout


def test_a_folder_that_is_a_file_is_named(clusters: Clusters, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = clusters.run("doctor", "--data", str(file / "data"), code=1)
    assert f"{file} cannot be written" in done.stdout
