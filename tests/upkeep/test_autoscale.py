"""Metrics decide a size by Kubernetes' algorithm: tolerance, readiness, missing figures, windows and policies."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.upkeep.town import NOON, Raw, Town, play
from trainplane.api.ref import Ref
from trainplane.reconcile.decision import Decision, Patch, Record, SetStatus
from trainplane.reconcile.view import View
from trainplane.upkeep.autoscale import AUTOSCALE, SYNC, reconcile
from trainplane.upkeep.pace import MEMORY, Limits, Memory, Step, limited, stabilized
from trainplane.upkeep.replicas import NoMetric, Target, Tolerance, propose

LONG_AGO = "2026-01-31T11:00:00Z"
CPU_80 = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def job(nodes: int, *, there: int | None = None) -> Raw:
    """A TrainJob of a size."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "ns", "uid": "1"},
        "spec": {"runtimeRef": {"name": "torch-elastic"}, "trainer": {"numNodes": nodes}},
        "status": {"nodes": nodes if there is None else there, "selector": "job=job"},
    }


def pod(name: str, *, cpu: str = "1", phase: str = "Running", ready: str = "True", **status: Any) -> Raw:
    """A pod of the job that has run for an hour."""
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": LONG_AGO}
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "labels": {"job": "job"}},
        "spec": {"containers": [{"name": "node", "image": "i:1", "resources": resources}]},
        "status": {"phase": phase, "startTime": LONG_AGO, "conditions": [condition], **status},
    }


def metric(name: str, cpu: str) -> Raw:
    """What a pod uses."""
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": {"name": name, "namespace": "ns"},
        "timestamp": "2026-01-31T12:00:00Z",
        "window": "1m0s",
        "containers": [{"name": "node", "usage": {"cpu": cpu, "memory": "1Gi"}}],
    }


def hpa(low: int = 1, high: int = 10, **spec: Any) -> Raw:
    """The job's autoscaler."""
    target = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "job"}
    body = {"scaleTargetRef": target, "minReplicas": low, "maxReplicas": high, "metrics": [CPU_80], **spec}
    metadata = {"name": "job", "namespace": "ns", "uid": "2", "generation": 1}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": body}


def world(*uses: str | None, size: int | None = None) -> list[Raw]:
    """A TrainJob with one pod per use; None reports nothing."""
    pods = [pod(f"p{i}") for i in range(len(uses))]
    metrics = [metric(f"p{i}", use) for i, use in enumerate(uses) if use is not None]
    return [job(len(uses) if size is None else size), *pods, *metrics]


def size(decision: Decision) -> int | None:
    """The size that the job is given, if any."""
    sizes = [one.patch["spec"]["replicas"] for one in decision.actions if isinstance(one, Patch) and one.subresource]
    return sizes[0] if sizes else None


def conditions(decision: Decision) -> dict[str, tuple[str, str]]:
    """Status and reason of the autoscaler's conditions."""
    (status,) = (one.status for one in decision.actions if isinstance(one, SetStatus))
    return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        pytest.param(["1600m", "1600m"], 4, id="twice the target: twice the size"),
        pytest.param(["880m", "880m"], None, id="ten percent above is near enough"),
        pytest.param(["890m", "890m"], 3, id="eleven percent above is not"),
        pytest.param(["720m", "720m"], None, id="ten percent below is near enough"),
        pytest.param(["800m", "800m"], None, id="on target"),
        pytest.param(["1600m", None], None, id="who says nothing counts as idle: 160 % of one pod are 80 % of two"),
        pytest.param(["9000m", "9000m"], 4, id="grows to four at once, or to twice its size"),
    ],
)
def test_size_follows_use(uses: list[str | None], expected: int | None) -> None:
    decision = reconcile(hpa(), View(world(*uses)), NOON)
    assert size(decision) == expected
    assert decision.again == SYNC


def propose_for(*pods: Raw, uses: dict[str, str], current: int, now: datetime = NOON) -> int:
    """The proposal for CPU at 80 %."""
    metrics = {name: metric(name, use) for name, use in uses.items()}
    target = Target("cpu", utilization=80)
    return propose(target, pods=list(pods), metrics=metrics, current=current, tolerance=Tolerance(), now=now).replicas


def test_a_pod_without_figures_counts_as_busy_before_shrinking() -> None:
    assert propose_for(pod("a"), pod("b"), uses={"a": "100m", "b": "100m"}, current=2) == 1
    # 100m of a and all of b's request are 55 %, which is below 80 % still: two pods are needed.
    assert propose_for(pod("a"), pod("b"), uses={"a": "100m"}, current=2) == 2


def test_a_pod_that_is_not_ready_counts_as_idle_before_growing() -> None:
    late = pod("b", phase="Pending")
    assert propose_for(pod("a"), uses={"a": "1600m"}, current=1) == 2
    assert propose_for(pod("a"), late, uses={"a": "1700m"}, current=2) == 2, "nearly enough, and one is on its way"
    assert propose_for(pod("a"), late, uses={"a": "400m"}, current=2) == 1, "it does not keep the others from going"


def test_the_cpu_of_a_pod_that_starts_up_does_not_count() -> None:
    started = "2026-01-31T11:58:00Z"
    turned = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T11:59:30Z"}
    young = pod("b", startTime=started, conditions=[turned])
    assert propose_for(pod("a"), young, uses={"a": "1600m", "b": "9"}, current=2) == 2, "measured before it was ready"
    turned["lastTransitionTime"] = "2026-01-31T11:58:30Z"
    assert propose_for(pod("a"), young, uses={"a": "1600m", "b": "1600m"}, current=2) == 4


def test_pods_that_failed_or_go_do_not_count() -> None:
    failed = pod("b", phase="Failed")
    going = pod("c")
    going["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    assert propose_for(pod("a"), failed, going, uses={"a": "1600m", "b": "9", "c": "9"}, current=1) == 2


def test_an_average_value_needs_no_requests() -> None:
    figures = {name: metric(name, "1500m") for name in "ab"}
    target = Target("cpu", value=1000)
    bare = [pod("a", cpu=""), pod("b", cpu="")]
    found = propose(target, pods=bare, metrics=figures, current=2, tolerance=Tolerance(), now=NOON)
    assert (found.replicas, found.utilization, str(found.average)) == (3, None, "1500m")
    with pytest.raises(NoMetric, match="missing request for cpu in container node of Pod a"):
        propose_for(*bare, uses={"a": "1", "b": "1"}, current=2)


@pytest.mark.parametrize(
    ("current", "low", "high", "expected"),
    [
        pytest.param(12, 1, 10, 10, id="above the bounds"),
        pytest.param(1, 3, 10, 3, id="below the bounds"),
        pytest.param(0, 1, 10, None, id="a size of zero switches scaling off"),
    ],
)
def test_the_bounds_hold_without_any_metric(current: int, low: int, high: int, expected: int | None) -> None:
    decision = reconcile(hpa(low, high), View([job(current)]), NOON)
    assert size(decision) == expected
    if current == 0:
        assert conditions(decision)["ScalingActive"] == ("False", "ScalingDisabled")


def test_the_most_is_said_to_be_the_most() -> None:
    decision = reconcile(hpa(high=3), View(world("1600m", "1600m")), NOON)
    assert size(decision) == 3
    assert conditions(decision)["ScalingLimited"] == ("True", "TooManyReplicas")
    assert conditions(decision)["AbleToScale"] == ("True", "SucceededRescale")
    (event,) = (one for one in decision.actions if isinstance(one, Record))
    assert event.note == "New size: 3; reason: cpu resource utilization (percentage of request) above target"


def test_without_figures_nothing_is_done_and_the_reason_is_told_once() -> None:
    autoscaler = hpa()
    decision = reconcile(autoscaler, View(world(None, None)), NOON)
    assert size(decision) is None
    assert conditions(decision)["ScalingActive"] == ("False", "FailedGetResourceMetric")
    assert [type(one) for one in decision.actions] == [Record, Record, SetStatus]
    (status,) = (one.status for one in decision.actions if isinstance(one, SetStatus))
    assert reconcile({**autoscaler, "status": status}, View(world(None, None)), NOON).actions == ()


def test_of_several_metrics_the_largest_counts_and_an_unknown_one_forbids_shrinking() -> None:
    outside = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}}}
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "256Mi"}},
    }
    both = hpa(metrics=[CPU_80, memory])
    assert size(reconcile(both, View(world("800m")), NOON)) == 4, "memory asks for four times as many"
    assert size(reconcile(hpa(metrics=[CPU_80, outside]), View(world("1600m")), NOON)) == 2
    later = hpa(metrics=[CPU_80, outside])
    assert size(reconcile(later, View(world("100m", "100m")), NOON)) is None


def test_a_target_that_is_not_there_is_named() -> None:
    decision = reconcile(hpa(), View(), NOON)
    assert conditions(decision)["AbleToScale"] == ("False", "FailedGetScale")


def test_shrinking_waits_for_five_quiet_minutes() -> None:
    async def story(town: Town) -> None:
        await town.make(job(2), hpa(), *(pod(f"p{i}") for i in range(2)))
        trainjob = Ref("trainer.kubeflow.org", "TrainJob", "ns", "job")
        autoscaler = Ref("autoscaling", "HorizontalPodAutoscaler", "ns", "job")
        town.metrics = [metric(f"p{i}", "100m") for i in range(2)]
        for seconds in (0, 15, 270, 14):
            town.now += timedelta(seconds=seconds)
            await town.settle([AUTOSCALE])
            assert (await town.api.get(trainjob))["spec"]["trainer"]["numNodes"] == 2
        raw = await town.api.get(autoscaler)
        reasons = {one["type"]: one["reason"] for one in raw["status"]["conditions"]}
        assert reasons["AbleToScale"] == "ScaleDownStabilized"
        writes = town.writes
        await town.settle([AUTOSCALE])
        assert town.writes == writes, "a look that changes nothing writes nothing"
        town.now += timedelta(seconds=15)
        await town.settle([AUTOSCALE])
        assert (await town.api.get(trainjob))["spec"]["trainer"]["numNodes"] == 1
        assert (await town.api.get(autoscaler))["status"]["desiredReplicas"] == 1

    play(story)


def test_a_broken_memory_begins_anew() -> None:
    autoscaler = hpa()
    autoscaler["metadata"]["annotations"] = {MEMORY: "{nonsense"}
    assert size(reconcile(autoscaler, View(world("1600m", "1600m")), NOON)) == 4


def ago(seconds: int, count: int) -> Step:
    """Something that many seconds before noon."""
    return Step(NOON - timedelta(seconds=seconds), count)


@pytest.mark.parametrize(
    ("wanted", "memory", "behavior", "expected"),
    [
        pytest.param(3, Memory(3, (ago(60, 9),)), {}, 5, id="down: the highest of five minutes holds"),
        pytest.param(3, Memory(3, (ago(301, 9),)), {}, 3, id="down: what is older is forgotten"),
        pytest.param(9, Memory(2, (ago(10, 2),)), {}, 9, id="up: at once"),
        pytest.param(
            9, Memory(9, (ago(10, 6),)), {"scaleUp": {"stabilizationWindowSeconds": 60}}, 6, id="up: the lowest holds"
        ),
        pytest.param(
            2,
            Memory(5),
            {"scaleDown": {"stabilizationWindowSeconds": 0}},
            2,
            id="down: at once where that is asked for",
        ),
    ],
)
def test_stabilization(wanted: int, memory: Memory, behavior: Raw, expected: int) -> None:
    assert stabilized(wanted, limits=Limits(5, 1, 40, behavior), memory=memory, now=NOON) == expected


@pytest.mark.parametrize(
    ("wanted", "changes", "behavior", "expected"),
    [
        pytest.param(50, (), {}, (20, "ScaleUpLimit"), id="up: twice in 15 s"),
        pytest.param(50, (ago(5, 6),), {}, (10, "ScaleUpLimit"), id="up: what was added lately counts"),
        pytest.param(50, (ago(16, 6),), {}, (20, "ScaleUpLimit"), id="up: what was added before does not"),
        pytest.param(
            50,
            (),
            {"scaleUp": {"policies": [{"type": "Pods", "value": 3, "periodSeconds": 60}]}},
            (13, "ScaleUpLimit"),
            id="up: by pods",
        ),
        pytest.param(50, (), {"scaleUp": {"selectPolicy": "Disabled"}}, (10, "ScaleUpLimit"), id="up: never"),
        pytest.param(50, (), {"scaleUp": {"selectPolicy": "Min"}}, (14, "ScaleUpLimit"), id="up: the smallest step"),
        pytest.param(1, (), {}, (2, "TooFewReplicas"), id="down: to the bound at once"),
        pytest.param(
            1,
            (),
            {"scaleDown": {"policies": [{"type": "Percent", "value": 25, "periodSeconds": 60}]}},
            (7, "ScaleDownLimit"),
            id="down: by percent, rounded down",
        ),
        pytest.param(
            1,
            (ago(30, -2),),
            {"scaleDown": {"policies": [{"type": "Pods", "value": 3, "periodSeconds": 60}]}},
            (9, "ScaleDownLimit"),
            id="down: what went lately counts",
        ),
        pytest.param(12, (), {}, (12, "DesiredWithinRange"), id="within all limits"),
    ],
)
def test_policies(wanted: int, changes: tuple[Step, ...], behavior: Raw, expected: tuple[int, str]) -> None:
    found = limited(wanted, limits=Limits(10, 2, 40, behavior), memory=Memory(10, changes=changes), now=NOON)
    assert found == expected
