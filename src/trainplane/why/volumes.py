"""Causes in the volume claims of pods that wait for a node."""

import re

from trainplane.api.raw import look
from trainplane.reconcile.view import Ref
from trainplane.why.cause import Cause
from trainplane.why.placing import unscheduled
from trainplane.why.scene import Scene, stage, time_of

_CLAIM = re.compile(r"persistentvolumeclaim \"(?P<name>[^\"]+)\" not found")


def volume_claim_missing(scene: Scene) -> Cause | None:
    """A volume claim that pods mount is not there."""
    for pod in scene.waiting:
        if found := _CLAIM.search(str(unscheduled(pod).get("message", ""))):
            name = found["name"]
            return Cause(
                "VolumeClaimMissing",
                f"the volume claim {name}, which the pods of {stage(pod)} mount, is not there",
                f"create the PersistentVolumeClaim {name} in {scene.namespace}, or correct claimName in the runtime",
                time_of(unscheduled(pod).get("lastTransitionTime")),
                (Ref("", "PersistentVolumeClaim", scene.namespace, name), Ref.of(pod)),
            )
    return None


def volume_not_bound(scene: Scene) -> Cause | None:
    """A volume claim has no volume, and none will be found for it by waiting for the pod."""
    for pod in scene.waiting:
        message = str(unscheduled(pod).get("message", ""))
        for volume in look(pod, "spec", "volumes") or ():
            name = look(volume, "persistentVolumeClaim", "claimName")
            claim = scene.view.get(Ref("", "PersistentVolumeClaim", scene.namespace, str(name))) if name else None
            lost = look(claim, "status", "phase") == "Lost"
            if claim is None or not (lost or ("unbound" in message and look(claim, "status", "phase") != "Bound")):
                continue
            size = look(claim, "spec", "resources", "requests", "storage") or "no size"
            kind = look(claim, "spec", "storageClassName") or "default"
            return Cause(
                "VolumeNotBound",
                f"the volume claim {name} ({size}, class {kind}) of {stage(pod)} "
                + ("has lost its volume" if lost else "has no volume yet"),
                f"see why: kubectl describe pvc {name} -n {scene.namespace}; the class {kind} needs a provisioner, "
                "or a volume made by hand",
                time_of(claim["metadata"].get("creationTimestamp")),
                (Ref.of(claim), Ref.of(pod)),
            )
    return None
