"""What is wrong with a role or a binding, in the words of a real API server."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.kinds import KINDS
from trainplane.cluster import causes
from trainplane.cluster.causes import Cause
from trainplane.cluster.names import name_faults, subdomain_faults
from trainplane.cluster.selector_causes import selector_causes

GROUP = "rbac.authorization.k8s.io"
_ROLE = next(kind for kind in KINDS if (kind.group, kind.kind) == (GROUP, "Role"))
_RESOURCE_PARTS = ("apiGroups", "resources", "resourceNames")


def rbac_causes(new: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> Iterator[Cause]:
    """Everything that is wrong with a defaulted object of the four kinds, and with its change from the old one."""
    if new["kind"] in ("Role", "ClusterRole"):
        yield from _role(new)
    else:
        yield from _binding(new, old)


def _role(role: Mapping[str, Any]) -> Iterator[Cause]:
    for index, rule in enumerate(role.get("rules") or ()):
        yield from _rule(rule, f"rules[{index}]", namespaced=role["kind"] == "Role")
    sums = role.get("aggregationRule")
    if sums is not None and not sums.get("clusterRoleSelectors"):
        yield causes.required(
            "aggregationRule.clusterRoleSelectors",
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        )
    for index, selector in enumerate((sums or {}).get("clusterRoleSelectors") or ()):
        at = f"aggregationRule.clusterRoleSelectors[{index}]"
        found = list(selector_causes(selector, at))
        yield from found
        if found:
            yield causes.invalid(at, None, "invalid label selector.")


def _rule(rule: Mapping[str, Any], at: str, *, namespaced: bool) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield causes.required(f"{at}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            yield causes.invalid(f"{at}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if any(rule.get(part) for part in _RESOURCE_PARTS):
            both = "rules cannot apply to both regular resources and non-resource URLs"
            yield causes.invalid(f"{at}.nonResourceURLs", urls, both)
        return
    if not rule.get("apiGroups"):
        yield causes.required(f"{at}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield causes.required(f"{at}.resources", "resource rules must supply at least one resource")


def _binding(binding: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[Cause]:
    wide = binding["kind"] == "ClusterRoleBinding"
    reference = binding.get("roleRef") or {}
    if old is not None and _identity(old.get("roleRef") or {}) != _identity(reference):
        yield causes.invalid("roleRef", _identity(reference), "cannot change roleRef")
    if reference.get("apiGroup") != GROUP:
        yield causes.not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), [GROUP])
    kinds = ["ClusterRole"] if wide else ["Role", "ClusterRole"]
    if reference.get("kind") not in kinds:
        yield causes.not_supported("roleRef.kind", reference.get("kind", ""), kinds)
    name = reference.get("name")
    if not name:
        yield causes.required("roleRef.name")
    for fault in name_faults(_ROLE, name or ""):
        yield causes.invalid("roleRef.name", name, fault)
    for index, subject in enumerate(binding.get("subjects") or ()):
        yield from _subject(subject, f"subjects[{index}]", wide=wide)


def _subject(subject: Mapping[str, Any], at: str, *, wide: bool) -> Iterator[Cause]:
    kind, name, group = (subject.get(key) or "" for key in ("kind", "name", "apiGroup"))
    if not name:
        yield causes.required(f"{at}.name")
    match kind:
        case "ServiceAccount":
            for fault in subdomain_faults(name) if name else ():
                yield causes.invalid(f"{at}.name", name, fault)
            if group:
                yield causes.not_supported(f"{at}.apiGroup", group, [""])
            if wide and not subject.get("namespace"):
                yield causes.required(f"{at}.namespace")
        case "User" | "Group":
            if group != GROUP:
                yield causes.not_supported(f"{at}.apiGroup", group, [GROUP])
        case _:
            yield causes.not_supported(f"{at}.kind", kind, ["ServiceAccount", "User", "Group"])


def _identity(reference: Mapping[str, Any]) -> dict[str, Any]:
    """A roleRef as a real server shows it, which is by its own names of the fields."""
    return {
        shown: reference.get(key, "") for shown, key in (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
    }
