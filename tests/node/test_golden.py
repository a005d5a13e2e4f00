"""Whole lives of pods as goldens: what the node does at each moment, and what the status says at the end of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Golden
from tests.node.stage import Stage
from tests.places import ROOT
from trainplane.node.lifecycle import Step

CASES = sorted(path.parent for path in (ROOT / "tests/golden/node").glob("*/in.yaml"))


def told(stage: Stage) -> list[dict[str, Any]]:
    """Each moment: the steps in it, what is said, and the status where no step is left."""
    moments: list[dict[str, Any]] = []
    for now, turn in stage.turns:
        at = f"{(now - stage.turns[0][0]).total_seconds():g}s"
        if not moments or moments[-1]["at"] != at or "status" in moments[-1]:
            moments.append({"at": at, "steps": []})
        moment = moments[-1]
        moment["steps"] += [_step(step) for step in turn.steps]
        for said in turn.said:
            moment.setdefault("events", [])
            if (event := f"{said.type} {said.reason}: {said.note}") not in moment["events"]:
                moment["events"].append(event)
        if not turn.steps or (stage.is_forgotten and turn is stage.turns[-1][1]):
            moment["status"] = turn.status
    return moments


def _step(step: Step) -> str:
    words = [type(step).__name__, *(f"{getattr(step, name)}" for name in step.__struct_fields__)]
    return " ".join(words)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_golden(case: Path, golden: Golden) -> None:
    given = yaml.safe_load((case / "in.yaml").read_text(encoding="utf-8"))
    script = {name: [tuple(life) for life in lives] for name, lives in given["lives"].items()}
    stage = Stage(given["pod"], script)
    stage.play(delete_after=given.get("deleteAfterTurn"), turns=given.get("turns", 60))
    golden.check(case, yaml.safe_dump(told(stage), sort_keys=False, width=120))
