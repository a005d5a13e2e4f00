"""What pods and nodes use, over HTTP: the metrics API, which is read-only and made up at each request."""

from collections.abc import Iterable
from typing import Protocol

from trainplane.api.meta import Raw
from trainplane.api.selectors import SelectorError, parse_labels
from trainplane.cluster.errors import BadRequest, MethodNotAllowed, NotFound
from trainplane.cluster.wire import Request

GROUP = "metrics.k8s.io"


class Measures(Protocol):
    """What is measured: by whom the server does not know."""

    def pods(self) -> Iterable[Raw]:
        """The PodMetrics there are."""
        ...

    def nodes(self) -> Iterable[Raw]:
        """The NodeMetrics there are."""
        ...


def answer(asked: Request, measures: Measures | None) -> Raw:
    """The PodMetrics or NodeMetrics that were asked for, or a list of them."""
    kind = {"pods": "PodMetrics", "nodes": "NodeMetrics"}[asked.resource]
    if asked.verb not in ("get", "list") or asked.subresource:
        raise MethodNotAllowed
    found = list(measures.pods() if asked.resource == "pods" else measures.nodes()) if measures else []
    if asked.namespace:
        found = [raw for raw in found if raw["metadata"].get("namespace") == asked.namespace]
    if asked.name:
        named = [raw for raw in found if raw["metadata"]["name"] == asked.name]
        if not named:
            raise NotFound.of(f"{asked.resource}.{GROUP}", asked.name)
        return named[0]
    if asked.options.label_selector:
        try:
            query = parse_labels(asked.options.label_selector)
        except SelectorError as error:
            raise BadRequest(f"labelSelector: {error}") from None
        found = [raw for raw in found if query.matches(raw["metadata"].get("labels") or {})]
    items = sorted(found, key=lambda raw: (raw["metadata"].get("namespace", ""), raw["metadata"]["name"]))
    return {"kind": f"{kind}List", "apiVersion": f"{GROUP}/v1beta1", "metadata": {}, "items": items}
