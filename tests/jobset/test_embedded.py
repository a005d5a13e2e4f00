"""Every story, played on the embedded API with the controllers at work, comes out as it did on the real cluster."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.control.clusters import NAMESPACE, Cluster, cluster
from tests.job.bodies import pod_status
from tests.job.real import chosen
from tests.job.stories import title
from tests.jobset.real import of_job
from tests.jobset.stories import STORIES, read, scene, show
from trainplane.api.kinds import KINDS
from trainplane.cluster.client import Patch
from trainplane.cluster.errors import NotFound
from trainplane.control import virtual
from trainplane.job.orphans import ORPHANS
from trainplane.job.reconcile import JOB
from trainplane.jobset.reconcile import controller
from trainplane.reconcile.view import Ref
from trainplane.upkeep.garbage import garbage

Raw = dict[str, Any]
SEEN = ("Job", "Service", "PersistentVolumeClaim")
COLLECTED = [row for row in KINDS if row.kind in ("JobSet", "Pod", *SEEN)]
SETTLE = 3


class Seen:
    """What there is to see at one moment."""

    def __init__(self, jobset: Raw | None, objects: dict[str, list[Raw]], events: list[Raw]) -> None:
        self._jobset, self._objects, self._events = jobset, objects, events

    def jobset(self) -> Raw | None:
        return self._jobset

    def all(self, kind: str) -> list[Raw]:
        return self._objects[kind]

    def told(self) -> list[Raw]:
        return self._events


async def look(made: Cluster, ref: Ref) -> Seen:
    """Let everything come to rest, and look."""
    await asyncio.sleep(SETTLE)
    try:
        jobset = await made.api.get(ref)
    except NotFound:
        jobset = None
    events = [event for event in await made.events() if event["regarding"]["kind"] == "JobSet"]
    return Seen(jobset, {kind: await made.all(kind) for kind in SEEN}, events)


async def take(made: Cluster, ref: Ref, step: Raw) -> None:
    """Let one thing happen."""
    match step["do"]:
        case "wait":
            await asyncio.sleep(step["seconds"])
        case "patch":
            await made.api.patch(ref, Patch.merge(step["body"]))
        case "delete":
            group = "batch" if step["kind"] == "Job" else ""
            await made.api.delete(Ref(group, step["kind"], NAMESPACE, step["name"]))
        case "pods":
            for pod in of_job(chosen(await made.all("Pod"), step), step):
                await made.api.set_status(Ref.of(pod), pod_status(pod, step, made.clock.now()))


async def play(story: Raw, *, lag: float) -> list[Raw]:
    """What there is to see after the JobSet was made and after each step."""
    raw = {**story["jobset"], "metadata": {**story["jobset"]["metadata"], "namespace": NAMESPACE}}
    ref, known = Ref.of(raw), set[str]()
    workers = (controller(), JOB, ORPHANS, garbage(COLLECTED))
    async with cluster(lag=lag) as made, made.controlled(*workers):
        await made.api.create(raw)
        scenes = [scene("created", await look(made, ref), known)]
        for step in story["steps"]:
            await take(made, ref, step)
            scenes.append(scene(title(step), await look(made, ref), known))
    return scenes


@pytest.mark.parametrize("lag", [0, 0.05], ids=["at once", "with old views"])
@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.name)
def test_story(story: Path, lag: float) -> None:
    async def main() -> None:
        assert show(await play(read(story), lag=lag)) == (story / "out.yaml").read_text()

    virtual.run(main())
