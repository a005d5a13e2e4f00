"""What nobody owns goes; owners wait for what they own, leave it behind, or go first."""

import pytest

from tests.upkeep.town import NOON, Town, config_map, play
from trainplane.api.kinds import KINDS
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.reconcile.view import View
from trainplane.upkeep.garbage import QUARANTINE, collect, garbage, touched

GARBAGE = (garbage(),)


def ref(name: str) -> Ref:
    """A ConfigMap of `ns`."""
    return Ref("", "ConfigMap", "ns", name)


async def family(town: Town, *, block: bool = True) -> None:
    """A parent with a child and a grandchild, all older than any quarantine."""
    (parent,) = await town.make(config_map("parent"))
    (child,) = await town.make(config_map("child", parent, block=block))
    await town.make(config_map("grandchild", child), config_map("stranger"))
    town.now += QUARANTINE


def test_what_is_owned_stays_while_its_owner_does() -> None:
    async def story(town: Town) -> None:
        await family(town)
        await town.settle(GARBAGE)
        assert await town.there("ConfigMap") == ["child", "grandchild", "parent", "stranger"]
        assert town.writes == 0

    play(story)


def test_in_the_background_an_owner_goes_first_and_all_below_it_follows() -> None:
    async def story(town: Town) -> None:
        await family(town)
        await town.api.delete(ref("parent"), propagation="Background")
        assert await town.there("ConfigMap") == ["child", "grandchild", "stranger"]
        await town.settle(GARBAGE)
        assert await town.there("ConfigMap") == ["stranger"]

    play(story)


def test_in_the_foreground_an_owner_goes_last() -> None:
    async def story(town: Town) -> None:
        await family(town)
        await town.api.patch(ref("grandchild"), Patch.merge({"metadata": {"finalizers": ["example.test/hold"]}}))
        await town.api.delete(ref("parent"), propagation="Foreground")
        await town.settle(GARBAGE)
        assert await town.there("ConfigMap") == ["child", "grandchild", "parent", "stranger"]
        await town.api.patch(ref("grandchild"), Patch.merge({"metadata": {"finalizers": None}}))
        await town.settle(GARBAGE)
        assert await town.there("ConfigMap") == ["stranger"]

    play(story)


def test_in_the_foreground_only_those_that_block_are_waited_for() -> None:
    async def story(town: Town) -> None:
        await family(town, block=False)
        await town.api.patch(ref("child"), Patch.merge({"metadata": {"finalizers": ["example.test/hold"]}}))
        await town.api.delete(ref("parent"), propagation="Foreground")
        await town.settle(GARBAGE)
        assert "parent" not in await town.there("ConfigMap")
        assert "child" in await town.there("ConfigMap")

    play(story)


def test_orphans_are_left_behind_without_their_owner() -> None:
    async def story(town: Town) -> None:
        await family(town)
        await town.api.delete(ref("parent"), propagation="Orphan")
        await town.settle(GARBAGE)
        assert await town.there("ConfigMap") == ["child", "grandchild", "stranger"]
        assert "ownerReferences" not in (await town.api.get(ref("child")))["metadata"]

    play(story)


def test_of_two_owners_the_dead_one_is_forgotten() -> None:
    async def story(town: Town) -> None:
        one, two = await town.make(config_map("one"), config_map("two"))
        await town.make(config_map("child", one, two))
        town.now += QUARANTINE
        await town.api.delete(ref("one"))
        await town.settle(GARBAGE)
        owners = (await town.api.get(ref("child")))["metadata"]["ownerReferences"]
        assert [owner["name"] for owner in owners] == ["two"]

    play(story)


def test_an_owner_of_the_same_name_is_another() -> None:
    async def story(town: Town) -> None:
        await family(town)
        await town.api.delete(ref("parent"))
        await town.make(config_map("parent"))
        await town.settle(GARBAGE)
        assert await town.there("ConfigMap") == ["parent", "stranger"]

    play(story)


def test_an_owner_that_nobody_has_heard_of_yet_may_still_come() -> None:
    async def story(town: Town) -> None:
        (parent,) = await town.make(config_map("parent"))
        await town.api.delete(ref("parent"))
        await town.make(config_map("child", parent))
        assert await town.settle(GARBAGE) == QUARANTINE
        assert "child" in await town.there("ConfigMap")
        town.now += QUARANTINE
        await town.settle(GARBAGE)
        assert "child" not in await town.there("ConfigMap")

    play(story)


def test_two_that_own_each_other_do_not_wait_for_ever() -> None:
    async def story(town: Town) -> None:
        one, two = await town.make(config_map("one"), config_map("two"))
        for mine, other in ((one, two), (two, one)):
            owners = config_map("x", other)["metadata"]["ownerReferences"]
            await town.api.patch(Ref.of(mine), Patch.merge({"metadata": {"ownerReferences": owners}}))
        town.now += QUARANTINE
        await town.api.delete(ref("one"), propagation="Foreground")
        await town.settle(GARBAGE)
        assert await town.there("ConfigMap") == []

    play(story)


def test_an_owner_in_another_namespace_counts_as_gone_and_is_named() -> None:
    async def story(town: Town) -> None:
        await town.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
        (parent,) = await town.make(config_map("parent", namespace="other"))
        await town.make(config_map("child", parent))
        town.now += QUARANTINE
        await town.settle(GARBAGE)
        assert await town.there("ConfigMap") == ["parent"]
        assert town.said[0][:2] == ("ConfigMap/child", "OwnerRefInvalidNamespace")
        assert "ConfigMap parent" in town.said[0][2]

    play(story)


@pytest.mark.parametrize(
    ("raw", "owner"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}},
            {"apiVersion": "example.test/v1", "kind": "Widget", "name": "w", "uid": "1"},
            id="an owner of a kind that is not seen",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "w", "uid": "1"},
            id="an owner in a namespace of an object in none",
        ),
    ],
)
def test_what_cannot_be_looked_up_is_left_alone(raw: dict, owner: dict) -> None:
    scopes = {(row.group, row.kind): row.namespaced for row in KINDS}
    raw["metadata"]["ownerReferences"] = [owner]
    assert collect(raw, View.of(raw), NOON, scopes=scopes).actions == ()


def test_a_change_wakes_only_those_whom_it_may_concern() -> None:
    owner = config_map("parent", uid="1")
    child = config_map("child", owner, uid="2")
    scopes = {(row.group, row.kind): row.namespaced for row in KINDS}

    def woken(raw: dict, *world: dict) -> list[Ref]:
        return list(touched(raw, View.of(*world), scopes=scopes))

    assert woken(owner, owner, child) == [], "an owner that is well wakes nobody"
    assert woken(child, owner, child) == [], "nor does a child of one"
    assert woken(child, child) == [ref("child")], "a child without its owner is looked at"
    assert woken(owner, child) == [ref("child")], "an owner that is gone wakes what it owned"
    going = config_map("parent", uid="1", deletionTimestamp="2026-01-31T12:00:00Z")
    assert woken(child, going) == [ref("parent")], "one that waits is told what went"


def test_every_kind_but_events_is_collected() -> None:
    assert {kind for (_, kind), _ in GARBAGE[0].watches} == {row.kind for row in KINDS} - {"Event"}
