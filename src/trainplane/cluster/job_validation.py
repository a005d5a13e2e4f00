"""What the API server refuses in Jobs."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw, without_nulls
from trainplane.api.raw import look
from trainplane.api.selectors import SelectorError, from_label_selector
from trainplane.cluster.causes import Cause, duplicate, invalid, not_supported, required, too_long, unlawful
from trainplane.cluster.go_structs import as_go
from trainplane.cluster.job_policies import Unreadable, failure_causes, listed, success_causes
from trainplane.cluster.names import key_faults, label_faults, subdomain_faults, value_faults
from trainplane.cluster.pod_annotation_causes import annotation_causes
from trainplane.cluster.pod_validation import spec_causes
from trainplane.cluster.selector_causes import selector_causes

_COUNTS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_POLICIES = {"podFailurePolicy": "PodFailurePolicy", "successPolicy": "SuccessPolicy"}
_UID = "batch.kubernetes.io/controller-uid"
_OLD_UID = "controller-uid"
_IMMUTABLE = "field is immutable"
_END = r"\Z"
_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+" + _END)
_LONGEST_MANAGER = 63
MOST_PARALLEL = 100_000
MANY = 100_000
MOST_OF_MANY = 10_000
"""Beyond MANY completions, with limits per index, no more than this may fail or run at a time."""


def job_causes(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with a Job, by itself and against what it was."""
    if subresource == "status":
        yield from _status_causes(new, old)
        return
    spec = new.get("spec") or {}
    yield from _own_selector_causes(new, spec)
    if old is not None and spec is old.get("spec"):
        return
    found = list(_spec_causes(spec))
    yield from found
    if old is None:
        yield from _name_causes(new, spec)
    else:
        # A real server judges the spec of a Job twice when it changes, and tells it twice.
        yield from found
        yield from _change_causes(spec, old.get("spec") or {}, old)


def _spec_causes(spec: Raw) -> Iterator[Cause]:
    """In the order in which a real server tells them."""
    for name in _COUNTS:
        value = spec.get(name)
        if value is not None and value < 0:
            yield invalid(f"spec.{name}", value, "must be greater than or equal to 0")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from _manager_causes(spec.get("managedBy"))
    yield from _index_causes(spec)
    yield from failure_causes(spec)
    if spec.get("completionMode") == "Indexed":
        yield from success_causes(spec)
    elif spec.get("successPolicy") is not None:
        shown = as_go(spec["successPolicy"], "SuccessPolicy")
        yield invalid("spec.successPolicy", shown, "requires indexed completion mode")
    yield from _replacement_causes(spec)
    template = spec.get("template") or {}
    metadata = template.get("metadata") or {}
    yield from _template_label_causes(metadata.get("labels") or {})
    for key in metadata.get("annotations") or {}:
        # Keys of annotations are judged as if they were in small letters.
        for fault in key_faults(key.lower()):
            yield invalid("spec.template.annotations", key, fault)
    inner = template.get("spec") or {}
    yield from annotation_causes(metadata, inner, "spec.template.annotations")
    yield from spec_causes(inner, "spec.template.spec")
    yield from _restart_causes(spec, inner)
    yield from _selector_causes(spec)


def _name_causes(new: Raw, spec: Raw) -> Iterator[Cause]:
    name, completions = new["metadata"].get("name") or "", spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        host = f"{name}-{completions - 1}"
        if any(label_faults(host)):
            yield invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {host}")


def _own_selector_causes(new: Raw, spec: Raw) -> Iterator[Cause]:
    """What a Job whose selector is generated says otherwise by itself."""
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None or not new["metadata"].get("name"):
        return
    uid, name = new["metadata"].get("uid", ""), new["metadata"].get("name")
    labels = look(spec, "template", "metadata", "labels") or {}
    for key, value in ((_OLD_UID, uid), ("job-name", name), (_UID, uid), ("batch.kubernetes.io/job-name", name)):
        if labels.get(key) != value:
            at = f"spec.template.metadata.labels[{key}]"
            words = f"must be '{value}'"
            yield invalid(at, dict(sorted(labels.items())), words) if key in labels else required(at, words)
    if selector != {"matchLabels": {_UID: uid}} and not _selects(selector, {_UID: uid, _OLD_UID: uid}):
        yield invalid("spec.selector", _sorted(selector), "`selector` not auto-generated")


def _selects(selector: Raw, labels: Raw) -> bool:
    """Whether a selector that can be read means these labels; one that cannot is told of by itself."""
    try:
        return from_label_selector(selector).matches(labels)
    except SelectorError:
        return True


def _selector_causes(spec: Raw) -> Iterator[Cause]:
    selector, labels = spec.get("selector"), look(spec, "template", "metadata", "labels")
    if selector is None:
        yield required("spec.selector")
    causes = list(selector_causes(selector or {}, "spec.selector"))
    yield from causes
    if causes:
        return
    found = selector is not None and from_label_selector(selector).matches(labels or {})
    if not found:
        shown = dict(sorted(labels.items())) if labels is not None else None
        yield invalid("spec.template.metadata.labels", shown, "`selector` does not match template `labels`")


def _sorted(selector: Any) -> Any:
    """A selector in the order in which Go writes it: labels first, by their keys."""
    labels = (selector or {}).get("matchLabels")
    if not labels:
        return selector
    return {"matchLabels": None} | selector | {"matchLabels": dict(sorted(labels.items()))}


def _index_causes(spec: Raw) -> Iterator[Cause]:
    mode, completions, parallelism = spec.get("completionMode"), spec.get("completions"), spec.get("parallelism") or 0
    if mode not in (None, "NonIndexed", "Indexed"):
        yield not_supported("spec.completionMode", mode, ("NonIndexed", "Indexed"))
        return
    if mode != "Indexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid(f"spec.{name}", spec[name], "requires indexed completion mode")
        return
    if completions is None:
        yield required("spec.completions", "when completion mode is Indexed")
    if parallelism > MOST_PARALLEL:
        words = f"must be less than or equal to {MOST_PARALLEL} when completion mode is Indexed"
        yield invalid("spec.parallelism", parallelism, words)
    if completions is not None:
        yield from _limit_causes(spec, completions)


def _limit_causes(spec: Raw, completions: int) -> Iterator[Cause]:
    most, parallelism = spec.get("maxFailedIndexes"), spec.get("parallelism") or 0
    at = "spec.maxFailedIndexes"
    if most is not None:
        if most > completions:
            yield invalid(at, most, "must be less than or equal to completions")
        if most > MANY:
            yield invalid(at, most, f"must be less than or equal to {MANY}")
    if completions > MANY and spec.get("backoffLimitPerIndex") is not None:
        words = f"when completions are above {MANY} and used with backoff limit per index"
        if most is None:
            yield required(at, f"must be specified when completions is above {MANY}")
        elif most > MOST_OF_MANY:
            yield invalid(at, most, f"must be less than or equal to {MOST_OF_MANY} {words}")
        if parallelism > MOST_OF_MANY:
            yield invalid("spec.parallelism", parallelism, f"must be less than or equal to {MOST_OF_MANY} {words}")


def _replacement_causes(spec: Raw) -> Iterator[Cause]:
    known = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    if spec.get("podReplacementPolicy") not in (None, *known):
        yield not_supported("spec.podReplacementPolicy", spec["podReplacementPolicy"], known)


def _manager_causes(manager: str | None) -> Iterator[Cause]:
    at = "spec.managedBy"
    if manager is None:
        return
    host, _, path = manager.partition("/")
    if not manager:
        yield required(at)
    elif not host or not path:
        yield invalid(at, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        for fault in subdomain_faults(host):
            yield invalid(at, host, fault)
        if not _PATH.match(path):
            yield invalid(at, path, f"Invalid path (regex used for validation is '{_PATH.pattern.removesuffix(_END)}')")
    if len(manager) > _LONGEST_MANAGER:
        yield too_long(at, _LONGEST_MANAGER)


def _template_label_causes(labels: Mapping[str, str]) -> Iterator[Cause]:
    for key, value in labels.items():
        for fault in key_faults(key):
            yield invalid("spec.template.labels", key, fault)
        for fault in value_faults(value):
            yield invalid("spec.template.labels", value, fault)


def _restart_causes(spec: Raw, pod: Mapping[str, Any]) -> Iterator[Cause]:
    at, policy = "spec.template.spec.restartPolicy", pod.get("restartPolicy")
    if policy in (None, "", "Always"):
        yield required(at, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(at, policy, ("OnFailure", "Never"))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        yield invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _change_causes(spec: Raw, old: Raw, job: Raw) -> Iterator[Cause]:
    yield from _completions_causes(spec, old)
    if spec.get("selector") != old.get("selector"):
        yield invalid("spec.selector", _sorted(spec.get("selector")), _IMMUTABLE)
    before, after = old.get("template") or {}, spec.get("template") or {}
    if without_nulls(before) != without_nulls(after):
        if not is_open(job):
            yield invalid("spec.template", as_go(after, "PodTemplateSpec"), _IMMUTABLE)
        elif _fixed_part(before.get("spec") or {}) != _fixed_part(after.get("spec") or {}):
            yield invalid("spec.template.spec", as_go(after.get("spec") or {}, "PodSpec"), _IMMUTABLE)
    for name in _FIXED:
        if spec.get(name) != old.get(name):
            shown = as_go(spec.get(name), _POLICIES[name]) if name in _POLICIES else spec.get(name)
            yield invalid(f"spec.{name}", shown, _IMMUTABLE)


def _completions_causes(spec: Raw, old: Raw) -> Iterator[Cause]:
    completions = spec.get("completions")
    if completions == old.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid("spec.completions", completions, _IMMUTABLE)
    elif completions is not None and completions != spec.get("parallelism"):
        words = "can only be modified in tandem with spec.parallelism"
        yield invalid("spec.completions", completions, words)


def is_open(job: Raw) -> bool:
    """Whether where a Job's pods go may still change: it is suspended, and none of them is active."""
    status = job.get("status") or {}
    conditions = status.get("conditions") or ()
    suspended = any(each.get("type") == "Suspended" and each.get("status") == "True" for each in conditions)
    rests = not status.get("startTime") or suspended
    return bool(look(job, "spec", "suspend")) and rests and not status.get("active")


def _fixed_part(pod: Mapping[str, Any]) -> Raw:
    """What of a suspended Job's pods stays as it is for good."""
    kept: Raw = {name: item for name, item in without_nulls(dict(pod)).items() if item}
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        kept.pop(name, None)
    affinity = {name: item for name, item in (kept.pop("affinity", None) or {}).items() if name != "nodeAffinity"}
    if affinity:
        kept["affinity"] = affinity
    for kind in ("containers", "initContainers"):
        if kind in kept:
            kept[kind] = [{name: item for name, item in one.items() if name != "resources"} for one in kept[kind]]
    return kept


def _status_causes(new: Raw, old: Raw | None) -> Iterator[Cause]:
    status, before = new.get("status") or {}, (old or {}).get("status") or {}
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        if (status.get(name) or 0) < 0:
            yield invalid(f"status.{name}", status[name], "must be greater than or equal to 0")
    if (status.get("ready") or 0) > max(status.get("active") or 0, 0):
        yield invalid("status.ready", status.get("ready"), "cannot set more ready pods than active")
    uncounted = status.get("uncountedTerminatedPods") or {}
    for index, uid in enumerate(uncounted.get("failed") or ()):
        if uid in (uncounted.get("succeeded") or ()):
            yield duplicate(f"status.uncountedTerminatedPods.failed[{index}]", uid)
    yield from _completed_causes(new, status)
    yield from _condition_causes(status, before)
    started, was_started = status.get("startTime"), before.get("startTime")
    if was_started and started != was_started and not look(new, "spec", "suspend"):
        yield invalid("status.startTime", started, "field is immutable for unsuspended job once set")


def _completed_causes(new: Raw, status: Raw) -> Iterator[Cause]:
    text = status.get("completedIndexes")
    if not text:
        return
    if look(new, "spec", "completionMode") != "Indexed":
        words = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", text, words)
    try:
        listed(text, look(new, "spec", "completions") or 0)
    except Unreadable as fault:
        yield invalid("status.completedIndexes", text, f"error parsing completedIndexes: {fault}")


def _condition_causes(status: Raw, before: Raw) -> Iterator[Cause]:
    at = "status.conditions"
    true = {each.get("type") for each in status.get("conditions") or () if each.get("status") == "True"}
    was = {each.get("type") for each in before.get("conditions") or () if each.get("status") == "True"}
    if "Complete" in true and "Complete" not in was:
        ended, started = status.get("completionTime"), status.get("startTime")
        if not ended:
            yield required("status.completionTime", "completionTime is required for Complete jobs")
        elif started and ended < started:
            yield invalid("status.completionTime", ended, "must be equal to or after `startTime`")
        if "SuccessCriteriaMet" not in true:
            words = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
            yield unlawful(at, words)
    if "Failed" in true and "Failed" not in was and "FailureTarget" not in true:
        words = "cannot set Failed=True condition without the FailureTarget=true condition"
        yield unlawful(at, words)
    for good in ("Complete", "SuccessCriteriaMet"):
        for bad in ("Failed", "FailureTarget"):
            if good in true and bad in true and not {good, bad} <= was:
                yield unlawful(at, f"cannot set {good}=True and {bad}=true conditions")
    if true & {"Complete", "Failed"} and not status.get("startTime"):
        yield required("status.startTime", "startTime is required for finished job")
