"""Ephemeral volumes: each has a claim that is made for its pod as soon as that is there, and goes with it."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from trainplane.api.claims import claim_of
from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Create, Decision, Record
from trainplane.reconcile.view import Ref, View

REASON = "FailedBinding"
PATIENCE = timedelta(seconds=15)
"""How soon to look again for a claim of somebody else's that goes away."""


def reconcile(pod: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """Make the claims of a pod's ephemeral volumes; one of that name that is not the pod's is never used."""
    if pod["metadata"].get("deletionTimestamp") or look(pod, "status", "phase") in (SUCCEEDED, FAILED):
        return NOTHING
    actions: list[Create | Record] = []
    again = None
    for volume in ephemeral(pod):
        made = claim(pod, volume)
        found = view.get(Ref.of(made))
        if found is None:
            actions.append(Create(made, complaint=REASON))
        elif not is_made_for(found, pod):
            again = PATIENCE
            place = made["metadata"]["namespace"]
            what = f"PVC {place}/{made['metadata']['name']} was not created for pod {place}/{pod['metadata']['name']}"
            note = f"ephemeral volume {volume['name']}: {what} (pod is not owner)"
            if not is_told(note, pod, view):
                actions.append(Record(Ref.of(pod), "Warning", REASON, note))
    return Decision.of(actions, again=again)


def ephemeral(pod: Raw) -> Iterator[Raw]:
    """The volumes of a pod whose claims are made for it."""
    return (volume for volume in look(pod, "spec", "volumes") or () if look(volume, "ephemeral", "volumeClaimTemplate"))


def claim(pod: Raw, volume: Raw) -> Raw:
    """The claim of an ephemeral volume."""
    template, metadata = volume["ephemeral"]["volumeClaimTemplate"], pod["metadata"]
    given = {name: item for name, item in (template.get("metadata") or {}).items() if name in ("labels", "annotations")}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata.get("uid", "")}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim_of(pod, volume),
            "namespace": metadata.get("namespace", ""),
            **given,
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": template.get("spec") or {},
    }


def is_made_for(found: Raw, pod: Raw) -> bool:
    """Whether a claim was made for a pod."""
    owners = found["metadata"].get("ownerReferences") or ()
    return any(one.get("uid") == pod["metadata"].get("uid") and one.get("controller") for one in owners)


def is_told(note: str, pod: Raw, view: View) -> bool:
    """Whether an event says so of the pod already."""
    events = view.events_about(pod["metadata"].get("uid", ""))
    return any(event.get("reason") == REASON and event.get("note") == note for event in events)


def has_ephemeral(pod: Raw, _: View) -> bool:
    """Whether a pod has an ephemeral volume; nearly none has."""
    return any("ephemeral" in volume for volume in pod["spec"].get("volumes") or ())


EPHEMERAL = Controller(
    name="ephemeral-volumes",
    group="",
    kind="Pod",
    reconcile=reconcile,
    owns=(("", "PersistentVolumeClaim"),),
    cares=has_ephemeral,
    reports_as="ephemeral_volume",
)
"""The controller of the claims that pods bring with them."""
