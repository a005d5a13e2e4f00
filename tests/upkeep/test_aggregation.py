"""A role that adds up others shows their rules, each once, and loses them with the label that had brought them."""

from typing import Any

from tests.upkeep.town import NOON
from trainplane.reconcile.decision import Patch
from trainplane.reconcile.view import View
from trainplane.upkeep.aggregation import reconcile

Raw = dict[str, Any]
GET = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
LIST = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}


def role(name: str, *rules: Raw, labels: Raw | None = None, **fields: Any) -> Raw:
    """A ClusterRole."""
    metadata = {"name": name, "uid": name, "labels": labels or {}}
    version = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": list(rules), **fields}


def whole(*rules: Raw) -> Raw:
    """A role that adds up those labelled with a."""
    return role("whole", *rules, aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "1"}}]})


def written(raw: Raw, *others: Raw) -> Any:
    """The rules that are written into a role."""
    (action,) = reconcile(raw, View.of(raw, *others), NOON).actions
    assert isinstance(action, Patch)
    return action.patch["rules"]


def test_rules_are_added_up_in_the_order_of_names_and_each_once() -> None:
    parts = [role("z", LIST, GET, labels={"a": "1"}), role("b", GET, labels={"a": "1"}), role("c", LIST)]
    assert written(whole(), *parts) == [GET, LIST]


def test_what_is_selected_no_longer_goes() -> None:
    assert written(whole(GET), role("b", GET)) is None


def test_a_role_that_is_right_or_adds_up_nothing_is_left_alone() -> None:
    part = role("b", GET, labels={"a": "1"})
    for raw in (whole(GET), role("plain", LIST)):
        assert reconcile(raw, View.of(raw, part), NOON).actions == ()
