"""Volume claims: each is bound when a pod on a node first uses it, and goes, deleted, when none does any more."""

from collections.abc import Iterator
from datetime import datetime

from trainplane.api.claims import PVC_PROTECTION, claim_of
from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Decision, Patch, SetStatus
from trainplane.reconcile.view import Ref, View

BOUND = "Bound"


def reconcile(claim: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """Bind a claim that is in use, or let one go that is deleted and is not."""
    return release(claim, view) if claim["metadata"].get("deletionTimestamp") else bind(claim, view)


def bind(claim: Raw, view: View) -> Decision:
    """Give a claim its volume: a folder of the machine, which its node makes, so that there is no object for it."""
    metadata, spec = claim["metadata"], claim.get("spec") or {}
    users = view.all("", "Pod", namespace=metadata.get("namespace", ""))
    if look(claim, "status", "phase") == BOUND or not any(uses(pod, metadata["name"]) for pod in users):
        return NOTHING
    ref, uid = Ref.of(claim), metadata.get("uid", "")
    status = {
        "phase": BOUND,
        "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
        "capacity": look(spec, "resources", "requests") or {},
    }
    named = [] if spec.get("volumeName") else [Patch(ref, {"spec": {"volumeName": f"folder-{uid}"}}, uid=uid)]
    return Decision.of([*named, SetStatus(ref, status, uid)])


def release(claim: Raw, view: View) -> Decision:
    """Let a claim go that is deleted and in nobody's use."""
    metadata = claim["metadata"]
    finalizers = metadata.get("finalizers") or ()
    if PVC_PROTECTION not in finalizers:
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
    names = (claim_of(pod, volume) for volume in look(pod, "spec", "volumes") or ())
    return [name for name in names if name]


def of_pod(pod: Raw, view: View) -> Iterator[Ref]:
    """The claims that wait for a pod to come to a node, or to end."""
    namespace = pod["metadata"].get("namespace", "")
    for name in claims_of(pod):
        ref = Ref("", "PersistentVolumeClaim", namespace, name)
        claim = view.get(ref)
        if claim and (look(claim, "metadata", "deletionTimestamp") or look(claim, "status", "phase") != BOUND):
            yield ref


CLAIMS = Controller(
    name="claims", group="", kind="PersistentVolumeClaim", reconcile=reconcile, watches=((("", "Pod"), of_pod),)
)
"""The controller of volume claims."""
