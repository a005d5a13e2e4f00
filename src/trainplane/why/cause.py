"""Cause: what keeps a TrainJob from going on, since when, and what to do about it."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

import msgspec

from trainplane.api.times import stamp
from trainplane.reconcile.view import Ref
from trainplane.why.scene import Scene


class Cause(msgspec.Struct, frozen=True):
    """One cause: its id, what is the matter with names and numbers, since when, the way out, and what it is about."""

    id: str
    sentence: str
    todo: str
    since: datetime | None = None
    objects: tuple[Ref, ...] = ()

    def told(self) -> str:
        """The cause in one sentence; times are absolute, so that it stays the same while nothing changes."""
        when = f" (since {stamp(self.since)})" if self.since else ""
        return f"{self.sentence}{when}; {self.todo}"


Check: TypeAlias = Callable[[Scene], Cause | None]
"""Looks at a scene for one kind of cause."""
