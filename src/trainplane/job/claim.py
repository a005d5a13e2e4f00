"""Which pods are a Job's own: those it controls and selects; who no longer meets the selector is let go.

With a selector of the author's own, pods that nobody controls are taken over.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trainplane.api.batch import TRACKING_FINALIZER
from trainplane.api.meta import Raw
from trainplane.api.selectors import LabelQuery, from_label_selector
from trainplane.job.pods import owner
from trainplane.job.tally import REMOVED, TERMINAL, is_deleting, is_tracked, phase
from trainplane.reconcile.decision import Patch
from trainplane.reconcile.view import Ref, View


class Claims(NamedTuple):
    """The Job's pods, by name, and what it takes to have them and no others."""

    pods: tuple[Raw, ...]
    patches: tuple[Patch, ...] = ()


def claims(job: Raw, view: View) -> Claims:
    """The pods that are the Job's."""
    pods = view.controlled_by(job["metadata"].get("uid", ""), "Pod")
    found = sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))
    selector = job["spec"].get("selector") or {}
    if is_generated(job) and all(has_labels(pod, selector) for pod in found):
        return Claims(tuple(found))
    query = from_label_selector(selector)
    strangers = [pod for pod in found if not query.matches(pod["metadata"].get("labels") or {})]
    if strangers:
        found = [pod for pod in found if pod not in strangers]
    return Claims(tuple(found), (*(disowned(job, pod) for pod in strangers), *adopted(job, view, query)))


def is_generated(job: Raw) -> bool:
    """Whether the Job's selector was made for it: some labels, and nothing to be read."""
    return not job["spec"].get("manualSelector") and (job["spec"].get("selector") or {}).keys() <= {"matchLabels"}


def has_labels(pod: Raw, selector: Raw) -> bool:
    """Whether a pod has the labels that a selector names."""
    return bool((selector.get("matchLabels") or {}).items() <= (pod["metadata"].get("labels") or {}).items())


def disowned(job: Raw, pod: Raw) -> Patch:
    """A pod whose labels were taken away, to look into it or to keep it: it is the Job's no more."""
    uid = job["metadata"].get("uid")
    others = [one for one in pod["metadata"]["ownerReferences"] if one["uid"] != uid]
    return _patch(pod, {**untracked(pod).patch["metadata"], "ownerReferences": others or None})


def adopted(job: Raw, view: View, selector: LabelQuery) -> Iterator[Patch]:
    """Pods without a controller that a selector of the author's own means.

    A generated selector names the Job's uid, and nobody else's pods have that: those Jobs need not look.
    """
    if not job["spec"].get("manualSelector") or job["metadata"].get("deletionTimestamp"):
        return
    for pod in view.all("", "Pod", namespace=job["metadata"].get("namespace", "")):
        owners = pod["metadata"].get("ownerReferences") or []
        lonely = not any(one.get("controller") for one in owners) and not is_deleting(pod)
        if lonely and phase(pod) not in TERMINAL and selector.matches(pod["metadata"].get("labels") or {}):
            finalizers = pod["metadata"].get("finalizers") or []
            tracked = finalizers if is_tracked(pod) else [*finalizers, TRACKING_FINALIZER]
            yield _patch(pod, {"ownerReferences": [*owners, owner(job)], "finalizers": tracked})


def untracked(pod: Raw) -> Patch:
    """The pod let go: its tracking finalizer removed."""
    others = [one for one in pod["metadata"].get("finalizers") or () if one != TRACKING_FINALIZER]
    return _patch(pod, {"finalizers": others or None})


def sent_away(pod: Raw) -> Patch:
    """The pod let go before it is deleted, and marked, so that its going is not taken for a failure."""
    return _patch(pod, {**untracked(pod).patch["metadata"], "annotations": {REMOVED: "true"}})


def _patch(pod: Raw, metadata: dict[str, Any]) -> Patch:
    # A list is replaced whole, so the version guards what others may have added to it.
    version = pod["metadata"].get("resourceVersion")
    guarded = {**metadata, "resourceVersion": version} if version else metadata
    return Patch(Ref.of(pod), {"metadata": guarded}, uid=pod["metadata"].get("uid", ""))
