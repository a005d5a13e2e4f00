"""The queue on virtual time: who waits is woken when a key comes, or falls due."""

import asyncio
from datetime import timedelta

from trainplane.control import virtual
from trainplane.control.queue import BackOff, Queue


async def looks(queue: Queue[str], count: int) -> list[tuple[float, str]]:
    """The next keys, and when each was had."""
    found = []
    for _ in range(count):
        key = await queue.get()
        found.append((asyncio.get_running_loop().time(), key))
        queue.done(key)
    return found


def test_keys_come_when_they_are_due_and_in_that_order() -> None:
    async def main() -> list[tuple[float, str]]:
        queue: Queue[str] = Queue(asyncio.get_running_loop().time)
        queue.add("hour", after=timedelta(hours=1))
        queue.add("minute", after=60)
        queue.add("sooner", after=timedelta(days=1))
        queue.add("sooner", after=5)
        queue.add("now")
        return await looks(queue, 4)

    assert virtual.run(main()) == [(0, "now"), (5, "sooner"), (60, "minute"), (3600, "hour")]


def test_a_look_makes_an_earlier_wish_void() -> None:
    async def main() -> tuple[list[tuple[float, str]], int]:
        queue: Queue[str] = Queue(asyncio.get_running_loop().time)
        queue.add("a", after=60)
        queue.add("a")
        return await looks(queue, 1), queue.later

    assert virtual.run(main()) == ([(0, "a")], 0)


def test_a_key_that_keeps_failing_is_tried_less_and_less_and_a_success_forgets_it() -> None:
    async def main() -> list[float]:
        queue: Queue[str] = Queue(asyncio.get_running_loop().time, back_off=BackOff(first=1, most=5))
        delays = [queue.retry("a") for _ in range(5)]
        queue.forget("a")
        return [*delays, queue.retry("a"), queue.retry("a", at_least=30)]

    assert virtual.run(main()) == [1, 2, 4, 5, 5, 1, 30]


def test_two_workers_never_have_the_same_key() -> None:
    async def main() -> tuple[int, int]:
        queue: Queue[int] = Queue(asyncio.get_running_loop().time)
        running: set[int] = set()
        seen = 0

        async def work() -> None:
            nonlocal seen
            while True:
                key = await queue.get()
                assert key not in running
                running.add(key)
                await asyncio.sleep(1)
                running.remove(key)
                seen += 1
                queue.done(key)

        async with asyncio.TaskGroup() as tasks:
            workers = [tasks.create_task(work()) for _ in range(4)]
            for moment in range(40):
                queue.add(moment % 3)
                await asyncio.sleep(0.1)
            await asyncio.sleep(60)
            for worker in workers:
                worker.cancel()
        return seen, len(queue) + queue.running + queue.later

    seen, left = virtual.run(main())
    assert left == 0
    assert 12 <= seen <= 16, "about four seconds of changes, three keys, a second a look, and one more look each"


def test_a_worker_that_is_cancelled_passes_on_what_woke_it() -> None:
    async def main() -> str:
        queue: Queue[str] = Queue(asyncio.get_running_loop().time)
        async with asyncio.TaskGroup() as tasks:
            first, second = (tasks.create_task(queue.get()) for _ in range(2))
            await asyncio.sleep(1)
            queue.add("a")
            first.cancel()
            return await asyncio.wait_for(second, 10)

    assert virtual.run(main()) == "a"


def test_many_wishes_for_one_key_are_remembered_once() -> None:
    now = 0.0
    queue: Queue[str] = Queue(lambda: now)
    for i in range(10_000):
        queue.add("a", after=10_000 - i)
    assert queue.later == 1
    assert len(queue._heap) < 200


def test_keys_that_are_put_off_to_one_moment_again_and_again_are_remembered_once_each() -> None:
    queue: Queue[int] = Queue(lambda: 0.0)
    for _ in range(20):
        for key in range(500):
            queue.add(key, after=60)
            queue.add(key, after=60)
            queue.add(key)
            queue.take()
            queue.add(key, after=60)
            queue.done(key)
    assert queue.later == 500
    assert len(queue._heap) < 1200
