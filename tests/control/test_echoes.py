"""What a controller writes itself wants no look where its Decision was final; what others change always does."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.control.clusters import NAMESPACE, cluster, config_map
from tests.control.toys import PARENT, of_parent, owned
from trainplane.cluster.client import Patch
from trainplane.control import virtual
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Create, Decision, SetStatus
from trainplane.reconcile.decision import Patch as Change
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
SLOW = [(0.0, 0.0), (0.3, 0.0), (0.0, 0.7), (0.3, 0.7)]
"""Seconds that a watch takes, and a write."""


@pytest.mark.parametrize(("lag", "latency"), SLOW)
@pytest.mark.parametrize("final", [True, False])
def test_a_final_decision_is_not_looked_at_again_when_it_comes_back(lag: float, latency: float, *, final: bool) -> None:
    looks: list[float] = []

    def decide(parent: Raw, view: View, _now: datetime) -> Decision:
        looks.append(asyncio.get_running_loop().time())
        if view.controlled_by(parent["metadata"]["uid"]):
            return NOTHING
        changed = Change(PARENT, {"data": {"told": "yes"}}, parent["metadata"]["uid"])
        return Decision.of([Create(owned(parent, "child")), changed], final=final)

    async def main() -> None:
        async with cluster(lag=lag, latency=latency) as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(of_parent("toy", decide)):
                await asyncio.sleep(60)

    virtual.run(main())
    assert (len(looks) == 1) is final


@pytest.mark.parametrize(("lag", "latency"), SLOW)
def test_what_others_change_meanwhile_is_seen(lag: float, latency: float) -> None:
    seen: list[str] = []

    def decide(parent: Raw, _view: View, _now: datetime) -> Decision:
        seen.append((parent.get("data") or {}).get("word", ""))
        # Only when the word is new is there anything to do, and it is done with one write.
        done = Change(PARENT, {"data": {"heard": seen[-1]}}, parent["metadata"]["uid"])
        return Decision.of([done], final=True)

    async def main() -> None:
        async with cluster(lag=lag, latency=latency) as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(of_parent("toy", decide)):
                for i in range(40):
                    await asyncio.sleep(0.11)
                    await made.api.patch(PARENT, Patch.merge({"data": {"word": f"{i}"}}))
                await asyncio.sleep(60)
                assert (await made.api.get(PARENT))["data"] == {"word": "39", "heard": "39"}

    virtual.run(main())
    assert seen[-1] == "39"


def test_a_list_that_holds_the_changes_of_others_beside_ones_own_is_looked_at() -> None:
    seen: list[str] = []

    def decide(parent: Raw, _view: View, _now: datetime) -> Decision:
        seen.append((parent.get("data") or {}).get("word", ""))
        done = Change(PARENT, {"data": {"heard": seen[-1]}}, parent["metadata"]["uid"])
        return Decision.of([done], final=True)

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(of_parent("toy", decide)):
                await asyncio.sleep(10)
                made.client.latency = 5
                await made.api.patch(PARENT, Patch.merge({"data": {"word": "first"}}))
                # The look at that is being carried out; what comes now is seen only with the list.
                await asyncio.sleep(1)
                made.client.cut()
                await made.api.patch(PARENT, Patch.merge({"data": {"word": "second"}}))
                await asyncio.sleep(10)
                await made.store.compact(made.store.revision)
                made.client.mend()
                await asyncio.sleep(60)
                assert (await made.api.get(PARENT))["data"] == {"word": "second", "heard": "second"}

    virtual.run(main())


def test_a_final_decision_that_fails_is_tried_again() -> None:
    def decide(parent: Raw, view: View, _now: datetime) -> Decision:
        done = view.controlled_by(parent["metadata"]["uid"])
        return NOTHING if done else Decision.of([Create(owned(parent, "child"))], final=True)

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            made.client.refuse = lambda _verb, _ref: ConnectionResetError("not now")
            async with made.controlled(of_parent("toy", decide)):
                await asyncio.sleep(1)
                made.client.refuse = lambda _verb, _ref: None
                await asyncio.sleep(60)
                assert await made.api.get(Ref("", "ConfigMap", NAMESPACE, "child"))

    virtual.run(main())


def test_what_goes_by_its_age_is_looked_at_when_that_is_reached() -> None:
    looks: list[float] = []

    def decide(_raw: Raw, _view: View, _now: datetime) -> Decision:
        looks.append(asyncio.get_running_loop().time())
        return NOTHING

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(of_parent("toy", decide, ripe=lambda _raw, _now: timedelta(hours=1))):
                await asyncio.sleep(60)
                await made.api.patch(PARENT, Patch.merge({"data": {"word": "no matter"}}))
                await asyncio.sleep(7200)

    virtual.run(main())
    assert looks == [3600]


def test_who_wants_turns_only_is_not_told_of_every_word() -> None:
    told: list[tuple[float, str]] = []

    def note(raw: Raw, _view: View) -> tuple[Ref, ...]:
        told.append((asyncio.get_running_loop().time(), (raw.get("status") or {}).get("phase", "")))
        return ()

    async def main() -> None:
        async with cluster() as made:
            toy = Controller(
                "toy", "", "", lambda _raw, _view, _now: NOTHING, watches=((("", "Node"), note),), turns=True
            )
            speaker = Controller("speaker", "", "Node", speak)
            async with made.controlled(toy, speaker):
                await asyncio.sleep(1)
                node = await made.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
                await asyncio.sleep(1)
                await made.api.patch(Ref.of(node), Patch.merge({"metadata": {"labels": {"a": "b"}}}))
                await asyncio.sleep(1)
                await made.api.delete(Ref.of(node))
                await asyncio.sleep(1)

    def speak(node: Raw, _view: View, _now: datetime) -> Decision:
        return Decision.of([SetStatus(Ref.of(node), {"phase": "Running"}, node["metadata"]["uid"])])

    virtual.run(main())
    # As it came; with its label, and as it was before; and that it went.
    assert told == [(1, ""), (2, "Running"), (2, "Running"), (3, "Running")]


def test_the_bookkeeping_of_others_wakes_only_those_who_count_it() -> None:
    looks: dict[str, list[float]] = {"parent": [], "counter": []}

    def noting(name: str) -> Controller:
        def decide(_raw: Raw, _view: View, _now: datetime) -> Decision:
            looks[name].append(asyncio.get_running_loop().time())
            return NOTHING

        said = {"overlooks": lambda _before, _after: False} if name == "counter" else {}
        wake = ((("", "Service"), lambda _raw, _view: (PARENT,)),)
        return of_parent(name, decide, watches=wake, **said)

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(noting("parent"), noting("counter")):
                await asyncio.sleep(10)
                metadata = {"name": "one", "namespace": NAMESPACE, "finalizers": ["example.com/count"]}
                spec = {"ports": [{"port": 80}]}
                await made.api.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
                ref = Ref("", "Service", NAMESPACE, "one")
                for patch in ({"finalizers": None}, {"finalizers": ["example.com/a"], "annotations": {"a": "b"}}):
                    await asyncio.sleep(10)
                    await made.api.patch(ref, Patch.merge({"metadata": patch}))
                await asyncio.sleep(10)
                # One that is on its way out is everybody's business.
                await made.api.delete(ref)
                await asyncio.sleep(10)

    virtual.run(main())
    assert looks == {"parent": [0, 10, 30, 40], "counter": [0, 10, 20, 30, 40]}
