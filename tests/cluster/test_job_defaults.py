"""A Job that says little means what it means to Kubernetes."""

from typing import Any

import pytest

from tests.cluster.jobs import stored as default

Raw = dict[str, Any]
OURS = {
    "batch.kubernetes.io/controller-uid": "u",
    "batch.kubernetes.io/job-name": "job",
    "controller-uid": "u",
    "job-name": "job",
}


def job(spec: Raw, **metadata: Any) -> Raw:
    """A Job before admission."""
    return {"metadata": {"name": "job", "uid": "u", **metadata}, "spec": {"template": {"spec": {}}, **spec}}


@pytest.mark.parametrize(
    ("spec", "means"),
    [
        pytest.param({}, {"completions": 1, "parallelism": 1}, id="one pod"),
        pytest.param({"completions": 3}, {"completions": 3, "parallelism": 1}, id="one at a time"),
        pytest.param({"parallelism": 3}, {"completions": None, "parallelism": 3}, id="completions stay unsaid"),
        pytest.param({}, {"backoffLimit": 6, "suspend": False, "manualSelector": False}, id="six retries"),
        pytest.param({}, {"completionMode": "NonIndexed"}, id="no indexes"),
        pytest.param(
            {"backoffLimitPerIndex": 0}, {"backoffLimit": 2147483647}, id="limits per index replace the limit"
        ),
        pytest.param({"backoffLimit": 0}, {"backoffLimit": 0}, id="0 is said"),
        pytest.param({}, {"podReplacementPolicy": "TerminatingOrFailed"}, id="pods on their way out are replaced"),
        pytest.param({"podFailurePolicy": {"rules": []}}, {"podReplacementPolicy": "Failed"}, id="or waited for"),
        pytest.param(
            {"podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "A"}]}]}},
            {
                "podFailurePolicy": {
                    "rules": [{"action": "Ignore", "onPodConditions": [{"status": "True", "type": "A"}]}]
                }
            },
            id="a condition is meant to be True",
        ),
    ],
)
def test_what_is_unsaid(spec: Raw, means: Raw) -> None:
    filled = default(job(spec))["spec"]
    assert {key: filled.get(key) for key in means} == means


def test_pods_are_found_by_the_uid_of_the_job() -> None:
    made = default(job({}))
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert made["spec"]["template"]["metadata"]["labels"] == OURS


def test_a_job_without_labels_has_those_of_its_pods() -> None:
    assert default(job({}))["metadata"]["labels"] == OURS


def test_a_job_with_labels_keeps_to_them() -> None:
    assert default(job({}, labels={"a": "b"}))["metadata"]["labels"] == {"a": "b"}


def test_a_selector_of_the_authors_own_is_left_alone() -> None:
    spec = {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}
    made = default(job(spec))["spec"]
    assert made["selector"] == {"matchLabels": {"a": "b"}}
    assert "labels" not in made["template"]["metadata"]


def test_defaults_are_filled_once() -> None:
    once = default(job({"podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions": [{"type": "A"}]}]}}))
    assert default(once) == once == default(once, once)
