"""Aggregated ClusterRoles: the rules of the roles that an aggregationRule selects, written into the role itself.

Access counts them whether they are written or not; they are written so that people can read what a role allows.
"""

from collections.abc import Iterator
from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.selectors import SelectorError, from_label_selector
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Decision, Patch
from trainplane.reconcile.view import Ref, View

GROUP = "rbac.authorization.k8s.io"
SELECTORS = ("aggregationRule", "clusterRoleSelectors")


def reconcile(role: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """The rules that a role should have, where it adds up those of others."""
    selectors = look(role, *SELECTORS)
    if not selectors or role["metadata"].get("deletionTimestamp"):
        return NOTHING
    rules = added_up(role, view)
    if rules == (role.get("rules") or []):
        return NOTHING
    return Decision((Patch(Ref.of(role), {"rules": rules or None}, role["metadata"].get("uid", "")),))


def added_up(role: Raw, view: View) -> list[Raw]:
    """The rules of all roles that a role selects, each once, selector by selector and role by role."""
    others = sorted(view.all(GROUP, "ClusterRole"), key=lambda raw: str(raw["metadata"]["name"]))
    found: list[Raw] = []
    for selector in look(role, *SELECTORS):
        try:
            query = from_label_selector(selector)
        except SelectorError:
            continue
        for other in others:
            metadata = other["metadata"]
            if metadata["name"] != role["metadata"]["name"] and query.matches(metadata.get("labels") or {}):
                found += [rule for rule in other.get("rules") or () if rule not in found]
    return found


def sums(_: Raw, view: View) -> Iterator[Ref]:
    """The roles that add up others: any of those may be among them, or may have been."""
    for role in view.all(GROUP, "ClusterRole"):
        if look(role, *SELECTORS):
            yield Ref.of(role)


AGGREGATION = Controller(
    name="role-aggregation",
    group=GROUP,
    kind="ClusterRole",
    reconcile=reconcile,
    watches=(((GROUP, "ClusterRole"), sums),),
)
"""The controller of roles that are sums of others."""
