"""The suite over Client: deleting, and watching."""

import asyncio
from contextlib import aclosing

import pytest

from tests.conformance.scenes import CONFIG_MAPS, OTHER_UID, PODS, Play, Scene, take, words
from trainplane.api.ref import Ref
from trainplane.cluster.client import Change, Patch
from trainplane.cluster.errors import BadRequest, Conflict, Expired, Internal, Invalid, NotFound


def test_what_is_deleted_is_gone(play: Play) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.create(scene.config_map())
        ref = Ref.of(made)
        with pytest.raises(Conflict) as caught:
            await scene.client.delete(ref, uid=OTHER_UID)
        assert "The object might have been deleted and then recreated" in words(caught)
        await scene.client.delete(ref, uid=made["metadata"]["uid"])
        with pytest.raises(NotFound):
            await scene.client.get(ref)
        with pytest.raises(NotFound) as again:
            await scene.client.delete(ref)
        assert words(again) == 'configmaps "a" not found'

    play(story)


def test_finalizers_hold_an_object(play: Play) -> None:
    async def story(scene: Scene) -> None:
        raw = scene.config_map()
        raw["metadata"]["finalizers"] = ["example.test/held"]
        ref = Ref.of(await scene.client.create(raw))
        await scene.client.delete(ref)
        held = await scene.client.get(ref)
        assert held["metadata"]["deletionTimestamp"]
        with pytest.raises(Invalid, match="no new finalizers can be added if the object is being deleted"):
            await scene.client.patch(ref, Patch.merge({"metadata": {"finalizers": ["example.test/held", "x.test/y"]}}))
        await scene.client.patch(ref, Patch.merge({"metadata": {"finalizers": None}}))
        with pytest.raises(NotFound):
            await scene.client.get(ref)

    play(story)


def test_a_bound_pod_is_given_its_time_to_end(play: Play) -> None:
    async def story(scene: Scene) -> None:
        await scene.account()
        bound = await scene.client.create(scene.pod(terminationGracePeriodSeconds=7))
        free = await scene.client.create(scene.pod("free"))
        await scene.client.bind(Ref.of(bound), "n1")
        for each in (bound, free):
            await scene.client.delete(Ref.of(each))
        ending = await scene.client.get(Ref.of(bound))
        assert ending["metadata"]["deletionGracePeriodSeconds"] == 7
        with pytest.raises(NotFound):
            await scene.client.get(Ref.of(free))

    play(story)


@pytest.mark.parametrize("propagation", ["Foreground", "Background", "Orphan"])
def test_what_an_owner_leaves_behind(play: Play, propagation: str) -> None:
    async def story(scene: Scene) -> None:
        owner = await scene.client.create(scene.config_map("owner"))
        child = scene.config_map("child")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        child["metadata"]["ownerReferences"] = [{**reference, "blockOwnerDeletion": True}]
        child["metadata"]["finalizers"] = ["example.test/held"]
        ref = Ref.of(await scene.client.create(child))
        # Collectors learn of owners from a watch; give them the time to have seen this one.
        await asyncio.sleep(0.5)
        await scene.client.delete(Ref.of(owner), propagation=propagation)
        if propagation == "Foreground":
            there = await scene.client.get(Ref.of(owner))
            assert there["metadata"]["finalizers"] == ["foregroundDeletion"]
        else:
            await scene.gone(Ref.of(owner))
        for _ in range(2000):
            left = await scene.client.get(ref)
            settled = "ownerReferences" not in left["metadata"] or "deletionTimestamp" in left["metadata"]
            if settled:
                break
            await asyncio.sleep(0.05)
        assert ("deletionTimestamp" in left["metadata"]) == (propagation != "Orphan")
        await scene.client.patch(ref, Patch.merge({"metadata": {"finalizers": None}}))
        await scene.gone(Ref.of(owner))

    play(story)


def test_a_watch_goes_on_where_a_list_ended(play: Play) -> None:
    async def story(scene: Scene) -> None:
        await scene.client.create(scene.config_map("before"))
        page = await scene.client.list(CONFIG_MAPS, namespace=scene.namespace)
        made = await scene.client.create(scene.config_map())
        await scene.client.patch(Ref.of(made), Patch.merge({"data": {"a": "1"}}))
        await scene.client.delete(Ref.of(made))
        changes = scene.client.watch(CONFIG_MAPS, namespace=scene.namespace, since=page.resource_version)
        assert await take(changes, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]

    play(story)


def test_a_watch_tells_of_what_comes(play: Play) -> None:
    async def story(scene: Scene) -> None:
        page = await scene.client.list(CONFIG_MAPS, namespace=scene.namespace)
        seen: list[Change] = []

        async def look() -> None:
            changes = scene.client.watch(CONFIG_MAPS, namespace=scene.namespace, since=page.resource_version)
            async with aclosing(changes) as told:  # type: ignore[type-var]
                async for change in told:
                    if change.object["metadata"]["name"].startswith("n"):
                        seen.append(change)
                    if len(seen) == 5:
                        return

        async with asyncio.TaskGroup() as group:
            group.create_task(look())
            for number in range(5):
                await scene.client.create(scene.config_map(f"n{number}"))
                await asyncio.sleep(0.02)
        assert [change.object["metadata"]["name"] for change in seen] == [f"n{number}" for number in range(5)]
        assert {change.object["kind"] for change in seen} == {"ConfigMap"}
        versions = [int(change.resource_version) for change in seen]
        assert versions == sorted(set(versions))

    play(story)


def test_a_watch_of_a_selection_tells_who_enters_and_leaves(play: Play) -> None:
    async def story(scene: Scene) -> None:
        page = await scene.client.list(CONFIG_MAPS, namespace=scene.namespace, labels="in=yes")
        ref = Ref.of(await scene.client.create(scene.config_map()))
        for value in ("yes", "no", "yes"):
            await scene.client.patch(ref, Patch.merge({"metadata": {"labels": {"in": value}}}))
        await scene.client.delete(ref)
        changes = scene.client.watch(
            CONFIG_MAPS, namespace=scene.namespace, labels="in=yes", since=page.resource_version
        )
        assert await take(changes, 4) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a"), ("DELETED", "a")]

    play(story)


def test_a_watch_of_one_pod_by_its_node(play: Play) -> None:
    async def story(scene: Scene) -> None:
        await scene.account()
        page = await scene.client.list(PODS, namespace=scene.namespace, fields="spec.nodeName=n1")
        ref = Ref.of(await scene.client.create(scene.pod()))
        await scene.client.create(scene.pod("other"))
        await scene.client.bind(ref, "n1")
        changes = scene.client.watch(
            PODS, namespace=scene.namespace, fields="spec.nodeName=n1", since=page.resource_version
        )
        assert await take(changes, 1) == [("ADDED", "p")]

    play(story)


def test_a_watch_from_long_ago_must_list_again(play: Play) -> None:
    async def story(scene: Scene) -> None:
        with pytest.raises(Expired):
            await take(scene.client.watch(CONFIG_MAPS, namespace=scene.namespace, since="1"), 1)

    play(story)


def test_a_watch_that_cannot_be_is_refused(play: Play) -> None:
    async def story(scene: Scene) -> None:
        with pytest.raises(BadRequest):
            await take(scene.client.watch(CONFIG_MAPS, namespace=scene.namespace, labels="a b", since="1"), 1)
        with pytest.raises(Internal, match='resourceVersion: Invalid value: "x"'):
            await take(scene.client.watch(CONFIG_MAPS, namespace=scene.namespace, since="x"), 1)

    play(story)
