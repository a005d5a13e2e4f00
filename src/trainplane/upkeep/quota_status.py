"""The ResourceQuota controller: how much of each quota is used, so that people and admission can see it."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from trainplane.api.kinds import KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.api.quantity import ZERO, Amount, QuantityError, spell
from trainplane.api.quota_use import used_by
from trainplane.api.raw import look
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Decision, SetStatus
from trainplane.reconcile.view import Ref, View

RESYNC = timedelta(minutes=5)
_UNCOUNTED = ("Event", "Lease", "Endpoints", "EndpointSlice")
_ROWS: dict[str, Kind] = {row.resource: row for row in KINDS if row.namespaced}
_PODS, _CLAIMS, _SERVICES = (_ROWS[name] for name in ("pods", "persistentvolumeclaims", "services"))


def reconcile(quota: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """What a quota's status should say."""
    if quota["metadata"].get("deletionTimestamp"):
        return NOTHING
    hard = look(quota, "spec", "hard") or {}
    namespace = quota["metadata"].get("namespace", "")
    used: dict[str, Amount] = {}
    for row in {row_of(name).resource: row_of(name) for name in hard}.values():
        found = list(view.all(row.group, row.kind, namespace=namespace))
        try:
            used |= used_by(found, row, quota["spec"])
        except QuantityError:
            # Admission takes no such object; one that is there all the same must not hide what the others use.
            used |= used_by([raw for raw in found if is_readable(raw, row)], row, quota["spec"])
    status = {"hard": spell(hard), "used": {name: str(used.get(name, ZERO)) for name in hard}}
    if status == (quota.get("status") or {}):
        return Decision(again=RESYNC)
    return Decision((SetStatus(Ref.of(quota), status, quota["metadata"].get("uid", "")),), again=RESYNC)


def row_of(name: str) -> Kind:
    """The kind that uses a resource of a quota; pods, where it is no other's."""
    if name.endswith(("requests.storage", "persistentvolumeclaims")):
        return _CLAIMS
    if name.startswith("services."):
        return _SERVICES
    return _ROWS.get(name.removeprefix("count/"), _PODS)


def is_readable(raw: Raw, row: Kind) -> bool:
    """Whether an object says in numbers what it uses."""
    try:
        used_by([raw], row, {})
    except QuantityError:
        return False
    return True


def quotas(raw: Raw, view: View) -> Iterator[Ref]:
    """The quotas of an object's namespace."""
    for quota in view.all("", "ResourceQuota", namespace=raw["metadata"].get("namespace", "")):
        yield Ref.of(quota)


QUOTA_STATUS = Controller(
    name="quota-status",
    group="",
    kind="ResourceQuota",
    reconcile=reconcile,
    watches=tuple(
        ((row.group, row.kind), quotas)
        for row in KINDS
        if row.namespaced and row.kind not in (*_UNCOUNTED, "ResourceQuota")
    ),
    pause=0.2,
)
"""The controller of what quotas say is used."""
