"""Pods near pods: affinity and anti-affinity terms as questions that a pod either answers or not."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.selectors import NOTHING, LabelQuery, Operator, Requirement, from_label_selector

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Namespaces = Mapping[str, Mapping[str, str]]
"""The labels of every namespace."""


class Term(msgspec.Struct, frozen=True):
    """Which pods a term speaks of, and the node label within whose values they count as near."""

    namespaces: frozenset[str]
    among: LabelQuery | None
    """Namespaces by their labels, beside those named."""
    query: LabelQuery
    key: str

    def selects(self, namespace: str, labels: Mapping[str, str], namespaces: Namespaces) -> bool:
        """Whether a pod of these labels in this namespace is meant."""
        if namespace not in self.namespaces and (
            self.among is None or not self.among.matches(namespaces.get(namespace, {}))
        ):
            return False
        return self.query.matches(labels)


class Neighbours(msgspec.Struct, frozen=True):
    """All that a pod asks of pods near it; `likes` weigh, and below zero they are dislikes."""

    near: tuple[Term, ...] = ()
    apart: tuple[Term, ...] = ()
    likes: tuple[tuple[int, Term], ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is asked at all."""
        return bool(self.near or self.apart or self.likes)


NOBODY = Neighbours()


def neighbours(affinity: Mapping[str, Any] | None, *, namespace: str, labels: Mapping[str, str]) -> Neighbours:
    """What an affinity asks of other pods, for a pod of this namespace and these labels; raises SelectorError."""
    near, apart = (affinity or {}).get("podAffinity") or {}, (affinity or {}).get("podAntiAffinity") or {}
    if not near and not apart:
        return NOBODY
    return Neighbours(
        tuple(term(raw, namespace=namespace, labels=labels) for raw in near.get(REQUIRED) or ()),
        tuple(term(raw, namespace=namespace, labels=labels) for raw in apart.get(REQUIRED) or ()),
        (
            *_weighted(near.get(PREFERRED), 1, namespace=namespace, labels=labels),
            *_weighted(apart.get(PREFERRED), -1, namespace=namespace, labels=labels),
        ),
    )


def _weighted(terms: Any, sign: int, *, namespace: str, labels: Mapping[str, str]) -> Iterator[tuple[int, Term]]:
    for raw in terms or ():
        yield sign * raw["weight"], term(raw["podAffinityTerm"], namespace=namespace, labels=labels)


def term(raw: Raw, *, namespace: str, labels: Mapping[str, str]) -> Term:
    """The meaning of a PodAffinityTerm; without any namespace it speaks of the pod's own."""
    named, chosen = raw.get("namespaces") or (), raw.get("namespaceSelector")
    selector = raw.get("labelSelector")
    query = NOTHING if selector is None else from_label_selector(selector)
    more = [
        Requirement(key, operator, (labels[key],))
        for field, operator in (("matchLabelKeys", Operator.IN), ("mismatchLabelKeys", Operator.NOT_IN))
        for key in raw.get(field) or ()
        if key in labels
    ]
    return Term(
        frozenset(named or (() if chosen is not None else (namespace,))),
        None if chosen is None else from_label_selector(chosen),
        LabelQuery((*query.requirements, *more)) if more else query,
        raw["topologyKey"],
    )


def selecting_keys(affinity: Mapping[str, Any] | None) -> Iterator[str]:
    """The pod's own labels that its terms depend on."""
    for kind in ("podAffinity", "podAntiAffinity"):
        asked = (affinity or {}).get(kind) or {}
        weighted = [one["podAffinityTerm"] for one in asked.get(PREFERRED) or ()]
        for raw in [*(asked.get(REQUIRED) or ()), *weighted]:
            yield from raw.get("matchLabelKeys") or ()
            yield from raw.get("mismatchLabelKeys") or ()
