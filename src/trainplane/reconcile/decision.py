"""Decision: what a controller wants done, as values; `control.act` carries it out."""

from collections.abc import Iterable
from datetime import timedelta
from typing import TypeAlias

import msgspec

from trainplane.api.meta import Raw
from trainplane.reconcile.view import Ref


class Create(msgspec.Struct, frozen=True):
    """Make the object; one of that name that exists already is left alone and reported."""

    object: Raw
    generate: tuple[str, ...] = ()
    """What only the acting side can make, such as `ssh-keys`: entropy is never drawn where decisions are taken."""
    complaint: str = ""
    """The reason of the Warning event about the owner where a server refuses the object; "" leaves it to the actor."""
    shared: bool = False
    """Whether an object of that name serves, whoever made it."""


class Apply(msgspec.Struct, frozen=True):
    """Own these fields of an object that exists under this uid; never brings a deleted object back."""

    object: Raw
    uid: str
    complaint: str = ""
    """As for Create."""


class Patch(msgspec.Struct, frozen=True):
    """Change an object that is not ours to own, by JSON merge patch, such as the size of a child Job."""

    ref: Ref
    patch: Raw
    uid: str
    subresource: str = ""
    keyed: bool = False
    """Items of lists are told apart by their keys: a condition is set, and those that others write meanwhile stay.

    That is a strategic merge patch, which only kinds that no CRD defines have.
    """


class Delete(msgspec.Struct, frozen=True):
    """Delete the object of this uid."""

    ref: Ref
    uid: str
    propagation: str = "Background"


class SetStatus(msgspec.Struct, frozen=True):
    """Make this the object's status."""

    ref: Ref
    status: Raw
    uid: str
    version: str = ""
    """The resourceVersion it was made from: where another is stored by now nothing is written; "" writes over any."""
    after_all: bool = False
    """Written only where everything decided before it was done: a status that tells of it must not be ahead of it."""
    can_wait: bool = False
    """May be left to the next look where something is made at this one, for that will change it again."""


class Bind(msgspec.Struct, frozen=True):
    """Place a pod on a node."""

    pod: Ref
    node: str


class Record(msgspec.Struct, frozen=True):
    """An Event about an object."""

    regarding: Ref
    type: str
    reason: str
    note: str


Action: TypeAlias = Create | Apply | Patch | Delete | SetStatus | Bind | Record


class Decision(msgspec.Struct, frozen=True):
    """Everything a controller wants after one look at the world, in order, and when to look again."""

    actions: tuple[Action, ...] = ()
    again: timedelta | None = msgspec.field(default=None)
    final: bool = False
    """Nothing is left to do until somebody else changes something: what is written here wants no look of its own."""

    @classmethod
    def of(cls, actions: Iterable[Action], *, again: timedelta | None = None, final: bool = False) -> "Decision":
        """A Decision of these actions."""
        done = tuple(actions)
        return cls(done, again, final and bool(done))


NOTHING = Decision()
