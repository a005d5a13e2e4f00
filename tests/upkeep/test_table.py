"""The table of chores is complete, and no two of them have the same name."""

import importlib
import pkgutil

from trainplane import upkeep
from trainplane.reconcile.controller import Controller
from trainplane.upkeep.table import UPKEEP


def test_every_controller_of_the_room_is_in_the_table() -> None:
    modules = [
        importlib.import_module(f"trainplane.upkeep.{one.name}") for one in pkgutil.iter_modules(upkeep.__path__)
    ]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Controller)]
    assert found
    assert all(one in UPKEEP for one in found)


def test_names_are_unique() -> None:
    names = [one.name for one in UPKEEP]
    assert len(names) == len(set(names))
