"""Echoes: what a key wrote itself, told apart from what others write when it comes back by a watch."""

from dataclasses import dataclass, field

from trainplane.control.unseen import Key, Unseen, Version
from trainplane.control.waking import Sort


@dataclass(slots=True)
class _Act:
    """What was written for a key so far, and which changes asked for another look at it meanwhile, and for when."""

    wrote: set[Version] = field(default_factory=set)
    asked: list[tuple[Version, float]] = field(default_factory=list)


class Echoes:
    """The writes of final Decisions on their way back: they want no look at the key that they were made for."""

    def __init__(self, unseen: Unseen) -> None:
        self._unseen = unseen
        self._acts: dict[Key, _Act] = {}
        self._expected: dict[Version, Key] = {}

    def begin(self, key: Key) -> None:
        """A Decision about a key is carried out from now on."""
        self._acts[key] = _Act()

    def wrote(self, key: Key, version: Version) -> None:
        """An object was written for a key; this is what it is now, as the API answered."""
        act = self._acts.get(key)
        if act is not None:
            act.wrote.add(version)

    def heard(self, version: Version) -> Key | None:
        """A change has come; returns the key whose own it is and that wants no look for it."""
        return self._expected.pop(version, None) if self._expected else None

    def is_put_aside(self, key: Key, version: Version, *, due: float) -> bool:
        """Whether a wish to look at a key is kept until its Decision is carried out: it may be its own doing."""
        act = self._acts.get(key)
        if act is None:
            return False
        act.asked.append((version, due))
        return True

    def end(self, key: Key, *, final: bool) -> list[float]:
        """A Decision was carried out; returns for when others asked for a look at the key meanwhile."""
        act = self._acts.pop(key)
        if not final:
            return [due for _, due in act.asked]
        for ref, version in act.wrote:
            if self._unseen.is_ahead(ref, version):
                self._expected[ref, version] = key
        return [due for version, due in act.asked if version not in act.wrote]

    def listed(self, sort: Sort) -> None:
        """A kind is listed anew: what comes may have the changes of others in it beside our own."""
        for version in [version for version in self._expected if version[0][:2] == sort]:
            del self._expected[version]
