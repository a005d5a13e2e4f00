"""Plans that were built lately: every change of every pod asks for its TrainJob's again, and it is the same one."""

from collections import OrderedDict
from hashlib import sha256
from typing import NamedTuple, TypeVar

import msgspec

from trainplane.api.meta import Raw
from trainplane.reconcile.view import Ref
from trainplane.trainjob.pipeline import Surroundings, build
from trainplane.trainjob.plan import Plan

MOST = 128
"""How many are remembered; a Plan is as large as what it becomes."""
MOST_OUTLINES = 16_384
"""How many outlines are remembered: in a long queue every job is looked at in turn, and none of them changes."""
STILL = frozenset(("JobSet", "PodGroup", "Secret"))
"""Kinds of objects that are left as they are while their TrainJob is not suspended."""

T = TypeVar("T")
_encoder = msgspec.json.Encoder()


class Basis(NamedTuple):
    """All that a Plan is built from."""

    said: bytes
    """The sum of all that the job says."""
    runtime: Raw
    around: Surroundings

    def is_that_of(self, other: "Basis") -> bool:
        """Whether the same Plan comes of both."""
        # Nearly always the runtime is the very same.
        alike = self.runtime is other.runtime or self.runtime == other.runtime
        return alike and self.said == other.said and self.around == other.around


class Outline(NamedTuple):
    """What matters of the Plan of a job of one size while its objects are there."""

    refs: tuple[Ref, ...]
    ancestor: str
    """The replicated job that runs the TrainJob's command; "" where the runtime does not say."""
    nodes: int


class Plans:
    """A memory of Plans, one for each TrainJob."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, tuple[Basis, Plan]] = OrderedDict()
        self._outlines: OrderedDict[str, tuple[Basis, Outline]] = OrderedDict()

    def forget(self, job: Raw) -> None:
        """A TrainJob has ended: nobody asks for its Plan any more."""
        uid = job["metadata"].get("uid", "")
        self._made.pop(uid, None)
        self._outlines.pop(uid, None)

    def build(self, job: Raw, runtime: Raw, around: Surroundings) -> Plan:
        """The Plan of a TrainJob, built anew only where something has changed that it comes from; raises Refused."""
        uid, basis = job["metadata"].get("uid"), basis_of(job, runtime, around)
        if not uid:
            return build(job, runtime, around)
        plan = recalled(self._made, uid, basis)
        if plan is None:
            plan = build(job, runtime, around)
            keep(self._made, uid, (basis, plan), most=MOST)
            if outline := outline_of(plan):
                keep(self._outlines, uid, (basis, outline), most=MOST_OUTLINES)
        return plan

    def outline(self, job: Raw, runtime: Raw, around: Surroundings) -> Outline | None:
        """The outline of a Plan that was built of just this, where it is all that is needed."""
        uid, basis = job["metadata"].get("uid"), basis_of(job, runtime, around)
        return recalled(self._outlines, uid, basis) if uid else None


def basis_of(job: Raw, runtime: Raw, around: Surroundings) -> Basis:
    """What a Plan comes from."""
    metadata = job["metadata"]
    # Its generation would not do: a change that is refused, or only tried, has that of the one that comes after it.
    name = (metadata.get("namespace"), metadata["name"])
    said = (name, metadata.get("labels"), metadata.get("annotations"), job["spec"])
    return Basis(sha256(_encoder.encode(said)).digest(), runtime, around)


def outline_of(plan: Plan) -> Outline | None:
    """The outline of a Plan; None where its objects are to follow what happens."""
    if plan.size.min_nodes is not None or any(raw["kind"] not in STILL for raw in plan.objects):
        return None
    ancestor = plan.roles.ancestor
    return Outline(tuple(map(Ref.of, plan.objects)), ancestor.name if ancestor else "", plan.size.nodes)


def recalled(memory: OrderedDict[str, tuple[Basis, T]], uid: str, basis: Basis) -> T | None:
    """What is remembered of a job, if it was made of the same."""
    found = memory.get(uid)
    if found is None or not found[0].is_that_of(basis):
        return None
    memory[uid] = basis, found[1]
    memory.move_to_end(uid)
    return found[1]


def keep(memory: OrderedDict[str, T], uid: str, made: T, *, most: int) -> None:
    """Remember one more, and forget the one that was longest of no use."""
    memory[uid] = made
    memory.move_to_end(uid)
    if len(memory) > most:
        memory.popitem(last=False)
