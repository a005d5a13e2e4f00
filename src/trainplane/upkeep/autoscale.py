"""The HorizontalPodAutoscaler controller: resource metrics of pods decide a size, within bounds and at a pace."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from trainplane.api.kinds import Kind, kind_of
from trainplane.api.meta import Raw
from trainplane.api.quantity import Amount, QuantityError, parse
from trainplane.api.raw import look
from trainplane.api.selectors import SelectorError, parse_labels
from trainplane.api.times import stamp
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Decision, Patch, Record, SetStatus
from trainplane.reconcile.view import Ref, View, group_of
from trainplane.upkeep.conditions import with_condition
from trainplane.upkeep.pace import MEMORY, pace, recall, remembered, rules, write
from trainplane.upkeep.replicas import NoMetric, Proposal, Target, Tolerance, propose

SYNC = timedelta(seconds=15)
"""How often an autoscaler looks."""
METRICS_GROUP = "metrics.k8s.io"
DEFAULT_METRICS: list[Raw] = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
]


class Scale(NamedTuple):
    """What is scaled: its object, the size it is asked to have, the size it has, and its pods."""

    object: Raw
    wanted: int
    there: int
    selector: str


class Wanted(NamedTuple):
    """The size that the metrics ask for, for which reason, and what they were."""

    replicas: int
    reason: str
    seen: list[Raw]


class Stuck(Exception):
    """Nothing can be scaled now: the condition that says so."""

    def __init__(self, type_: str, reason: str, message: str) -> None:
        self.condition = {"type": type_, "status": "False", "reason": reason, "message": message}
        super().__init__(message)


def reconcile(hpa: Raw, view: View, now: datetime) -> Decision:
    """What should be done about one autoscaler now."""
    if hpa["metadata"].get("deletionTimestamp"):
        return NOTHING
    old: Raw = hpa.get("status") or {}
    status: Raw = {**old}
    if generation := hpa["metadata"].get("generation"):
        status["observedGeneration"] = generation
    scale: Scale | None = None
    actions: list[Action] = []
    try:
        scale = scale_of(hpa, view)
        status = with_condition(status, said("AbleToScale", "SucceededGetScale", GOT_SCALE), now)
        status, actions = scaled(hpa, scale, view, status=status, now=now)
    except Stuck as stuck:
        status = with_condition(status, stuck.condition, now)
        status |= {"currentReplicas": scale.there, "desiredReplicas": scale.wanted} if scale else {}
        if (stuck.condition["reason"], stuck.condition["message"]) not in {
            (one.get("reason"), one.get("message")) for one in old.get("conditions") or ()
        }:
            actions.append(Record(Ref.of(hpa), "Warning", stuck.condition["reason"], stuck.condition["message"]))
    status = {"desiredReplicas": 0, **status}
    if status != old:
        actions.append(SetStatus(Ref.of(hpa), status, hpa["metadata"].get("uid", "")))
    return Decision.of(actions, again=SYNC)


GOT_SCALE = "the HPA controller was able to get the target's current scale"


def scaled(hpa: Raw, scale: Scale, view: View, *, status: Raw, now: datetime) -> tuple[Raw, list[Action]]:
    """The autoscaler's status after one look, and the size of its target changed where that is called for."""
    spec = hpa["spec"]
    low, high, behavior = int(spec.get("minReplicas") or 1), int(spec["maxReplicas"]), spec.get("behavior") or {}
    current = scale.wanted
    if current == 0:
        raise Stuck(
            "ScalingActive", "ScalingDisabled", "scaling is disabled since the replica count of the target is zero"
        )
    memory = recall(hpa, current)
    if current > high or current < low:
        edge = "above Spec.MaxReplicas" if current > high else "below Spec.MinReplicas"
        wanted = Wanted(high if current > high else low, f"Current number of replicas {edge}", [])
        replicas = wanted.replicas
    else:
        wanted = by_metrics(hpa, scale, view, now=now)
        paced = pace(wanted.replicas, current=current, low=low, high=high, behavior=behavior, memory=memory, now=now)
        replicas = paced.replicas
        names = ", ".join(name_of(one) for one in metrics_of(hpa))
        active = f"the HPA was able to successfully calculate a replica count from {names}"
        status = with_condition(status, said("ScalingActive", "ValidMetricFound", active), now)
        status = with_condition(status, said("AbleToScale", *paced.able), now)
        value, reason, message = paced.limited
        status = with_condition(status, {**said("ScalingLimited", reason, message), "status": value}, now)
    actions: list[Action] = []
    if replicas != current:
        message = f"the HPA controller was able to update the target scale to {replicas}"
        status = with_condition(status, said("AbleToScale", "SucceededRescale", message), now)
        status["lastScaleTime"] = stamp(now)
        target = scale.object
        size = {"spec": {"replicas": replicas}}
        actions += [
            Patch(Ref.of(target), size, target["metadata"].get("uid", ""), subresource="scale"),
            Record(Ref.of(hpa), "Normal", "SuccessfulRescale", f"New size: {replicas}; reason: {wanted.reason}"),
        ]
    kept = remembered(memory, recommended=wanted.replicas, change=replicas - current, behavior=behavior, now=now)
    text = write(kept)
    if text != (hpa["metadata"].get("annotations") or {}).get(MEMORY):
        actions.append(
            Patch(Ref.of(hpa), {"metadata": {"annotations": {MEMORY: text}}}, hpa["metadata"].get("uid", ""))
        )
    status |= {"currentReplicas": scale.there, "desiredReplicas": replicas}
    if wanted.seen:
        status["currentMetrics"] = wanted.seen
    return status, actions


def by_metrics(hpa: Raw, scale: Scale, view: View, *, now: datetime) -> Wanted:
    """The size that the metrics ask for: the largest of them; none is made smaller while one of them is unknown."""
    try:
        query = parse_labels(scale.selector)
    except SelectorError as error:
        raise Stuck("ScalingActive", "InvalidSelector", f"the target's selector cannot be used: {error}") from None
    if not scale.selector:
        raise Stuck("ScalingActive", "InvalidSelector", "the HPA target's scale is missing a selector")
    namespace = hpa["metadata"].get("namespace", "")
    pods = [
        pod for pod in view.all("", "Pod", namespace=namespace) if query.matches(pod["metadata"].get("labels") or {})
    ]
    found: list[tuple[Raw, Proposal]] = []
    failures: list[tuple[Raw, str]] = []
    for spec in metrics_of(hpa):
        try:
            metrics = {
                str(pod["metadata"]["name"]): raw
                for pod in pods
                if (raw := view.get(Ref(METRICS_GROUP, "PodMetrics", namespace, pod["metadata"]["name"])))
            }
            proposal = propose(
                target_of(spec),
                pods=pods,
                metrics=metrics,
                current=scale.wanted,
                tolerance=tolerance(hpa),
                now=now,
            )
            found.append((spec, proposal))
        except (NoMetric, QuantityError) as error:
            failures.append((spec, str(error)))
    best = max(found, key=lambda one: one[1].replicas, default=None)
    if best is None or (failures and best[1].replicas < scale.wanted):
        spec, why = failures[0]
        raise Stuck("ScalingActive", failure_reason(spec), f"the HPA was unable to compute the replica count: {why}")
    direction = "above" if best[1].replicas > scale.wanted else "below"
    reason = "All metrics below target" if direction == "below" else f"{name_of(best[0])} above target"
    return Wanted(best[1].replicas, reason, [seen(spec, proposal) for spec, proposal in found])


def scale_of(hpa: Raw, view: View) -> Scale:
    """What is scaled; raises Stuck where there is no such object, or it has no size."""
    reference = hpa["spec"]["scaleTargetRef"]
    row = kind_of(reference.get("apiVersion", ""), reference["kind"])
    what = f"{reference['kind']} {reference['name']}"
    if row is None or row.scale is None:
        raise Stuck(
            "AbleToScale", "FailedGetScale", f"the {what} has no size that can be scaled; correct scaleTargetRef"
        )
    ref = Ref(group_of(row.api_version), row.kind, hpa["metadata"].get("namespace", ""), reference["name"])
    target = view.get(ref)
    if target is None:
        raise Stuck("AbleToScale", "FailedGetScale", f"there is no {what}; create it, or correct scaleTargetRef")
    wanted, there, selector = (look(target, *path) for path in paths(row))
    return Scale(target, int(wanted or 0), int(there or 0), str(selector or ""))


def paths(row: Kind) -> Iterator[tuple[str, ...]]:
    """Where a kind keeps its wanted size, its size, and the selector of its pods."""
    if row.scale is not None:
        for path in (row.scale.spec, row.scale.status, row.scale.selector):
            yield tuple(path.strip(".").split("."))


def metrics_of(hpa: Raw) -> list[Raw]:
    """The metrics of an autoscaler; CPU at 80 % where it names none."""
    return hpa["spec"].get("metrics") or DEFAULT_METRICS


def target_of(spec: Raw) -> Target:
    """What one metric is held at; raises NoMetric for those that no pod reports."""
    source: Mapping[str, Any] | None = {
        "Resource": spec.get("resource"),
        "ContainerResource": spec.get("containerResource"),
    }.get(spec["type"])
    if source is None:
        raise NoMetric(f"metrics of type {spec['type']} are not served here; use Resource or ContainerResource")
    target, container = source["target"], str(source.get("container") or "")
    if (value := target.get("averageUtilization")) is not None:
        return Target(source["name"], container, utilization=int(value))
    if (value := target.get("averageValue")) is not None:
        return Target(source["name"], container, value=parse(value).milli())
    raise NoMetric("the target has neither averageUtilization nor averageValue; set one of them")


def tolerance(hpa: Raw) -> Tolerance:
    """How far from the target nothing is done, in each direction."""
    behavior = hpa["spec"].get("behavior") or {}
    usual = Tolerance()
    down, up = (rules(behavior, up=up).get("tolerance") for up in (False, True))
    return Tolerance(
        usual.down if down is None else parse(down).nano / 10**9, usual.up if up is None else parse(up).nano / 10**9
    )


def seen(spec: Raw, proposal: Proposal) -> Raw:
    """A metric as it was last seen."""
    field = "resource" if spec["type"] == "Resource" else "containerResource"
    current: Raw = {"averageValue": str(Amount(proposal.average.nano))}
    if proposal.utilization is not None:
        current = {"averageUtilization": proposal.utilization, **current}
    source = {key: spec[field][key] for key in ("name", "container") if key in spec[field]}
    return {"type": spec["type"], field: {**source, "current": current}}


def name_of(spec: Raw) -> str:
    """A metric in words."""
    source = spec.get("resource") or spec.get("containerResource") or {}
    kind = "utilization" if look(source, "target", "averageUtilization") is not None else "use"
    where = f" of the container {source['container']}" if source.get("container") else ""
    return f"{source.get('name', spec['type'])} resource {kind}{where}"


def failure_reason(spec: Raw) -> str:
    """The reason of the condition that says that a metric is unknown."""
    return f"FailedGet{spec['type']}Metric"


def said(type_: str, reason: str, message: str) -> Raw:
    """A condition that is True, without its time."""
    return {"type": type_, "status": "True", "reason": reason, "message": message}


AUTOSCALE = Controller(
    name="autoscale",
    group="autoscaling",
    kind="HorizontalPodAutoscaler",
    reconcile=reconcile,
    reads=(("", "Pod"), ("trainer.kubeflow.org", "TrainJob")),
    reports_as="horizontal-pod-autoscaler",
)
"""The controller of autoscalers; it looks every 15 s. Whoever measures pods puts their PodMetrics into the View."""
