"""Who submitted an object: noted when it is made, as the request has proved it, and fixed from then on."""

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.trainer import SUBMITTER
from trainplane.cluster.access import MASTERS, User

SIGNED = frozenset({"trainjobs.trainer.kubeflow.org"})
"""The resources whose objects are noted so."""


def signed(new: Raw, old: Raw | None, *, resource: str, user: User) -> Raw:
    """The object with its submitter; what anybody but an administrator says of that counts for nothing."""
    if resource not in SIGNED or MASTERS in user.groups:
        return new
    said = look(new, "metadata", "annotations") or {}
    name = user.name if old is None else (look(old, "metadata", "annotations") or {}).get(SUBMITTER)
    if said.get(SUBMITTER) == name:
        return new
    kept = {key: value for key, value in said.items() if key != SUBMITTER}
    return {**new, "metadata": {**new["metadata"], "annotations": {**kept, **({SUBMITTER: name} if name else {})}}}
