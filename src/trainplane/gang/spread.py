"""Topology spread constraints: how evenly pods of a kind lie over the values of a node label."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trainplane.api.selectors import NOTHING, LabelQuery, Operator, Requirement, from_label_selector
from trainplane.gang.affinity import Term

UNEVEN = "node(s) didn't match pod topology spread constraints"
NO_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"


class Spread(msgspec.Struct, frozen=True):
    """One constraint: `term` says which pods are counted and over which label."""

    term: Term
    max_skew: int
    hard: bool
    min_domains: int = 1
    honours_selector: bool = True
    honours_taints: bool = False


def spreads(constraints: Any, *, namespace: str, labels: Mapping[str, str]) -> tuple[Spread, ...]:
    """The meaning of topologySpreadConstraints for a pod of this namespace and these labels; raises SelectorError."""
    found = []
    for raw in constraints or ():
        selector = raw.get("labelSelector")
        query = NOTHING if selector is None else from_label_selector(selector)
        own = [
            Requirement(key, Operator.IN, (labels[key],)) for key in raw.get("matchLabelKeys") or () if key in labels
        ]
        query = LabelQuery((*query.requirements, *own)) if own else query
        found.append(
            Spread(
                Term(frozenset((namespace,)), None, query, raw["topologyKey"]),
                raw["maxSkew"],
                raw.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule",
                raw.get("minDomains") or 1,
                raw.get("nodeAffinityPolicy", "Honor") == "Honor",
                raw.get("nodeTaintsPolicy", "Ignore") == "Honor",
            )
        )
    return tuple(found)


class Evenness(msgspec.Struct, frozen=True):
    """One constraint with its counts: how many pods each value of the label has now, and the least of them."""

    spread: Spread
    counts: Mapping[str, int]
    least: int
    itself: int
    """1 where the pod to be placed is counted too."""

    def reason(self, labels: Mapping[str, str]) -> str:
        """Why a node of these labels would make it uneven; "" where it would not."""
        value = labels.get(self.spread.term.key)
        if value is None:
            return NO_LABEL
        skew = self.counts.get(value, 0) + self.itself - self.least
        return UNEVEN if skew > self.spread.max_skew else ""


def evenness(spread: Spread, *, counts: Mapping[str, int], itself: bool) -> Evenness:
    """The constraint with its counts; `counts` has every value that an eligible node carries, with 0 too."""
    least = min(counts.values(), default=0) if len(counts) >= spread.min_domains else 0
    return Evenness(spread, counts, least, int(itself))
