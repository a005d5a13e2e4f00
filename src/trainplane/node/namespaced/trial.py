"""Trial: whether a machine lets a Runner make containers, found out by making one."""

import asyncio
import os
import shutil
from pathlib import Path

from trainplane.api.ref import Ref
from trainplane.node.runner import START_ERROR, Box, NotStarted, Program, Runner, Stdio, Unable

NAME = "trial"


async def try_out(runner: Runner, folder: Path) -> None:
    """Make a container around a program that does not exist: where only that is missing, all the rest works.

    `folder` is where it may have its own. Raises Unable.
    """
    own = folder / NAME
    own.mkdir(exist_ok=True)
    box = Box(Ref("", "Pod", NAME, NAME), NAME, NAME, own)
    try:
        await runner.make(box)
        with open(os.devnull, "r+b") as nothing:
            stdio = Stdio(nothing.fileno(), nothing.fileno(), nothing.fileno())
            await runner.start(box, Program(NAME, ("/proc/1/none",), {}), stdio)
    except NotStarted as error:
        if error.reason != START_ERROR:
            raise Unable(f"containers cannot be made here: {error.message}") from error
    finally:
        await runner.remove(box)
        await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)
