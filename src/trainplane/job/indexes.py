"""Sets of completion indexes in the form the API writes them: `1,3-5,7`."""

from collections.abc import Iterable, Iterator


class Malformed(ValueError):
    """A text that is not a list of indexes, and why."""


def parse(text: str, *, below: int | None = None) -> frozenset[int]:
    """The indexes of a text; those that are not below a bound are left out. Raises Malformed."""
    found: set[int] = set()
    for first, last in intervals(text):
        found.update(range(first, min(last + 1, below) if below is not None else last + 1))
    return frozenset(found)


def intervals(text: str) -> Iterator[tuple[int, int]]:
    """The first and last index of each part of a text, which must increase. Raises Malformed."""
    highest = -1
    for part in text.split(",") if text else ():
        words = part.split("-")
        if len(words) > 2 or not all(word.isascii() and word.isdigit() and len(word) <= 10 for word in words):
            raise Malformed(f"{part!r} is neither an index nor a range of them, such as 3-5")
        first, last = int(words[0]), int(words[-1])
        if len(words) == 2 and first >= last:
            raise Malformed(f"{part!r} does not go upwards")
        if first <= highest:
            raise Malformed(f"{part!r} is not above {highest}, which comes before it")
        highest = last
        yield first, last


def write(indexes: Iterable[int]) -> str:
    """The shortest text for a set of indexes: three or more in a row become a range, two stay two."""
    parts: list[str] = []
    for first, last in _runs(sorted(set(indexes))):
        if last - first >= 2:
            parts.append(f"{first}-{last}")
        else:
            parts.extend(map(str, range(first, last + 1)))
    return ",".join(parts)


def _runs(ordered: list[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each row of neighbours."""
    start = 0
    for i, index in enumerate(ordered):
        if i + 1 == len(ordered) or ordered[i + 1] != index + 1:
            yield ordered[start], index
            start = i + 1
