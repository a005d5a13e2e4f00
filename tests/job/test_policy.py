"""What a failed pod does to its Job by rule, and which indexes are enough."""

from typing import Any

import pytest

from trainplane.job.policy import Match, enough, judged

Raw = dict[str, Any]


def pod(*codes: int, init: tuple[int, ...] = (), conditions: tuple[tuple[str, str], ...] = ()) -> Raw:
    """A failed pod: containers c0, c1… and i0, i1… with these exit codes."""

    def statuses(letter: str, exits: tuple[int, ...]) -> list[Raw]:
        return [{"name": f"{letter}{n}", "state": {"terminated": {"exitCode": code}}} for n, code in enumerate(exits)]

    status = {
        "containerStatuses": statuses("c", codes),
        "initContainerStatuses": statuses("i", init),
        "conditions": [{"type": type_, "status": status} for type_, status in conditions],
    }
    return {"metadata": {"namespace": "ns", "name": "pod"}, "status": status}


def codes(action: str, operator: str, *values: int, name: str | None = None) -> Raw:
    """A rule about exit codes."""
    wanted: Raw = {"operator": operator, "values": list(values)}
    return {"action": action, "onExitCodes": {**wanted, "containerName": name} if name else wanted}


def conditions(action: str, *patterns: Raw) -> Raw:
    """A rule about conditions."""
    return {"action": action, "onPodConditions": list(patterns)}


@pytest.mark.parametrize(
    ("rules", "failed", "action"),
    [
        pytest.param([], pod(1), "Count", id="without rules a failure counts"),
        pytest.param([codes("FailJob", "In", 42)], pod(42), "FailJob", id="a listed code"),
        pytest.param([codes("FailJob", "In", 42)], pod(1), "Count", id="a code that is not listed"),
        pytest.param([codes("FailJob", "NotIn", 42)], pod(1), "FailJob", id="NotIn: a code that is not listed"),
        pytest.param([codes("FailJob", "NotIn", 42)], pod(42), "Count", id="NotIn: a listed code"),
        pytest.param([codes("FailJob", "NotIn", 42)], pod(0), "Count", id="0 is never meant, by NotIn neither"),
        pytest.param([codes("FailJob", "NotIn", 42)], pod(42, 7), "FailJob", id="some container is enough"),
        pytest.param([codes("FailJob", "In", 42)], pod(0, init=(42,)), "FailJob", id="init containers count"),
        pytest.param([codes("FailJob", "In", 42, name="c1")], pod(42, 1), "Count", id="another container was named"),
        pytest.param([codes("FailJob", "In", 42, name="c1")], pod(1, 42), "FailJob", id="the container named"),
        pytest.param(
            [codes("Ignore", "In", 42), codes("FailJob", "In", 42)], pod(42), "Ignore", id="the first rule decides"
        ),
        pytest.param(
            [codes("Ignore", "In", 1), codes("FailJob", "In", 42)],
            pod(42),
            "FailJob",
            id="a later one where it does not",
        ),
        pytest.param(
            [conditions("Ignore", {"type": "DisruptionTarget", "status": "True"})],
            pod(137, conditions=(("DisruptionTarget", "True"),)),
            "Ignore",
            id="a condition",
        ),
        pytest.param(
            [conditions("Ignore", {"type": "DisruptionTarget", "status": "True"})],
            pod(137, conditions=(("DisruptionTarget", "False"),)),
            "Count",
            id="a condition with another status",
        ),
        pytest.param(
            [conditions("FailIndex", {"type": "A", "status": "False"}, {"type": "B", "status": "True"})],
            pod(1, conditions=(("B", "True"),)),
            "FailIndex",
            id="any of the patterns",
        ),
        # Trap 23: a killed container has 128 and the signal's number for an exit code, an OOM kill 137.
        pytest.param([codes("FailJob", "In", 137)], pod(137), "FailJob", id="137 is a code like any other"),
    ],
)
def test_judged(rules: list[Raw], failed: Raw, action: str) -> None:
    assert judged({"rules": rules}, failed).action == action


def test_a_container_that_runs_still_has_no_code() -> None:
    raw = pod(1)
    raw["status"]["containerStatuses"][0]["state"] = {"running": {}}
    assert judged({"rules": [codes("FailJob", "NotIn", 42)]}, raw) == Match("Count")


@pytest.mark.parametrize(
    ("rules", "completed", "why"),
    [
        pytest.param([{"succeededIndexes": "0-1"}], {0}, "", id="not all that are listed"),
        pytest.param([{"succeededIndexes": "0-1"}], {0, 1, 5}, "index 0", id="all that are listed"),
        pytest.param(
            [{"succeededIndexes": "0-3", "succeededCount": 2}], {1, 3}, "index 0", id="so many of those listed"
        ),
        pytest.param([{"succeededIndexes": "0-3", "succeededCount": 2}], {1, 7, 8}, "", id="others do not count"),
        pytest.param([{"succeededCount": 2}], {7, 8}, "index 0", id="so many of all"),
        pytest.param([{"succeededIndexes": "9"}, {"succeededCount": 1}], {0}, "index 1", id="a later rule"),
        pytest.param([], {0}, "", id="no rule"),
    ],
)
def test_enough(rules: list[Raw], completed: set[int], why: str) -> None:
    assert enough({"rules": rules}, frozenset(completed)) == (f"Matched rules at {why}" if why else "")
