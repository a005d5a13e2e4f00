"""What people are told about an object that does not fit its schema, and what an API server makes of one that does."""

import pytest
import yaml

from tests.strategies import WRONG, every_field, only, type_of
from trainplane.api import rules
from trainplane.api.check import check, refused
from trainplane.api.meta import Law
from trainplane.api.problem import Severity
from trainplane.api.schema import INT_OR_STRING, openapi
from trainplane.api.structural import fill_defaults, prune
from trainplane.api.trainer import TrainingRuntime, TrainJob

JOB = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\n"
RUNTIME = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: a}\n"


def said(text, type_=TrainJob):
    """What is said of a document, one line for each problem."""
    head = JOB if type_ is TrainJob else RUNTIME
    return [f"{p.rule.id} {p}" for p in check(yaml.safe_load(head + text), openapi(type_))]


def of_trainer(fields):
    """What is said of `spec.trainer` with these fields, in flow style."""
    return said(f"spec: {{runtimeRef: {{name: t}}, trainer: {{{fields}}}}}")


def test_a_good_job_has_no_problems():
    assert of_trainer("numNodes: 2, image: x, env: [{name: A, value: '1'}], args: []") == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            "numNodes: '4'",
            'TP012 spec.trainer.numNodes: "4" is text, numNodes wants a whole number; remove the quotes',
            id="a number in quotes",
        ),
        pytest.param(
            "numNodes: 1.5", "TP012 spec.trainer.numNodes: 1.5 is not a whole number; write one, such as 2", id="a half"
        ),
        pytest.param(
            "image: true",
            'TP012 spec.trainer.image: true is a boolean, image wants text; quote it: "true"',
            id="a boolean for text",
        ),
        pytest.param(
            "env: [{name: A, value: 1}]",
            'TP012 spec.trainer.env[0].value: 1 is a number, value wants text; quote it: "1"',
            id="a number for text",
        ),
        pytest.param(
            "args: --lr=1",
            'TP012 spec.trainer.args: "--lr=1" is text, args wants a list; write it as a list: ["--lr=1"]',
            id="text for a list",
        ),
        pytest.param(
            "env: {name: A}",
            "TP012 spec.trainer.env: env wants a list, not an object; begin each item with a dash",
            id="an object for a list",
        ),
        pytest.param(
            "resourcesPerNode: [{limits: {}}]",
            "TP012 spec.trainer.resourcesPerNode: resourcesPerNode wants fields of its own, not a list; "
            "remove the dash before its fields",
            id="a list for an object",
        ),
        pytest.param(
            "resourcesPerNode: {limits: {cpu: 0.5}}",
            'TP012 spec.trainer.resourcesPerNode.limits.cpu: 0.5 is a number, cpu wants a quantity; write "500m"',
            id="a fraction for a quantity",
        ),
        pytest.param(
            "resourcesPerNode: {limits: {memory: 16GB}}",
            'TP016 spec.trainer.resourcesPerNode.limits.memory: "16GB" is no quantity; '
            "write 16G, or 16Gi for powers of 1024",
            id="gigabytes",
        ),
        pytest.param(
            "numNodes: 0", "TP014 spec.trainer.numNodes: 0 is too small for numNodes; write at least 1", id="zero nodes"
        ),
        pytest.param(
            "numNodes: 3000000000",
            "TP014 spec.trainer.numNodes: 3000000000 is too large for numNodes; write at most 2147483647",
            id="more than 32 bits",
        ),
        pytest.param(
            "env: [{name: A}, {name: B}, {name: A}]",
            "TP017 spec.trainer.env[2]: name A is there already, as item 0 of env; rename one of the two, or remove it",
            id="a variable twice",
        ),
        pytest.param(
            "args: [a, null]",
            "TP018 spec.trainer.args[1]: item 1 of args is empty; write a value, or remove the line",
            id="null in a list",
        ),
        pytest.param(
            "env:",
            "TP020 spec.trainer.env: env is empty and has no effect; "
            "remove the line, or indent the lines below it if they are its content",
            id="null in an object",
        ),
        pytest.param(
            "numNode: 2",
            "TP010 spec.trainer.numNode: spec.trainer has no field numNode; did you mean numNodes?",
            id="a misspelt field",
        ),
        pytest.param(
            "suspend: true",
            "TP021 spec.trainer.suspend: suspend belongs to spec, beside trainer; indent it by less, like trainer",
            id="a field of the parent",
        ),
    ],
)
def test_one_problem_and_its_remedy(fields, expected):
    assert of_trainer(fields) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "spec:\nruntimeRef: {name: t}\ntrainer: {numNodes: 2}\n",
            ["TP021 runtimeRef: runtimeRef and trainer belong under spec; indent these lines under spec"],
            id="a spec that was never indented",
        ),
        pytest.param(
            "spec:\n  runtimeRef: {name: t}\n  trainer:\n  numNodes: 2\n  image: x\n",
            ["TP021 spec.numNodes: numNodes and image belong under trainer; indent these lines under trainer"],
            id="a trainer that was never indented",
        ),
        pytest.param(
            "spec: {runtimeref: {name: t}}",
            ["TP010 spec.runtimeref: spec has no field runtimeref; did you mean runtimeRef?"],
            id="a required field, misspelt, is not missing as well",
        ),
        pytest.param(
            "spec: {}", ["TP011 spec.runtimeRef: spec needs the field runtimeRef; add runtimeRef"], id="missing"
        ),
        pytest.param(
            "spec:",
            [
                (
                    "TP018 spec: spec is required, and empty here; "
                    "write its value, or indent the lines below it if they are its content"
                )
            ],
            id="empty",
        ),
        pytest.param(
            "spec: {runtimeRef: {name: ''}, managedBy: kueue}",
            [
                "TP015 spec.runtimeRef.name: name is empty; it needs at least 1 character",
                (
                    'TP013 spec.managedBy: managedBy cannot be "kueue"; '
                    "write trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue"
                ),
            ],
            id="every problem at once",
        ),
    ],
)
def test_a_document_and_all_its_problems(text, expected):
    assert said(text) == expected


def test_the_framework_that_is_called_otherwise():
    assert said("spec: {mlPolicy: {pytorch: {}}}", TrainingRuntime) == [
        "TP010 spec.mlPolicy.pytorch: spec.mlPolicy has no field pytorch; did you mean torch?"
    ]


def test_a_law_speaks_with_its_own_message():
    (problem,) = said("spec: {mlPolicy: {torch: {}, mpi: {}}}", TrainingRuntime)
    assert problem.startswith("TP019 spec.mlPolicy: at most one of")


def test_a_word_is_guessed_and_the_others_are_listed():
    schema = {"type": "string", "enum": ["OpenMPI", "Intel", "MPICH"]}
    (problem,) = check("openmpi", schema)
    assert problem.todo == "did you mean OpenMPI? Allowed: OpenMPI, Intel, MPICH"


def test_paths_begin_where_the_caller_says():
    (problem,) = check({"a": 1}, {"type": "object", "properties": {"a": {"type": "string"}}}, path=("x", 0))
    assert problem.field == "x[0].a"


def test_a_law_of_change_needs_something_old():
    law = Law(cel="self == oldSelf", message="it is fixed", holds=lambda new, old: new == old, transition=True)
    schema = {"type": "string", "x-kubernetes-validations": (law,)}
    assert not refused("a", schema)
    assert [problem.what for problem in check("a", schema, old="b")] == ["it is fixed"]


@pytest.mark.parametrize("type_", [TrainJob, TrainingRuntime])
def test_a_wrong_type_is_found_at_every_field(type_):
    schema = openapi(type_)
    missed = []
    for path, node in every_field(schema):
        for wrong in WRONG.get(type_of(node), ())[:2]:
            found = [p.path for p in check(only(path, wrong), schema) if p.rule is rules.WRONG_TYPE]
            if path not in found:
                missed.append((path, wrong))
    assert missed == []


def test_nulls_are_dropped_from_objects_before_they_are_judged():
    schema = {"type": "object", "minProperties": 1, "properties": {"a": {"type": "string"}}}
    assert refused({"a": None}, schema)
    assert not refused({"a": "x"}, schema)


def test_warnings_do_not_refuse():
    schema = {"type": "object", "properties": {"a": {"type": "object"}}}
    (problem,) = check({"a": None}, schema)
    assert problem.severity is Severity.WARNING
    assert not refused({"a": None}, schema)


def test_a_pattern_ends_at_the_end_of_the_text():
    assert refused("1\n", {"anyOf": [], INT_OR_STRING: True, "pattern": "^[0-9]+$"})


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2030-01-31T12:00:00Z", True),
        ("2030-01-31T12:00:00.123456+02:00", True),
        ("2030-13-31T12:00:00Z", False),
        ("2030-01-31", False),
        ("yesterday", False),
    ],
)
def test_times(text, good):
    assert refused(text, {"type": "string", "format": "date-time"}) is not good


def test_defaults_fill_what_is_absent_or_null_and_leave_the_value_alone():
    value = {"spec": {"runtimeRef": {"name": "t", "kind": None}}}
    full = fill_defaults(value, openapi(TrainJob))
    assert full["spec"]["runtimeRef"] == {
        "name": "t", "kind": "ClusterTrainingRuntime", "apiGroup": "trainer.kubeflow.org",
    }  # fmt: skip
    assert value == {"spec": {"runtimeRef": {"name": "t", "kind": None}}}


def test_pruning_drops_unknown_fields_but_not_the_keys_of_maps():
    schema = {
        "type": "object",
        "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        },
    }
    value = {"labels": {"x": "y"}, "any": {"b": 1}, "list": [{"a": "1", "c": 2}], "strange": 3}
    assert prune(value, schema) == {"labels": {"x": "y"}, "any": {"b": 1}, "list": [{"a": "1"}]}


def test_a_million_faults_are_not_all_told():
    job = {"spec": {"runtimeRef": {"name": "t"}, "trainer": {"args": [1] * 500_000}}}
    found = list(check(job, openapi(TrainJob)))
    assert len(found) == 501
    assert found[-1].what == "the object has more than 500 problems"


def test_unknown_fields_without_end_are_counted_and_not_all_guessed_at():
    job = {"spec": {"runtimeRef": {"name": "t"}, **{f"strange{i}": 1 for i in range(100_000)}}}
    found = list(check(job, openapi(TrainJob)))
    assert len(found) == 51
    assert "99,950 more fields here do not exist" in [problem.what for problem in found]
