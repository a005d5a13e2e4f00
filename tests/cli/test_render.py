"""`trainplane render`: golden objects, where runtimes are found, and what a refusal looks like."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.conftest import Golden
from trainplane.cli.inputs import built_in
from trainplane.cli.render import render
from trainplane.lint import lint

CASES = sorted((Path(__file__).parent.parent / "golden" / "render").iterdir())
NAMES = [each.hub["metadata"]["name"] for each in built_in()]


def run(*args: str, text: str | None = None) -> Result:
    """Run the verb."""
    return CliRunner().invoke(render, list(args), input=text)


def trainjob(
    runtime: str, *, kind: str = "ClusterTrainingRuntime", trainer: str = "numNodes: 2", name: str = "job"
) -> str:
    """The text of a TrainJob."""
    return f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {name}
spec:
  runtimeRef:
    kind: {kind}
    name: {runtime}
  trainer:
    {trainer}
"""


def runtime(
    name: str, *, image: str = "example.com/a:1", kind: str = "ClusterTrainingRuntime", policy: str = "{}"
) -> str:
    """The text of a runtime with one job."""
    return f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: {kind}
metadata:
  name: {name}
spec:
  mlPolicy: {policy}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels:
                trainer.kubeflow.org/trainjob-ancestor-step: trainer
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: {image}
"""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    result = run("-f", "in.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    golden.check(case, result.stdout)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_files_print_the_same_and_the_jobset_is_valid(case: Path) -> None:
    once, again = (run("-f", str(case / "in.yaml"), "-o", "json").stdout for _ in range(2))
    assert once == again
    findings = lint([("out.json", once)])
    assert not findings.refused, [str(found) for found in findings.located]


@pytest.mark.parametrize("name", NAMES)
def test_every_built_in_runtime_renders(name: str) -> None:
    result = run("-", text=trainjob(name))
    assert (result.exit_code, result.stderr) == (0, "")
    (jobset,) = [raw for raw in yaml.safe_load_all(result.stdout) if raw["kind"] == "JobSet"]
    assert jobset["metadata"]["name"] == "job"


def test_the_built_in_runtimes_are_those_that_are_promised() -> None:
    assert NAMES == [
        "deepspeed-distributed",
        "jax-distributed",
        "mlx-distributed",
        "plain",
        "torch-distributed",
        "torch-elastic",
        "xgboost-distributed",
    ]


def test_keys_are_never_printed() -> None:
    result = run("-", "-o", "json", text=trainjob("deepspeed-distributed"))
    (secret,) = [raw for raw in json.loads(result.stdout)["items"] if raw["kind"] == "Secret"]
    assert not {"data", "stringData"} & set(secret)
    assert (
        "# Its keys are drawn when Trainplane creates it, and never shown"
        in run("-", text=trainjob("mlx-distributed")).stdout
    )


def test_what_others_need_is_printed_before_them() -> None:
    items = json.loads(run("-", "-o", "json", text=trainjob("deepspeed-distributed")).stdout)["items"]
    assert [raw["kind"] for raw in items] == ["ConfigMap", "Secret", "JobSet"]


def image_of(result: Result) -> str:
    """The image of the first container of the first object."""
    job = next(yaml.safe_load_all(result.stdout))["spec"]["replicatedJobs"][0]
    return str(job["template"]["spec"]["template"]["spec"]["containers"][0]["image"])


def test_a_runtime_is_found_in_the_files_before_the_folder_before_the_built_in(tmp_path: Path) -> None:
    job, given, folder = tmp_path / "job.yaml", tmp_path / "rt.yaml", tmp_path / "runtimes"
    folder.mkdir()
    job.write_text(trainjob("torch-distributed"))
    given.write_text(runtime("torch-distributed", image="from-the-files"))
    (folder / "rt.yaml").write_text(runtime("torch-distributed", image="from-the-folder"))
    assert image_of(run("-f", str(job))).startswith("pytorch/")
    assert image_of(run("-f", str(job), "--runtime-dir", str(folder))) == "from-the-folder"
    assert image_of(run("-f", str(job), str(given), "--runtime-dir", str(folder))) == "from-the-files"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(trainjob("torch-distribute"), "did you mean torch-distributed?", id="misspelt"),
        pytest.param(trainjob("zzz"), "--runtime-dir", id="nowhere"),
        pytest.param(
            trainjob("mine") + "---\n" + runtime("mine", kind="TrainingRuntime"),
            "mine is a TrainingRuntime: write kind: TrainingRuntime",
            id="of the other kind",
        ),
    ],
)
def test_a_runtime_that_is_not_there_is_refused_with_a_way_out(text: str, said: str) -> None:
    result = run("-", text=text)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error TP210 spec.runtimeRef" in result.stderr
    assert said in result.stderr


def test_a_refused_trainjob_prints_all_reasons_at_their_places_and_no_objects() -> None:
    bad = trainjob("torch-distributed", trainer="numNodes: 0").replace("    kind: Cluster", "    kinds: Cluster")
    result = run("-", text=bad)
    assert (result.exit_code, result.stdout) == (1, "")
    places = [line.split(": ")[0] for line in result.stderr.splitlines() if not line.startswith(" ")]
    assert places == ["-:7:5", "-:10:5"]


def test_what_only_the_runtime_gets_wrong_points_into_the_runtime() -> None:
    text = runtime("mine").replace("  mlPolicy: {}", "  mlPolicy: {}\n  podGroupPolicy: {volcano: {minMember: 9}}")
    result = run("-", text=text + "---\n" + trainjob("mine"))
    assert result.exit_code == 1
    assert result.stderr.startswith("-:7:")
    assert "spec.podGroupPolicy.volcano.minMember: minMember is 9" in result.stderr


def test_good_trainjobs_are_printed_beside_refused_ones() -> None:
    result = run("-", text=trainjob("plain", name="good") + "---\n" + trainjob("nowhere", name="bad"))
    assert result.exit_code == 1
    assert [raw["metadata"]["name"] for raw in yaml.safe_load_all(result.stdout)] == ["good"]
    assert "nowhere" in result.stderr


@pytest.mark.parametrize(
    ("args", "text", "code"),
    [
        pytest.param(("-",), runtime("mine"), 2, id="only a runtime"),
        pytest.param((), "", 2, id="nothing"),
        pytest.param(("-",), "kind: [\n", 1, id="no YAML"),
        pytest.param(("no-such-file.yaml",), "", 2, id="no file"),
        pytest.param(("-",), trainjob("plain").replace("  name: job\n", "  generateName: job-\n"), 1, id="no name"),
    ],
)
def test_what_cannot_be_rendered_is_told_apart_by_the_exit_code(args: tuple[str, ...], text: str, code: int) -> None:
    result = run(*args, text=text)
    assert (result.exit_code, result.stdout) == (code, "") or not args
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit)


def test_a_wrong_reference_is_one_error() -> None:
    result = run("-", text=trainjob("plain", kind="ClusterRuntime"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert [line.split(": ")[0] for line in result.stderr.splitlines() if not line.startswith(" ")] == ["-:7:5"]
