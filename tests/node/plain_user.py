"""Running tests as an ordinary user, when these run as root."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import pytest

from tests.places import ROOT

PLAIN = 54321
"""A user that nobody has given a name, with no rights but its own."""


def interpreter() -> str:
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


def become_plain() -> None:
    """Be that user from here on."""
    os.setgroups([])
    os.setresgid(PLAIN, PLAIN, PLAIN)
    os.setresuid(PLAIN, PLAIN, PLAIN)


def passes_as_plain(*words: str, become: Callable[[], None] = become_plain, **env: str) -> None:
    """Hold pytest, with these words, to pass as an ordinary user."""
    python = interpreter()
    packages = [path for path in sys.path if path.endswith("site-packages")]
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, PLAIN, PLAIN)
        usual = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--basetemp", f"{folder}/base", "--tb=short"]
        done = subprocess.run(
            [python, *usual, *words],
            preexec_fn=become,
            cwd=ROOT,
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": folder,
                "TMPDIR": folder,
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), *packages]),
                "PYTHONDONTWRITEBYTECODE": "1",
                **env,
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
