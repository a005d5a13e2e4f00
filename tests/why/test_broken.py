"""Broken jobs on the whole embedded cluster: what `status.summary` says of each, in full.

Each file of `broken` has the nodes, objects that are made in order, what happens then, and the sentence.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainplane.api.kinds import KINDS
from trainplane.cluster.client import Patch
from trainplane.cluster.resources import SERVED_KINDS
from trainplane.control import virtual
from trainplane.control.loop import Loop
from trainplane.node.simulated import Size
from trainplane.reconcile.view import Ref
from trainplane.simulate import World, world

Raw = dict[str, Any]
CASES = sorted((Path(__file__).parent / "broken").glob("*.yaml"))
JOB = Ref("trainer.kubeflow.org", "TrainJob", "team", "train")


def read(case: Path) -> Raw:
    """A case."""
    raw: Raw = yaml.load(case.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return raw


def ref_of(step: Raw) -> Ref:
    """The object that a step is about."""
    row = next(row for row in KINDS if row.kind == step["kind"])
    return Ref(row.group, row.kind, "team" if row.namespaced else "", step["name"])


async def do(made: World, raw: Raw) -> None:
    """Make an object, or let something happen."""
    match raw.get("do"):
        case None:
            await made.api.create(raw)
        case "wait":
            await asyncio.sleep(raw["seconds"])
        case "patch":
            await made.api.patch(ref_of(raw), Patch.merge(raw["body"]))
        case "delete":
            await made.api.delete(ref_of(raw))


@asynccontextmanager
async def controlled(made: World, *, without: Iterable[str]) -> AsyncIterator[None]:
    """Everybody at work but these."""
    deciders = [one for one in made.controllers() if one.name not in without]
    loop = Loop(deciders, made.api, made.clock, scopes={}, kinds=SERVED_KINDS)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(loop.run())
        try:
            yield
        finally:
            task.cancel()


async def play(case: Raw) -> str:
    """What is said of the job in the end."""
    async with world(nodes=case["nodes"], size=Size(**case.get("size", {}))) as made:
        await made.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        first, then = case["objects"], case.get("steps", [])
        if case.get("when") == "unseen":
            for raw in (*first, *then):
                await do(made, raw)
            first, then = [], []
        async with controlled(made, without=case.get("without", ())):
            await asyncio.sleep(5)
            for raw in (*then, *first) if case.get("when") == "before" else (*first, *then):
                await do(made, raw)
            await asyncio.sleep(case["wait"])
            status = (await made.api.get(JOB)).get("status") or {}
            return str((status.get("summary") or {}).get("message", ""))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_broken_job(case: Path, request: pytest.FixtureRequest) -> None:
    raw = read(case)
    said = virtual.run(play(raw))
    if request.config.getoption("--update-golden"):
        case.write_text(yaml.safe_dump({**raw, "why": said}, sort_keys=False, width=110), encoding="utf-8")
        return
    assert said == raw["why"]


def test_there_are_enough_of_them() -> None:
    sentences = [read(case)["why"] for case in CASES]
    assert len(set(sentences)) == len(CASES) >= 30
    assert all("; " in sentence for sentence in sentences), "each has a way out"
