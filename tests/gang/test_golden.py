"""Worlds in YAML and what the scheduler decides about them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Golden
from tests.gang.worlds import T0
from trainplane.gang.schedule import Scheduler
from trainplane.reconcile.decision import Action, Bind, Delete, Patch, Record, SetStatus
from trainplane.reconcile.view import View

Raw = dict[str, Any]
WORLDS = sorted((Path(__file__).parent.parent / "golden" / "gang").iterdir())


def world(text: str) -> list[Raw]:
    """The objects of a world; `times` makes as many of one, told apart by a number."""
    found = []
    for document in yaml.safe_load_all(text):
        times = document.pop("times", 1)
        for i in range(times):
            raw = yaml.safe_load(yaml.safe_dump(document).replace("%i", str(i)))
            raw["metadata"].setdefault("uid", f"uid-{raw['kind'].lower()}-{raw['metadata']['name']}")
            raw["metadata"].setdefault("creationTimestamp", "2026-01-01T11:00:00Z")
            found.append(raw)
    return found


def shown(action: Action) -> Raw:
    """An action in a form that people read."""
    match action:
        case Bind(pod, node):
            return {"bind": pod.name, "to": node}
        case Record(regarding, type_, reason, note):
            return {"event": f"{regarding.kind} {regarding.name}", "says": f"{type_} {reason}: {note}"}
        case Delete(ref):
            return {"delete": f"{ref.kind} {ref.name}"}
        case SetStatus(ref, status):
            return {"status": f"{ref.kind} {ref.name}", "is": status}
        case Patch(ref, patch):
            return {"patch": f"{ref.kind} {ref.name}", "with": patch["status"]}
        case _:
            raise AssertionError(action)


@pytest.mark.parametrize("folder", WORLDS, ids=lambda folder: folder.name)
def test_golden(folder: Path, golden: Golden) -> None:
    """The decision about each world is the one committed."""
    decision = Scheduler().schedule(View(world((folder / "in.yaml").read_text())), T0)
    rows = [shown(action) for action in decision.actions]
    golden.check(folder, yaml.safe_dump(rows, sort_keys=False, width=120, allow_unicode=True))
