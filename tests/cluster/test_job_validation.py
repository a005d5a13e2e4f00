"""Jobs are refused where a real API server refuses them, in its words, and taken where it takes them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.jobs import refusals, stored
from trainplane.api.merge import merge_patch

Raw = dict[str, Any]
RECORDED = yaml.load((Path(__file__).parent / "facts" / "job_refusals.yaml").read_text(), Loader=yaml.CSafeLoader)
BASE = {
    "managedBy": "example.com/other",
    "template": {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.local/train:1"}]}
    },
}


def job(spec: Raw, name: str = "job") -> Raw:
    """A Job as it would be stored."""
    metadata = {"name": name, "namespace": "ns", "uid": "uid"}
    return stored({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": merge_patch(BASE, spec)})


def abridged(said: list[str]) -> list[str]:
    """Refusals without the templates that they show."""
    return sorted(line.partition(": ")[0] + ": …" if len(line) > 360 else line for line in said)


@pytest.mark.parametrize("row", RECORDED["create"], ids=lambda row: str(row["about"]))
def test_a_new_job_is_refused_in_the_real_servers_words(row: Raw) -> None:
    assert abridged(refusals(job(row["spec"], row.get("name", "job")))) == sorted(row["says"])


@pytest.mark.parametrize("row", RECORDED["update"], ids=lambda row: str(row["about"]))
def test_a_change_is_refused_in_the_real_servers_words(row: Raw) -> None:
    old = job(row["spec"])
    new = stored(merge_patch(old, {"spec": row["patch"]}), old)
    assert abridged(refusals(new, old)) == sorted(row["says"])


@pytest.mark.parametrize("row", RECORDED["order"], ids=lambda row: str(row["about"]))
def test_causes_are_told_in_the_real_servers_order(row: Raw) -> None:
    """Each of them once: the real server tells those of a change twice."""
    old = job(row["spec"], row.get("name", "job"))
    new = stored(merge_patch(old, {"spec": row["patch"]}), old) if "patch" in row else old
    told = dict.fromkeys(refusals(new, old if "patch" in row else None))
    assert [line.partition(": ")[0] for line in told] == row["fields"]


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
    assert (refusals(new, old) == []) is may


def test_a_list_of_indexes_as_long_as_a_book_is_refused() -> None:
    listed = ",".join(map(str, range(0, 60000, 2)))
    spec = {
        "completionMode": "Indexed",
        "completions": 60000,
        "successPolicy": {"rules": [{"succeededIndexes": listed}]},
    }
    at = "spec.successPolicy.rules[0].succeededIndexes"
    assert refusals(job(spec)) == [f"{at}: Too long: may not be more than 65536 bytes"]


def test_all_that_is_wrong_is_told_at_once() -> None:
    spec = {"parallelism": -1, "backoffLimitPerIndex": 1, "managedBy": "me", "template": {"spec": {"containers": []}}}
    assert len(refusals(job(spec))) == 4
