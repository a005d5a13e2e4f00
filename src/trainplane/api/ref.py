"""Ref: the way to an object, by kind and name."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

_SHARED: dict[str, str] = {}
"""Kinds and namespaces, each once: Refs are kept by the thousand, and would keep the text that each was read from."""


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
        kind, namespace = raw.get("kind", ""), metadata.get("namespace", "")
        share = _SHARED.setdefault
        group = group_of(raw.get("apiVersion", ""))
        # As cls(...), past the function that takes the fields by name: this is called hundreds of times for each job.
        return tuple.__new__(cls, (group, share(kind, kind), share(namespace, namespace), metadata["name"]))


@lru_cache(maxsize=256)
def group_of(api_version: str) -> str:
    """The group of an apiVersion; "" for core."""
    group, slash, _ = api_version.partition("/")
    return group if slash else ""
