"""Golden worlds: what the controller sees, as YAML, and the Decision that it takes."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Golden
from trainplane.reconcile.decision import Action, Decision
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob.reconcile import reconcile

CASES = sorted((Path(__file__).parent.parent / "golden" / "trainjob").iterdir())


def told(action: Action) -> dict[str, Any]:
    """An action as a document: what it is, and what it holds beyond the defaults."""
    held = {name: getattr(action, name) for name in action.__struct_fields__}
    body = {name: "/".join(filter(None, value)) if isinstance(value, Ref) else value for name, value in held.items()}
    return {type(action).__name__: {name: value for name, value in body.items() if value not in ("", ())}}


def written(decision: Decision) -> str:
    """A Decision as YAML, one document for each action and one for the next look."""
    documents: list[Any] = [told(action) for action in decision.actions]
    if decision.again is not None:
        documents.append({"again": f"{decision.again.total_seconds():g}s"})
    return yaml.safe_dump_all(documents, sort_keys=False, width=120) if documents else "# nothing to do\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, golden: Golden) -> None:
    """The first document of a world says what time it is, and how the controller was made."""
    (frame, *objects) = yaml.safe_load_all((case / "in.yaml").read_text(encoding="utf-8"))
    (job,) = [raw for raw in objects if raw["kind"] == "TrainJob"]
    now = datetime.fromisoformat(frame["now"])
    golden.check(case, written(reconcile(job, View(objects), now, **frame.get("options", {}))))
