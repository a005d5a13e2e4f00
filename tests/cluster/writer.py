"""A process that writes into a store until it is killed, and says what was acknowledged and what a watch has told.

`python -m tests.cluster.writer FOLDER SEED [SECONDS]` prints a line for each: `ack REVISION SUM` when a write has
returned, `saw REVISION SUM` when the watch tells of a change; the sum is that of the change's text.
"""

import asyncio
import os
import random
import sys
import time
import zlib
from pathlib import Path

from tests.cluster.stores import gone, key, put
from trainplane.cluster.keep import Keep
from trainplane.cluster.log import Change, Conflict, StoreError
from trainplane.cluster.sqlite import Disk
from trainplane.cluster.store import Store, Watch

WRITERS = 16
NAMES = 12
KEEP = Keep(revisions=100_000, seconds=3600, size=1 << 30)


def say(word: str, *changes: Change) -> None:
    """Print a line for each change at once; what a killed process has said is in the pipe."""
    lines = "".join(f"{word} {change.revision} {zlib.crc32(change.value)}\n" for change in changes)
    os.write(1, lines.encode())


async def write(store: Store, dice: random.Random, end: float) -> None:
    """Create, update and delete a few objects over and over, one or several at a time."""
    while time.monotonic() < end:
        wishes = []
        for name in dice.sample(range(NAMES), dice.choice((1, 1, 1, 3))):
            there = store.get(key(f"p-{name}"))
            if there and dice.random() < 0.3:
                wishes.append(gone(there.key, there.revision))
            else:
                text = "x" * dice.choice((10, 1000, 9000))
                wishes.append(put(key(f"p-{name}"), there.revision if there else 0, text=text, dice=dice.random()))
        try:
            changes = await store.write(*wishes)
        except Conflict:
            continue
        say("ack", *changes)


async def tell(watch: Watch) -> None:
    """Say what the watch tells."""
    async for changes in watch:
        say("saw", *changes)


async def main(folder: Path, seed: int, seconds: float = 30.0) -> None:
    """Write and watch until killed, for a bounded time."""
    end = time.monotonic() + seconds
    with Disk(folder, now=time.time) as disk:
        store = Store(disk, now=time.time, keep=KEEP)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(store.run())
            tasks.create_task(tell(store.watch("pods", since=store.revision)))
            async with asyncio.TaskGroup() as writers:
                for number in range(WRITERS):
                    writers.create_task(write(store, random.Random(seed * WRITERS + number), end))
            store.close()


if __name__ == "__main__":
    try:
        asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:])))
    except StoreError as error:
        sys.exit(str(error))
