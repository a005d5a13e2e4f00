"""The import law holds, and would notice: planted offences break the contract that forbids them, by name."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

FLOORS = "Each floor rests only on the floors below it"
QUIET = "The rooms are quiet: no I/O, no clock, no dice"
SEAM = "The shells know the cluster only as a Client"
STRANGERS = "Machinery and rooms are strangers; embed and operate introduce them"
GROUND = "The ground rests on the words alone"


def _contracts(top: Path) -> str:
    """What lint-imports says of the tree under `top`."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as main; main()",
            "--no-cache",
            "--no-logo",
        ],
        cwd=top,
        env={**os.environ, "PYTHONPATH": str(top / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the sources and the law that an offence can be planted in."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path


OFFENCES = [
    pytest.param("gang/late.py", "import time\n", QUIET, "trainplane.gang.late -> time", id="a room reads the clock"),
    pytest.param(
        "job/nosy.py",
        "import trainplane.jobset\n",
        FLOORS,
        "trainplane.job.nosy -> trainplane.jobset",
        id="room to room",
    ),
    pytest.param(
        "control/nosy.py",
        "import trainplane.trainjob\n",
        STRANGERS,
        "trainplane.control.nosy -> trainplane.trainjob",
        id="machinery knows a room",
    ),
    pytest.param(
        "node/nosy.py",
        "import trainplane.cluster.store\n",
        SEAM,
        "trainplane.node.nosy -> trainplane.cluster.store",
        id="a shell reaches behind the Client",
    ),
    pytest.param(
        "cluster/nosy.py",
        "import trainplane.reconcile\n",
        GROUND,
        "trainplane.cluster.nosy -> trainplane.reconcile",
        id="the ground knows the contract",
    ),
    pytest.param("utils/__init__.py", "", FLOORS, "utils", id="a package nobody declared"),
]


@pytest.mark.parametrize(("file", "source", "contract", "named"), OFFENCES)
def test_an_offence_breaks_its_contract_by_name(tree: Path, file: str, source: str, contract: str, named: str) -> None:
    planted = tree / "src/trainplane" / file
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(f'"""Planted."""\n{source}')
    said = _contracts(tree)
    assert f"{contract} BROKEN" in said
    assert named in said.partition("Broken contracts")[2]


def test_the_law_is_kept(tree: Path) -> None:
    said = _contracts(tree)
    assert "5 kept, 0 broken" in said
    for contract in (FLOORS, QUIET, SEAM, STRANGERS, GROUND):
        assert f"{contract} KEPT" in said
