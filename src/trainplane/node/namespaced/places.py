"""Which cores a container with a limit sees: as many as the limit is worth, the least taken ones first."""

import math
from collections.abc import Collection, Sequence


class Places:
    """The cores of the machine, and how often each was given."""

    def __init__(self, cores: Collection[int]) -> None:
        self._given = dict.fromkeys(sorted(cores), 0)

    def take(self, cpus: float | None) -> list[int]:
        """The cores for a limit; none means that all are free to use."""
        if cpus is None or (count := max(1, math.ceil(cpus))) >= len(self._given):
            return []
        chosen = sorted(self._given, key=lambda core: (self._given[core], core))[:count]
        for core in chosen:
            self._given[core] += 1
        return chosen

    def give_back(self, cores: Sequence[int]) -> None:
        """Count a container's cores as free again."""
        for core in cores:
            self._given[core] -= 1
