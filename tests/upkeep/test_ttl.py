"""What goes by its age: events, and finished Jobs that nobody else lets go."""

from datetime import timedelta

import pytest

from tests.upkeep.town import NOON, Raw
from trainplane.reconcile.decision import Delete
from trainplane.reconcile.view import View
from trainplane.upkeep.ttl import EVENT_TTL, expire_event, expire_job

NOBODY = View()


def job(**spec: object) -> Raw:
    """A Job that completed at noon."""
    end = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-31T12:00:00Z"}
    metadata = {"name": "j", "namespace": "ns", "uid": "1"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec,
        "status": {"conditions": [end]},
    }


@pytest.mark.parametrize(
    ("spec", "seconds", "goes", "again"),
    [
        pytest.param({"managedBy": "example.test/other"}, 999, False, None, id="kept for ever"),
        pytest.param({"ttlSecondsAfterFinished": 10}, 999, False, None, id="ours goes by its own controller"),
        pytest.param({"ttlSecondsAfterFinished": 10, "managedBy": "example.test/other"}, 4, False, 6, id="time left"),
        pytest.param({"ttlSecondsAfterFinished": 10, "managedBy": "example.test/other"}, 10, True, None, id="time up"),
    ],
)
def test_a_finished_job_of_another_manager(spec: Raw, seconds: int, goes: bool, again: int | None) -> None:
    decision = expire_job(job(**spec), NOBODY, NOON + timedelta(seconds=seconds))
    assert [type(one) for one in decision.actions] == ([Delete] if goes else [])
    assert decision.again == (None if again is None else timedelta(seconds=again))


def test_a_job_that_runs_has_all_the_time() -> None:
    running = {**job(ttlSecondsAfterFinished=0, managedBy="example.test/other"), "status": {}}
    assert expire_job(running, NOBODY, NOON).actions == ()


def test_an_event_goes_an_hour_after_it_was_last_seen() -> None:
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ns", "creationTimestamp": "2026-01-31T12:00:00Z"},
        "eventTime": "2026-01-31T12:00:00.000000Z",
        "series": {"count": 2, "lastObservedTime": "2026-01-31T12:30:00.000000Z"},
    }
    assert expire_event(event, NOBODY, NOON + EVENT_TTL).again == timedelta(minutes=30)
    (gone,) = expire_event(event, NOBODY, NOON + timedelta(minutes=90)).actions
    assert isinstance(gone, Delete)
