"""`trainplane convert`: golden documents, what is refused, and what the output is good for."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Golden
from trainplane.api.documents import parse
from trainplane.cli.convert import answer, as_yaml, convert
from trainplane.lint import lint

CASES = sorted((Path(__file__).parent.parent / "golden" / "convert").iterdir())


def run(*args: str, text: str | None = None) -> Result:
    """Run the verb."""
    return CliRunner().invoke(convert, list(args), input=text)


def converted(text: str) -> str:
    """What the verb prints for a text."""
    return "---\n".join(as_yaml(answer(document)) for document in parse(text).documents)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, golden: Golden) -> None:
    result = run(str(case / "in.yaml"))
    assert (result.exit_code, result.stderr) == (0, "")
    golden.check(case, result.stdout)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_output_has_no_errors_and_is_not_converted_again(case: Path) -> None:
    output = run(str(case / "in.yaml")).stdout
    findings = lint([("out.yaml", output)])
    assert not findings.refused, [str(found) for found in findings.located]
    again = json.loads(run("-", "-o", "json", text=output).stdout)["documents"]
    assert [document["object"] for document in again] == list(yaml.safe_load_all(output))
    assert not any(document["changed"] for document in again)


@given(picked=st.lists(st.sampled_from([case / "in.yaml" for case in CASES]), min_size=1, max_size=4))
def test_converting_twice_is_converting_once(picked: list[Path]) -> None:
    texts = [path.read_text() for path in picked]
    once = "---\n".join(map(converted, texts))
    twice = converted(once)
    assert converted(twice) == twice
    assert list(yaml.safe_load_all(twice)) == list(yaml.safe_load_all(once))


def test_refused_documents_are_errors_at_their_line_and_the_others_are_printed(tmp_path: Path) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_text(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n---\n"
        "apiVersion: trainer.kubeflow.org/v2\nkind: TrainJob\nspec:\n  runtimeRef: {name: r}\n"
        "  modelConfig:\n    output: {storageUri: hf://m}\n---\n"
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: fine\n---\n"
        "spec: {}\n"
    )
    result = run(str(file))
    assert result.exit_code == 1
    assert [document["kind"] for document in yaml.safe_load_all(result.stdout)] == ["Namespace"]
    places = [line.removeprefix(f"{file}:").split(": ")[:3] for line in result.stderr.splitlines()]
    assert places == [
        ["2:1", "error TP033", "kind"],
        ["9:5", "error TP036", "spec.modelConfig.output"],
        ["16:1", "error TP011", "apiVersion"],
        ["16:1", "error TP011", "kind"],
    ]


def test_text_that_is_not_yaml_is_an_error_at_its_place() -> None:
    result = run("-", text="kind: [\n")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("-:2:1: error TP003: ")


def test_a_file_that_is_not_there_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    result = run(str(tmp_path / "none.yaml"))
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [f"Error: {tmp_path / 'none.yaml'}: No such file or directory"]


def test_json_gives_objects_with_their_notes() -> None:
    text = "apiVersion: trainer.kubeflow.org/v2\nkind: TrainJob\nmetadata: {name: a}\nspec: {runtimeRef: {name: r}}\n"
    result = run("-", "-o", "json", text=text + "---\napiVersion: kubeflow.org/v1\nkind: TFJob\n")
    first, second = json.loads(result.stdout)["documents"]
    assert first["object"]["apiVersion"] == "trainer.kubeflow.org/v1alpha1"
    assert first["changed"] is True
    (note,) = first["notes"]
    assert (note["id"], note["severity"], note["file"], note["line"], note["field"]) == (
        "TP030",
        "info",
        "-",
        1,
        "apiVersion",
    )
    assert second["object"] is None
    assert [note["id"] for note in second["notes"]] == ["TP033"]
    assert result.exit_code == 1


def test_names_with_line_breaks_cannot_leave_their_comment() -> None:
    text = (
        'apiVersion: ome.io/v1beta1\nkind: TrainingRuntime\nmetadata: {name: "a\\nkind: Evil"}\nspec:\n  template:\n'
        '    spec:\n      replicatedJobs:\n      - name: "x\\nevil: true"\n        template: {spec: {}}\n'
    )
    result = run("-", text=text)
    (document,) = yaml.safe_load_all(result.stdout)
    assert set(document) == {"apiVersion", "kind", "metadata", "spec"}
    assert document["kind"] == "TrainingRuntime"


def test_help_says_that_comments_are_not_kept() -> None:
    assert "your own comments are not kept" in " ".join(run("--help").output.split())
