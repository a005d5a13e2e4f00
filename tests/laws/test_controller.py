"""The TrainJob controller comes to rest, and admission gives a verdict on whatever it is sent."""

import copy
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.recordings import CASES, documents, load
from tests.conformance.world import START, Denied, World
from trainplane.api.problem import Problem
from trainplane.api.raw import put
from trainplane.reconcile.decision import Decision
from trainplane.reconcile.view import Ref
from trainplane.trainjob import admission
from trainplane.trainjob.reconcile import reconcile

JUNK = st.sampled_from(
    (None, True, 0, -1, 2**31, 3.5, "", "x", "auto", [], {}, [None], [{}], ["a"], [[]], {"a": 1}, [{"name": "node"}])
)
JOBS = [docs for case in CASES if len(docs := documents(case)) == 2 and docs[1]["kind"] == "TrainJob"]


def decisions(world: World) -> list[Decision]:
    """What the controller wants of each TrainJob now."""
    return [reconcile(raw, world.view(), world.now) for ref, raw in world.objects.items() if ref.kind == "TrainJob"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_carried_out_once_a_decision_needs_no_second(case: Path) -> None:
    world = World(re.sub(r"[^a-z0-9-]", "-", case.name.lower())[:60].strip("-"))
    for doc in documents(case):
        attempt(world, doc)
    steps = load(case / "steps.yaml") or []
    for step in (None, *steps):
        if step is not None:
            attempt(world, step, "step")
        world.settle()
        before = copy.deepcopy(world.objects)
        assert all(decision.actions == () for decision in decisions(world))
        assert world.objects == before, "deciding changes nothing"


def attempt(world: World, doc: Any, what: str = "create") -> None:
    """Send a document or take a step; a refusal is an answer too."""
    try:
        getattr(world, what)(doc)
    except Denied:
        return


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place below an object, the deepest too."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in items for found in ((*path, key), *places(item, (*path, key)))]


@st.composite
def spoilt(draw: st.DrawFn, raw: dict[str, Any]) -> Any:
    """The object with something else in one or two places of its spec or metadata."""
    for _ in range(draw(st.integers(1, 2))):
        there = [path for path in places(raw) if len(path) > 1 and path != ("metadata", "name")]
        raw = put(raw, draw(st.sampled_from(there)), draw(JUNK))
    return raw


@settings(max_examples=200)
@given(data=st.data())
def test_admission_gives_a_verdict_on_anything(data: st.DataObject) -> None:
    runtime, job = (
        put(doc, ("metadata", "namespace"), "ns" if doc["kind"] in ("TrainingRuntime", "TrainJob") else "")
        for doc in data.draw(st.sampled_from(JOBS))
    )
    stored = data.draw(st.just(runtime) | spoilt(runtime))
    stored = put(stored, ("metadata",), runtime["metadata"])
    objects = {Ref.of(runtime): stored}
    old = None
    for _ in range(2):
        new = data.draw(spoilt(job))
        new = admission.default(new, old, objects.get, now=START)
        assert admission.default(new, old, objects.get, now=START) == new, "defaults are filled in once"
        for problem in admission.validate(new, old, objects.get):
            assert isinstance(problem, Problem)
        old = admission.default(job, None, objects.get, now=START)
    other = admission.default(data.draw(spoilt(runtime)), None, objects.get, now=START)
    assert all(isinstance(problem, Problem) for problem in admission.validate(other, runtime, objects.get))


@given(docs=st.sampled_from(JOBS), later=st.integers(0, 10**6), data=st.data())
def test_the_controller_never_fails_on_what_is_stored(docs: Any, later: int, data: st.DataObject) -> None:
    """A snapshot, a child or an event may hold anything that its schema lets through."""
    world = World("ns")
    for doc in docs:
        attempt(world, doc)
    world.settle()
    held = [ref for ref in world.objects if ref.kind == "ConfigMap"]
    if held:
        text = st.text(max_size=20) | st.sampled_from(["{}", "[]", "null", '{"metadata": {}}', "a: &a [*a]"])
        ref = data.draw(st.sampled_from(held))
        world.objects[ref] = put(
            world.objects[ref], ("data",), data.draw(st.none() | st.just({"runtime": data.draw(text)}))
        )
    world.now += timedelta(seconds=later)
    world.settle()
    assert all(decision.actions == () for decision in decisions(world))
