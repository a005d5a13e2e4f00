"""Jobs are refused where a real API server refuses them, at the same fields, and taken where it takes them."""

from typing import Any

import pytest
import yaml

from tests.job.world import START
from tests.places import ROOT
from trainplane.api.merge import merge_patch
from trainplane.api.problem import Problem
from trainplane.job import admission
from trainplane.job.default import default
from trainplane.job.validate import validate
from trainplane.reconcile.view import Ref

Raw = dict[str, Any]
RECORDED = yaml.load((ROOT / "tests/job/refusals.yaml").read_text(), Loader=yaml.CSafeLoader)
BASE = {
    "managedBy": "example.com/other",
    "template": {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.local/train:1"}]}
    },
}


def job(spec: Raw, name: str = "job") -> Raw:
    """A Job as it would be stored."""
    metadata = {"name": name, "namespace": "ns", "uid": "u"}
    return default({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": merge_patch(BASE, spec)})


def fields(problems: list[Problem]) -> list[str]:
    """The fields that problems are about."""
    return sorted({problem.field for problem in problems})


@pytest.mark.parametrize("row", RECORDED["create"], ids=lambda row: str(row["about"]))
def test_a_new_job_is_refused_where_the_real_server_refuses_it(row: Raw) -> None:
    problems = list(validate(job(row["spec"], row.get("name", "job"))))
    assert fields(problems) == row["refused"]
    assert all(problem.what and problem.todo for problem in problems)


@pytest.mark.parametrize("row", RECORDED["update"], ids=lambda row: str(row["about"]))
def test_a_change_is_refused_where_the_real_server_refuses_it(row: Raw) -> None:
    old = job(row["spec"])
    new = default(merge_patch(old, {"spec": row["patch"]}), old)
    if "selector" in row["patch"]:
        # A merge patch adds a label to the selector that is there.
        assert new["spec"]["selector"]["matchLabels"].keys() == {"a", "batch.kubernetes.io/controller-uid"}
    assert fields(list(validate(new, old))) == row["refused"]


@pytest.mark.parametrize(
    ("status", "may"),
    [
        pytest.param({}, True, id="never begun"),
        pytest.param({"startTime": "t"}, False, id="begun, and not yet known to be suspended"),
        pytest.param(
            {"startTime": "t", "conditions": [{"type": "Suspended", "status": "True"}]}, True, id="begun and suspended"
        ),
        pytest.param(
            {"active": 1, "conditions": [{"type": "Suspended", "status": "True"}]}, False, id="suspended, a pod is left"
        ),
    ],
)
def test_the_template_opens_when_a_suspended_job_has_come_to_rest(status: Raw, *, may: bool) -> None:
    old = {**job({"suspend": True}), "status": status}
    new = merge_patch(old, {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}})
    assert (fields(list(validate(new, old))) == []) is may


def test_a_list_of_indexes_as_long_as_a_book_is_refused() -> None:
    listed = ",".join(map(str, range(0, 60000, 2)))
    spec = {
        "completionMode": "Indexed",
        "completions": 60000,
        "successPolicy": {"rules": [{"succeededIndexes": listed}]},
    }
    assert fields(list(validate(job(spec)))) == ["spec.successPolicy.rules[0].succeededIndexes"]


def test_all_that_is_wrong_is_told_at_once() -> None:
    spec = {"parallelism": -1, "backoffLimitPerIndex": 1, "managedBy": "me", "template": {"spec": {"containers": []}}}
    assert len(list(validate(job(spec)))) == 4


def nobody(_: Ref) -> None:
    """A cluster in which nothing else is."""


class TestAdmission:
    def test_defaults_come_before_judgement(self) -> None:
        raw = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job", "uid": "u"}, "spec": BASE}
        stored = admission.default(raw, None, nobody, now=START)
        assert stored == default(raw)
        assert list(admission.validate(stored, None, nobody)) == []

    @pytest.mark.parametrize(
        "spec",
        [
            {"parallelism": "two"},
            {"template": []},
            {"template": {"spec": {"containers": "one"}}},
            {"podFailurePolicy": {"rules": "none"}},
            {"podFailurePolicy": {"rules": [{"action": 1, "onExitCodes": {"operator": "In", "values": ["1"]}}]}},
            {"podFailurePolicy": []},
            {"completionMode": "Indexed", "completions": 2, "successPolicy": {"rules": [{"succeededIndexes": 0}]}},
            {"selector": "x"},
            {"manualSelector": True, "selector": {"matchLabels": {"a b": "c"}}},
        ],
        ids=str,
    )
    def test_what_has_no_shape_is_refused_and_never_crashes(self, spec: Raw) -> None:
        for metadata in ({"name": "job"}, {"name": "job", "uid": "u"}):
            raw = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**BASE, **spec}}
            stored = admission.default(raw, None, nobody, now=START)
            assert list(admission.validate(stored, None, nobody))
            assert list(admission.validate(stored, stored, nobody))
