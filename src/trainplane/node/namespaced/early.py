"""Early: a fork server that is started and tried out while the process that wants it still loads all the rest."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from trainplane.node.namespaced import cgroups
from trainplane.node.namespaced.addresses import GATEWAY, Addresses
from trainplane.node.namespaced.channel import Closed, Message
from trainplane.node.namespaced.client import tell_ahead
from trainplane.node.namespaced.leftovers import Notes, label
from trainplane.node.namespaced.orders import Orders
from trainplane.node.namespaced.trial import Trial
from trainplane.node.runner import Unable


class Begun(NamedTuple):
    """What is done already of the start of a Runner."""

    swept: list[str]
    """The pods of a former life that were ended."""
    groups: cgroups.Cgroups | None
    trial: Trial | None


_BEGUN: dict[Path, Begun] = {}
"""By the folder of the Runner."""


def begin(folder: Path) -> None:
    """Have the interpreter that was started ahead for the Runner in a folder begin; nobody else may have the folder.

    An ordinary user's fork server needs to be spoken with at its start, and waits for whoever does.
    """
    if os.geteuid():
        return
    uids, groups = swept(folder)
    trial = Trial(folder, address=Addresses().take())
    # Nearly every machine can have users in namespaces; where one cannot, there is another trial.
    orders = Orders(folder, rootless=False, has_ranges=False, has_users=True, has_egress=True)
    try:
        line = tell_ahead(folder, hello(groups, rootless=False, ranges=None))
        trial.ask(line, orders)
    except (Unable, Closed):
        # Whoever speaks with it next is told why.
        _BEGUN[folder] = Begun(uids, groups, None)
    else:
        _BEGUN[folder] = Begun(uids, groups, trial)


def taken(folder: Path) -> Begun | None:
    """What was begun for the Runner in a folder; it is told once."""
    return _BEGUN.pop(folder, None)


def swept(folder: Path) -> tuple[list[str], cgroups.Cgroups | None]:
    """End what a former life has left; the pods that were ended, and the control groups that can be used."""
    notes = Notes(folder)
    uids, groups = notes.sweep(), cgroups.find(label(folder))
    # Noted before anything else is made: the next life may be in another group, and look for these by the note.
    notes.server((), groups.folders if groups else ())
    return uids, groups


def hello(groups: cgroups.Cgroups | None, *, rootless: bool, ranges: Mapping[str, int] | None) -> Message:
    """What a fork server is told first."""
    described = groups.describe() if groups else None
    return {"rootless": rootless, "ranges": ranges, "gateway": GATEWAY, "cgroups": described}
