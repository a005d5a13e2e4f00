"""What the API server refuses in changes of pods: nearly everything, more of it once nothing holds a pod back."""

from collections.abc import Iterator
from typing import Any

from trainplane.api.merge import same
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, forbidden, invalid, required
from trainplane.cluster.ephemeral_causes import ephemeral_change_causes
from trainplane.cluster.go_structs import as_go, difference
from trainplane.cluster.placement_causes import toleration_causes

_UPDATE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"


def pod_change_causes(spec: Raw, old: Raw, subresource: str) -> Iterator[Cause]:
    """What is wrong with a change of a pod's spec."""
    if subresource == "ephemeralcontainers":
        yield from ephemeral_change_causes(spec, old)
        return
    for kind in ("containers", "initContainers"):
        if len(spec.get(kind) or ()) != len(old.get(kind) or ()):
            yield forbidden(f"spec.{kind}", "pod updates may not add or remove containers")
            return
        for index, each in enumerate(spec.get(kind) or ()):
            if not each.get("image"):
                yield required(f"spec.{kind}[{index}].image")
    if same(spec, old):
        return
    before, after = old.get("activeDeadlineSeconds"), spec.get("activeDeadlineSeconds")
    if before is not None and after is None:
        yield invalid("spec.activeDeadlineSeconds", None, "must not update from a positive integer to nil value")
    elif before is not None and after > before:
        yield invalid("spec.activeDeadlineSeconds", after, "must be less than or equal to previous value")
        return
    if not _are_kept(old.get("tolerations") or (), spec.get("tolerations") or ()):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
    else:
        # Told once more, as the API server judges them twice.
        for index, each in enumerate(spec.get("tolerations") or ()):
            yield from toleration_causes(each, f"spec.tolerations[{index}]")
    had = [each.get("name") for each in old.get("schedulingGates") or ()]
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate.get("name") not in had:
            words = f"only deletion is allowed, but found new scheduling gate '{gate.get('name') or ''}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", words)
    rest = _rest(spec, old)
    if had:
        yield from _held_causes(spec, old)
        rest = _unplaced(rest, old)
    if not same(rest, old):
        yield forbidden("spec", f"{_UPDATE}\n{difference(old, rest, 'PodSpec')}")


def _are_kept(old: Any, new: Any) -> bool:
    """Whether all tolerations are still there; for how long they hold may change."""
    there = [_timeless(each) for each in new]
    return all(_timeless(each) in there for each in old)


def _timeless(toleration: Raw) -> Raw:
    return {name: item for name, item in toleration.items() if name != "tolerationSeconds"}


def _rest(spec: Raw, old: Raw) -> Raw:
    """A pod's spec as it would be had only that changed which may not."""
    rest = _with(spec, old, "activeDeadlineSeconds", "tolerations", "schedulingGates")
    for kind in ("containers", "initContainers"):
        if kind in spec:
            pairs = zip(spec[kind] or (), old.get(kind) or (), strict=True)
            rest[kind] = [{**new, "image": before.get("image")} for new, before in pairs]
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    return rest


def _with(spec: Raw, old: Raw, *names: str) -> Raw:
    """The spec with some fields as they were."""
    kept = {name: item for name, item in spec.items() if name not in names}
    return kept | {name: old[name] for name in names if name in old}


def _unplaced(spec: Raw, old: Raw) -> Raw:
    """The spec of a pod that is held back, with the say where it may go as it was."""
    spec = _with(spec, old, "nodeSelector")
    affinity = _with(spec.get("affinity") or {}, old.get("affinity") or {}, "nodeAffinity")
    if same(affinity, old.get("affinity") or {}):
        return _with(spec, old, "affinity")
    return {**spec, "affinity": affinity}


def _held_causes(spec: Raw, old: Raw) -> Iterator[Cause]:
    """What is wrong with where a pod may go that is held back: it can only become less."""
    before, after = old.get("nodeSelector") or {}, spec.get("nodeSelector")
    if any((after or {}).get(name) != value for name, value in before.items()):
        words = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", after, words)
    had = look(old, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms") or ()
    terms = look(spec, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms") or ()
    if not had:
        return
    if len(had) != len(terms):
        shown = as_go(list(terms), "NodeTerm") if terms else None
        yield invalid(_TERMS, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for index, (old_term, term) in enumerate(zip(had, terms, strict=True)):
        if not all(_begins(term.get(kind), old_term.get(kind)) for kind in ("matchExpressions", "matchFields")):
            words = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{_TERMS}[{index}]", as_go(term, "NodeTerm"), words)


def _begins(new: Any, old: Any) -> bool:
    """Whether a list begins as another does."""
    return same(list(new or ())[: len(old or ())], list(old or ()))
