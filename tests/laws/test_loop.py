"""Whatever happens on the way, controllers come to rest with every child made once and none forgotten."""

import asyncio
from datetime import datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.control.clusters import NAMESPACE, Cluster, cluster, config_map
from tests.control.toys import owned
from trainplane.cluster.errors import ApiError, Conflict, NotFound, Unavailable
from trainplane.control import virtual
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import Action, Create, Decision, Delete, Patch
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
PARENTS = ("p0", "p1", "p2")
STEPS = st.one_of(
    st.tuples(st.just("size"), st.sampled_from(PARENTS), st.integers(0, 3)),
    st.tuples(st.just("delete"), st.sampled_from(PARENTS), st.just(0)),
    st.tuples(st.just("steal"), st.sampled_from(PARENTS), st.integers(0, 2)),
    st.tuples(st.sampled_from(("cut", "mend", "compact", "restart", "fail", "heal")), st.just(""), st.just(0)),
)


def scale(parent: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001
    """As many children as the parent asks for, and a note of how many were seen."""
    metadata = parent["metadata"]
    if "size" not in (parent.get("data") or {}):
        return Decision()
    children = {raw["metadata"]["name"]: raw for raw in view.controlled_by(metadata["uid"])}
    wanted = [f"{metadata['name']}-{i}" for i in range(int(parent["data"]["size"]))]
    actions: list[Action] = [Create(owned(parent, name)) for name in wanted if name not in children]
    actions += [Delete(Ref.of(raw), raw["metadata"]["uid"]) for name, raw in children.items() if name not in wanted]
    actions.append(Patch(Ref.of(parent), {"data": {"seen": str(len(children))}}, uid=metadata["uid"]))
    return Decision.of(actions)


def collect(raw: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001
    """What is left of a parent that is gone goes too."""
    for owner in raw["metadata"].get("ownerReferences") or ():
        parent = view.get(Ref("", "ConfigMap", NAMESPACE, owner["name"]))
        if parent is None or parent["metadata"]["uid"] != owner["uid"]:
            return Decision.of([Delete(Ref.of(raw), raw["metadata"]["uid"])])
    return Decision()


def children(raw: Raw, view: View) -> list[Ref]:
    """What an object owns."""
    return [Ref.of(child) for child in view.owned_by(raw["metadata"]["uid"])]


TOYS = (
    Controller("scale", "", "ConfigMap", scale, owns=(("", "ConfigMap"),)),
    Controller("collect", "", "ConfigMap", collect, watches=((("", "ConfigMap"), children),)),
)


class Story:
    """What happens to a cluster, step by step."""

    def __init__(self, made: Cluster) -> None:
        self.made = made
        self.sizes: dict[str, int] = {}
        self.calls = 0
        self.failing = False
        made.client.refuse = self.refuse

    def refuse(self, _verb: str, _ref: Ref) -> ApiError | OSError | None:
        """Every other call fails, in turn in one way and another."""
        self.calls += 1
        if not self.failing or self.calls % 2:
            return None
        return (Unavailable("away"), Conflict("changed"), ConnectionResetError("cut"))[self.calls // 2 % 3]

    async def step(self, what: str, name: str, number: int) -> None:
        """Let one thing happen."""
        made, ref = self.made, Ref("", "ConfigMap", NAMESPACE, name)
        match what:
            case "size":
                self.sizes[name] = number
                await made.api.apply(config_map(name, size=str(number)), manager="me", force=True)
            case "delete" if self.sizes.pop(name, None) is not None:
                await made.api.delete(ref)
            case "steal":
                try:
                    await made.api.delete(ref._replace(name=f"{name}-{number}"))
                except NotFound:
                    return
            case "cut":
                made.client.cut()
            case "mend":
                made.client.mend()
            case "compact":
                await made.store.compact(made.store.revision)
            case "fail" | "heal":
                self.failing = what == "fail"


async def tell(steps: list[tuple[str, str, int]], pauses: list[float], *, lag: float, latency: float) -> None:
    """Let everything happen, and look at what is left in the end."""
    async with cluster(lag=lag, latency=latency) as made:
        story = Story(made)
        told = iter(zip(steps, pauses, strict=True))
        restart = True
        while restart:
            async with made.controlled(*TOYS) as loop:
                restart = False
                for (what, name, number), pause in told:
                    if what == "restart":
                        restart = True
                        break
                    await story.step(what, name, number)
                    await asyncio.sleep(pause)
                if not restart:
                    made.client.mend()
                    story.failing = False
                    await asyncio.sleep(1000)
                    assert loop.is_idle
                    await check(made, story.sizes)


async def check(made: Cluster, sizes: dict[str, int]) -> None:
    """Every parent has its children and knows it."""
    there = {raw["metadata"]["name"]: raw for raw in await made.all("ConfigMap") if raw["metadata"]["name"][0] == "p"}
    assert set(there) == {*sizes, *(f"{name}-{i}" for name, size in sizes.items() for i in range(size))}
    for name, size in sizes.items():
        assert there[name]["data"] == {"size": str(size), "seen": str(size)}


@settings(max_examples=60)
@given(
    steps=st.lists(STEPS, max_size=25),
    pause=st.sampled_from((0.0, 0.01, 0.3, 4.0)),
    lag=st.sampled_from((0.0, 0.02, 1.5)),
    latency=st.sampled_from((0.0, 0.03, 0.8)),
    data=st.data(),
)
def test_it_comes_to_rest_whatever_happens(
    steps: list[tuple[str, str, int]], pause: float, lag: float, latency: float, data: st.DataObject
) -> None:
    choice = st.sampled_from((0.0, pause))
    pauses = data.draw(st.lists(choice, min_size=len(steps), max_size=len(steps)))
    virtual.run(tell(steps, pauses, lag=lag, latency=latency))
