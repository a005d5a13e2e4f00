"""Adopt: fields that we wrote when we made an object become fields that we apply, so that an apply can remove them.

A create leaves its fields to an Update of our name. Those of an Apply come beside it, so that a field which is left out
of the next apply stays as long as the Update has it. Before the first apply the one is turned into the other.
"""

from collections.abc import Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look


def takeover(raw: Raw, manager: str) -> list[Raw]:
    """The JSON patch that gives what a manager once wrote to what it applies; none where that is so already."""
    entries: list[Raw] = look(raw, "metadata", "managedFields") or []
    written = [entry for entry in entries if _is(entry, manager, "Update", raw)]
    if not written:
        return []
    applied = [entry for entry in entries if _is(entry, manager, "Apply", raw)]
    fields: Mapping[str, Any] = {}
    for entry in (*applied, *written):
        fields = _union(fields, entry.get("fieldsV1") or {})
    whole = {**written[-1], "operation": "Apply", "fieldsV1": fields}
    others = [entry for entry in entries if entry not in written and entry not in applied]
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": [whole, *others]},
        # Where somebody changed the object meanwhile the API refuses, and the next look tries again.
        {"op": "replace", "path": "/metadata/resourceVersion", "value": raw["metadata"]["resourceVersion"]},
    ]


def _is(entry: Raw, manager: str, operation: str, raw: Raw) -> bool:
    return (entry.get("manager"), entry.get("operation"), entry.get("subresource", ""), entry.get("apiVersion")) == (
        manager,
        operation,
        "",
        raw["apiVersion"],
    )


def _union(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _union(a.get(name, {}), b.get(name, {})) for name in dict.fromkeys((*a, *b))}
