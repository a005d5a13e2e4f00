"""What the API server refuses in label selectors."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.cluster.causes import Cause, forbidden, invalid, required
from trainplane.cluster.names import key_faults, value_faults

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def selector_causes(selector: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What is wrong with a selector that stands at a path."""
    for key, value in (selector.get("matchLabels") or {}).items():
        for fault in key_faults(key):
            yield invalid(f"{at}.matchLabels", key, fault)
        for fault in value_faults(value):
            yield invalid(f"{at}.matchLabels", value, fault)
    for index, each in enumerate(selector.get("matchExpressions") or ()):
        where, operator, values = (
            f"{at}.matchExpressions[{index}]",
            each.get("operator") or "",
            each.get("values") or [],
        )
        if operator in ("In", "NotIn") and not values:
            yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        if operator in ("Exists", "DoesNotExist") and values:
            yield forbidden(f"{where}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        if operator not in _OPERATORS:
            yield invalid(f"{where}.operator", operator, "not a valid selector operator")
        for fault in key_faults(each.get("key") or ""):
            yield invalid(f"{where}.key", each.get("key") or "", fault)
        for number, value in enumerate(values):
            for fault in value_faults(value):
                yield invalid(f"{where}.values[{number}]", value, fault)
