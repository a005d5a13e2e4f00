"""What is wrong with roles and bindings, held against a real API server's answers (facts/rbac_causes.json)."""

import json
from pathlib import Path
from typing import Any

import pytest

from trainplane.cluster.rbac_causes import GROUP, rbac_causes

FACTS = json.loads((Path(__file__).parent / "facts" / "rbac_causes.json").read_text(encoding="utf-8"))


def defaulted(raw: dict[str, Any]) -> dict[str, Any]:
    """A role or binding with the groups that go without saying."""
    filled = dict(raw)
    if "roleRef" in raw:
        filled["roleRef"] = {"apiGroup": GROUP} | raw["roleRef"]
        filled["subjects"] = [
            subject if subject["kind"] not in ("User", "Group") else {"apiGroup": GROUP} | subject
            for subject in raw.get("subjects", ())
        ]
    return filled


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['kind']} {json.dumps(fact['body'])[:60]}")
def test_causes_are_a_real_servers(fact: Any) -> None:
    found = rbac_causes(defaulted({"kind": fact["kind"], "metadata": {"name": "x"}, **fact["body"]}))
    assert [cause.raw() for cause in found] == fact["causes"]


def test_a_binding_keeps_its_role() -> None:
    old = defaulted({"kind": "RoleBinding", "roleRef": {"kind": "Role", "name": "r"}})
    new = defaulted({"kind": "RoleBinding", "roleRef": {"kind": "Role", "name": "q"}})
    shown = '{"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"q"}'
    assert [str(cause) for cause in rbac_causes(new, old)] == [
        f"roleRef: Invalid value: {shown}: cannot change roleRef"
    ]
    assert not list(rbac_causes(new, new))
