"""The laws of the pipeline: it is a function, it changes nothing it is given, and it can account for every leaf."""

import copy
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.laws.pipelines import pairs, unblamed
from trainplane.api.meta import Raw
from trainplane.api.problem import Severity
from trainplane.trainjob import default, validate
from trainplane.trainjob.blame import Mark
from trainplane.trainjob.explain import training_pods
from trainplane.trainjob.pipeline import Refused, build, build_with_blame
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.tree import at

MANY = max(150, settings.default.max_examples)
NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
LATER = datetime(2031, 1, 31, 12, tzinfo=UTC)


def filled(pair: tuple[Raw, Raw]) -> tuple[Raw, Raw]:
    """A pair as the API server would have stored it."""
    runtime = default.runtime(pair[1])
    return default.trainjob(pair[0], now=NOW, on=runtime), runtime


def planned(job: Raw, runtime: Raw) -> Plan | None:
    """The Plan, or None where the TrainJob is refused."""
    if any(problem.severity is Severity.ERROR for problem in validate.pair(job, runtime)):
        return None
    try:
        return build(job, runtime)
    except Refused:
        return None


@settings(max_examples=MANY)
@given(pairs())
def test_rendering_is_a_function_that_leaves_its_inputs_alone(pair: tuple[Raw, Raw]) -> None:
    job, runtime = filled(pair)
    before = copy.deepcopy((job, runtime))
    first = planned(job, runtime)
    again = planned(*copy.deepcopy(before))
    assert (job, runtime) == before
    assert (first and first.objects) == (again and again.objects)


@settings(max_examples=MANY)
@given(pairs())
def test_every_leaf_has_one_chain_that_tells_the_truth(pair: tuple[Raw, Raw]) -> None:
    job, runtime = filled(pair)
    plain = planned(job, runtime)
    if plain is None:
        return
    plan, chains = build_with_blame(job, runtime)
    assert plan.objects == plain.objects
    assert list(unblamed(plan, chains)) == []


@settings(max_examples=20)
@given(pairs(), st.data())
def test_a_wrong_source_is_caught(pair: tuple[Raw, Raw], data: st.DataObject) -> None:
    job, runtime = filled(pair)
    if planned(job, runtime) is None:
        return
    plan, chains = build_with_blame(job, runtime)
    path = data.draw(st.sampled_from(sorted(chains, key=str)))
    last = chains[path][-1]
    lie = replace(last, source=Source("job", ("spec", "trainer", "nowhere")))
    assert list(unblamed(plan, {**chains, path: (*chains[path][:-1], lie)}))
    assert list(unblamed(plan, {**chains, path: (*chains[path], Mark("x", Source(""), "another value"))}))
    assert list(unblamed(plan, {key: marks for key, marks in chains.items() if key != path}))


@settings(max_examples=MANY)
@given(pairs())
def test_the_world_size_is_the_sum_over_pods(pair: tuple[Raw, Raw]) -> None:
    plan = planned(*filled(pair))
    if plan is None:
        return
    assert plan.size.nodes == training_pods(plan)
    assert plan.size.world == training_pods(plan) * plan.size.procs_known


@settings(max_examples=MANY)
@given(pairs())
def test_defaults_are_filled_in_once(pair: tuple[Raw, Raw]) -> None:
    job, runtime = filled(pair)
    assert default.runtime(runtime) == runtime
    assert default.trainjob(job, now=LATER, on=runtime) == job
    assert default.trainjob(job, now=LATER, old=job, on=runtime) == job


@given(pairs(), st.sampled_from(["flux", "trainer", "gang"]))
def test_a_refused_trainjob_yields_no_objects(pair: tuple[Raw, Raw], spoil: str) -> None:
    job, runtime = copy.deepcopy(pair)
    if spoil == "flux":
        runtime["spec"]["mlPolicy"] = {"flux": {}}
    elif spoil == "gang":
        runtime["spec"]["podGroupPolicy"] = {"volcano": {"minMember": 99}}
    else:
        jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
        runtime["spec"]["mlPolicy"] = {"mpi": {}, "numNodes": 3}
        runtime["spec"]["template"]["spec"]["replicatedJobs"] = [j for j in jobs if j["name"] != "launcher"]
        job["spec"].get("trainer", {}).pop("numNodes", None)
    job, runtime = filled((job, runtime))
    assert planned(job, runtime) is None
    with pytest.raises(Refused) as refused:
        build(job, runtime)
    assert all(problem.path and problem.what and problem.todo for problem in refused.value.problems)
    with pytest.raises(Refused):
        build_with_blame(job, runtime)


def test_two_managers_of_one_field_are_both_in_its_chain() -> None:
    def patch(manager: str, zone: str) -> Raw:
        pod = {"template": {"spec": {"nodeSelector": {"zone": zone}}}}
        job = {"name": "node", "template": {"spec": pod}}
        return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}

    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "a"},
        "spec": {
            "runtimeRef": {"name": "runtime"},
            "runtimePatches": [patch("a.example.com/one", "east"), patch("b.example.com/two", "west")],
        },
    }
    container = {"name": "node", "image": "busybox"}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    template = {"metadata": {"labels": labels}, "spec": {"template": {"spec": {"containers": [container]}}}}
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "runtime"},
        "spec": {"mlPolicy": {}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}},
    }
    plan, chains = build_with_blame(*filled((job, runtime)))
    (chain,) = [marks for path, marks in chains.items() if path[-1] == "zone"]
    assert [(mark.step, mark.value, mark.replaced) for mark in chain] == [
        ("patches", "east", None),
        ("patches", "west", "east"),
    ]
    assert [at(plan.raw_job, (*mark.source.path[:3], "manager")) for mark in chain] == [
        "a.example.com/one",
        "b.example.com/two",
    ]
