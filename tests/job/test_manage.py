"""Which pods go first, which indexes come next, and what pods are called."""

from typing import Any

import pytest

from trainplane.job.manage import pending, to_remove, wanted
from trainplane.job.pods import LETTERS, free_name, prefix, suffix
from trainplane.job.tally import Tally

Raw = dict[str, Any]
INDEX = "batch.kubernetes.io/job-completion-index"
JOB = {"metadata": {"name": "job", "namespace": "ns", "uid": "u"}}


def pod(name: str, *, index: int | None = None, tracked: bool = True, **more: Any) -> Raw:
    """A pod of a Job, Pending unless said otherwise."""
    status = {"phase": more.pop("phase", "Pending")}
    if "ready" in more:
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": more.pop("ready")}]
    if "restarts" in more:
        status["containerStatuses"] = [{"name": "main", "restartCount": more.pop("restarts"), "state": {}}]
    metadata: Raw = {"name": name, "uid": name, "creationTimestamp": more.pop("made", "2026-01-01T00:00:00Z"), **more}
    metadata["annotations"] = {} if index is None else {INDEX: str(index)}
    metadata["finalizers"] = ["batch.kubernetes.io/job-tracking"] if tracked else []
    spec = {"nodeName": metadata.pop("node")} if "node" in metadata else {}
    return {"metadata": metadata, "spec": spec, "status": status}


def tally(*pods: Raw, status: Raw | None = None, **spec: Any) -> Tally:
    """What a Job with these pods looks like."""
    whole = {"completions": 3, "parallelism": 3, "podReplacementPolicy": "TerminatingOrFailed", **spec}
    return Tally(whole, status or {}, pods)


EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        pytest.param(pod("z"), pod("a", node="n"), id="one without a node before one with"),
        pytest.param(pod("z", node="n"), pod("a", node="n", phase="Running"), id="Pending before Running"),
        pytest.param(
            pod("z", node="n", phase="Unknown"), pod("a", node="n", phase="Running"), id="Unknown before Running"
        ),
        pytest.param(pod("z", phase="Running"), pod("a", phase="Running", ready=EARLY), id="unready before ready"),
        pytest.param(
            pod("z", phase="Running", ready=LATE), pod("a", phase="Running", ready=EARLY), id="ready later first"
        ),
        pytest.param(
            pod("z", phase="Running", restarts=2), pod("a", phase="Running", restarts=1), id="more restarts first"
        ),
        pytest.param(pod("z", made=LATE), pod("a", made=EARLY), id="the younger first"),
    ],
)
def test_what_has_done_least_goes_first(goes: Raw, stays: Raw) -> None:
    for pods in ((goes, stays), (stays, goes)):
        assert to_remove(tally(*pods), 1) == (goes,)


def test_of_pods_that_share_an_index_the_best_stays() -> None:
    pods = (pod("a", index=0), pod("b", index=0, phase="Running"), pod("c", index=1))
    gone = to_remove(tally(*pods, completionMode="Indexed"), 0)
    assert [one["metadata"]["name"] for one in gone] == ["a"]


@pytest.mark.parametrize("index", [None, 3, 99])
def test_pods_of_an_index_that_the_job_does_not_have_go(index: int | None) -> None:
    stray = pod("stray", index=index)
    assert to_remove(tally(stray, pod("a", index=0), completionMode="Indexed"), 0) == (stray,)


@pytest.mark.parametrize(
    ("spec", "status", "active", "count"),
    [
        pytest.param({}, {}, 0, 3, id="as many as run at a time"),
        pytest.param({"completions": 5}, {"succeeded": 4}, 1, 1, id="no more than are missing"),
        pytest.param({"completions": 5}, {"succeeded": 7}, 0, 0, id="never less than none"),
        pytest.param({"completions": None}, {}, 0, 3, id="a work queue before its first success"),
        pytest.param({"completions": None}, {"succeeded": 1}, 2, 2, id="and after it: those that run may end"),
        pytest.param({"parallelism": 0}, {}, 0, 0, id="none at a time"),
        pytest.param(
            {"completionMode": "Indexed", "backoffLimitPerIndex": 0},
            {"failedIndexes": "1", "completedIndexes": "0"},
            0,
            1,
            id="an index that failed is not tried again",
        ),
    ],
)
def test_wanted(spec: Raw, status: Raw, active: int, count: int) -> None:
    assert wanted(tally(*(pod(f"p{n}") for n in range(active)), status=status, **spec)) == count


@pytest.mark.parametrize(
    ("pods", "spec", "status", "free"),
    [
        pytest.param([], {}, {}, [0, 1, 2], id="all at first"),
        pytest.param([pod("a", index=1)], {}, {}, [0, 2], id="not those that somebody works on"),
        pytest.param([], {}, {"completedIndexes": "0,2"}, [1], id="not those that are done"),
        pytest.param([pod("a", index=0, phase="Succeeded")], {}, {}, [1, 2], id="not those that are done just now"),
        pytest.param([pod("a", index=0, phase="Failed")], {}, {}, [0, 1, 2], id="those that failed"),
        pytest.param([pod("a", index=0, deletionTimestamp=LATE)], {}, {}, [0, 1, 2], id="those being deleted, at once"),
        pytest.param(
            [pod("a", index=0, deletionTimestamp=LATE)],
            {"podReplacementPolicy": "Failed"},
            {},
            [1, 2],
            id="or only when they have ended",
        ),
    ],
)
def test_pending(pods: list[Raw], spec: Raw, status: Raw, free: list[int]) -> None:
    assert list(pending(tally(*pods, status=status, completionMode="Indexed", **spec))) == free


def test_names_end_in_five_letters_that_depend_on_the_job_the_index_and_the_number() -> None:
    names = {suffix(uid, index, number) for uid in ("u", "v") for index in (None, 0, 1) for number in (0, 1)}
    assert len(names) == 12
    assert all(len(name) == 5 and set(name) <= set(LETTERS) for name in names)
    assert suffix("u", 0, 0) == suffix("u", 0, 0)


def test_a_name_that_is_taken_is_passed_over() -> None:
    first = free_name(JOB, 0, 0, lambda _: False)
    second = free_name(JOB, 0, 0, lambda name: name == first)
    assert first != second == free_name(JOB, 0, 1, lambda _: False)


def test_a_long_name_is_cut_before_the_index() -> None:
    assert prefix("j" * 63, 12) == "j" * 54 + "-12-"
    assert len(free_name({"metadata": {"name": "j" * 63}}, 12, 0, lambda _: False)) == 63
    assert len(free_name({"metadata": {"name": "j" * 63}}, None, 0, lambda _: False)) == 63
