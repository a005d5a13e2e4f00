"""What every namespace holds, such as its default service account, is made again when it was deleted."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Create, Decision
from trainplane.reconcile.view import Ref, View


def keeper(companions: Sequence[Raw]) -> Controller:
    """The controller that keeps these objects in every namespace; they are given without one."""
    names = {(raw["kind"], raw["metadata"]["name"]) for raw in companions}

    def reconcile(namespace: Raw, view: View, _now: datetime) -> Decision:
        if namespace["metadata"].get("deletionTimestamp"):
            return NOTHING
        place = {"namespace": namespace["metadata"]["name"]}
        wanted = [{**raw, "metadata": {**raw["metadata"], **place}} for raw in companions]
        return Decision.of(Create(raw) for raw in wanted if view.get(Ref.of(raw)) is None)

    def around(raw: Raw, _view: View) -> Iterator[Ref]:
        if (raw["kind"], raw["metadata"]["name"]) in names:
            yield Ref("", "Namespace", "", raw["metadata"]["namespace"])

    kinds = dict.fromkeys(raw["kind"] for raw in companions)
    return Controller(
        name="companions",
        group="",
        kind="Namespace",
        reconcile=reconcile,
        watches=tuple((("", kind), around) for kind in kinds),
    )
