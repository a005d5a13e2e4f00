"""Autoscalers decide and say here what those of Kubernetes 1.36 were recorded to decide and say.

Each file of `autoscalers` is a case as `autoscaling` reads it, with what was seen after each of its steps. The recorded
controller looked every two seconds, and so does ours here; `differs` names what differs, and why.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from tests.conformance.autoscaling import CASES, NAME, TARGET, Raw, objects, seen
from tests.upkeep.town import Town, play
from trainplane.api.ref import Ref
from trainplane.reconcile.view import View
from trainplane.upkeep.autoscale import reconcile

NAMESPACE = "ns"
SYNC = timedelta(seconds=2)
AUTOSCALER = Ref("autoscaling", "HorizontalPodAutoscaler", NAMESPACE, NAME)
JOB = Ref("trainer.kubeflow.org", TARGET["kind"], NAMESPACE, NAME)


async def put(town: Town, raw: Raw) -> None:
    """Make an object as it is said, its status included, or change it."""
    ref = Ref.of(raw)
    if raw["kind"] == "PodMetrics":
        town.metrics = [*(one for one in town.metrics if Ref.of(one) != ref), raw]
    elif (await town.view()).get(ref) is None:
        await town.make(raw)
    elif raw.get("status"):
        await town.api.set_status(ref, raw["status"])
    if raw["metadata"].get("deletionTimestamp"):
        await town.api.delete(ref)


async def look(town: Town) -> None:
    """Let every autoscaler look once."""
    for raw in (await town.view()).all("autoscaling", "HorizontalPodAutoscaler"):
        for action in reconcile(raw, await town.view(), town.now).actions:
            await town.act(action)


def told(view: View, town: Town) -> Raw:
    """What there is to see."""
    job, autoscaler = view.get(JOB), view.get(AUTOSCALER)
    assert autoscaler
    said = [(reason, note) for about, reason, note in town.said if about == f"HorizontalPodAutoscaler/{NAME}"]
    return seen([job] if job else [], autoscaler, said)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case(case: Path) -> None:
    raw = yaml.load(case.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)

    async def story(town: Town) -> None:
        town.now = datetime(2026, 1, 31, 12, tzinfo=UTC)
        size = None
        for number, step in enumerate(raw["steps"]):
            for one in objects(raw, number, now=town.now, namespace=NAMESPACE, size=size):
                await put(town, one)
            until = town.now + timedelta(seconds=step["wait"])
            while town.now + SYNC <= until:
                town.now += SYNC
                await look(town)
            town.now = until
            ours = told(await town.view(), town)
            theirs = raw["recorded"][number]
            size = theirs["size"]
            left_out = {row["path"] for row in raw.get("differs", ())}
            assert {key: ours[key] for key in ours if key not in left_out} == {
                key: theirs[key] for key in theirs if key not in left_out
            }

    play(story)
