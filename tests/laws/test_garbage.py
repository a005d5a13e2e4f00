"""Laws of garbage collection: whatever is deleted, and however, exactly what has no owner left goes with it."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.upkeep.town import config_map, opened
from trainplane.api.ref import Ref
from trainplane.upkeep.garbage import QUARANTINE, garbage

COLLECTORS = (garbage(),)
SIZE = 7

owners = st.tuples(*(st.sets(st.integers(0, i - 1), max_size=2) if i else st.just(set()) for i in range(SIZE)))
"""For each object which of those before it own it: any graph without circles."""
deletions = st.lists(
    st.tuples(st.integers(0, SIZE - 1), st.sampled_from(["Background", "Foreground", "Orphan"])), min_size=1, max_size=3
)
blocking = st.booleans()


def survivors(graph: tuple[set[int], ...], deleted: list[tuple[int, str]]) -> set[int]:
    """What should be left when one deletion follows the other and each comes to its end."""
    left, owned = set(range(SIZE)), [set(one) for one in graph]
    for number, how in deleted:
        if number not in left:
            continue
        left.discard(number)
        if how == "Orphan":
            owned = [one - {number} for one in owned]
        for i in range(SIZE):
            if i in left and owned[i] and not owned[i] & left:
                left.discard(i)
        owned = [one & left if i in left else one for i, one in enumerate(owned)]
    return left


@settings(max_examples=40)
@given(graph=owners, deleted=deletions, block=blocking)
def test_exactly_what_has_no_owner_left_goes(
    graph: tuple[set[int], ...], deleted: list[tuple[int, str]], block: bool
) -> None:
    async def story() -> set[int]:
        async with opened() as town:
            made: list[dict] = []
            for i, mine in enumerate(graph):
                made += await town.make(config_map(f"o{i}", *(made[j] for j in sorted(mine)), block=block))
            town.now += QUARANTINE
            for number, how in deleted:
                if f"o{number}" in await town.there("ConfigMap"):
                    await town.api.delete(Ref("", "ConfigMap", "ns", f"o{number}"), propagation=how)
                await town.settle(COLLECTORS)
            return {int(name[1:]) for name in await town.there("ConfigMap")}

    assert asyncio.run(story()) == survivors(graph, deleted)
