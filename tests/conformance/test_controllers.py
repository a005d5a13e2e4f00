"""JobSets and Jobs come out on the embedded cluster as JobSet 0.12 and Kubernetes 1.36 made them, step by step.

Each file of `controllers` has documents, what is done with them, and what was recorded: of every state after the first
what changed. `gates` are those of JobSet that were open, `settle` is how many seconds each state had to come to rest;
`differs` says what differs here, and why.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.full import SETTLE, stage
from tests.conformance.recordings import HERE, like
from trainplane.control import virtual

Raw = dict[str, Any]
CASES = sorted((HERE / "controllers").glob("*.yaml"))


async def play(case: Raw) -> list[str]:
    """What comes out otherwise here."""
    found: list[str] = []
    theirs: Raw = {}
    differs = [row["path"] for row in case.get("differs", ())]
    async with stage(case["namespace"], case.get("gates", ())) as player:
        player.settle = case.get("settle", SETTLE)
        for number, recorded in enumerate(case["recorded"]):
            for doc in case["documents"] if not number else ():
                await player.create(doc)
            if number:
                player.refused = {}
                await player.step(case["steps"][number - 1])
            ours = await player.seen()
            theirs = {path: item for path, item in theirs.items() if path not in recorded.get("gone", ())}
            theirs |= recorded.get("now", {})
            paths = [path for path in {**theirs, **ours} if theirs.get(path) != ours.get(path)]
            found += [f"{number} {path}: theirs {theirs.get(path)!r}, ours {ours.get(path)!r}" for path in paths]
            refused = recorded.get("refused", {})
            for key in sorted(set(refused) | set(player.refused)):
                fields = set(refused.get(key, ())) - player.refused.get(key, set())
                if key not in refused or key not in player.refused or fields:
                    found.append(f"{number} {key}: theirs {refused.get(key)}, ours {player.refused.get(key)}")
    return [line for line in found if not any(like(line.partition(" ")[2], f"{path}*") for path in differs)]


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case(case: Path) -> None:
    raw = yaml.load(case.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    unexplained = virtual.run(play(raw))
    assert not unexplained, "\n".join(unexplained)
