"""Nobody may grant what they do not have: the check of Roles and bindings before they are stored."""

import json
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from trainplane.cluster.access import Attributes, User
from trainplane.cluster.rbac import EVERYTHING, Roles, Rule, resource_matches, url_matches

GROUP = "rbac.authorization.k8s.io"


def role_escalation(user: User, role: Mapping[str, Any], *, roles: Roles) -> str:
    """Why a user may not store this Role or ClusterRole, in the words that follow `is forbidden: `; or ""."""
    metadata = role["metadata"]
    namespace = metadata.get("namespace", "") if role["kind"] == "Role" else ""
    plural = f"{role['kind'].lower()}s"
    if roles.allowed(user, Attributes("escalate", plural, GROUP, "", metadata.get("name", ""), namespace)).allowed:
        return ""
    # Whoever adds up roles may come to hold anything that others label so.
    granted = EVERYTHING if role.get("aggregationRule") else tuple(map(Rule.of, role.get("rules") or ()))
    return _missing(user, granted, roles=roles, namespace=namespace)


def binding_escalation(user: User, binding: Mapping[str, Any], *, roles: Roles) -> str | None:
    """Why a user may not store this binding, as `role_escalation` says it; None where there is no such role.

    A real server then answers 404 with the binding's resource and the role's name: `rolebindings.… "ROLE" not found`.
    """
    namespace = binding["metadata"].get("namespace", "") if binding["kind"] == "RoleBinding" else ""
    reference = binding["roleRef"]
    plural = f"{reference['kind'].lower()}s"
    asked = Attributes("bind", plural, GROUP, "", reference["name"], namespace)
    if roles.allowed(user, asked).allowed:
        return ""
    granted = roles.role_rules(reference, namespace)
    return None if granted is None else _missing(user, granted, roles=roles, namespace=namespace)


def covers(owned: Iterable[Rule], granted: Iterable[Rule]) -> list[Rule]:
    """The single permissions of `granted` that no rule of `owned` holds."""
    held = list(owned)
    return [one for rule in granted for one in _singles(rule) if not any(_covers(each, one) for each in held)]


def _missing(user: User, granted: Iterable[Rule], *, roles: Roles, namespace: str) -> str:
    lacking = covers(roles.rules(user, namespace), granted)
    if not lacking:
        return ""
    groups = _quoted(user.groups)
    lines = "\n".join(sorted({_compact(rule) for rule in _joined(lacking)}))
    return (
        f"user {json.dumps(user.name)} (groups={groups}) is attempting to grant RBAC permissions not currently held:"
        f"\n{lines}"
    )


def _singles(rule: Rule) -> Iterable[Rule]:
    """A rule as permissions of one verb on one thing each."""
    for url, verb in product(rule.urls, rule.verbs):
        yield Rule((verb,), urls=(url,))
    for group, resource, name, verb in product(rule.groups, rule.resources, rule.names or ("",), rule.verbs):
        yield Rule((verb,), (group,), (resource,), (name,) if name else ())


def _covers(owned: Rule, one: Rule) -> bool:
    if "*" not in owned.verbs and one.verbs[0] not in owned.verbs:
        return False
    if one.urls:
        return any(url_matches(url, one.urls[0]) for url in owned.urls)
    if "*" not in owned.groups and one.groups[0] not in owned.groups:
        return False
    if owned.names and (not one.names or one.names[0] not in owned.names):
        return False
    resource, _, part = one.resources[0].partition("/")
    return one.resources[0] in owned.resources or resource_matches(owned.resources, resource, part)


def _joined(singles: Iterable[Rule]) -> Iterable[Rule]:
    """Permissions on one thing put together; verbs keep their order and repetitions, as a real server says them."""
    verbs: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for one in singles:
        verbs.setdefault((one.groups, one.resources, one.names, one.urls), []).append(one.verbs[0])
    return [Rule(tuple(held), *key) for key, held in verbs.items()]


def _compact(rule: Rule) -> str:
    parts = (
        ("APIGroups", rule.groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.urls),
        ("ResourceNames", rule.names),
        ("Verbs", rule.verbs),
    )
    return "{" + ", ".join(f"{name}:{_quoted(values)}" for name, values in parts if values) + "}"


def _quoted(values: Iterable[str]) -> str:
    return "[" + " ".join(json.dumps(value) for value in values) + "]"
