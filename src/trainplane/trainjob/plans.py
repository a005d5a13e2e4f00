"""Plans that were built lately: every change of every pod asks for its TrainJob's again, and it is the same one."""

from collections import OrderedDict
from typing import Any, NamedTuple

from trainplane.api.meta import Raw
from trainplane.trainjob.pipeline import Surroundings, build
from trainplane.trainjob.plan import Plan

MOST = 128
"""How many are remembered; a Plan is as large as what it becomes."""


class _Made(NamedTuple):
    """A Plan, and all that it was built from."""

    said: tuple[Any, ...]
    runtime: Raw
    around: Surroundings
    plan: Plan


class Plans:
    """A memory of Plans, one for each TrainJob."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, _Made] = OrderedDict()

    def forget(self, job: Raw) -> None:
        """A TrainJob has ended: nobody asks for its Plan any more."""
        self._made.pop(job["metadata"].get("uid", ""), None)

    def build(self, job: Raw, runtime: Raw, around: Surroundings) -> Plan:
        """The Plan of a TrainJob, built anew only where something has changed that it comes from; raises Refused."""
        metadata = job["metadata"]
        uid, generation = metadata.get("uid"), metadata.get("generation")
        if not uid or not generation:
            return build(job, runtime, around)
        # Labels and annotations change without a new generation, and the size may have been brought within bounds.
        said = (generation, metadata.get("labels"), metadata.get("annotations"), job["spec"].get("trainer"))
        made = self._made.get(uid)
        if made is not None and made.runtime is runtime and made.said == said and made.around == around:
            self._made.move_to_end(uid)
            return made.plan
        plan = build(job, runtime, around)
        self._made[uid] = _Made(said, runtime, around, plan)
        self._made.move_to_end(uid)
        if len(self._made) > MOST:
            self._made.popitem(last=False)
        return plan
