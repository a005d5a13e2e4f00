"""Defaults: a patch's time by upstream's table, an elastic job's starting size, and once is enough."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.trainjob.stories import ELASTIC, runtime, trainjob
from trainplane.trainjob import default

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
STAMP, GIVEN, BEFORE = "2026-05-06T07:08:09Z", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"


def patch(labels: str = "", **fields: Any) -> dict[str, Any]:
    template = {"template": {"metadata": {"labels": {"a": labels}}}} if labels else {}
    return {"manager": "a.b/c", "trainingRuntimeSpec": template, **fields}


@pytest.mark.parametrize(
    ("new", "old", "time"),
    [
        pytest.param(patch(), None, STAMP, id="created without a time: now"),
        pytest.param(patch(time=GIVEN), None, GIVEN, id="created with a time: kept"),
        pytest.param(patch(time=GIVEN), patch(time=BEFORE), BEFORE, id="unchanged: the old time, whatever was sent"),
        pytest.param(patch(), patch(time=BEFORE), BEFORE, id="unchanged and sent without: the old time"),
        pytest.param(patch("x", time=GIVEN), patch(time=BEFORE), STAMP, id="changed: now, whatever was sent"),
        pytest.param(patch("x"), patch(time=BEFORE), STAMP, id="changed and sent without: now"),
        pytest.param(patch(), {**patch(time=BEFORE), "manager": "d.e/f"}, STAMP, id="new in an update: now"),
        pytest.param(patch(time=GIVEN), {**patch(), "manager": "d.e/f"}, GIVEN, id="new with a time: kept"),
    ],
)
def test_the_time_of_a_patch(new: dict[str, Any], old: dict[str, Any] | None, time: str) -> None:
    before = trainjob(runtimePatches=[old]) if old else None
    filled = default.trainjob(trainjob(runtimePatches=[new]), now=NOW, old=before)
    assert filled["spec"]["runtimePatches"][0]["time"] == time


def test_what_the_schema_fills_in() -> None:
    raw = trainjob()
    raw["spec"]["runtimeRef"] = {"name": "rt"}
    spec = default.trainjob(raw, now=NOW)["spec"]
    assert spec["runtimeRef"] == {"name": "rt", "kind": "ClusterTrainingRuntime", "apiGroup": "trainer.kubeflow.org"}
    assert spec["managedBy"] == "trainer.kubeflow.org/trainjob-controller"
    assert spec["suspend"] is False


@pytest.mark.parametrize(
    ("policy", "size"),
    [
        pytest.param(ELASTIC, 3, id="numNodes of the runtime"),
        pytest.param({"torch": ELASTIC["torch"]}, 2, id="else the least it needs"),
        pytest.param({"numNodes": 3, "torch": {}}, None, id="a fixed size is the runtime's to know"),
        pytest.param({"numNodes": 3, "torch": {"elasticPolicy": {"maxRestarts": 1}}}, None, id="restarts alone"),
    ],
)
def test_an_elastic_job_gets_a_number_to_scale(policy: dict[str, Any], size: int | None) -> None:
    filled = default.trainjob(trainjob(), now=NOW, on=runtime(policy))
    assert filled["spec"]["trainer"].get("numNodes") == size


def test_a_size_that_is_given_stays() -> None:
    assert default.trainjob(trainjob({"numNodes": 4}), now=NOW, on=runtime(ELASTIC))["spec"]["trainer"] == {
        "numNodes": 4
    }


def test_inputs_are_left_alone() -> None:
    raw, on = trainjob(runtimePatches=[patch()]), runtime(ELASTIC)
    before = repr((raw, on))
    default.trainjob(raw, now=NOW, on=on)
    assert repr((raw, on)) == before
