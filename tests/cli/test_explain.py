"""`trainplane explain`: golden answers, one field's history, and the ways to name a field."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.conftest import Golden
from trainplane.cli.explain import explain

RENDER = Path(__file__).parent.parent / "golden" / "render"
EXPLAIN = RENDER.parent / "explain"
CASES = sorted(RENDER.iterdir())
DIGITS = str(RENDER / "torch-two-nodes" / "in.yaml")


def run(*args: str, text: str | None = None) -> Result:
    """Run the verb."""
    return CliRunner().invoke(explain, list(args), input=text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    result = run("-f", "in.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    golden.check(EXPLAIN / f"{case.name}.txt", result.stdout)


@pytest.mark.parametrize(
    ("case", "field"),
    [
        ("torch-two-nodes", "env[PET_NNODES]"),
        ("torch-two-nodes", "containers[node].image"),
        ("torch-two-nodes", "args"),
        ("torch-two-nodes", "limits.cpu"),
        ("elastic-autoscaled", "env[PET_NNODES].value"),
        ("two-managers", "nodeSelector"),
        ("staged-gangs", "letters-node.spec.minMember"),
        ("deepspeed-launcher", "data.hostfile"),
    ],
)
def test_golden_history(case: str, field: str, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RENDER / case)
    result = run("-f", "in.yaml", "--field", field)
    assert (result.exit_code, result.stderr) == (0, "")
    name = field.replace("[", "-").replace("]", "").replace(".", "-")
    golden.check(EXPLAIN / "fields" / f"{case}-{name}.txt", result.stdout)


@pytest.mark.parametrize(
    "path",
    [
        "env[PET_NNODES].value",
        "env.PET_NNODES.value",
        "env[PET_NNODES]",
        "env[1].value",
        "containers[0].env[PET_NNODES]",
        "spec.replicatedJobs[node]…env[PET_NNODES].value",
        "spec.replicatedJobs[0]...env[1]",
        "spec.replicatedJobs[node].template.spec.template.spec.containers[node].env[PET_NNODES].value",
        "JobSet.digits.spec.replicatedJobs.0.template.spec.template.spec.containers.0.env.1.value",
    ],
)
def test_a_field_may_be_named_in_many_ways(path: str) -> None:
    (field,) = json.loads(run(DIGITS, "--field", path, "-o", "json").stdout)["fields"]
    assert field["field"] == "spec.replicatedJobs[node]…containers[node].env[PET_NNODES].value"
    assert field["value"] == "2"


def test_what_is_shown_as_a_field_is_taken_as_one() -> None:
    for each in ("args", "resources", "env"):
        for field in json.loads(run(DIGITS, "--field", each, "-o", "json").stdout)["fields"]:
            (again,) = json.loads(run(DIGITS, "--field", field["field"], "-o", "json").stdout)["fields"]
            assert again == field


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("env[PET_NODES]", "did you mean spec.replicatedJobs[node]…containers[node].env[PET_NNODES]?"),
        ("spec.paralelism", "did you mean spec.replicatedJobs[node].template.spec.parallelism?"),
        ("name", "name fits 9 fields; write more of the path:\n  metadata.name of the JobSet digits\n"),
        ("qqq", "`trainplane render` shows what there is"),
        ("", "no rendered object has a field"),
        ("[", "no rendered object has a field"),
        ("…", "no rendered object has a field"),
    ],
)
def test_a_path_that_names_no_field_or_several_is_answered_with_the_nearest(path: str, said: str) -> None:
    result = run(DIGITS, "--field", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_a_history_says_step_place_and_what_was_replaced() -> None:
    answer = json.loads(run(DIGITS, "--field", "image", "-o", "json").stdout)
    (field,) = answer["fields"]
    first, last = field["chain"]
    assert (first["step"], first["document"], first["file"]) == (
        "template",
        "runtime",
        "built-in/torch-distributed.yaml",
    )
    assert last == {
        "step": "command",
        "value": "example.com/digits:1",
        "replaced": first["value"],
        "document": "job",
        "file": DIGITS,
        "line": 11,
        "column": 5,
        "field": "spec.trainer.image",
        "note": "",
    }


def test_json_tells_the_numbers_and_has_the_same_keys_at_all_times() -> None:
    jobs = [json.loads(run(str(case / "in.yaml"), "-o", "json").stdout)["jobs"][0] for case in CASES]
    keys = ["name", "runtime", "arithmetic", "problems", "replaced", "withoutEffect", "objects"]
    assert [list(job) for job in jobs] == [keys] * len(jobs)
    by_name = {job["name"]: job for job in jobs}
    sums = by_name["research/digits"]["arithmetic"]
    assert (sums["nodes"], sums["processes"], sums["world"]) == (2, 4, 8)
    assert sums["total"] == {"nvidia.com/gpu": "8", "cpu": "32"}
    assert by_name["research/letters"]["withoutEffect"] == ["spec.trainer.numNodes"]


def test_a_place_in_a_dialect_is_the_authors() -> None:
    case = str(RENDER / "elastic-autoscaled" / "in.yaml")
    (field,) = json.loads(run(case, "--field", "env[PET_MAX_RESTARTS]", "-o", "json").stdout)["fields"]
    assert (field["chain"][0]["line"], field["chain"][0]["field"]) == (
        16,
        "spec.mlPolicy.torch.elasticPolicy.maxRestarts",
    )


def test_a_refused_trainjob_is_explained_by_its_reasons() -> None:
    text = Path(DIGITS).read_text().replace("numNodes: 2", "numNodes: 0")
    result = run("-", text=text)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("-:14:5: error TP")


def test_a_field_of_a_document_is_answered_with_what_it_reaches() -> None:
    (reach,) = json.loads(run(DIGITS, "--field", "spec.trainer.numNodes", "-o", "json").stdout)["reaches"]
    assert (reach["document"], reach["file"], reach["line"], reach["column"]) == ("job", DIGITS, 14, 5)
    assert [(leaf["field"].rpartition(".")[2], leaf["value"]) for leaf in reach["fields"]] == [
        ("value", "2"),
        ("parallelism", 2),
        ("completions", 2),
    ]
    told = run(DIGITS, "--field", "spec.trainer.env[SEED]").stdout
    assert told.endswith('spec.replicatedJobs[node]…containers[node].env[SEED].value = "7" in the JobSet digits\n')
    assert "spec.runtimeRef.name at " in run(DIGITS, "--field", "spec.runtimeRef.name").stdout


def test_a_setting_without_effect_is_said_once_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: one\nspec:\n"
        "  runtimeRef:\n    name: jax-distributed\n  trainer:\n    numProcPerNode: 4\n"
    )
    output = CliRunner().invoke(explain, ["-f", str(file)]).output
    assert "TP131" in output
    assert "changes nothing" not in output
