"""Role-based access: roles and their bindings, indexed by whom they are for, and what they allow."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.selectors import LabelQuery, SelectorError, from_label_selector
from trainplane.cluster.access import MASTERS, SERVICE_ACCOUNT_PREFIX, Attributes, User, Verdict

_NONE: tuple[Any, ...] = ()


class Rule(msgspec.Struct, frozen=True):
    """A PolicyRule, ready to be asked many times."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Rule":
        """From a rule of a Role or ClusterRole."""
        keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        return cls(*(tuple(raw.get(key) or ()) for key in keys))

    @property
    def raw(self) -> Raw:
        """As reviews show it."""
        raw: Raw = {"verbs": list(self.verbs)}
        said = (
            ("apiGroups", self.groups),
            ("resources", self.resources),
            ("resourceNames", self.names),
            ("nonResourceURLs", self.urls),
        )
        return raw | {key: list(value) for key, value in said if value}

    def allows(self, asked: Attributes) -> bool:
        """Whether this rule allows a request."""
        if asked.verb not in self.verbs and "*" not in self.verbs:
            return False
        if asked.path:
            return any(url_matches(url, asked.path) for url in self.urls)
        if asked.group not in self.groups and "*" not in self.groups:
            return False
        if self.names and asked.name not in self.names:
            return False
        return resource_matches(self.resources, asked.resource, asked.subresource)


def resource_matches(resources: tuple[str, ...], resource: str, subresource: str) -> bool:
    """Whether a rule's resources hold one; `*` is all with their subresources, `*/log` one subresource of all."""
    if "*" in resources:
        return True
    if not subresource:
        return resource in resources
    return f"{resource}/{subresource}" in resources or f"*/{subresource}" in resources


def url_matches(pattern: str, path: str) -> bool:
    """Whether a rule's URL is this path; a `*` at its end stands for the rest."""
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


class Grant(msgspec.Struct, frozen=True):
    """One subject of one binding: what it may do, and the words for it."""

    rules: tuple[Rule, ...]
    binding: str
    subject: str

    @property
    def reason(self) -> str:
        """The sentence of a review."""
        return f"RBAC: allowed by {self.binding} to {self.subject}"


class Roles:
    """All roles and bindings at one moment; make a new one when any of them changes."""

    def __init__(
        self,
        *,
        roles: Iterable[Mapping[str, Any]] = (),
        cluster_roles: Iterable[Mapping[str, Any]] = (),
        role_bindings: Iterable[Mapping[str, Any]] = (),
        cluster_role_bindings: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """From raw objects, as they are stored; aggregated roles are added up here."""
        self._roles = {
            (role["metadata"].get("namespace", ""), role["metadata"]["name"]): _rules(role.get("rules"))
            for role in roles
        }
        self._cluster_roles = aggregated(cluster_roles)
        self._grants: dict[tuple[str, str, str], list[Grant]] = {}
        for binding in cluster_role_bindings:
            self._add(binding, "")
        for binding in role_bindings:
            self._add(binding, binding["metadata"].get("namespace", ""))

    def allowed(self, user: User, asked: Attributes) -> Verdict:
        """Whether a user may do what they ask, and thanks to what."""
        if MASTERS in user.groups:
            return Verdict(True)
        # Paths belong to no namespace, and only cluster-wide bindings speak of them.
        for grant in self.grants(user, "" if asked.path else asked.namespace):
            for rule in grant.rules:
                if rule.allows(asked):
                    return Verdict(True, grant.reason)
        return Verdict(False)

    def grants(self, user: User, namespace: str) -> Iterator[Grant]:
        """What a user was granted everywhere, then in a namespace."""
        for place in ("", namespace) if namespace else ("",):
            yield from self._grants.get((place, "User", user.name), _NONE)
            for group in user.groups:
                yield from self._grants.get((place, "Group", group), _NONE)

    def rules(self, user: User, namespace: str) -> list[Rule]:
        """Every rule that holds for a user in a namespace, each once; those of paths only where they count."""
        found: dict[Rule, None] = {}
        if MASTERS in user.groups:
            found |= dict.fromkeys(EVERYTHING)
        for grant in self.grants(user, namespace):
            found |= dict.fromkeys(grant.rules)
        return list(found)

    def role_rules(self, reference: Mapping[str, Any], namespace: str) -> tuple[Rule, ...] | None:
        """The rules of the role that a binding refers to, or None where there is none."""
        if reference.get("kind") == "ClusterRole":
            return self._cluster_roles.get(str(reference.get("name")))
        return self._roles.get((namespace, str(reference.get("name"))))

    def _add(self, binding: Mapping[str, Any], namespace: str) -> None:
        reference: Raw = binding.get("roleRef") or {}
        rules = self.role_rules(reference, namespace)
        if not rules:
            return
        kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        name = binding["metadata"]["name"] + (f"/{namespace}" if namespace else "")
        words = f'{kind} "{name}" of {reference.get("kind")} "{reference.get("name")}"'
        for subject in binding.get("subjects") or ():
            kind, key, shown = _subject(subject, namespace)
            self._grants.setdefault((namespace, kind, key), []).append(Grant(rules, words, shown))


EVERYTHING = (Rule(("*",), ("*",), ("*",)), Rule(("*",), urls=("*",)))
"""The rules of cluster-admin."""


def aggregated(cluster_roles: Iterable[Mapping[str, Any]]) -> dict[str, tuple[Rule, ...]]:
    """The rules of each ClusterRole by name, where an aggregationRule has added up those it selects."""
    roles = {
        role["metadata"]["name"]: role for role in sorted(cluster_roles, key=lambda role: role["metadata"]["name"])
    }
    rules = {name: () if _selectors(role) else _rules(role.get("rules")) for name, role in roles.items()}
    sums = {name: _selected(name, role, roles) for name, role in roles.items() if _selectors(role)}
    # A role that is added up may itself add up others, so go on until nothing changes; each round settles one at least.
    for _ in sums:
        before = dict(rules)
        for name, parts in sums.items():
            rules[name] = tuple(dict.fromkeys(rule for part in parts for rule in rules[part]))
        if rules == before:
            break
    return rules


def _selectors(role: Mapping[str, Any]) -> Any:
    return (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()


def _selected(name: str, role: Mapping[str, Any], roles: Mapping[str, Mapping[str, Any]]) -> list[str]:
    queries = list(_queries(_selectors(role)))
    labels = {other: each["metadata"].get("labels") or {} for other, each in roles.items() if other != name}
    return [other for other, theirs in labels.items() if any(query.matches(theirs) for query in queries)]


def _queries(selectors: Iterable[Any]) -> Iterator[LabelQuery]:
    for selector in selectors:
        try:
            yield from_label_selector(selector)
        except SelectorError:
            # Validation takes no such role; one that is there all the same must not keep everybody out.
            continue


def _rules(raw: Iterable[Mapping[str, Any]] | None) -> tuple[Rule, ...]:
    return tuple(map(Rule.of, raw or ()))


def _subject(subject: Mapping[str, Any], namespace: str) -> tuple[str, str, str]:
    """A subject as its kind and name in the index, and in words."""
    kind, name = str(subject.get("kind")), str(subject.get("name"))
    if kind != "ServiceAccount":
        return kind, name, f'{kind} "{name}"'
    home = subject.get("namespace") or namespace
    return "User", f"{SERVICE_ACCOUNT_PREFIX}{home}:{name}", f'ServiceAccount "{name}/{home}"'
