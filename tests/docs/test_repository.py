"""The ways into the repository: make's targets, the pins, and what continuous integration runs."""

import re
import shutil
import subprocess
import tomllib

import pytest

from tests.places import ROOT


def test_make_lists_what_it_can_do() -> None:
    if not shutil.which("make"):
        pytest.skip("needs make: it is the way in for people")
    said = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    targets = " ".join(line.split()[0] for line in said.splitlines())
    assert targets == "demo test lint type golden bench soak docs"
    assert all(len(line.split()) > 2 for line in said.splitlines())


def test_pins_are_names_and_versions_alone() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins == sorted(pins, key=str.lower)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin) for pin in pins)


def test_every_dependency_is_pinned_and_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pins = [line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]
    pinned = {pin.lower().replace("_", "-") for pin in pins}
    reasons = (ROOT / "docs/adr/0002-dependencies.md").read_text(encoding="utf-8")
    for name in (re.split("[<>=]", each)[0] for each in wanted):
        assert name.lower() in pinned, f"{name} is not pinned"
        assert name in reasons, f"{name} has no line in the ADR"


def test_the_readme_opens_with_three_sentences_and_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    opening, block = readme.split("```sh\n", 1)[0], readme.split("```sh\n", 1)[1].split("```", 1)[0]
    assert len(re.findall(r"\.(?:\s|$)", opening)) == 3
    assert [line.split("#")[0].strip() for line in block.splitlines()] == ["make demo", "make test"]


def test_ci_runs_what_people_run() -> None:
    lines = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith("#")]
    assert len(commands) == 1
    assert commands[0].endswith("exec make test")
