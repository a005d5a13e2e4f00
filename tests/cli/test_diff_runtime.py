"""`trainplane diff-runtime`: what changes, for whom, who would be refused, and the exit code."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.test_render import runtime, trainjob
from trainplane.cli.diff_runtime import diff_runtime


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runtimes and three TrainJobs, one of them with an image of its own."""
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    (jobs / "a.yaml").write_text(trainjob("old", name="alpha"))
    (jobs / "b.yaml").write_text(trainjob("old", name="beta", trainer="image: own:1"))
    (jobs / "c.yaml").write_text(trainjob("plain", name="gamma"))
    (tmp_path / "old.yaml").write_text(runtime("old", image="example.com/a:1", policy="{torch: {}}"))
    (tmp_path / "new.yaml").write_text(runtime("new", image="example.com/a:2", policy="{torch: {}}"))
    return tmp_path


def run(folder: Path, *args: str) -> Result:
    """Compare old.yaml with new.yaml in a folder."""
    return CliRunner().invoke(
        diff_runtime, [str(folder / "old.yaml"), str(folder / "new.yaml"), "--jobs", str(folder / "jobs"), *args]
    )


def test_it_says_which_change_and_how_and_which_do_not(folder: Path) -> None:
    result = run(folder)
    assert result.exit_code == 0
    assert result.stdout == (
        "old → new: 2 TrainJobs rendered with both\n"
        "  1 unchanged, 1 changed, 0 would be refused\n"
        "  1 left out, on another runtime: 1: gamma\n"
        "\n"
        "Changed\n"
        '  JobSet spec.replicatedJobs[node]…containers[node].image: "example.com/a:1" → "example.com/a:2" (1: alpha)\n'
        "\n"
        "TrainJobs that run already keep the runtime they started with.\n"
    )


def test_equal_changes_of_many_are_told_once(folder: Path) -> None:
    for i in range(6):
        (folder / "jobs" / f"more-{i}.yaml").write_text(trainjob("old", name=f"more-{i}"))
    new = folder / "new.yaml"
    new.write_text(new.read_text().replace("name: node\n          template", "name: worker\n          template"))
    changes = [line for line in run(folder).stdout.splitlines() if "PET_MASTER_ADDR" in line]
    assert [line.rpartition(" (")[2] for line in changes] == ["8: alpha, beta, more-0, more-1 and 4 more)"] * 2
    assert '"<job>-worker-0-0.<job>"' in "".join(changes)


def test_who_would_be_refused_fails_with_the_reason(folder: Path) -> None:
    new = folder / "new.yaml"
    new.write_text(new.read_text().replace("image: example.com/a:2", "imagePullPolicy: Always"))
    result = run(folder)
    assert result.exit_code == 1
    assert "0 unchanged, 1 changed, 1 would be refused" in result.stdout
    lines = result.stdout.splitlines()
    reason = lines[lines.index("Refused") + 1]
    assert "has no image, and the TrainJob gives none (1: alpha)" in reason
    assert lines[lines.index("Refused") + 2].strip() == "set spec.trainer.image"


def test_who_was_refused_before_is_no_fault_of_the_new_runtime(folder: Path) -> None:
    (folder / "jobs" / "a.yaml").write_text(trainjob("old", name="alpha", trainer="numNodes: 0"))
    result = run(folder, "-o", "json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert (answer["refusedAlready"], answer["refused"], answer["leftOut"]) == (["alpha"], [], ["gamma"])


def test_json_names_every_leaf(folder: Path) -> None:
    answer = json.loads(run(folder, "-o", "json").stdout)
    assert list(answer) == ["unchanged", "changed", "refused", "refusedAlready", "leftOut", "changes", "problems"]
    assert answer["changes"] == [
        {
            "kind": "JobSet",
            "field": "spec.replicatedJobs[node]…containers[node].image",
            "old": '"example.com/a:1"',
            "new": '"example.com/a:2"',
            "jobs": ["alpha"],
        }
    ]


def test_built_in_runtimes_go_by_their_names(folder: Path) -> None:
    (folder / "jobs" / "a.yaml").write_text(trainjob("torch-distributed", name="alpha"))
    args = ["torch-distributed", "torch-elastic", "--jobs", str(folder / "jobs")]
    result = CliRunner().invoke(diff_runtime, args)
    assert result.exit_code == 0
    assert 'env[PET_NNODES].value: "2" → "1:4"' in result.stdout


@pytest.mark.parametrize("text", ["", trainjob("x"), runtime("a") + "---\n" + runtime("b")])
def test_a_file_must_hold_one_runtime(folder: Path, text: str) -> None:
    (folder / "old.yaml").write_text(text)
    result = run(folder)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "one is needed" in result.stderr
