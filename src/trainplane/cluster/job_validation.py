"""What the API server refuses in Jobs."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.selectors import from_label_selector
from trainplane.cluster.causes import Cause, invalid, not_supported, required, unlawful
from trainplane.cluster.names import value_faults
from trainplane.cluster.pod_validation import spec_causes

_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_FIXED = ("completions", "selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy")
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_UID = "batch.kubernetes.io/controller-uid"


def job_causes(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with a Job, by itself and against what it was."""
    if subresource == "status":
        yield from _status_causes(new, old)
        return
    spec = new.get("spec") or {}
    yield from _selector_causes(new, spec)
    for name in _COUNTS:
        value = spec.get(name)
        if value is not None and value < 0:
            yield invalid(f"spec.{name}", value, "must be greater than or equal to 0")
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", "Indexed"):
        yield not_supported("spec.completionMode", mode, ("NonIndexed", "Indexed"))
    manager = spec.get("managedBy")
    if manager is not None and ("/" not in manager or "." not in manager.partition("/")[0]):
        yield invalid("spec.managedBy", manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    yield from _policy_causes(spec.get("podFailurePolicy") or {})
    template = spec.get("template") or {}
    for value in ((template.get("metadata") or {}).get("labels") or {}).values():
        for fault in value_faults(value):
            yield invalid("spec.template.labels", value, fault)
            break
        else:
            continue
        break
    inner = template.get("spec") or {}
    yield from spec_causes(inner, "spec.template.spec")
    if inner.get("restartPolicy") not in ("OnFailure", "Never"):
        yield required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    if old is not None:
        yield from _change_causes(spec, old.get("spec") or {}, old)


def _selector_causes(new: Raw, spec: Mapping[str, Any]) -> Iterator[Cause]:
    selector = spec.get("selector")
    labels = look(spec, "template", "metadata", "labels")
    if selector is None:
        yield required("spec.selector")
    if not spec.get("manualSelector") and selector is not None:
        ours = {_UID: new["metadata"].get("uid", "")}
        old_style = {"controller-uid": new["metadata"].get("uid", "")}
        if selector.get("matchLabels") not in (ours, old_style) or len(selector) > 1:
            yield invalid("spec.selector", selector, "`selector` not auto-generated")
    if selector is None or not from_label_selector(selector).matches(labels or {}):
        yield invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _policy_causes(policy: Mapping[str, Any]) -> Iterator[Cause]:
    for index, rule in enumerate(policy.get("rules") or ()):
        at = f"spec.podFailurePolicy.rules[{index}]"
        if rule.get("action") not in _ACTIONS:
            yield not_supported(f"{at}.action", rule.get("action", ""), _ACTIONS)
        if not rule.get("onExitCodes") and not rule.get("onPodConditions"):
            yield unlawful(at, "specifying one of OnExitCodes and OnPodConditions is required")


def _change_causes(spec: Raw, old: Raw, job: Raw) -> Iterator[Cause]:
    for name in _FIXED:
        if spec.get(name) != old.get(name) and not (name == "completions" and _may_resize(spec, old)):
            yield invalid(f"spec.{name}", spec.get(name), "field is immutable")
    before, after = old.get("template") or {}, spec.get("template") or {}
    waiting = old.get("suspend") and not look(job, "status", "startTime")
    if _template(before, waiting=bool(waiting)) != _template(after, waiting=bool(waiting)):
        yield invalid("spec.template", after, "field is immutable")


def _may_resize(spec: Raw, old: Raw) -> bool:
    """An Indexed Job may grow and shrink as long as it wants as many as it runs."""
    indexed = old.get("completionMode") == "Indexed" and spec.get("completions") is not None
    return bool(indexed and spec.get("completions") == spec.get("parallelism"))


def _template(raw: Raw, *, waiting: bool) -> Any:
    """The part of a template that may not change; while a Job waits to start, where its pods go may."""
    if not waiting:
        return raw
    spec = dict(raw.get("spec") or {})
    for name in ("nodeSelector", "tolerations", "schedulingGates", "affinity"):
        spec.pop(name, None)
    return spec


def _status_causes(new: Raw, old: Raw | None) -> Iterator[Cause]:
    status = new.get("status") or {}
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        if (status.get(name) or 0) < 0:
            yield invalid(f"status.{name}", status[name], "must be greater than or equal to 0")
    if (status.get("ready") or 0) > max(status.get("active") or 0, 0):
        yield invalid("status.ready", status.get("ready"), "cannot set more ready pods than active")
    true = {each.get("type") for each in status.get("conditions") or () if each.get("status") == "True"}
    was = {each.get("type") for each in look(old, "status", "conditions") or () if each.get("status") == "True"}
    if "Complete" in true and "Complete" not in was:
        if not status.get("completionTime"):
            yield required("status.completionTime", "completionTime is required for Complete jobs")
        if "SuccessCriteriaMet" not in true:
            words = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
            yield unlawful("status.conditions", words)
    if "Failed" in true and "Failed" not in was and "FailureTarget" not in true:
        words = "cannot set Failed=True condition without the FailureTarget=true condition"
        yield unlawful("status.conditions", words)
    if true & {"Complete", "Failed"} and not status.get("startTime"):
        yield required("status.startTime", "startTime is required for finished job")
