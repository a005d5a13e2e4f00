"""The HorizontalPodAutoscaler controller: resource metrics of pods decide a size, within bounds and at a pace."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from trainplane.api.conditions import condition
from trainplane.api.kinds import Kind, kind_of
from trainplane.api.meta import Raw
from trainplane.api.quantity import QuantityError, parse
from trainplane.api.raw import look
from trainplane.api.selectors import SelectorError, parse_labels
from trainplane.api.times import stamp
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Decision, Patch, Record, SetStatus
from trainplane.reconcile.view import Ref, View, group_of
from trainplane.upkeep.conditions import with_condition
from trainplane.upkeep.pace import MEMORY, Limits, pace, recall, remembered, rules, write
from trainplane.upkeep.replicas import NoMetric, Proposal, Target, Tolerance, propose

SYNC = timedelta(seconds=15)
"""How often an autoscaler looks."""
METRICS_GROUP = "metrics.k8s.io"
HPA = "HorizontalPodAutoscaler"
DEFAULT_METRICS: list[Raw] = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
]


class Scale(NamedTuple):
    """What is scaled: its object, the size it is asked to have, and its pods."""

    object: Raw
    wanted: int
    selector: str


class Wanted(NamedTuple):
    """The size that the metrics ask for, by which of them, and what they were and were not."""

    replicas: int
    metric: str
    seen: list[Raw]
    unknown: list[tuple[Raw, str]]


class Stuck(Exception):
    """Nothing can be scaled now: the condition that says so, what is told of it, and the metrics that are known."""

    def __init__(
        self, type_: str, reason: str, message: str, *, events: Iterable[tuple[str, str]], seen: Iterable[Raw] = ()
    ) -> None:
        self.condition = {"type": type_, "status": "False", "reason": reason, "message": message}
        self.events = tuple(events)
        self.seen = tuple(seen)
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
        # The size that was wanted last stays written down.
        status = with_condition(status, stuck.condition, now)
        status = with_metrics({**status, "currentReplicas": scale.wanted}, stuck.seen) if scale else status
        if stuck.condition not in map(untimed, old.get("conditions") or ()):
            actions += [Record(Ref.of(hpa), "Warning", reason, note) for reason, note in stuck.events]
    status = {"desiredReplicas": 0, **status}
    if status != old:
        actions.append(SetStatus(Ref.of(hpa), status, hpa["metadata"].get("uid", "")))
    return Decision.of(actions, again=SYNC)


GOT_SCALE = "the HPA controller was able to get the target's current scale"


def scaled(hpa: Raw, scale: Scale, view: View, *, status: Raw, now: datetime) -> tuple[Raw, list[Action]]:
    """The autoscaler's status after one look, and the size of its target changed where that is called for."""
    spec = hpa["spec"]
    low, high = int(spec.get("minReplicas") or 1), int(spec["maxReplicas"])
    current = scale.wanted
    if current == 0:
        status = with_condition(status, DISABLED, now)
        return with_metrics({**status, "currentReplicas": 0, "desiredReplicas": 0}, ()), []
    memory = recall(hpa, current)
    actions: list[Action] = []
    metrics: Iterable[Raw] = ()
    recommended = None
    if current > high or current < low:
        replicas = high if current > high else low
        reason = (
            f"Current number of replicas {'above Spec.MaxReplicas' if current > high else 'below Spec.MinReplicas'}"
        )
    else:
        wanted = by_metrics(hpa, scale, view, now=now)
        limits = Limits(current, low, high, spec.get("behavior"))
        paced = pace(wanted.replicas, limits=limits, memory=memory, now=now)
        replicas, metrics, recommended = paced.replicas, wanted.seen, wanted.replicas
        reason = reason_of(wanted, current)
        active = f"the HPA was able to successfully calculate a replica count from {wanted.metric}"
        status = with_condition(status, said("ScalingActive", "ValidMetricFound", active), now)
        status = with_condition(status, said("AbleToScale", *paced.able), now)
        value, why, message = paced.limited
        status = with_condition(status, {**said("ScalingLimited", why, message), "status": value}, now)
        actions += news(hpa, wanted)
    if replicas != current:
        message = f"the HPA controller was able to update the target scale to {replicas}"
        status = with_condition(status, said("AbleToScale", "SucceededRescale", message), now)
        status["lastScaleTime"] = stamp(now)
        actions += rescale(hpa, scale.object, replicas, reason=reason)
    kept = remembered(
        memory, recommended=recommended, change=replicas - current, behavior=spec.get("behavior") or {}, now=now
    )
    actions += noted(hpa, write(kept))
    return with_metrics({**status, "currentReplicas": current, "desiredReplicas": replicas}, metrics), actions


def reason_of(wanted: Wanted, current: int) -> str:
    """Why a size is changed; one that is on target still follows what was wanted of late."""
    if wanted.replicas == current:
        return "more was wanted within the stabilization window"
    return f"{wanted.metric} above target" if wanted.replicas > current else "All metrics below target"


DISABLED: Raw = {
    "type": "ScalingActive",
    "status": "False",
    "reason": "ScalingDisabled",
    "message": "scaling is disabled since the replica count of the target is zero",
}


def rescale(hpa: Raw, target: Raw, replicas: int, *, reason: str) -> Iterator[Action]:
    """The target given its new size, and the word about it."""
    size = {"spec": {"replicas": replicas}}
    yield Patch(Ref.of(target), size, target["metadata"].get("uid", ""), subresource="scale")
    yield Record(Ref.of(hpa), "Normal", "SuccessfulRescale", f"New size: {replicas}; reason: {reason}")


def noted(hpa: Raw, memory: str) -> Iterator[Action]:
    """What the autoscaler remembers written down, where that is new."""
    if memory != (hpa["metadata"].get("annotations") or {}).get(MEMORY):
        yield Patch(Ref.of(hpa), {"metadata": {"annotations": {MEMORY: memory}}}, hpa["metadata"].get("uid", ""))


def news(hpa: Raw, wanted: Wanted) -> Iterator[Action]:
    """A word on metrics that are unknown, though others decide, when that is new."""
    status = hpa.get("status") or {}
    known = [(one["type"], source_of(one).get("name")) for one in status.get("currentMetrics") or ()]
    first = condition(status, "ScalingActive") is None
    for spec, why in wanted.unknown:
        if first or (spec["type"], source_of(spec).get("name")) in known:
            yield Record(Ref.of(hpa), "Warning", failure_reason(spec), why)


def with_metrics(status: Raw, seen: Iterable[Raw]) -> Raw:
    """The status with the metrics that were seen, and no others."""
    rest = {key: value for key, value in status.items() if key != "currentMetrics"}
    return {**rest, "currentMetrics": list(seen)} if seen else rest


def by_metrics(hpa: Raw, scale: Scale, view: View, *, now: datetime) -> Wanted:
    """The size that the metrics ask for: the largest of them; none is made smaller while one of them is unknown."""
    namespace = hpa["metadata"].get("namespace", "")
    pods = pods_behind(hpa, scale, view)
    metrics = {
        str(pod["metadata"]["name"]): raw
        for pod in pods
        if (raw := view.get(Ref(METRICS_GROUP, "PodMetrics", namespace, pod["metadata"]["name"])))
    }
    found: list[tuple[Raw, Proposal]] = []
    unknown: list[tuple[Raw, str]] = []
    for spec in metrics_of(hpa):
        try:
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
            unknown.append((spec, f"{failed_to_get(spec)}{error}"))
    best = max(found, key=lambda one: one[1].replicas, default=None)
    seen = [seen_as(spec, proposal) for spec, proposal in found]
    if best is None or (unknown and best[1].replicas < scale.wanted):
        spec, why = unknown[0]
        first = f"failed to get {value_of(spec)} metric value: {why}"
        total = f"invalid metrics ({len(unknown)} invalid out of {len(found) + len(unknown)}), first error is: {first}"
        raise Stuck(
            "ScalingActive",
            failure_reason(spec),
            f"the HPA was unable to compute the replica count: {why}",
            events=[*((failure_reason(spec), why) for spec, why in unknown), (FAILED_COMPUTE, total)],
            seen=seen,
        )
    return Wanted(best[1].replicas, name_of(best[0]), seen, unknown)


FAILED_COMPUTE = "FailedComputeMetricsReplicas"


def pods_behind(hpa: Raw, scale: Scale, view: View) -> list[Raw]:
    """The pods of the target; raises Stuck where it does not say which, or another autoscaler has them too."""
    if not scale.selector:
        raise Stuck(
            "ScalingActive",
            "InvalidSelector",
            "the HPA target's scale is missing a selector",
            events=[("SelectorRequired", "selector is required"), (FAILED_COMPUTE, "selector is required")],
        )
    try:
        query = parse_labels(scale.selector)
    except SelectorError as error:
        why = f"couldn't convert selector into a corresponding internal selector object: {error}"
        events = [("InvalidSelector", why), (FAILED_COMPUTE, why)]
        raise Stuck("ScalingActive", "InvalidSelector", why, events=events) from None
    namespace = hpa["metadata"].get("namespace", "")
    pods = [
        pod for pod in view.all("", "Pod", namespace=namespace) if query.matches(pod["metadata"].get("labels") or {})
    ]
    rivals = [other for other in view.all("autoscaling", HPA, namespace=namespace) if is_rival(other, hpa, pods, view)]
    if rivals:
        names = sorted(f"{namespace}/{one['metadata']['name']}" for one in [hpa, *rivals])
        why = f"pods by selector {scale.selector} are controlled by multiple HPAs: [{' '.join(names)}]"
        events = [("AmbiguousSelector", why), (FAILED_COMPUTE, why)]
        raise Stuck("ScalingActive", "AmbiguousSelector", why, events=events)
    return pods


def is_rival(other: Raw, hpa: Raw, pods: list[Raw], view: View) -> bool:
    """Whether another autoscaler goes by some of the same pods."""
    if other["metadata"]["name"] == hpa["metadata"]["name"]:
        return False
    try:
        selector = scale_of(other, view).selector
        query = parse_labels(selector)
    except (Stuck, SelectorError):
        return False
    return bool(selector) and any(query.matches(pod["metadata"].get("labels") or {}) for pod in pods)


def scale_of(hpa: Raw, view: View) -> Scale:
    """What is scaled; raises Stuck where there is no such object, or it has no size."""
    reference = hpa["spec"]["scaleTargetRef"]
    row = kind_of(reference.get("apiVersion", ""), reference["kind"])
    if row is None:
        group = group_of(reference.get("apiVersion", ""))
        raise no_scale(f'no matches for kind "{reference["kind"]}" in group "{group}"')
    if row.scale is None:
        raise no_scale("the server could not find the requested resource")
    ref = Ref(group_of(row.api_version), row.kind, hpa["metadata"].get("namespace", ""), reference["name"])
    target = view.get(ref)
    if target is None:
        raise no_scale(f'{row.resource} "{ref.name}" not found')
    wanted, selector = (look(target, *path) for path in paths(row))
    return Scale(target, int(wanted or 0), str(selector or ""))


def no_scale(why: str) -> Stuck:
    """That the target's size cannot be read."""
    message = f"the HPA controller was unable to get the target's current scale: {why}"
    return Stuck("AbleToScale", "FailedGetScale", message, events=[("FailedGetScale", why)])


def paths(row: Kind) -> Iterator[tuple[str, ...]]:
    """Where a kind keeps its wanted size and the selector of its pods."""
    if row.scale is not None:
        for path in (row.scale.spec, row.scale.selector):
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


def seen_as(spec: Raw, proposal: Proposal) -> Raw:
    """A metric as it was last seen."""
    field = "resource" if spec["type"] == "Resource" else "containerResource"
    current: Raw = {"averageValue": str(proposal.average)}
    if proposal.utilization is not None:
        current = {"averageUtilization": proposal.utilization, **current}
    source = {key: spec[field][key] for key in ("name", "container") if key in spec[field]}
    return {"type": spec["type"], field: {**source, "current": current}}


def source_of(metric: Raw) -> Raw:
    """What a metric, or what was seen of one, is about."""
    return metric.get("resource") or metric.get("containerResource") or {}


def by_percent(spec: Raw) -> bool:
    """Whether a metric is held at a percentage of what is requested."""
    return look(source_of(spec), "target", "averageUtilization") is not None


def name_of(spec: Raw) -> str:
    """A metric in words."""
    name = source_of(spec).get("name", spec["type"])
    container = "container " if spec["type"] == "ContainerResource" else ""
    return f"{name} {container}resource utilization (percentage of request)" if by_percent(spec) else f"{name} resource"


def value_of(spec: Raw) -> str:
    """Whose value a metric is: that of a resource, or of a container."""
    source = source_of(spec)
    return (
        f"{source['container']} container" if source.get("container") else f"{source.get('name', '')} resource".strip()
    )


def failed_to_get(spec: Raw) -> str:
    """How it begins to be said that a metric is unknown."""
    name = source_of(spec).get("name")
    return f"failed to get {name} {'utilization' if by_percent(spec) else 'usage'}: " if name else ""


def failure_reason(spec: Raw) -> str:
    """The reason of the condition that says that a metric is unknown."""
    return f"FailedGet{spec['type']}Metric"


def untimed(told: Raw) -> Raw:
    """A condition without its time."""
    return {key: value for key, value in told.items() if key != "lastTransitionTime"}


def said(type_: str, reason: str, message: str) -> Raw:
    """A condition that is True, without its time."""
    return {"type": type_, "status": "True", "reason": reason, "message": message}


AUTOSCALE = Controller(
    name="autoscale",
    group="autoscaling",
    kind=HPA,
    reconcile=reconcile,
    reads=(("", "Pod"), ("trainer.kubeflow.org", "TrainJob")),
    reports_as="horizontal-pod-autoscaler",
)
"""The controller of autoscalers; it looks every 15 s. Whoever measures pods puts their PodMetrics into the View."""
