"""The loop: who is woken and when, what becomes of a controller that fails, and how it all ends."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.control.clusters import NAMESPACE, cluster, config_map
from tests.control.toys import PARENT, of_parent, one_by_one, owned
from trainplane.api.kinds import KINDS
from trainplane.cluster.client import Patch
from trainplane.control import virtual
from trainplane.control.loop import Loop, run
from trainplane.control.metrics import Metrics
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Create, Decision, SetStatus
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]


@pytest.mark.parametrize("lag", [0.0, 0.3, 20.0])
@pytest.mark.parametrize("latency", [0.0, 0.7])
def test_an_old_view_neither_doubles_nor_loses_a_child(lag: float, latency: float) -> None:
    async def main() -> None:
        async with cluster(lag=lag, latency=latency) as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(of_parent("toy", one_by_one(5))):
                await asyncio.sleep(600)
                names = [raw["metadata"]["name"] for raw in await made.all("ConfigMap")]
                assert sorted(name for name in names if name.startswith("child")) == [f"child-{i}" for i in range(5)]
                tries = [ref.name for verb, ref in made.client.written if verb == "create"]
                if lag < 10:
                    assert tries == [f"child-{i}" for i in range(5)], "each is made at the first try"

    virtual.run(main())


def test_a_child_that_is_taken_away_is_made_again() -> None:
    async def main() -> None:
        async with cluster(lag=1) as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(of_parent("toy", one_by_one(1))):
                for _ in range(3):
                    await asyncio.sleep(60)
                    await made.api.delete(Ref("", "ConfigMap", NAMESPACE, "child-0"))
                await asyncio.sleep(60)
                assert await made.api.get(Ref("", "ConfigMap", NAMESPACE, "child-0"))
                assert len(made.client.written) == 4

    virtual.run(main())


def test_a_controller_that_raises_says_so_is_retried_and_leaves_the_others_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    moments: list[float] = []

    def broken(_raw: Raw, _view: View, _now: datetime) -> Decision:
        moments.append(asyncio.get_running_loop().time())
        if moments[-1] < 10:
            raise KeyError("spec")
        return NOTHING

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            both = (of_parent("broken", broken), of_parent("well", one_by_one(3)))
            async with made.controlled(*both) as loop:
                await asyncio.sleep(300)
                assert len(await made.all("ConfigMap")) == 5
                events = [raw for raw in await made.events() if raw["regarding"]["name"] == "parent"]
                assert {(raw["type"], raw["reason"], raw["reportingController"]) for raw in events} == {
                    ("Warning", "ReconcileFailed", "broken")
                }
                (event,) = events
                assert event["note"].startswith("the broken controller failed and tries again")
                assert event["note"].endswith("KeyError: 'spec'")
                assert event["series"]["count"] > 2
                assert loop.metrics.errors.value("broken", "KeyError") == len(moments) - 1
                assert loop.metrics.errors.value("well", "KeyError") == 0

    virtual.run(main())
    assert 5 < len(moments) < 20
    assert moments[-1] > 10, "it is tried until it goes well, and then no more"
    assert "KeyError" in caplog.text


def test_a_wake_that_raises_stops_no_watch(caplog: pytest.LogCaptureFixture) -> None:
    def wake(_raw: Raw, _view: View) -> list[Ref]:
        raise RuntimeError("who?")

    async def main() -> None:
        async with cluster() as made:
            broken = Controller(
                name="broken",
                group="",
                kind="Namespace",
                reconcile=lambda _raw, _view, _now: NOTHING,
                watches=((("", "ConfigMap"), wake),),
            )
            async with made.controlled(broken, of_parent("well", one_by_one(2))):
                await asyncio.sleep(1)
                await made.api.create(config_map("parent"))
                await asyncio.sleep(5)
                assert await made.api.get(Ref("", "ConfigMap", NAMESPACE, "child-1"))

    virtual.run(main())
    assert "who?" in caplog.text


def test_who_has_nothing_to_decide_about_is_not_asked_whom_to_wake() -> None:
    asked: list[str] = []
    looks: list[str] = []

    def wake(raw: Raw, _view: View) -> list[Ref]:
        asked.append(raw["metadata"]["name"])
        return [Ref("", "Node", "", "only")]

    def decide(raw: Raw, _view: View, _now: datetime) -> Decision:
        looks.append(raw["metadata"]["name"])
        return NOTHING

    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "only"}}

    async def main() -> None:
        async with cluster() as made:
            watching = Controller(
                name="toy", group="", kind="Node", reconcile=decide, watches=((("", "ConfigMap"), wake),)
            )
            async with made.controlled(watching):
                for step in ("early", None, "then", None, "late"):
                    if step:
                        await made.api.create(config_map(step))
                    elif looks:
                        await made.api.delete(Ref("", "Node", "", "only"))
                    else:
                        await made.api.create(node)
                    await asyncio.sleep(1)

    virtual.run(main())
    assert asked == ["then"]
    assert looks == ["only", "only"]


def test_it_comes_back_when_a_decision_says_so() -> None:
    looks: list[float] = []

    def decide(_raw: Raw, _view: View, _now: datetime) -> Decision:
        looks.append(asyncio.get_running_loop().time())
        return Decision(again=timedelta(hours=1))

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(of_parent("toy", decide)):
                await asyncio.sleep(4 * 3600 - 1)

    virtual.run(main())
    assert looks == [0, 3600, 7200, 10800]


def test_who_wants_to_look_again_at_once_lets_time_pass() -> None:
    looks: list[float] = []

    def decide(_raw: Raw, _view: View, _now: datetime) -> Decision:
        looks.append(asyncio.get_running_loop().time())
        return Decision(again=timedelta(0))

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(of_parent("toy", decide)):
                await asyncio.sleep(10)

    virtual.run(main())
    assert 100 < len(looks) < 300


def test_what_a_watch_names_is_woken_and_what_is_only_read_wakes_nobody() -> None:
    seen: list[tuple[float, int]] = []

    def decide(_raw: Raw, view: View, _now: datetime) -> Decision:
        seen.append((asyncio.get_running_loop().time(), len(list(view.all("", "Secret")))))
        return NOTHING

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            controller = of_parent(
                "toy", decide, watches=((("", "Service"), lambda _raw, _view: (PARENT,)),), reads=(("", "Secret"),)
            )
            async with made.controlled(controller):
                for moment, kind in enumerate(("Secret", "Service"), 1):
                    await asyncio.sleep(10)
                    metadata = {"name": f"one-{moment}", "namespace": NAMESPACE}
                    spec = {"spec": {"ports": [{"port": 80}]}} if kind == "Service" else {}
                    await made.api.create({"apiVersion": "v1", "kind": kind, "metadata": metadata, **spec})
                await asyncio.sleep(10)

    virtual.run(main())
    assert seen == [(0, 0), (20, 1)]


def test_a_burst_of_changes_is_told_in_a_few_writes() -> None:
    def decide(node: Raw, view: View, _now: datetime) -> Decision:
        ref, uid = Ref.of(node), node["metadata"]["uid"]
        return Decision.of([SetStatus(ref, {"phase": str(len(list(view.all("", "ConfigMap"))))}, uid)])

    async def main() -> None:
        async with cluster() as made:
            node = await made.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
            ref = Ref.of(node)
            toy = Controller("toy", "", "Node", decide, watches=((("", "ConfigMap"), lambda _raw, _view: (ref,)),))
            async with made.controlled(toy):
                for i in range(100):
                    await asyncio.sleep(0.001)
                    await made.api.create(config_map(f"c-{i}"))
                await asyncio.sleep(1)
                assert (await made.api.get(ref))["status"]["phase"] == "101", "the last word is right"
                assert len(made.client.written) <= 4

    virtual.run(main())


def test_changes_that_come_together_are_looked_at_together_and_one_of_its_own_kind_at_once() -> None:
    looks: list[tuple[float, int]] = []

    def decide(_raw: Raw, view: View, _now: datetime) -> Decision:
        looks.append((round(asyncio.get_running_loop().time(), 3), len(list(view.all("", "ConfigMap")))))
        return NOTHING

    async def main() -> bool:
        async with cluster() as made:
            ref = Ref("", "Node", "", "n")
            watches = ((("", "ConfigMap"), lambda _raw, _view: (ref,)),)
            async with made.controlled(Controller("toy", "", "Node", decide, watches=watches, settle=0.05)) as loop:
                await asyncio.sleep(1)
                await made.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
                await asyncio.sleep(1)
                for i in range(3):
                    await made.api.create(config_map(f"c-{i}"))
                    await asyncio.sleep(0.01)
                busy = not loop.is_idle
                await asyncio.sleep(1)
                return busy and loop.is_idle

    assert virtual.run(main()), "who waits for more to come has something to do yet"
    assert looks == [(1, 1), (2.05, 4)], "one ConfigMap every namespace has"


def test_the_end_of_the_last_child_is_looked_at_at_once() -> None:
    looks: list[float] = []

    def decide(_raw: Raw, _view: View, _now: datetime) -> Decision:
        looks.append(round(asyncio.get_running_loop().time(), 3))
        return NOTHING

    async def main() -> None:
        async with cluster() as made:
            parent = await made.api.create(config_map("parent"))
            children = [pod_of(parent, f"pod-{i}") for i in range(2)]
            for child in children:
                await made.api.create(child)
            controller = Controller("toy", "", "ConfigMap", decide, owns=(("", "Pod"),), pause=0.1, settle=0.05)
            async with made.controlled(controller):
                for child, seconds in zip(children, (1, 0.06), strict=True):
                    await asyncio.sleep(seconds)
                    await made.api.set_status(Ref.of(child), {"phase": "Succeeded"})
                await asyncio.sleep(1)

    virtual.run(main())
    assert looks[-2:] == [1.05, 1.06], "one that is not the last waits for others, the last is what all wait for"


def test_an_end_that_comes_while_a_status_is_written_is_not_left_until_later() -> None:
    looks: list[float] = []

    def decide(raw: Raw, view: View, _now: datetime) -> Decision:
        looks.append(round(asyncio.get_running_loop().time(), 3))
        pods = view.controlled_by(raw["metadata"]["uid"])
        ended = sum((pod.get("status") or {}).get("phase") == "Succeeded" for pod in pods)
        return Decision.of([SetStatus(Ref.of(raw), {"phase": str(ended)}, raw["metadata"]["uid"])])

    async def main() -> None:
        async with cluster(latency=0.02) as made:
            node = await made.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "parent"}})
            children = [pod_of(node, f"pod-{i}") for i in range(2)]
            for child in children:
                await made.api.create(child)
            async with made.controlled(Controller("toy", "", "Node", decide, owns=(("", "Pod"),))):
                for child, seconds in zip(children, (1, 0.01), strict=True):
                    await asyncio.sleep(seconds)
                    await made.api.set_status(Ref.of(child), {"phase": "Succeeded"})
                await asyncio.sleep(1)

    virtual.run(main())
    # The status that tells of the first end takes from 1.00 until 1.02, and the second end comes at 1.01.
    assert [look for look in looks if 1 <= look < 1.05] == [1.0, 1.02]


def pod_of(parent: Raw, name: str) -> Raw:
    spec = {"containers": [{"name": "main", "image": "none"}]}
    return {**owned(parent, name), "kind": "Pod", "spec": spec}


def test_who_does_not_care_for_an_object_is_not_woken_by_it_but_may_be_by_another() -> None:
    looks: list[tuple[float, str]] = []

    def decide(raw: Raw, _view: View, _now: datetime) -> Decision:
        looks.append((asyncio.get_running_loop().time(), raw["metadata"]["name"]))
        return NOTHING

    async def main() -> None:
        async with cluster() as made:
            plain = Ref("", "ConfigMap", NAMESPACE, "plain")
            controller = Controller(
                "toy",
                "",
                "ConfigMap",
                decide,
                cares=lambda raw, _view: "wanted" in (raw.get("data") or {}),
                watches=((("", "Node"), lambda _raw, _view: (plain,)),),
            )
            async with made.controlled(controller):
                await made.api.create(config_map("plain"))
                await asyncio.sleep(1)
                await made.api.patch(plain, Patch.merge({"data": {"wanted": ""}}))
                await asyncio.sleep(1)
                await made.api.patch(plain, Patch.merge({"data": None}))
                await asyncio.sleep(1)
                await made.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
                await asyncio.sleep(1)

    virtual.run(main())
    assert looks == [(1, "plain"), (3, "plain")]


def test_it_ends_when_it_is_cancelled_and_leaves_nothing_running() -> None:
    async def main() -> None:
        async with cluster(latency=5) as made:
            await made.api.create(config_map("parent"))
            metrics = Metrics()
            before = asyncio.all_tasks()
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(
                    run((of_parent("toy", one_by_one(9)),), made.client, made.clock, metrics=metrics)
                )
                await asyncio.sleep(7)
                task.cancel()
            assert asyncio.all_tasks() == before
            assert 'trainplane_writes_total{controller="toy",verb="create",kind="ConfigMap"} 1' in metrics.text()

    virtual.run(main())


def test_another_loop_goes_on_where_one_was_stopped() -> None:
    async def main() -> None:
        async with cluster(latency=1, lag=0.5) as made:
            await made.api.create(config_map("parent"))
            for _ in range(12):
                async with made.controlled(of_parent("toy", one_by_one(5))):
                    await asyncio.sleep(2.3)
            names = sorted(raw["metadata"]["name"] for raw in await made.all("ConfigMap"))
            assert names == [*(f"child-{i}" for i in range(5)), "kube-root-ca.crt", "parent"]

    virtual.run(main())


def test_what_cannot_be_run_is_refused_by_name() -> None:
    async def main() -> None:
        async with cluster() as made:
            unknown = Controller(name="toy", group="x.io", kind="Widget", reconcile=lambda _raw, _view, _now: NOTHING)
            with pytest.raises(ValueError, match=r"toy: there is no kind Widget in the group 'x\.io'"):
                Loop((unknown,), made.client, made.clock, scopes={})
            twice = of_parent("toy", one_by_one(1))
            with pytest.raises(ValueError, match="a name of its own"):
                Loop((twice, twice), made.client, made.clock, scopes={})

    virtual.run(main())


def test_the_same_run_is_the_same_run() -> None:
    async def main() -> list[tuple[float, str, Ref]]:
        async with cluster(latency=0.3, lag=0.1) as made:
            for i in range(20):
                await made.api.create(config_map(f"parent-{i}"))
            told: list[tuple[float, str, Ref]] = []

            def note(verb: str, ref: Ref) -> None:
                told.append((asyncio.get_running_loop().time(), verb, ref))

            made.client.refuse = note
            controller = Controller(
                name="toy",
                group="",
                kind="ConfigMap",
                reconcile=lambda raw, view, now: (
                    one_by_one(3)(raw, view, now) if "parent" in raw["metadata"]["name"] else NOTHING
                ),
                owns=(("", "ConfigMap"),),
            )
            async with made.controlled(controller):
                await asyncio.sleep(30)
            return told

    one = virtual.run(main())
    assert one == virtual.run(main())
    assert len(one) > 20


def test_rows_of_every_kind_can_be_watched() -> None:
    async def main() -> None:
        async with cluster() as made:
            reads = tuple((row.group, row.kind) for row in KINDS)
            controller = of_parent("toy", one_by_one(1), reads=reads)
            async with made.controlled(controller) as loop:
                await asyncio.sleep(1)
                assert all(reflector.synced.is_set() for reflector in loop.reflectors)
                assert len(loop.reflectors) == len(set(reads))

    virtual.run(main())


def test_a_create_with_keys_asked_for_makes_them() -> None:
    def decide(parent: Raw, view: View, _now: datetime) -> Decision:
        secret = {**owned(parent, "demo-mpi-ssh-auth"), "kind": "Secret", "type": "kubernetes.io/ssh-auth"}
        return NOTHING if view.get(Ref.of(secret)) else Decision.of([Create(secret, generate=("ssh-keys",))])

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(of_parent("toy", decide, reads=(("", "Secret"),))):
                await asyncio.sleep(1)
                (secret,) = await made.all("Secret")
                assert len(secret["data"]) == 5

    virtual.run(main())
