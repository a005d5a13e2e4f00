"""A document on its way into the hub's words: what it has become, what there is to say, and what moved where."""

import msgspec

from trainplane.api.problem import Path, Problem, Rule


class Move(msgspec.Struct, frozen=True):
    """A part of the converted document, and the part of the author's document it comes from."""

    new: Path
    old: Path
    whole: bool = True
    """What is inside moved along; not so where the part was added and `old` is merely the place that asked for it."""

    def back(self, path: Path) -> Path:
        """The author's path of a converted path at or below `new`."""
        return (*self.old, *path[len(self.new) :]) if self.whole else self.old


class Draft:
    """Collects notes and moves while the pieces of a document are rewritten; never changes what it was given."""

    def __init__(self) -> None:
        self.notes: list[Problem] = []
        self.moves: list[Move] = []

    def note(self, rule: Rule, path: Path, what: str, *, todo: str = "") -> None:
        """Say something about a place in the author's document."""
        self.notes.append(Problem(rule, path, what, todo))

    def moved(self, *, new: Path, old: Path) -> None:
        """Remember that what was at `old` is at `new` now."""
        self.moves.append(Move(new, old))

    def added(self, *, new: Path, old: Path) -> None:
        """Remember that `new` is there because of `old`."""
        self.moves.append(Move(new, old, whole=False))
