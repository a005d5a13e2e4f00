"""Small controllers, for what a loop must do whoever decides."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.control.clusters import NAMESPACE
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Create, Decision
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
Decide = Callable[[Raw, View, datetime], Decision]
PARENT = Ref("", "ConfigMap", NAMESPACE, "parent")


def owned(parent: Raw, name: str, **fields: Any) -> Raw:
    """A ConfigMap that another controls."""
    owner = {
        "apiVersion": parent["apiVersion"],
        "kind": parent["kind"],
        "name": parent["metadata"]["name"],
        "uid": parent["metadata"]["uid"],
        "controller": True,
    }
    metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def of_parent(name: str, decide: Decide, **said: Any) -> Controller:
    """A controller that decides about the ConfigMap `parent` alone."""

    def reconcile(raw: Raw, view: View, now: datetime) -> Decision:
        return decide(raw, view, now) if raw["metadata"]["name"] == PARENT.name else NOTHING

    return Controller(name=name, group="", kind="ConfigMap", reconcile=reconcile, owns=(("", "ConfigMap"),), **said)


def one_by_one(most: int) -> Decide:
    """Makes children until there are enough, one at a look, each named by a count that an old View gets wrong."""

    def decide(parent: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001
        there = len(view.controlled_by(parent["metadata"]["uid"]))
        # Looking again at once is what shows whether an old View does harm.
        again = timedelta(seconds=0.1)
        return Decision.of([Create(owned(parent, f"child-{there}"))], again=again) if there < most else NOTHING

    return decide
