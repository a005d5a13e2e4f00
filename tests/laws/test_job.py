"""Whatever a Job's controller has not seen yet, it neither counts a pod twice, nor loses one, nor makes too many."""

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.job.bodies import pod_status
from tests.job.lawful import unlawful
from tests.job.world import World
from trainplane.job import indexes
from trainplane.job.reconcile import reconcile
from trainplane.job.status import finished
from trainplane.job.tally import TERMINAL, is_deleting, is_removed, is_tracked, phase
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
SETS = st.frozensets(st.integers(0, 300), max_size=120)


@given(SETS)
def test_indexes_are_written_and_read_back(found: frozenset[int]) -> None:
    assert indexes.parse(indexes.write(found)) == found


@given(SETS, st.integers(0, 300))
def test_indexes_beyond_a_bound_are_left_out(found: frozenset[int], below: int) -> None:
    assert indexes.parse(indexes.write(found), below=below) == {index for index in found if index < below}


@given(SETS)
def test_indexes_are_written_in_the_shortest_way(found: frozenset[int]) -> None:
    text = indexes.write(found)
    assert text == indexes.write(indexes.parse(text))
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        assert not last or int(last) - int(first) >= 2


def job(*, indexed: bool, completions: int, parallelism: int, limit: int, replaced: str) -> Raw:
    """A Job."""
    spec: Raw = {
        "completions": completions,
        "parallelism": parallelism,
        "backoffLimit": limit,
        "podReplacementPolicy": replaced,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train:1"}]}},
    }
    if indexed:
        spec["completionMode"] = "Indexed"
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": spec}


class Chaos(RuleBasedStateMachine):
    """A controller that looks at old Jobs and old pods, each as old as chance has it, but never older than before."""

    sees_its_own_writes = False

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.history: list[dict[Ref, Raw]] = []
        self.seen_job = self.seen_pods = 0
        self.succeeded: set[str] = set()
        self.failed: set[str] = set()
        self.ever: set[str] = set()
        self.sent_away: set[str] = set()
        self.most = 0
        self.said: Raw = {}
        self.resized = False

    @initialize(
        indexed=st.booleans(),
        completions=st.integers(1, 4),
        parallelism=st.integers(1, 3),
        limit=st.integers(0, 4),
        replaced=st.sampled_from(("TerminatingOrFailed", "Failed")),
        bound=st.booleans(),
    )
    def begin(
        self, *, indexed: bool, completions: int, parallelism: int, limit: int, replaced: str, bound: bool
    ) -> None:
        made = job(indexed=indexed, completions=completions, parallelism=parallelism, limit=limit, replaced=replaced)
        if bound:
            made["spec"]["template"]["spec"]["nodeName"] = "node"
        self.world.create(made)
        self.most = parallelism
        self.keep()

    def keep(self) -> None:
        """Remember how things are, for looks that come late."""
        self.history.append(dict(self.world.objects))
        self.ever |= {pod["metadata"]["uid"] for pod in self.world.pods()}
        self.sent_away |= {pod["metadata"]["uid"] for pod in self.world.pods() if is_removed(pod)}

    @rule(behind=st.integers(0, 6), further=st.integers(0, 6))
    def look(self, behind: int, further: int) -> None:
        newest = len(self.history) - 1
        self.seen_job = max(self.seen_job, newest - behind)
        self.seen_pods = max(self.seen_pods, newest - further)
        old_job = self.history[self.seen_job].get(self.world.job)
        pods = [raw for ref, raw in self.history[self.seen_pods].items() if ref.kind == "Pod"]
        if old_job is None:
            return
        decision = reconcile(old_job, View([old_job, *pods]), self.world.now)
        for action in decision.actions:
            self.world.act(type(decision)((action,)))
            self.keep()
        if self.sees_its_own_writes and decision.actions:
            self.seen_job = self.seen_pods = len(self.history) - 1

    @rule(which=st.integers(0, 9), ends=st.sampled_from(("Running", "Succeeded", "Failed")))
    def pod_moves(self, which: int, ends: str) -> None:
        alive = [pod for pod in self.world.pods() if phase(pod) not in TERMINAL and not is_deleting(pod)]
        if not alive:
            return
        pod = alive[which % len(alive)]
        if is_tracked(pod) and ends != "Running":
            (self.succeeded if ends == "Succeeded" else self.failed).add(pod["metadata"]["uid"])
        self.world.put({**pod, "status": pod_status(pod, {"phase": ends}, self.world.now)})
        self.keep()

    @rule(which=st.integers(0, 9))
    def pod_is_deleted(self, which: int) -> None:
        alive = [pod for pod in self.world.pods() if phase(pod) not in TERMINAL and not is_deleting(pod)]
        if not alive:
            return
        pod = alive[which % len(alive)]
        if is_tracked(pod):
            self.failed.add(pod["metadata"]["uid"])
        self.world.delete(Ref.of(pod))
        self.keep()

    @rule(size=st.integers(1, 4))
    @precondition(lambda self: self.world.job in self.world.objects)
    def resize(self, size: int) -> None:
        old = self.world.objects[self.world.job]
        if finished(old.get("status") or {}):
            return
        indexed = old["spec"]["completionMode"] == "Indexed"
        spec = {"parallelism": size, "completions": size} if indexed else {"parallelism": size}
        self.resized, self.most = indexed, max(self.most, size)
        self.world.step({"do": "patch", "body": {"spec": spec}})
        self.keep()

    @rule()
    def node_lets_pods_go(self) -> None:
        self.world.step({"do": "gone"})
        self.keep()

    @rule(seconds=st.integers(1, 30))
    def time_passes(self, seconds: int) -> None:
        self.world.now += timedelta(seconds=seconds)

    @rule()
    @precondition(lambda self: self.world.job in self.world.objects)
    def suspend_or_resume(self) -> None:
        old = self.world.objects[self.world.job]
        if not finished(old.get("status") or {}):
            self.world.step({"do": "patch", "body": {"spec": {"suspend": not old["spec"]["suspend"]}}})
            self.keep()

    def status(self) -> Raw:
        """What the Job says."""
        return dict(self.world.objects[self.world.job].get("status") or {})

    @invariant()
    def nothing_is_counted_that_did_not_happen(self) -> None:
        if self.world.job not in self.world.objects:
            return
        status = self.status()
        listed = status.get("uncountedTerminatedPods") or {}
        assert status.get("succeeded", 0) + len(listed.get("succeeded", ())) <= len(self.succeeded)
        if not status.get("conditions") or not any(c["type"] == "FailureTarget" for c in status["conditions"]):
            assert status.get("failed", 0) + len(listed.get("failed", ())) <= len(self.failed)

    @invariant()
    def a_server_takes_the_status(self) -> None:
        if self.world.job in self.world.objects:
            assert list(unlawful(self.status(), self.said)) == []
            self.said = self.status()

    def teardown(self) -> None:
        """When everything has been seen, everything has been counted, once."""
        if self.world.job not in self.world.objects:
            return
        for _ in range(3):
            self.world.settle(700)
            self.keep()
            self.world.step({"do": "gone"})
        status, spec = self.status(), self.world.objects[self.world.job]["spec"]
        succeeded, failed = status.get("succeeded", 0), status.get("failed", 0)
        assert not status.get("uncountedTerminatedPods")
        if finished(status) == "Failed":
            # A Job that fails takes for failed what it stops, though it may have succeeded unseen.
            if spec["completionMode"] == "NonIndexed":
                assert succeeded + failed == len(self.ever - self.sent_away)
        else:
            # What fails beyond the size of the Job is nobody's failure.
            assert failed == len(self.failed) or finished(status) == "Complete" or self.resized
            assert succeeded == len(self.succeeded) or spec["completionMode"] == "Indexed"
        before = reconcile(self.world.objects[self.world.job], self.world.view(), self.world.now)
        assert before.actions == (), "at rest there is nothing to do"
        assert not any(is_tracked(pod) for pod in self.world.pods() if finished(status))


class Attentive(Chaos):
    """The same for a controller that waits until it sees what it has written."""

    sees_its_own_writes = True

    @invariant()
    def never_more_pods_than_asked_for(self) -> None:
        active = [p for p in self.world.pods() if phase(p) not in TERMINAL and not is_deleting(p) and not is_removed(p)]
        assert len(active) <= self.most
        if active and "Indexed" in str(active[0]["metadata"].get("labels")):
            assert len({p["spec"]["hostname"] for p in active}) == len(active)


Chaos.TestCase.settings = Attentive.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestChaos = Chaos.TestCase
TestAttentive = Attentive.TestCase


@given(parallelism=st.integers(1, 5), indexed=st.booleans())
def test_a_look_that_has_not_seen_its_own_pods_asks_for_the_same(parallelism: int, *, indexed: bool) -> None:
    world = World()
    made = job(indexed=indexed, completions=5, parallelism=parallelism, limit=6, replaced="TerminatingOrFailed")
    world.create(made)
    stale = world.view()
    for _ in range(3):
        world.act(reconcile(world.objects[world.job], stale, world.now))
    assert len(world.pods()) == parallelism
