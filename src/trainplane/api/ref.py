"""Ref: the way to an object, by kind and name."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Ref(NamedTuple):
    """The way to an object: its kind, with group, and its name; the namespace is "" where the kind has none."""

    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Ref":
        """The Ref of an object."""
        metadata = raw.get("metadata") or {}
        return cls(
            group_of(raw.get("apiVersion", "")), raw.get("kind", ""), metadata.get("namespace", ""), metadata["name"]
        )


def group_of(api_version: str) -> str:
    """The group of an apiVersion; "" for core."""
    group, slash, _ = api_version.partition("/")
    return group if slash else ""
