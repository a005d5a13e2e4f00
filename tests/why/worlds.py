"""Worlds in YAML: one in which all is well, and cases that change it."""

import copy
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from trainplane.api.merge import merge_patch
from trainplane.reconcile.view import View

Raw = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "golden" / "why"
CASES = sorted(path for path in FOLDER.iterdir() if path.is_dir())
WAITING: Raw = {
    "spec": {"nodeName": None},
    "status": {
        "phase": "Pending",
        "startTime": None,
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "lastTransitionTime": "2026-01-31T12:00:10Z",
            }
        ],
    },
}
"""A pod that no node takes."""
STARTING: Raw = {"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}}
"""A pod on its node that is not ready."""
SHORT: dict[str, Raw] = {"waiting": WAITING, "starting": STARTING}


@dataclass(frozen=True, slots=True)
class World:
    """A TrainJob, everything around it, and the time."""

    job: Raw
    view: View
    now: datetime


@cache
def text_of(path: Path) -> str:
    """A file, read once."""
    return path.read_text(encoding="utf-8")


def read(path: Path) -> Raw:
    """A YAML file."""
    raw: Raw = yaml.load(text_of(path), Loader=yaml.CSafeLoader)
    return raw


def world(*cases: Raw) -> World:
    """The world in which all is well, with the changes of these cases.

    A case's `change` maps `Kind/name` to a merge patch, or to null for an object that is gone; a name may be `*`.
    `pods` says of every pod that it is `waiting` or `starting`. What is in `add` is there too.
    """
    base = copy.deepcopy(read(FOLDER / "well.yaml"))
    objects = {f"{raw['kind']}/{raw['metadata']['name']}": raw for raw in base["objects"]}
    for case in cases:
        changes = {"Pod/*": SHORT[case["pods"]]} if "pods" in case else {}
        for key, change in (*changes.items(), *(case.get("change") or {}).items()):
            kind, _, name = key.partition("/")
            for found in [one for one in objects if one.startswith(f"{kind}/") and name in ("*", one.split("/", 1)[1])]:
                if change is None:
                    del objects[found]
                else:
                    objects[found] = merge_patch(objects[found], change)
        for raw in case.get("add") or ():
            objects[f"{raw['kind']}/{raw['metadata']['name']}"] = raw
        base["now"] = case.get("now", base["now"])
    now = datetime.fromisoformat(base["now"])
    return World(objects["TrainJob/job"], View(objects.values()), now)
