"""Blame on hand-made Plans, and on everything that the real Kubeflow Trainer was recorded with."""

from pathlib import Path
from typing import Any

import pytest

from tests.laws.pipelines import unblamed
from tests.trainjob.worlds import runtime, trainjob
from trainplane.cli.inputs import load, named, render
from trainplane.trainjob.blame import GONE, Chains, Mark, difference, mark
from trainplane.trainjob.pipeline import build_with_blame, start
from trainplane.trainjob.plan import Plan, Source

RECORDED = sorted((Path(__file__).parent.parent / "conformance" / "trainer").glob("*/input.yaml"))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="the same"),
        pytest.param({"a": 1}, {"a": 2}, [(("a",), 2, 1)], id="another value"),
        pytest.param({"a": 1}, {"a": True}, [(("a",), True, 1)], id="true is not 1"),
        pytest.param({}, {"a": {"b": 1}}, [((), GONE, {}), (("a", "b"), 1, None)], id="an empty object is a leaf"),
        pytest.param({"a": 1}, {}, [((), {}, None), (("a",), GONE, 1)], id="what empties an object leaves a leaf"),
        pytest.param(
            {"a": {"b": 1}}, {"a": 5}, [(("a",), 5, None), (("a", "b"), GONE, 1)], id="an object becomes a leaf"
        ),
        pytest.param(
            {"env": [{"name": "A"}, {"name": "B", "value": "1"}]},
            {"env": [{"name": "B", "value": "2"}, {"name": "A"}]},
            [(("env", "B", "value"), "2", "1")],
            id="elements that move are the same elements",
        ),
        pytest.param(
            {"args": ["x"]}, {"args": ["x", "y"]}, [(("args", 1), "y", None)], id="lists without keys by position"
        ),
    ],
)
def test_a_difference_is_told_leaf_by_leaf(old: Any, new: Any, found: list[Any]) -> None:
    assert list(difference(old, new, ())) == found


def begun() -> tuple[Plan, Chains]:
    """A Plan before its first step, and its chains."""
    plan = start(trainjob(), runtime({}), blamed=True)
    return plan, mark({}, None, plan, step="start")


def test_a_step_that_sets_a_leaf_again_goes_behind_the_one_before_it() -> None:
    plan, chains = begun()
    path = ("JobSet", "job", "spec", "suspend")
    first = plan.with_value(("spec", "suspend"), False, source=Source("job", ("spec", "suspend")))
    chains = mark(chains, plan, first, step="one")
    second = first.but(reads=()).with_value(("spec", "suspend"), True)
    chains = mark(chains, first, second, step="two")
    assert chains[path] == (
        Mark("one", Source("job", ("spec", "suspend")), value=False),
        Mark("two", Source(""), value=True, replaced=False),
    )


def test_a_leaf_that_a_step_removes_has_no_chain() -> None:
    plan, chains = begun()
    with_it = plan.with_value(("spec", "suspend"), True)
    chains = mark(chains, plan, with_it, step="one")
    chains = mark(chains, with_it, plan, step="two")
    assert ("JobSet", "job", "spec", "suspend") not in chains
    assert chains[("JobSet", "job", "spec")][-1].step == "two"


def test_the_latest_source_of_a_leaf_counts() -> None:
    plan, chains = begun()
    one, two = (Source("job", ("spec", "trainer", "env", i)) for i in (0, 1))
    after = plan.with_value(("spec", "x"), {"value": "1"}, source=one, of=("value",))
    after = after.with_value(("spec", "x"), {"value": "2"}, source=two)
    chains = mark(chains, plan, after, step="step")
    assert chains[("JobSet", "job", "spec", "x", "value")] == (Mark("step", Source("job", (*two.path, "value")), "2"),)


def test_a_source_with_a_note_is_where_a_value_was_worked_out_from() -> None:
    plan, chains = begun()
    source = Source("runtime", ("spec", "mlPolicy"), note="twice as many")
    chains = mark(chains, plan, plan.with_value(("spec", "x"), {"a": {"b": 4}}, source=source), step="step")
    assert chains[("JobSet", "job", "spec", "x", "a", "b")][0].source == source


def test_a_variable_set_twice_is_blamed_on_the_one_that_won() -> None:
    job = trainjob({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]})
    _, chains = build_with_blame(job, runtime({"numNodes": 1}))
    (chain,) = [marks for path, marks in chains.items() if path[-2:] == ("A", "value")]
    assert [(one.value, one.source.path) for one in chain] == [("2", ("spec", "trainer", "env", 1, "value"))]


def test_blame_holds_for_everything_that_was_recorded() -> None:
    rendered = 0
    for file in RECORDED:
        inputs = load([str(file)])
        for job in inputs.jobs:
            result = render(job, named(inputs, job), blame=True)
            if result.plan:
                rendered += 1
                assert list(unblamed(result.plan, result.chains)) == [], file.parent.name
    assert rendered > 150
