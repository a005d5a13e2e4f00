"""Quotas: what a new object would use of a namespace's ResourceQuotas, refused where it is too much.

What is used is counted from the objects themselves. The quota is written together with the object that it admits, so
that of two objects which fit only one at a time the second is counted again.
"""

from collections.abc import Iterable, Mapping

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.quantity import ZERO, Amount, amounts, spell, total
from trainplane.api.quota_use import in_scope, lacking, used_by
from trainplane.api.raw import look
from trainplane.cluster.errors import Forbidden
from trainplane.cluster.log import Stored, Write, body
from trainplane.cluster.store import Store


def charges(store: Store, row: Kind, new: Raw) -> list[Write]:
    """The quotas as they are with a new object; raises Forbidden where one has no room for it."""
    namespace, name = new["metadata"].get("namespace", ""), new["metadata"].get("name", "")
    if not namespace or not store.count("resourcequotas", namespace=namespace):
        return []
    writes = []
    for stored in store.list("resourcequotas", namespace=namespace).items:
        quota, spec = stored.object, stored.object.get("spec") or {}
        hard = amounts(spec.get("hard") or {})
        asked = {key: amount for key, amount in used_by([new], row, spec).items() if key in hard}
        if row.kind == "Pod" and not row.group and in_scope(new, spec):
            _check_given(new, hard, quota=quota["metadata"]["name"])
        if not asked:
            continue
        found = (each.object for each in store.list(row.resource, namespace=namespace).items)
        used = {key: amount for key, amount in used_by(found, row, spec).items() if key in hard}
        over = [key for key in sorted(asked) if used.get(key, ZERO) + asked[key] > hard[key]]
        if over:
            parts = (f"exceeded quota: {quota['metadata']['name']}", f"requested: {_shown(over, asked)}")
            words = ", ".join((*parts, f"used: {_shown(over, used)}", f"limited: {_shown(over, hard)}"))
            raise Forbidden.of(row.resource, name, words)
        writes.append(_charged(stored, hard, total([used, asked])))
    return writes


def _shown(names: Iterable[str], values: Mapping[str, Amount]) -> str:
    return ",".join(f"{name}={values.get(name, ZERO)}" for name in names)


def _charged(stored: Stored, hard: Mapping[str, Amount], used: Mapping[str, Amount]) -> Write:
    quota = stored.object
    before = look(quota, "status", "used") or {}
    told = {name: str(used[name]) if name in used else before.get(name, "0") for name in hard}
    return Write(stored.key, body({**quota, "status": {"hard": spell(hard), "used": told}}), stored.revision)


def _check_given(pod: Raw, hard: Mapping[str, Amount], *, quota: str) -> None:
    """Refuse a pod whose containers do not say how much they need of what is limited; raises Forbidden."""
    if told := lacking(pod.get("spec") or {}, hard):
        name = pod["metadata"].get("name", "")
        raise Forbidden.of("pods", name, f"failed quota: {quota}: must specify {told}")
