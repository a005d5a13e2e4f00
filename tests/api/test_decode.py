"""JSON bytes become a typed object, or every reason why not."""

import orjson
import pytest

from trainplane.api.decode import InvalidError, decode
from trainplane.api.trainer import TrainingRuntime, TrainJob

JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "two-nodes", "namespace": "ml"},
    "spec": {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 2, "env": [{"name": "A", "value": "1"}], "args": ["--lr", "0.1"]},
    },
}


def with_trainer(**fields):
    """The bytes of the job with other fields of its trainer."""
    trainer = {**JOB["spec"]["trainer"], **fields}
    return orjson.dumps({**JOB, "spec": {**JOB["spec"], "trainer": trainer}})


def problems(data, type_=TrainJob):
    """Why the data is refused."""
    with pytest.raises(InvalidError) as refused:
        decode(data, type_)
    return [f"{problem.rule.id} {problem.field}" for problem in refused.value.problems]


def test_a_job_is_read():
    job = decode(orjson.dumps(JOB), TrainJob)
    assert job.metadata.name == "two-nodes"
    assert job.spec.trainer.num_nodes == 2
    assert job.spec.trainer.env[0].value == "1"


def test_nulls_count_as_nothing_said():
    job = decode(with_trainer(image=None, numNodes=None), TrainJob)
    assert job == decode(orjson.dumps({**JOB, "spec": {**JOB["spec"], "trainer": {
        "env": [{"name": "A", "value": "1"}], "args": ["--lr", "0.1"]}}}), TrainJob)  # fmt: skip


def test_a_whole_float_is_an_integer():
    assert decode(with_trainer(numNodes=3.0), TrainJob).spec.trainer.num_nodes == 3


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            with_trainer(numNodes="2", strange=1),
            ["TP010 spec.trainer.strange", "TP012 spec.trainer.numNodes"],
            id="shape",
        ),
        pytest.param(with_trainer(env=[{"name": "A"}, {"name": "A"}]), ["TP017 spec.trainer.env[1]"], id="twice"),
        pytest.param(orjson.dumps({**JOB, "metadata": {"name": "A_b"}}), ["TP019 metadata.name"], id="a law"),
        pytest.param(b'{"spec": null}', ["TP018 spec"], id="null"),
        pytest.param(b"[]", ["TP012 "], id="a list"),
        pytest.param(b'{"a": 1,}', ["TP003 "], id="a comma too many"),
        pytest.param(b"a: 1", ["TP003 "], id="YAML"),
        pytest.param(b"", ["TP009 "], id="nothing"),
        pytest.param(b"\xff\xfe\xfd", ["TP001 "], id="no text"),
        pytest.param(b"[" * 100_000, ["TP002 "], id="too deep"),
        pytest.param(b'{"a": "\\ud800"}', ["TP006 a"], id="half a character"),
    ],
)  # fmt: skip
def test_what_is_refused_is_explained(data, expected):
    assert problems(data) == expected


def test_laws_of_runtimes_hold_here_too():
    data = orjson.dumps({"kind": "TrainingRuntime", "spec": {"mlPolicy": {"torch": {}, "mpi": {}}}})
    assert problems(data, TrainingRuntime) == ["TP019 spec.mlPolicy"]
