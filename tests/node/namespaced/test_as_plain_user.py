"""The same tests as an ordinary user, when these run as root."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.places import ROOT
from trainplane.node.namespaced import kernel

PLAIN = 54321
"""A user that nobody has given a name, with no rights but its own."""


def _interpreter() -> str:
    """An interpreter that everybody can run and that reads the packages of this one."""
    code = "import sys; print(sys.version_info[:2])"
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            done = subprocess.run(
                [candidate, "-c", code],
                user=PLAIN,
                group=PLAIN,
                extra_groups=[],
                capture_output=True,
                cwd="/",
                check=False,
            )
        except OSError:
            continue  # It is not there, or lies where others may not go.
        if done.returncode == 0 and done.stdout.decode().strip() == str(sys.version_info[:2]):
            return candidate
    pytest.skip(f"no Python {sys.version_info.major}.{sys.version_info.minor} here can be run by an ordinary user")


def _crowd() -> None:
    """Put a mount into /etc, as container engines do, for this process alone; layers over it are refused to users."""
    kernel.unshare(kernel.NEW_MOUNT)
    kernel.mount(None, "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("/etc/passwd", "/etc/passwd", flags=kernel.MS_BIND)


def _become_plain() -> None:
    os.setgroups([])
    os.setresgid(PLAIN, PLAIN, PLAIN)
    os.setresuid(PLAIN, PLAIN, PLAIN)


def _crowd_and_become_plain() -> None:
    _crowd()
    _become_plain()


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests run as an ordinary user already")
@pytest.mark.parametrize(
    ("become", "which"),
    [
        pytest.param(_become_plain, "test", id="anywhere"),
        pytest.param(_crowd_and_become_plain, "mounted_wherever or knows_itself or parts_of", id="inside a container"),
    ],
)
def test_an_ordinary_user_sees_the_same(become: Callable[[], None], which: str) -> None:
    python = _interpreter()
    packages = [path for path in sys.path if path.endswith("site-packages")]
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, PLAIN, PLAIN)
        words = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--basetemp", f"{folder}/base", "--tb=short"]
        done = subprocess.run(
            [python, *words, "-k", which, str(Path(__file__).parent)],
            preexec_fn=become,
            cwd=ROOT,
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": folder,
                "TMPDIR": folder,
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), *packages]),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
