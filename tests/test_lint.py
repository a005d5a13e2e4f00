"""Lint as a whole: one fault, one message, at its place; documents among each other; and it never fails."""

import re
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.places import ROOT
from trainplane.api.problem import Severity
from trainplane.lint import Findings, lint

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: rt
  labels:
    trainer.kubeflow.org/framework: torch
spec:
  mlPolicy:
    numNodes: 2
    torch: {}
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
                  image: train:1
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: tj
spec:
  runtimeRef:
    name: rt
    kind: TrainingRuntime
"""
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))


def told(findings: Findings, *, infos: bool = False) -> list[tuple[str, int, str]]:
    """Id, line and field of what was found."""
    return [
        (found.problem.rule.id, found.line, found.problem.field)
        for found in findings.located
        if infos or found.severity is not Severity.INFO
    ]


def of(text: str) -> list[tuple[str, int, str]]:
    return told(lint([("-", text)]))


def test_a_good_document_has_nothing_wrong() -> None:
    assert told(lint([("-", f"{RUNTIME}---\n{JOB}")]), infos=True) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            RUNTIME.replace("    torch: {}", "    pytorch:\n      numProcPerNode: 4"),
            [("TP051", 10, "spec.mlPolicy.pytorch")],
            id="pytorch, without a word about an unknown field",
        ),
        pytest.param(
            RUNTIME.replace("    torch: {}", "    torch: {}\n    jax: {}"),
            [("TP056", 11, "spec.mlPolicy.jax")],
            id="two policies, without the schema's law",
        ),
        pytest.param(
            RUNTIME.replace("numNodes: 2", "numNodes: 0"),
            [("TP061", 9, "spec.mlPolicy.numNodes")],
            id="no nodes, without the schema's minimum",
        ),
        pytest.param(
            RUNTIME.replace("torch: {}", "torch:\n      elasticPolicy:\n        minNodes: 3\n        maxNodes: 4"),
            [("TP059", 9, "spec.mlPolicy.numNodes")],
            id="numNodes outside the bounds, without the schema's law",
        ),
        pytest.param(
            JOB.replace("  runtimeRef:", "runtimeRef:"),
            [("TP021", 6, "runtimeRef")],
            id="a reference beside spec, and nothing else",
        ),
        pytest.param(
            JOB.replace("rt\n", "rt\n    apiGroup: ''\n"), [("TP102", 8, "spec.runtimeRef.apiGroup")], id="empty group"
        ),
        pytest.param(JOB.replace("runtimeRef", "runtimeref"), [("TP010", 6, "spec.runtimeref")], id="a misspelt field"),
    ],
)
def test_one_fault_gets_one_message(text: str, expected: list[tuple[str, int, str]]) -> None:
    assert of(text) == expected


CLAIMS = """\
      volumeClaimPolicies:
      - templates:
        - metadata:
            name: data
            namespace: elsewhere
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            RUNTIME.replace("torch: {}", "pytorch: {}").replace("image: train:1", "imag: train:1"),
            ["TP051", "TP010"],
            id="a policy's name, and a field elsewhere",
        ),
        pytest.param(
            RUNTIME.replace("torch: {}", "torch: {}\n    jax: {}").replace(
                "      replicated", f"{CLAIMS}      replicated"
            ),
            ["TP056", "TP019", "TP162"],
            id="two policies, and a law elsewhere",
        ),
        pytest.param(
            JOB.replace("name: rt", "name: rt\n    apiGroup: batch") + "extra: 1\n",
            ["TP103", "TP010"],
            id="a reference, and a field of the document itself",
        ),
        pytest.param(
            RUNTIME.replace("torch: {}", "torch: {numProcPerNod: 1}\n    jax: {}"),
            ["TP010", "TP056"],
            id="two policies, and a field in one of them",
        ),
    ],
)
def test_one_fault_does_not_hide_another(text: str, expected: list[str]) -> None:
    assert [rule for rule, _, _ in of(text)] == expected


def test_a_misspelt_field_gets_the_right_one() -> None:
    (found, *_) = lint([("-", JOB.replace("runtimeRef", "runtimeref"))]).located
    assert "runtimeRef" in found.problem.todo


def test_a_pod_in_the_wrong_place_gets_one_message_however_many_fields_it_has() -> None:
    text = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: rt
  labels:
    trainer.kubeflow.org/framework: torch
spec:
  mlPolicy:
    torch: {}
  template:
    spec:
      restartPolicy: Never
      volumes:
      - name: v
        emptyDir: {}
      containers:
      - name: node
        image: train:1
"""
    assert of(text) == [("TP053", 16, "spec.template.spec.containers")]
    head, _, pod = text.partition("      restartPolicy")
    pod = "".join(f"  {line}\n" for line in f"      restartPolicy{pod}".splitlines())
    assert of(f"{head}      replicatedJobs:\n      - name: node\n{pod}") == [
        ("TP054", 18, "spec.template.spec.replicatedJobs[0].containers")
    ]


@pytest.mark.parametrize(
    ("runtime", "job", "expected"),
    [
        pytest.param(RUNTIME, JOB, [], id="found"),
        pytest.param("", JOB, [("TP107", 6, "spec.runtimeRef.name")], id="not given: information only"),
        pytest.param(
            RUNTIME.replace("rt\n", "torch-one\n", 1), JOB.replace("rt\n", "torch-oen\n", 1), "TP108", id="misspelt"
        ),
        pytest.param(RUNTIME, JOB.replace("    kind: TrainingRuntime\n", ""), "TP109", id="the other kind"),
        pytest.param(
            RUNTIME.replace("rt\n", "rt\n  namespace: a\n", 1),
            JOB.replace("tj\n", "tj\n  namespace: b\n"),
            "TP110",
            id="elsewhere",
        ),
        pytest.param(RUNTIME.replace("rt\n", "rt\n  namespace: a\n", 1), JOB, [], id="a job without a namespace"),
        pytest.param(RUNTIME.replace("                  image: train:1\n", ""), JOB, "TP111", id="no image"),
    ],
)
def test_a_trainjob_and_the_runtime_it_names(
    runtime: str, job: str, expected: list[tuple[str, int, str]] | str
) -> None:
    files = [("rt.yaml", runtime)] * bool(runtime) + [("job.yaml", job)]
    found = [each for each in lint(files).located if each.file == "job.yaml"]
    if isinstance(expected, str):
        assert [each.problem.rule.id for each in found] == [expected]
    else:
        assert [each.problem.rule.id for each in found] == [each[0] for each in expected]


def test_the_order_of_files_does_not_matter_for_what_is_found() -> None:
    job = JOB + "  trainer:\n    env:\n    - name: PET_NNODES\n      value: '1'\n"
    for files in ([("a", RUNTIME), ("b", job)], [("a", job), ("b", RUNTIME)]):
        assert [found.problem.rule.id for found in lint(files).located] == ["TP104"]


def test_of_two_runtimes_of_one_name_the_named_group_counts() -> None:
    ome = RUNTIME.replace("trainer.kubeflow.org/v1alpha1", "ome.io/v1beta1").replace("torch: {}", "jax: {}")
    job = JOB.replace("rt\n", "rt\n    apiGroup: ome.io\n") + "  trainer:\n    env:\n    - name: PET_NNODES\n"
    assert "TP104" not in [found.problem.rule.id for found in lint([("a", RUNTIME), ("b", ome), ("c", job)]).located]


def test_findings_are_in_the_order_of_files_lines_and_columns() -> None:
    bad = RUNTIME.replace("numNodes: 2", "numNodes: 0\n    flux: {}").replace(
        "name: node\n", "name: node\n        replicas: 2\n", 1
    )
    findings = lint([("z", bad), ("a", bad)])
    places = [(found.file, found.line, found.column) for found in findings.located]
    assert [place[0] for place in places] == sorted((place[0] for place in places), reverse=True)
    assert places == sorted(places, key=lambda place: (-ord(place[0]), *place[1:]))
    assert findings == lint([("z", bad), ("a", bad)])
    assert (findings.files, findings.documents) == (2, 2)


@pytest.mark.parametrize(
    ("text", "rule", "todo"),
    [
        ("kind: TrainJob\nspec: {}\n", "TP011", "apiVersion"),
        ("spec:\n  runtimeRef:\n    name: a\n", "TP011", "kind: TrainJob"),
        ("spec:\n  mlPolicy: {}\n", "TP011", "kind: TrainingRuntime"),
        (JOB.replace("v1alpha1", "v1alpha"), "TP031", "trainer.kubeflow.org/v1alpha1"),
        (JOB.replace("kind: TrainJob", "kind: Trainjob"), "TP032", "TrainJob"),
        ("apiVersion: jobset.x-k8s.io/v1alpha1\nkind: JobSet\n", "TP031", "jobset.x-k8s.io/v1alpha2"),
        ("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: Jobset\n", "TP032", "JobSet"),
    ],
)
def test_a_document_that_is_nearly_of_the_family(text: str, rule: str, todo: str) -> None:
    (found,) = lint([("-", text)]).located
    assert found.problem.rule.id == rule
    assert todo in found.problem.todo


@pytest.mark.parametrize("text", ["apiVersion: v1\nkind: Widget\n", "apiVersion: example.com/v1\nkind: Job\nspec: 1\n"])
def test_what_we_do_not_know_is_passed_over(text: str) -> None:
    assert lint([("-", text)]).located == ()


def test_kubernetes_own_kinds_are_checked_where_we_know_them() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndate:\n  x: y\n"
    (found,) = lint([("-", text)]).located
    assert (found.problem.rule.id, found.line) == ("TP010", 5)
    assert "data" in found.problem.todo


def test_lost_indentation_is_one_message_and_does_not_hide_other_documents() -> None:
    lost = "\n".join(line.strip() for line in RUNTIME.splitlines()) + "\n"
    findings = told(lint([("-", f"{lost}---\n{JOB.replace('runtimeRef', 'runtimeref')}")]))
    assert [rule for rule, _, _ in findings] == ["TP050", "TP010"]


def test_two_documents_without_dashes_between_them_are_not_taken_for_lost_indentation() -> None:
    assert {rule for rule, _, _ in of(JOB + JOB)} == {"TP005"}


@given(st.text())
def test_any_text_is_answered(text: str) -> None:
    lint([("-", text)])


@given(st.binary())
def test_any_bytes_are_answered(data: bytes) -> None:
    lint([("-", data)])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(path=st.sampled_from(EXAMPLES), place=st.integers(0), value=JSON)
def test_an_example_with_any_value_anywhere_is_answered(path: Path, place: int, value: object) -> None:
    """Put a value of any shape at some place of an example: there is an answer, and it does not change."""
    try:
        documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    except yaml.YAMLError:
        return
    places = [spot for document in documents for spot in _places(document)]
    holder, key = places[place % len(places)]
    holder[key] = value
    text = yaml.safe_dump_all(documents, allow_unicode=True)
    assert lint([("-", text)]) == lint([("-", text)])


@given(path=st.sampled_from(EXAMPLES), cut=st.integers(0), length=st.integers(0, 30), new=st.text(max_size=5))
def test_an_example_with_a_piece_cut_out_is_answered(path: Path, cut: int, length: int, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    at = cut % len(text)
    for found in lint([("-", text[:at] + new + text[at + length :])]).located:
        assert found.line >= 1
        assert found.column >= 1


def _places(value: object) -> list[tuple[object, object]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [spot for key, inner in items for spot in ((value, key), *_places(inner))]


@pytest.mark.parametrize(
    ("head", "item"),
    [
        pytest.param(
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n", "  k{}: 1\n", id="unknown fields"
        ),
        pytest.param(
            "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec:\n  replicatedJobs:\n",
            "  - {{name: a{0}, dependsOn: [{{name: z{0}, status: Ready}}]}}\n",
            id="jobs that wait for nobody",
        ),
        pytest.param(
            RUNTIME.partition("      - name")[0],
            "      - {{name: a{0}, dependsOn: [{{name: a{0}, status: Ready}}]}}\n",
            id="replicated jobs of a runtime",
        ),
    ],
)
def test_the_time_it_takes_grows_with_the_text_and_no_faster(head: str, item: str) -> None:
    """Ten times the text may take ten times as long, with room for a busy machine, but not a hundred times."""

    def seconds(count: int) -> float:
        text = head + "".join(item.format(number) for number in range(count))
        start = time.process_time()
        assert lint([("-", text)]).refused
        return time.process_time() - start

    seconds(100)
    assert seconds(20_000) < 50 * max(seconds(2_000), 0.05)


@pytest.mark.parametrize("name", ["list-item-indentation", "two-stages-misaligned"])
def test_a_remedy_for_indentation_works_when_it_is_followed(name: str) -> None:
    lines = (ROOT / "examples" / "mistakes" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    for _ in range(3):
        broken = [each for each in lint([("-", "\n".join(lines))]).located if each.problem.rule.id == "TP003"]
        if not broken:
            break
        spaces = re.search(r"indent it by (\d+) spaces", broken[0].problem.todo)
        assert spaces, broken[0].problem.todo
        at = broken[0].line - 1
        lines[at] = " " * int(spaces[1]) + lines[at].lstrip()
    assert not broken
