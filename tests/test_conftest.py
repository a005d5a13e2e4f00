"""What conftest promises: a summary of what this machine lacks, and goldens that fail or follow."""

import os
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

SUITE = """
import pytest
from pathlib import Path

def test_shared(shared): pass
def test_cluster(real_kubeconfig): pass
def test_golden(golden): golden.check(Path(__file__).with_name("case"), "new\\n")
"""


def _pytest(tmp_path: Path, *args: str) -> str:
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "case").mkdir(exist_ok=True)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("TRAINPLANE_", "PYTEST_"))}
    env |= {"PYTHONPATH": str(ROOT), "TRAINPLANE_SHARED": str(tmp_path / "nowhere")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-q", *args],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


def test_what_was_skipped_is_named_with_its_reason(tmp_path: Path) -> None:
    said = _pytest(tmp_path).partition("not tested on this machine")[2]
    assert "1 test: needs the shared folder: " in said
    assert "1 test: needs a real cluster: " in said
    assert "    test_suite.py (1)" in said


def test_a_golden_fails_with_the_difference_and_follows_when_told(tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    golden = tmp_path / "case" / "out.yaml"
    golden.write_text("old\n")
    said = _pytest(tmp_path)
    assert "-old" in said
    assert "+new" in said
    assert golden.read_text() == "old\n"
    _pytest(tmp_path, "--update-golden")
    assert golden.read_text() == "new\n"
