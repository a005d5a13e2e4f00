"""Virtual time passes when nobody has anything to do, and only then."""

import asyncio
from datetime import timedelta

import pytest

from trainplane.control import virtual
from trainplane.control.virtual import START, Stuck, VirtualClock


def test_an_hour_of_sleep_is_an_hour_on_the_clock() -> None:
    async def main() -> timedelta:
        clock = VirtualClock()
        await asyncio.sleep(3600)
        return clock.now() - START

    assert virtual.run(main()) == timedelta(hours=1)


def test_sleepers_wake_in_the_order_of_their_times() -> None:
    order: list[float] = []

    async def nap(seconds: float) -> None:
        await asyncio.sleep(seconds)
        order.append(seconds)

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for seconds in (30, 0.001, 7200, 1):
                tasks.create_task(nap(seconds))

    virtual.run(main())
    assert order == [0.001, 1, 30, 7200]


def test_who_waits_for_nothing_is_told_so() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck, match="nothing is due"):
        virtual.run(main())
