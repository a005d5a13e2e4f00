"""Every cause is told from a small world, with a number or a name and a way out, and the deepest one wins."""

import re
from pathlib import Path

import pytest
import yaml

from tests.conftest import Golden
from tests.why.worlds import CASES, Raw, read, world
from tools.why_reference import examples
from trainplane.why.why import CAUSES, FAILURES, cause_of, why


def told(path: Path) -> Raw:
    """What is told about a case."""
    made = world(read(path / "in.yaml"))
    cause = cause_of(made.job, made.view, made.now)
    assert cause is not None, "nothing was found to be the matter"
    return {
        "id": cause.id,
        "why": why(made.job, made.view, made.now),
        "objects": [f"{ref.kind}/{ref.name}" for ref in cause.objects],
    }


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_a_cause_is_told(case: Path, golden: Golden) -> None:
    golden.check(case, yaml.safe_dump(told(case), sort_keys=False, allow_unicode=True, width=120))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_every_sentence_has_a_number_or_a_name_and_a_way_out(case: Path) -> None:
    made = world(read(case / "in.yaml"))
    cause = cause_of(made.job, made.view, made.now)
    assert cause is not None
    names = [ref.name for ref in cause.objects]
    assert names, "a cause is about something"
    assert re.search(r"\d", cause.sentence) or any(name in cause.sentence for name in names)
    assert cause.since, "and since when, for there is always an object that knows"
    assert len(cause.todo) > 20, "the way out is a sentence, not a shrug"
    assert cause.sentence[0].islower() or not cause.sentence[0].isalpha()
    assert "None" not in cause.told()
    assert "\n" not in cause.told()
    assert "{" not in cause.told()


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_a_sentence_stays_the_same_while_nothing_changes(case: Path) -> None:
    made = world(read(case / "in.yaml"))
    later = world({**read(case / "in.yaml"), "now": "2026-01-31T13:05:00Z"})
    if "now" not in read(case / "in.yaml"):
        assert why(made.job, made.view, made.now) == why(later.job, later.view, later.now)


def test_every_cause_has_a_case() -> None:
    found = set()
    for case in CASES:
        made = world(read(case / "in.yaml"))
        cause = cause_of(made.job, made.view, made.now)
        found.add(cause.id if cause else "")
    assert len(CAUSES) + len(FAILURES) >= 20
    assert len(found) >= 30


def test_every_check_has_a_case() -> None:
    """The page on causes shows one for each."""
    shown = {check for _, check in examples()}
    assert [check.__name__ for check in (*CAUSES, *FAILURES) if check not in shown] == []


def test_where_all_is_well_nothing_is_said() -> None:
    made = world()
    assert why(made.job, made.view, made.now) == ""
    done = world({"change": {"TrainJob/job": {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}}})
    assert why(done.job, done.view, done.now) == ""


def case(name: str) -> Raw:
    """A case by its name."""
    (path,) = (path for path in CASES if path.name == name)
    return read(path / "in.yaml")


@pytest.mark.parametrize(
    ("consequence", "cause", "expected"),
    [
        pytest.param("gang-waiting", "volume-claim-missing", "VolumeClaimMissing", id="no claim, so the gang waits"),
        pytest.param(
            "gang-waiting", "selector-unsatisfied", "SelectorUnsatisfied", id="no such node, so the gang waits"
        ),
        pytest.param("gang-waiting", "scheduling-gated", "SchedulingGated", id="a gate, so the gang waits"),
        pytest.param(
            "gang-incomplete", "quota-exhausted", "QuotaExhausted", id="a quota, so the gang has too few pods"
        ),
        pytest.param("dependency-not-met", "image-not-pulled", "ImageNotPulled", id="no image, so the launcher waits"),
        pytest.param("dependency-not-met", "crash-loop", "CrashLoop", id="a crash, so the launcher waits"),
        pytest.param("crash-loop", "out-of-memory", "OutOfMemory", id="no memory, so it crashes"),
        pytest.param("restarts-exhausted", "out-of-memory", "OutOfMemory", id="no memory, so all restarts are used up"),
        pytest.param("controller-silent", "runtime-missing", "RuntimeMissing", id="no runtime, so no JobSet"),
        pytest.param("probe-failing", "node-lost", "NodeLost", id="the node is lost, so its pod is not ready"),
        pytest.param("pods-starting", "secret-missing", "SecretMissing", id="no Secret, so the pod does not start"),
        pytest.param("jobset-controller-silent", "suspended", "Suspended", id="suspended, so there are no Jobs"),
        pytest.param("runtime-deprecated", "controller-silent", "ControllerSilent", id="deprecation never blocks"),
    ],
)
def test_the_deepest_cause_wins_over_its_consequences(consequence: str, cause: str, expected: str) -> None:
    made = world(case(consequence), {"now": "2026-01-31T12:05:00Z", **case(cause)})
    found = cause_of(made.job, made.view, made.now)
    assert found is not None
    assert found.id == expected
