"""Tables of objects, which `kubectl get` prints: columns by kind, a row for each object."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from trainplane.api.kinds import Column, Kind, kind_of
from trainplane.api.meta import Raw
from trainplane.cluster.ages import age
from trainplane.cluster.jsonpath import compiled
from trainplane.cluster.printers import NAME, PLAIN, PRINTERS, SCALE, Printer, Shown

META = "meta.k8s.io/v1"
INCLUDES = ("Metadata", "Object", "None")


def include_problem(include: str) -> str:
    """What a server answers, with 400, to an includeObject that it does not know; "" where it does."""
    if include in ("", *INCLUDES):
        return ""
    said = f"includeObject: Invalid value: {json.dumps(include)}: must be 'Metadata', 'Object', 'None', or empty"
    return f"Unable to convert to Table as requested: {said}"


@cache
def printer(api_version: str, kind: str) -> Printer:
    """How a kind is printed: as Kubernetes prints it, by its columns in the Kind table, or by name and age."""
    group = api_version.rpartition("/")[0]
    if (group, kind) == ("autoscaling", "Scale"):
        return SCALE
    known = PRINTERS.get((group, kind))
    if known is not None:
        return known
    row = kind_of(api_version, kind)
    return _by_columns(row) if row else PLAIN


def table(
    objects: Iterable[Mapping[str, Any]],
    *,
    api_version: str,
    kind: str,
    now: datetime,
    include: str = "",
    metadata: Raw | None = None,
    columns: bool = True,
    version: str = META,
) -> Raw:
    """A Table of objects of one kind.

    `metadata` is the list's own, or of one object its resourceVersion; `version` is the Table's apiVersion.
    Without `columns` they are left out, as in all events of a watch but the first. A bookmark is a row as well.
    """
    how = printer(api_version, kind)
    return {
        "kind": "Table",
        "apiVersion": version,
        "metadata": metadata or {},
        "columnDefinitions": [msgspec.to_builtins(column) for column in how.columns] if columns else None,
        "rows": [{"cells": how.cells(obj, now), "object": _row_object(obj, include, version)} for obj in objects],
    }


def partial(obj: Mapping[str, Any], version: str = META) -> Raw:
    """An object's metadata alone, as PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": obj["metadata"]}


def _row_object(obj: Mapping[str, Any], include: str, version: str) -> Any:
    if include == "None":
        return None
    return obj if include == "Object" else partial(obj, version)


def _by_columns(row: Kind) -> Printer:
    """The printer of a kind that a real cluster has from a CRD."""
    columns = row.columns or (Column("Age", ".metadata.creationTimestamp", "date"),)
    found = [(compiled(column.path), column.type) for column in columns]

    def cells(obj: Mapping[str, Any], now: datetime) -> list[Any]:
        return [obj["metadata"].get("name", ""), *(_cell(find(obj), type_, now) for find, type_ in found)]

    shown = (Shown(c.name, c.type, description=c.description, priority=c.priority) for c in columns)
    return Printer((NAME, *shown), cells)


def _cell(found: list[Any], type_: str, now: datetime) -> Any:
    """What a column shows of what its path found; a value of another type than the column's is left out."""
    value = found[0] if found else None
    if value is None:
        return None
    match type_:
        case "string":
            return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        case "date":
            return age(value, now) if isinstance(value, str) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "integer":
            return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case _:
            return None
