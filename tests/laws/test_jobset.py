"""Laws of the JobSet controller: it comes to rest, counts no more than there is, and grants no restart too many."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobset.worlds import NS, START, Stage, jobset, rjob
from tests.strategies import shaped, spoiled
from trainplane.api.check import check
from trainplane.api.jobset import JobSet
from trainplane.api.problem import Severity
from trainplane.api.schema import openapi
from trainplane.jobset import admission, default
from trainplane.jobset.reconcile import reconcile
from trainplane.reconcile.decision import Action, Create
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
NAMES = ("a", "b", "c")
ACTIONS = (
    "FailJobSet",
    "RestartJobSet",
    "RestartJobSetAndIgnoreMaxRestarts",
    "RestartJob",
    "RestartJobAndIgnoreMaxRestarts",
)
COUNTS = ("ready", "succeeded", "failed", "active", "suspended")

rules = st.lists(
    st.fixed_dictionaries({"action": st.sampled_from(ACTIONS)}, optional={"targetReplicatedJobs": st.just(["a"])}),
    max_size=3,
)
failure_policies = st.none() | st.fixed_dictionaries(
    {"maxRestarts": st.integers(0, 3), "rules": rules},
    optional={"restartStrategy": st.sampled_from(("Recreate", "BlockingRecreate"))},
)


@st.composite
def jobsets(draw: st.DrawFn) -> Raw:
    """A JobSet of up to three replicated jobs, in some order."""
    names = NAMES[: draw(st.integers(1, 3))]
    ordered = draw(st.booleans())
    jobs = []
    for i, name in enumerate(names):
        waits = draw(st.lists(st.sampled_from(names[:i]), unique=True, max_size=2)) if i and not ordered else []
        reach = draw(st.sampled_from(("Ready", "Complete")))
        fields = {"dependsOn": [{"name": one, "status": reach} for one in waits]} if waits else {}
        jobs.append(rjob(name, draw(st.integers(0, 3)), **fields))
    spec: Raw = {"successPolicy": {"operator": draw(st.sampled_from(("All", "Any")))}, "suspend": draw(st.booleans())}
    if (policy := draw(failure_policies)) is not None:
        spec["failurePolicy"] = policy
    if ordered:
        spec["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    return jobset(*jobs, **spec)


moves = st.lists(
    st.tuples(
        st.sampled_from(("ready", "succeeds", "fails", "vanishes", "collect", "collect", "suspend", "resume", "wait")),
        st.integers(0, 20),
    ),
    max_size=25,
)


def move(stage: Stage, what: str, which: int) -> None:
    """Something happens to the JobSet or to one of its Jobs."""
    names = sorted(name for name, raw in stage.jobs.items() if not raw["metadata"].get("deletionTimestamp"))
    match what:
        case "collect":
            stage.collect()
        case "suspend" | "resume":
            stage.edit("spec", "suspend", to=what == "suspend")
        case "wait":
            stage.wait(which)
        case _ if not names:
            return
        case "vanishes":
            del stage.objects[Ref("batch", "Job", NS, names[which % len(names)])]
            stage.settle()
        case _:
            name = names[which % len(names)]
            ended = {one["type"] for one in stage.jobs[name].get("status", {}).get("conditions", ())}
            if not ended & {"Complete", "Failed"}:
                getattr(stage, what)(name)


def counted_restarts(status: Raw) -> int:
    """The restarts that the limit is about."""
    alone = (sum(one.get("jobRestartsCountTowardsMax", ())) for one in status.get("replicatedJobsStatus", ()))
    return int(status.get("restartsCountTowardsMax", 0) + sum(alone))


def unordered(actions: tuple[Action, ...]) -> list[str]:
    return sorted(map(repr, actions))


@settings(max_examples=100)
@given(raw=jobsets(), story=moves)
def test_whatever_happens(raw: Raw, story: list[tuple[str, int]]) -> None:
    stage = Stage(raw, restart_job=True)
    most = (raw["spec"].get("failurePolicy") or {}).get("maxRestarts", 0)
    sizes = {one["name"]: one["replicas"] for one in raw["spec"]["replicatedJobs"]}
    wanted = {f"js-{name}-{i}" for name, size in sizes.items() for i in range(size)}
    end, restarts = "", 0
    for what, which in story:
        move(stage, what, which)
        assert not stage.decide().actions, "what was decided and done is not decided again"
        assert set(stage.jobs) <= wanted
        for one in stage.status.get("replicatedJobsStatus", ()):
            assert one["ready"] + one["succeeded"] + one["failed"] <= sizes[one["name"]]
            assert all(0 <= one[key] <= sizes[one["name"]] for key in COUNTS)
        assert counted_restarts(stage.status) <= most
        assert stage.status.get("restarts", 0) >= restarts, "a run is never taken back"
        restarts = stage.status.get("restarts", 0)
        assert not end or stage.status["terminalState"] == end, "an end is an end"
        end = stage.status.get("terminalState", "")
        assert {one["type"] for one in stage.status.get("conditions", ()) if one["status"] == "True"} & {
            "Completed",
            "Failed",
        } == ({end} if end else set())


@settings(max_examples=60)
@given(raw=jobsets(), story=moves, seen=st.randoms(use_true_random=False))
def test_the_order_of_the_view_does_not_matter(raw: Raw, story: list[tuple[str, int]], seen: Any) -> None:
    stage = Stage(raw, restart_job=True)
    for what, which in story:
        move(stage, what, which)
    for name in stage.jobs:
        if seen.random() < 0.5:
            condition = {"type": "Failed", "status": "True", "lastTransitionTime": stage.stamp()}
            stage.edit_job(name, {"status": {"conditions": [condition]}})
    objects = list(stage.objects.values())
    missing = [raw for raw in objects if raw["kind"] != "Job" or seen.random() < 0.5]
    shuffled = list(missing)
    seen.shuffle(shuffled)
    first = reconcile(stage.jobset, View(missing), stage.now, restart_job=True)
    second = reconcile(stage.jobset, View(shuffled), stage.now, restart_job=True)
    assert unordered(first.actions) == unordered(second.actions)


@settings(max_examples=60)
@given(raw=jobsets(), story=moves, at=st.integers(0, 25))
def test_an_old_view_doubles_no_job(raw: Raw, story: list[tuple[str, int]], at: int) -> None:
    stage = Stage(raw, restart_job=True)
    old = copy.deepcopy(stage.objects)
    for step, (what, which) in enumerate(story):
        move(stage, what, which)
        if step == at:
            old = copy.deepcopy(stage.objects)
    decision = reconcile(stage.jobset, View(old.values()), stage.now, restart_job=True)
    for action in decision.actions:
        if isinstance(action, Create) and action.object["kind"] == "Job":
            made = action.object["metadata"]
            there = stage.jobs.get(made["name"])
            # One that is there keeps its name, and the store refuses a second.
            assert there is None or there["metadata"]["ownerReferences"] == made["ownerReferences"]


@settings(max_examples=60)
@given(raw=jobsets(), story=moves)
def test_the_same_world_is_decided_about_alike_and_left_untouched(raw: Raw, story: list[tuple[str, int]]) -> None:
    stage = Stage(raw, restart_job=True)
    for what, which in story:
        move(stage, what, which)
    for name in list(stage.jobs)[:1]:
        stage.edit_job(name, {"status": {"conditions": [{"type": "Failed", "status": "True"}]}})
    before = copy.deepcopy(stage.objects)
    first, second = stage.decide(), stage.decide()
    assert first == second
    assert stage.objects == before


@settings(max_examples=100)
@given(raw=spoiled(openapi(JobSet)))
def test_filling_in_never_fails_and_hides_no_fault(raw: Any) -> None:
    if not isinstance(raw, dict):
        return
    filled = default.jobset(raw)
    assert default.jobset(filled) == filled

    def faults(value: Any) -> set[Any]:
        return {(one.rule.id, one.path) for one in check(value, openapi(JobSet)) if one.rule.id in ("TP012", "TP010")}

    assert faults(raw) <= faults(filled)


@settings(max_examples=200)
@given(raw=shaped(openapi(JobSet)), old=shaped(openapi(JobSet)))
def test_whatever_the_schema_takes_can_be_judged_and_decided_about(raw: Raw, old: Raw) -> None:
    new, before = (
        default.jobset({**one, "metadata": {"name": "js", "namespace": NS, "uid": "u"}, "status": {}})
        for one in (raw, old)
    )
    if any(one.severity is Severity.ERROR for value in (new, before) for one in check(value, openapi(JobSet))):
        return
    refused = [*admission.validate(new, None, lambda _: None), *admission.validate(new, before, lambda _: None)]
    assert all(one.what for one in refused)
    if all(one.severity is not Severity.ERROR for one in admission.validate(new, None, lambda _: None)):
        reconcile(new, View.of(new), START)
