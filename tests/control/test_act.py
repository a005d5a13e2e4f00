"""What a Decision becomes at the API: no more calls than needed, in order, and never a stranger's object touched."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.control.clusters import NAMESPACE, Cluster, cluster, config_map
from tests.control.toys import PARENT, of_parent, owned
from trainplane.api.merge import merge_patch, same
from trainplane.api.raw import look
from trainplane.cluster.errors import Forbidden, Invalid, TooManyRequests, Unavailable
from trainplane.control import virtual
from trainplane.control.act import holds
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import Action, Apply, Bind, Create, Decision, Delete, Patch, Record, SetStatus
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
Decide = Callable[[Raw, View], Iterable[Action]]
CHILD = Ref("", "ConfigMap", NAMESPACE, "child")


def written(made: Cluster) -> list[tuple[str, str]]:
    """What was written, events aside."""
    return [(verb, ref.name) for verb, ref in made.client.written if ref.kind != "Event"]


def always(decide: Decide, again: timedelta | None = None) -> Controller:
    """A controller that wants the same at each look."""

    def decided(raw: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001
        return Decision.of(decide(raw, view), again=again)

    return of_parent("toy", decided)


def settle(
    controller: Controller,
    *,
    before: Callable[[Cluster], Any] | None = None,
    after: Callable[[Cluster], Any],
    seconds: float = 5,
) -> None:
    """Let a controller work on the ConfigMap `parent` for a while, and then have a look."""

    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("parent"))
            if before:
                await before(made)
            async with made.controlled(controller):
                await asyncio.sleep(seconds)
                await after(made)

    virtual.run(main())


def test_a_child_is_made_once_and_told_of_once() -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:
        if view.get(CHILD) is None:
            yield Create(owned(parent, "child"))
            yield Record(PARENT, "Normal", "Made", "100%d of {it}")

    async def after(made: Cluster) -> None:
        assert written(made) == [("create", "child")]
        (event,) = [raw for raw in await made.events() if raw["reason"] == "Made"]
        assert event["note"] == "100%d of {it}", "words are not a format"
        assert event["regarding"]["uid"] == (await made.api.get(PARENT))["metadata"]["uid"]
        assert event["reportingController"] == "toy"

    settle(always(decide), after=after)


def test_what_is_so_already_is_not_written() -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:  # noqa: ARG001
        yield Patch(PARENT, {"data": {"a": "1"}, "immutable": None}, uid=parent["metadata"]["uid"])

    async def after(made: Cluster) -> None:
        assert written(made) == [("patch", "parent")]
        assert (await made.api.get(PARENT))["data"] == {"a": "1"}

    settle(always(decide, again=timedelta(seconds=1)), after=after)


def test_a_child_of_somebody_else_is_left_alone_and_reported() -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:  # noqa: ARG001
        yield Create(owned(parent, "child", data={"a": "ours"}))
        yield Record(PARENT, "Normal", "Made", "made the child")
        yield Create(owned(parent, "later"))

    async def before(made: Cluster) -> None:
        await made.api.create(config_map("child", a="theirs"))

    async def after(made: Cluster) -> None:
        assert (await made.api.get(CHILD))["data"] == {"a": "theirs"}
        notes = [(raw["type"], raw["reason"], raw["note"]) for raw in await made.events()]
        assert notes == [("Warning", "FailedCreate", 'Error creating: configmaps "child" already exists')]
        assert ("create", "later") not in written(made), "what comes after a refusal is not done"

    settle(always(decide), before=before, after=after)


def test_refusals_slow_down_and_are_one_series() -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:  # noqa: ARG001
        yield Create({**owned(parent, "Not A Name")}, complaint="ChildCreationFailed")

    async def after(made: Cluster) -> None:
        tries = [verb for verb, name in written(made) if name == "Not A Name"]
        assert 10 < len(tries) < 25, "ten minutes of trying"
        (event,) = await made.events()
        assert event["reason"] == "ChildCreationFailed"
        assert "Invalid value" in event["note"]
        assert len(tries) - 3 <= event["series"]["count"] <= len(tries)

    settle(always(decide), after=after, seconds=600)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Forbidden("quota is used up"), ["FailedCreate"]),
        (Invalid("no"), ["FailedCreate"]),
        (TooManyRequests("busy", details={"retryAfterSeconds": 2}), []),
        (Unavailable("away"), []),
        (ConnectionResetError("cut"), []),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_only_what_will_not_pass_by_itself_is_told(error: Any, told: list[str]) -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:
        if view.get(CHILD) is None:
            yield Create(owned(parent, "child"))

    async def before(made: Cluster) -> None:
        time = asyncio.get_running_loop().time
        made.client.refuse = lambda _verb, ref: error if ref == CHILD and time() < 3 else None

    async def after(made: Cluster) -> None:
        assert written(made) == [("create", "child")]
        assert [raw["reason"] for raw in await made.events()] == told

    settle(always(decide), before=before, after=after, seconds=30)


@pytest.mark.parametrize("after_all", [False, True])
def test_a_refusal_keeps_only_that_status_from_being_written_which_asks_for_it(after_all: bool) -> None:
    def decide(node: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001
        ref, uid = Ref.of(node), node["metadata"]["uid"]
        status = SetStatus(ref, {"phase": "Running"}, uid, after_all=after_all)
        return Decision.of([Create(config_map("Bad Name")), Delete(ref, uid), status])

    controller = Controller(name="toy", group="", kind="Node", reconcile=decide)

    async def before(made: Cluster) -> None:
        await made.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})

    async def after(made: Cluster) -> None:
        (node,) = await made.all("Node")
        assert (look(node, "status", "phase") == "Running") is not after_all
        assert [verb for verb, name in written(made) if name == "n"] == ([] if after_all else ["set_status"])

    settle(controller, before=before, after=after)


def test_an_apply_takes_away_what_the_create_wrote() -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:
        child = view.get(CHILD)
        if child is None:
            yield Create(owned(parent, "child", data={"keep": "1", "drop": "1"}))
        elif child["data"] != {"keep": "2"}:
            yield Apply(owned(parent, "child", data={"keep": "2"}), uid=child["metadata"]["uid"])

    async def after(made: Cluster) -> None:
        child = await made.api.get(CHILD)
        assert child["data"] == {"keep": "2"}
        owners = {(entry["manager"], entry["operation"]) for entry in child["metadata"]["managedFields"]}
        assert owners == {("trainplane", "Apply")}
        assert [verb for verb, _ in written(made)] == ["create", "patch", "apply"]

    settle(always(decide), after=after)


def test_a_write_for_an_object_that_was_made_anew_is_not_made() -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:  # noqa: ARG001
        yield Patch(CHILD, {"data": {"a": "ours"}}, uid="00000000-0000-0000-0000-00000000dead")
        yield Create(owned(parent, "later"))

    async def before(made: Cluster) -> None:
        await made.api.create(config_map("child", a="theirs"))

    async def after(made: Cluster) -> None:
        assert (await made.api.get(CHILD))["data"] == {"a": "theirs"}
        assert {name for _, name in written(made)} == {"child"}
        assert await made.events() == []

    settle(always(decide), before=before, after=after)


def test_deleting_what_is_gone_is_no_failure() -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:  # noqa: ARG001
        yield Delete(CHILD, "00000000-0000-0000-0000-00000000dead")
        yield Create(owned(parent, "later"))

    async def after(made: Cluster) -> None:
        assert ("create", "later") in written(made)

    settle(always(decide), after=after)


def test_a_bound_pod_is_waited_for_and_its_wait_is_measured() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": NAMESPACE},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }

    def decide(raw: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001
        waiting = [one for one in view.all("", "Pod") if not one["spec"].get("nodeName")]
        return Decision.of([Bind(Ref.of(one), "n") for one in waiting], again=timedelta(seconds=0.1))

    wake = Ref("", "", "", "scheduler")
    controller = Controller(
        name="scheduler", group="", kind="", reconcile=decide, watches=((("", "Pod"), lambda _raw, _view: (wake,)),)
    )

    async def main() -> None:
        async with cluster(lag=1) as made, made.controlled(controller) as loop:
            await asyncio.sleep(1)
            await made.api.create(pod)
            await asyncio.sleep(30)
            assert written(made) == [("bind", "p")], "an old View binds nothing twice"
            assert "trainplane_scheduling_seconds_count 1" in loop.metrics.text()
            assert "trainplane_scheduling_seconds_sum 1.0" in loop.metrics.text()

    virtual.run(main())


def test_a_condition_is_set_beside_those_that_others_write() -> None:
    pod = Ref("", "Pod", NAMESPACE, "p")
    uid = ""

    async def before(made: Cluster) -> None:
        nonlocal uid
        spec = {"containers": [{"name": "c", "image": "i"}]}
        found = await made.api.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": NAMESPACE}, "spec": spec}
        )
        uid = found["metadata"]["uid"]
        await made.api.set_status(pod, {"conditions": [{"type": "Ready", "status": "True"}]}, uid=uid)

    def tell(raw: Raw, view: View) -> Iterable[Action]:  # noqa: ARG001
        for _ in range(2):
            yield Patch(pod, {"status": {"conditions": [{"type": "A", "status": "True"}]}}, uid, "status", keyed=True)

    async def after(made: Cluster) -> None:
        found = (await made.api.get(pod))["status"]["conditions"]
        assert sorted(one["type"] for one in found) == ["A", "Ready"]

    settle(always(tell), before=before, after=after)


def test_what_was_deleted_is_waited_for() -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:  # noqa: ARG001
        child = view.get(CHILD)
        if child:
            yield Delete(CHILD, child["metadata"]["uid"])

    async def main() -> None:
        async with cluster(lag=1) as made:
            await made.api.create(config_map("parent"))
            await made.api.create(config_map("child"))
            async with made.controlled(always(decide, again=timedelta(seconds=0.1))):
                await asyncio.sleep(30)
                assert written(made) == [("delete", "child")]

    virtual.run(main())


def test_many_alike_are_done_at_once_and_the_last_kind_last() -> None:
    def decide(parent: Raw, view: View) -> Iterable[Action]:
        if view.get(Ref("", "Secret", NAMESPACE, "last")) is None:
            yield from (Create(owned(parent, f"child-{i}")) for i in range(63))
            yield Create({**owned(parent, "last"), "kind": "Secret"})

    async def main() -> None:
        async with cluster(latency=1) as made:
            await made.api.create(config_map("parent"))
            async with made.controlled(always(decide)):
                await asyncio.sleep(7.5)
                names = [name for _, name in written(made)]
                assert len(names) == 64, "1 + 2 + 4 + 8 + 16 + 32 in six seconds, and the Secret in the seventh"
                assert names[-1] == "last"

    virtual.run(main())


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(0, 1), st.sampled_from(("", "a")))
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
)
OBJECTS = st.dictionaries(st.sampled_from("xyz"), JSON, max_size=3)


@given(document=OBJECTS, patch=OBJECTS)
def test_a_patch_that_holds_already_is_one_that_would_change_nothing(document: Raw, patch: Raw) -> None:
    once = merge_patch(document, patch)
    assert holds(document, patch) == same(once, document)
    assert holds(once, patch) == same(merge_patch(once, patch), once)
