"""Memo: what was worked out lately, so that it is not worked out again; bounded, and for values that never change."""

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Memo(Generic[T]):
    """What was worked out lately: the newest, at least `most` of them and at most twice as many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._new: dict[Hashable, T] = {}
        self._older: dict[Hashable, T] = {}

    def get(self, key: Hashable) -> T | None:
        """What was put there, if it is remembered."""
        found = self._new.get(key)
        if found is None and (found := self._older.get(key)) is not None:
            self.put(key, found)
        return found

    def put(self, key: Hashable, value: T) -> None:
        """Remember something; it is shared by all who ask, so it must be nothing that can be changed."""
        if len(self._new) >= self._most:
            self._older, self._new = self._new, {}
        self._new[key] = value
