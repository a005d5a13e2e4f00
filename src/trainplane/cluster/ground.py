"""What the verbs stand on: the Store, the kinds, the clock, and the sources of uids and of chance."""

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.api.times import stamp
from trainplane.cluster.access import User
from trainplane.cluster.admission import Admission, Lookup
from trainplane.cluster.errors import InternalError
from trainplane.cluster.log import Change, Key, Stored, Unwritable, Write
from trainplane.cluster.options import Options
from trainplane.cluster.store import Store
from trainplane.cluster.views import View, views

SYSTEM = User("system:trainplane", ("system:masters", "system:authenticated"))
"""Who calls from within this process."""


class Call(msgspec.Struct, frozen=True):
    """One verb on one kind, and who asks for it."""

    row: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    options: Options = msgspec.field(default_factory=Options)
    user: User = SYSTEM
    manager: str = ""
    """Who owns what is written, where the options do not say."""
    through: View | None = None
    """The view that was asked for, where `row` is the kind behind it."""

    @property
    def asked(self) -> Kind:
        """The kind that was asked for, which refusals name."""
        return self.through.row if self.through else self.row

    @property
    def key(self) -> Key:
        """Where the object is."""
        return Key(self.row.resource, sys.intern(self.namespace), self.name)

    @property
    def is_dry(self) -> bool:
        """Whether nothing is to be kept."""
        return bool(self.options.dry_run)


class Note(str):
    """A warning that is for the audit log alone."""

    __slots__ = ()


class Answer(msgspec.Struct, frozen=True):
    """What a verb answers with: JSON as it is stored where that can be had, else an object; and what to warn of."""

    code: int
    object: Raw
    encoded: bytes | None = None
    warnings: tuple[str, ...] = ()


Companions = Callable[[Raw], Iterable[Raw]]
"""What every new namespace holds from the start."""


class Ground:
    """The world of the verbs."""

    def __init__(
        self,
        store: Store,
        *,
        kinds: Iterable[Kind],
        admission: Mapping[str, Admission],
        now: Callable[[], datetime],
        uid: Callable[[], str],
        place: Callable[[int], int],
        companions: Companions = lambda _: (),
    ) -> None:
        """`place` picks a number below the one it is given, for names and addresses."""
        self.store = store
        self.admission = admission
        self.now = now
        self.uid = uid
        self.place = place
        self.companions = companions
        self.check_grant: Callable[[User, Raw], None] = lambda _user, _raw: None
        """Raises Forbidden where a user may not store a role or a binding; whoever knows the roles puts it here."""
        self.keeps_owners = True
        """Whether it is noted who owns which field; where nobody but controllers ever writes, nobody asks."""
        rows = tuple(kinds)
        self.views = views(rows)
        self._by_kind: dict[tuple[str, str], Kind] = {}
        for row in rows:
            self._by_kind.setdefault((row.group, row.kind), row)

    def row(self, group: str, kind: str) -> Kind | None:
        """The served kind of a group."""
        return self._by_kind.get((group, kind))

    async def write(self, *writes: Write) -> tuple[Change, ...]:
        """Write to the Store; a disk that takes nothing in is told as the API tells of it, in this process too."""
        try:
            return await self.store.write(*writes)
        except Unwritable as error:
            raise InternalError(str(error)) from error

    def find(self, key: Key) -> Stored | None:
        """What is stored at a key."""
        return self.store.get(key)

    def lookup(self, ref: Ref) -> Raw | None:
        """The object of a Ref, read live."""
        view = self.views.get((ref.group, ref.kind))
        row = view.stored if view else self.row(ref.group, ref.kind)
        stored = self.store.get(Key(row.resource, ref.namespace, ref.name)) if row else None
        return stored.object if stored else None

    @property
    def looking(self) -> Lookup:
        """The lookup, as admission is given it."""
        return self.lookup

    def stamp(self) -> str:
        """The time as metadata has it, in whole seconds."""
        return stamp(self.now())


Verb = Callable[[Call, Any], Awaitable[Answer]]
