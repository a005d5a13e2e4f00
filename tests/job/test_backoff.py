"""How long a failed pod waits for its replacement."""

from datetime import timedelta
from typing import Any

import pytest

from tests.job.bodies import stamp
from tests.job.world import START
from trainplane.job.backoff import delay, ended, wait, wait_of_index
from trainplane.job.tally import REMOVED, Tally

Raw = dict[str, Any]
SPEC = {"completions": 5, "parallelism": 1, "podReplacementPolicy": "TerminatingOrFailed"}
NOW = START + timedelta(hours=1)


def after(seconds: int) -> str:
    """A time so long after the start."""
    return stamp(START + timedelta(seconds=seconds))


def pod(phase: str, at: int, **metadata: Any) -> Raw:
    """A pod whose container ended then."""
    state = {"terminated": {"finishedAt": after(at), "exitCode": 0 if phase == "Succeeded" else 1}}
    return {
        "metadata": {"name": f"p{at}", "uid": f"u{at}", "creationTimestamp": after(0), **metadata},
        "status": {"phase": phase, "containerStatuses": [{"name": "main", "state": state}]},
    }


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (8, 600), (10_000, 600)],
)
def test_each_failure_doubles_the_delay_up_to_ten_minutes(failures: int, seconds: int) -> None:
    assert delay(failures) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("pods", "now", "left"),
    [
        pytest.param([], 0, 0, id="nothing failed"),
        pytest.param([pod("Failed", 0)], 4, 6, id="one failure, ten seconds from its end"),
        pytest.param([pod("Failed", 0)], 10, 0, id="the delay is over"),
        pytest.param([pod("Failed", 0), pod("Failed", 1)], 1, 20, id="two failures, twenty seconds from the last"),
        pytest.param([pod("Failed", 0), pod("Succeeded", 1), pod("Failed", 2)], 2, 10, id="a success begins anew"),
        pytest.param([pod("Failed", 0), pod("Succeeded", 1)], 1, 0, id="a success after the last failure ends it"),
        pytest.param(
            [pod("Running", 0, deletionTimestamp=after(30), deletionGracePeriodSeconds=30)],
            3,
            7,
            id="a pod being deleted counts from when it was asked to go",
        ),
        pytest.param(
            [pod("Running", 0, deletionTimestamp=after(30), annotations={REMOVED: "true"})],
            3,
            0,
            id="a pod that the Job sent away does not",
        ),
    ],
)
def test_wait(pods: list[Raw], now: int, left: int) -> None:
    for one in pods:
        if one["status"]["phase"] == "Running":
            one["status"] = {"phase": "Running"}
    tally = Tally(SPEC, {}, tuple(pods))
    assert wait(tally, START + timedelta(seconds=now)) == timedelta(seconds=left)


def test_an_index_waits_for_its_own_failures_counted_or_ignored() -> None:
    counts = {"job-index-failure-count": "1", "job-index-ignored-failure-count": "1"}
    failed = pod("Failed", 0, annotations={f"batch.kubernetes.io/{key}": value for key, value in counts.items()})
    assert wait_of_index(failed, START) == timedelta(seconds=40)


@pytest.mark.parametrize(
    ("status", "metadata", "at"),
    [
        pytest.param(
            {
                "containerStatuses": [{"state": {"terminated": {"finishedAt": after(5)}}}],
                "initContainerStatuses": [{"state": {"terminated": {"finishedAt": after(7)}}}],
            },
            {},
            7,
            id="as the last container did, sidecars included",
        ),
        pytest.param(
            {
                "containerStatuses": [{"state": {"running": {}}}, {"state": {"terminated": {"finishedAt": after(5)}}}],
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": after(6)}],
            },
            {},
            6,
            id="or as it stopped being ready",
        ),
        pytest.param(
            {},
            {"deletionTimestamp": after(39), "deletionGracePeriodSeconds": 30},
            9,
            id="or as it was asked to go",
        ),
        pytest.param({}, {}, 0, id="or as it was made"),
    ],
)
def test_when_a_pod_ended(status: Raw, metadata: Raw, at: int) -> None:
    raw = {"metadata": {"creationTimestamp": after(0), **metadata}, "status": status}
    assert ended(raw) == START + timedelta(seconds=at)
