"""Volume claims that are deleted: each goes when no pod on a node uses it any more, and not before."""

from collections.abc import Iterator
from datetime import datetime

from trainplane.api.claims import PVC_PROTECTION
from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Decision, Patch
from trainplane.reconcile.view import Ref, View


def release(claim: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """Let a claim go that is deleted and in nobody's use."""
    metadata = claim["metadata"]
    finalizers = metadata.get("finalizers") or ()
    if not metadata.get("deletionTimestamp") or PVC_PROTECTION not in finalizers:
        return NOTHING
    namespace = metadata.get("namespace", "")
    if any(uses(pod, metadata["name"]) for pod in view.all("", "Pod", namespace=namespace)):
        return NOTHING
    others = [one for one in finalizers if one != PVC_PROTECTION]
    # A list is replaced whole, so the version guards what others may have added to it.
    patch = {"finalizers": others or None, "resourceVersion": metadata.get("resourceVersion")}
    return Decision((Patch(Ref.of(claim), {"metadata": patch}, uid=metadata.get("uid", "")),))


def uses(pod: Raw, claim: str) -> bool:
    """Whether a pod that is on a node, and has not ended, has the claim for a volume."""
    if not look(pod, "spec", "nodeName") or look(pod, "status", "phase") in (SUCCEEDED, FAILED):
        return False
    return claim in claims_of(pod)


def claims_of(pod: Raw) -> list[str]:
    """The claims that a pod has for volumes."""
    names = (look(volume, "persistentVolumeClaim", "claimName") for volume in look(pod, "spec", "volumes") or ())
    return [str(name) for name in names if name]


def of_pod(pod: Raw, view: View) -> Iterator[Ref]:
    """The claims that wait for a pod to end."""
    namespace = pod["metadata"].get("namespace", "")
    for name in claims_of(pod):
        ref = Ref("", "PersistentVolumeClaim", namespace, name)
        if look(view.get(ref), "metadata", "deletionTimestamp"):
            yield ref


CLAIMS = Controller(
    name="claims", group="", kind="PersistentVolumeClaim", reconcile=release, watches=((("", "Pod"), of_pod),)
)
"""The controller of claims that are deleted."""
