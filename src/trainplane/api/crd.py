"""CustomResourceDefinitions from the Kind table and the types' schemas."""

from trainplane.api.kinds import Column, Kind
from trainplane.api.meta import Raw
from trainplane.api.schema import whole


def crd(kind: Kind) -> Raw:
    """The CustomResourceDefinition of a kind."""
    names: Raw = {
        "kind": kind.kind,
        "listKind": kind.list_kind,
        "plural": kind.plural,
        "singular": kind.singular,
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    version: Raw = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
        "subresources": _subresources(kind),
        "schema": {"openAPIV3Schema": whole(kind.type)},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource, "labels": {"app.kubernetes.io/part-of": "trainplane"}},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [{key: value for key, value in version.items() if value or key in ("served", "storage")}],
        },
    }


def _column(column: Column) -> Raw:
    raw: Raw = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        raw["priority"] = column.priority
    if column.description:
        raw["description"] = column.description
    return raw


def _subresources(kind: Kind) -> Raw:
    raw: Raw = {}
    if kind.status:
        raw["status"] = {}
    if kind.scale:
        raw["scale"] = {
            "specReplicasPath": kind.scale.spec,
            "statusReplicasPath": kind.scale.status,
            "labelSelectorPath": kind.scale.selector,
        }
    return raw
