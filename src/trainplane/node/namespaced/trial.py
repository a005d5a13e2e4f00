"""Trial: whether a machine lets a fork server make containers, found out by having it make one."""

import os
import shutil
from pathlib import Path

from trainplane.api.ref import Ref
from trainplane.node.namespaced import minder
from trainplane.node.namespaced.client import Line
from trainplane.node.namespaced.orders import Orders, box_order
from trainplane.node.runner import Box, NotStarted, Program, Stdio, Unable

NAME = "trial"
REFUSED = "containers cannot be made here"


class Trial:
    """A container around a program that does not exist: where only that is missing, all the rest works."""

    def __init__(self, folder: Path, *, address: str) -> None:
        """`folder` is where it may have its own, and `address` is nobody else's."""
        self._own = folder / NAME
        self._address = address
        self._box = Box(Ref("", "Pod", NAME, NAME), NAME, NAME, self._own)

    def ask(self, line: Line, orders: Orders) -> None:
        """Have it made; raises Unable."""
        program = Program(NAME, ("/proc/1/none",), {})
        try:
            self._own.mkdir(exist_ok=True)
            with open(os.devnull, "r+b") as nothing:
                stdio = Stdio(*(nothing.fileno(),) * 3)
                order = orders.container_order(self._box, program, stdio, addresses=(self._address,))
                line.ask("make", **box_order(self._box, address=self._address))
                line.ask("start", files=(nothing.fileno(),) * 3, id=NAME, **order)
        except (NotStarted, OSError) as error:
            raise Unable(f"{REFUSED}: {error}") from error

    def judge(self, line: Line) -> None:
        """Wait for what becomes of it, and remove it; raises Unable where it cannot be made."""
        refused = [why for why in (line.refused(), line.refused()) if why]
        if not refused:
            said = line.begun()
            if said["event"] == "failed" and said["reason"] != minder.START:
                refused.append(said["message"])
        line.ask("remove", uid=self._box.uid)
        line.refused()
        shutil.rmtree(self._own, ignore_errors=True)
        if refused:
            raise Unable(f"{REFUSED}: {refused[0]}")
