"""What the API server refuses in what pods say of where they go."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, not_supported, required
from trainplane.cluster.names import key_faults, label_faults, subdomain_faults, value_faults
from trainplane.cluster.selector_causes import selector_causes

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = ("Equal", "Exists", "Lt", "Gt")
_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
Spec = Mapping[str, Any]


def placement_causes(spec: Spec, at: str) -> Iterator[Cause]:
    """What is wrong with a pod's spec that stands at a path."""
    for key, value in (spec.get("nodeSelector") or {}).items():
        for fault in key_faults(key):
            yield invalid(f"{at}.nodeSelector", key, fault)
        for fault in value_faults(value):
            yield invalid(f"{at}.nodeSelector", value, fault)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from toleration_causes(toleration, f"{at}.tolerations[{index}]")
    yield from _node_affinity(look(spec, "affinity", "nodeAffinity") or {}, f"{at}.affinity.nodeAffinity")
    for side in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity(look(spec, "affinity", side) or {}, f"{at}.affinity.{side}")
    spread: list[tuple[Any, Any]] = []
    for index, each in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, pair = (
            f"{at}.topologySpreadConstraints[{index}]",
            (each.get("topologyKey"), each.get("whenUnsatisfiable")),
        )
        yield from _spread(each, where)
        if pair in spread:
            first = f"{at}.topologySpreadConstraints[{spread.index(pair)}]"
            yield duplicate(f"{first}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}")
        spread.append(pair)
    yield from _gates(spec, at)


def toleration_causes(raw: Spec, at: str) -> Iterator[Cause]:
    """What is wrong with a toleration that stands at a path."""
    key, operator, value, effect = (raw.get(name) or "" for name in ("key", "operator", "value", "effect"))
    given, operator = operator, operator or "Equal"
    for fault in key_faults(key) if key else ():
        yield invalid(f"{at}.key", key, fault)
    if not key and operator != "Exists":
        words = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{at}.operator", given, words)
    if raw.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{at}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator == "Equal":
        faults = list(value_faults(value))
        if faults:
            yield invalid(f"{at}.operator", value, ";".join(faults))
    elif operator == "Exists":
        if value:
            yield invalid(f"{at}.operator", value, "value must be empty when `operator` is 'Exists'")
    else:
        yield not_supported(f"{at}.operator", operator, _OPERATORS if operator in _OPERATORS else _OPERATORS[:2])
    if effect and effect not in _EFFECTS:
        yield not_supported(f"{at}.effect", effect, _EFFECTS)


def _node_affinity(raw: Spec, at: str) -> Iterator[Cause]:
    wanted = raw.get(_REQUIRED)
    if wanted is not None:
        terms = wanted.get("nodeSelectorTerms") or ()
        if not terms:
            words = "must have at least one node selector term"
            yield required(f"{at}.{_REQUIRED}.nodeSelectorTerms", words)
        for index, term in enumerate(terms):
            where = f"{at}.{_REQUIRED}.nodeSelectorTerms[{index}]"
            yield from _node_term(term, where)
            yield from _value_causes(term, where)
    for index, each in enumerate(raw.get(_PREFERRED) or ()):
        yield from _weight(each, f"{at}.{_PREFERRED}[{index}]")
        yield from _node_term(each.get("preference") or {}, f"{at}.{_PREFERRED}[{index}].preference")


def _node_term(term: Spec, at: str) -> Iterator[Cause]:
    for index, each in enumerate(term.get("matchExpressions") or ()):
        where, operator, values = (
            f"{at}.matchExpressions[{index}]",
            each.get("operator") or "",
            each.get("values") or (),
        )
        if operator in ("In", "NotIn") and not values:
            yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        if operator in ("Exists", "DoesNotExist") and values:
            yield forbidden(f"{where}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        if operator in ("Gt", "Lt") and len(values) != 1:
            yield required(f"{where}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
        if operator not in _NODE_OPERATORS:
            yield invalid(f"{where}.operator", operator, "not a valid selector operator")
        for fault in key_faults(each.get("key") or ""):
            yield invalid(f"{where}.key", each.get("key") or "", fault)
    for index, each in enumerate(term.get("matchFields") or ()):
        where = f"{at}.matchFields[{index}]"
        if each.get("operator") not in ("In", "NotIn"):
            yield invalid(f"{where}.operator", each.get("operator") or "", "not a valid selector operator")
        elif len(each.get("values") or ()) != 1:
            words = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield required(f"{where}.values", words)
        if each.get("key") != "metadata.name":
            yield invalid(f"{where}.key", each.get("key") or "", "not a valid field selector key")
            continue
        for number, name in enumerate(each.get("values") or ()):
            for fault in subdomain_faults(name):
                yield invalid(f"{where}.values[{number}]", name, fault)


def _value_causes(term: Spec, at: str) -> Iterator[Cause]:
    for index, each in enumerate(term.get("matchExpressions") or ()):
        for number, value in enumerate(each.get("values") or ()):
            for fault in value_faults(value):
                yield invalid(f"{at}.matchExpressions[{index}].values[{number}]", value, fault)


def _weight(raw: Spec, at: str) -> Iterator[Cause]:
    weight = raw.get("weight") or 0
    if not 1 <= weight <= 100:
        yield invalid(f"{at}.weight", weight, "must be in the range 1-100")


def _pod_affinity(raw: Spec, at: str) -> Iterator[Cause]:
    for index, term in enumerate(raw.get(_REQUIRED) or ()):
        yield from _pod_term(term, f"{at}.{_REQUIRED}[{index}]")
    for index, each in enumerate(raw.get(_PREFERRED) or ()):
        yield from _weight(each, f"{at}.{_PREFERRED}[{index}]")
        yield from _pod_term(each.get("podAffinityTerm") or {}, f"{at}.{_PREFERRED}[{index}].podAffinityTerm")


def _pod_term(term: Spec, at: str) -> Iterator[Cause]:
    for name in ("labelSelector", "namespaceSelector"):
        yield from selector_causes(term.get(name) or {}, f"{at}.{name}")
    for name in term.get("namespaces") or ():
        for fault in label_faults(name):
            yield invalid(f"{at}.namespace", name, fault)
    yield from _label_keys(term, at, ("matchLabelKeys", "mismatchLabelKeys"))
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{at}.topologyKey", "can not be empty")
    for fault in key_faults(key):
        yield invalid(f"{at}.topologyKey", key, fault)


def _spread(raw: Spec, at: str) -> Iterator[Cause]:
    skew, policy = raw.get("maxSkew") or 0, raw.get("whenUnsatisfiable") or ""
    if skew <= 0:
        yield invalid(f"{at}.maxSkew", skew, "must be greater than zero")
    if not raw.get("topologyKey"):
        yield required(f"{at}.topologyKey", "can not be empty")
    if policy not in ("DoNotSchedule", "ScheduleAnyway"):
        yield not_supported(f"{at}.whenUnsatisfiable", policy, ("DoNotSchedule", "ScheduleAnyway"))
    domains = raw.get("minDomains")
    if domains is not None:
        if domains <= 0:
            yield invalid(f"{at}.minDomains", domains, "must be greater than zero")
        if policy != "DoNotSchedule":
            words = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {policy}"
            yield invalid(f"{at}.minDomains", domains, words)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if raw.get(name) not in (None, "Honor", "Ignore"):
            yield not_supported(f"{at}.{name}", raw[name], ("Honor", "Ignore"))
    yield from _label_keys(raw, at, ("matchLabelKeys",))
    yield from selector_causes(raw.get("labelSelector") or {}, f"{at}.labelSelector")


def _label_keys(raw: Spec, at: str, names: tuple[str, ...]) -> Iterator[Cause]:
    """What is wrong with the keys of labels that a pod is compared by, beside a selector."""
    selector = raw.get("labelSelector")
    places: dict[str, int] = {}
    for name in names:
        keys = raw.get(name) or ()
        if keys and selector is None:
            yield forbidden(f"{at}.{name}", "must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(keys):
            places[key] = index
            for fault in key_faults(key):
                yield invalid(f"{at}.{name}[{index}]", key, fault)
    apart = raw.get("mismatchLabelKeys") or () if "mismatchLabelKeys" in names else ()
    for index, key in enumerate(raw.get("matchLabelKeys") or ()):
        if key in apart and selector is not None:
            words = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{at}.matchLabelKeys[{index}]", key, words)
    said = set(look(selector, "matchLabels") or ()) if places else set()
    for each in look(selector, "matchExpressions") or () if places else ():
        key = each.get("key")
        if key in places and key in said:
            # The server's own words and path: it means the key's place in its list.
            yield invalid(f"{at}[{places[key]}]", key, "exists in both matchLabelKeys and labelSelector")
        said.add(key)


def _gates(spec: Spec, at: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, where = gate.get("name") or "", f"{at}.schedulingGates[{index}]"
        for fault in key_faults(name):
            yield invalid(where, name, fault)
        if name in seen:
            yield duplicate(where, name)
        seen.add(name)
    if seen and spec.get("nodeName"):
        yield forbidden(f"{at}.nodeName", "cannot be set until all schedulingGates have been cleared")
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType") or ""
        for fault in key_faults(kind):
            yield invalid(f"{at}.readinessGates[{index}].conditionType", kind, fault)
