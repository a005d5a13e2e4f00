"""The stages of a job's story: each is told once, in the order in which it comes."""

from typing import Any

from trainplane.cli.story import Stages


def told(*stages: tuple[str, str]) -> list[str]:
    """What is said when a job goes through these states."""
    story = Stages()
    jobs: list[dict[str, Any]] = [{"status": {"summary": {"state": s, "message": m}}} for s, m in stages]
    return [said for job in jobs if (said := story.take(job))]


def test_numbers_that_change_are_nothing_new() -> None:
    assert told(("Starting", "0 of 9 pods are ready"), ("Starting", "4 of 9 pods are ready")) == [
        "starting: 0 of 9 pods are ready"
    ]


def test_a_state_that_falls_back_for_the_same_reason_is_nothing_new() -> None:
    assert told(("Starting", "a pod failed"), ("Pending", "a pod failed"), ("Pending", "no node")) == [
        "starting: a pod failed",
        "pending: no node",
    ]


def test_that_it_runs_is_always_told() -> None:
    assert told(("Starting", "all are ready"), ("Running", "all are ready")) == [
        "starting: all are ready",
        "running: all are ready",
    ]


def test_a_job_of_which_nothing_is_known_is_pending() -> None:
    assert Stages().take({}) == "pending"
