"""The suite over Client: applying, patching, scaling and binding."""

import pytest

from tests.conformance.scenes import OTHER_UID, Play, Scene, words
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.cluster.errors import ApplyConflict, Conflict, Forbidden, Invalid, NotFound, UnsupportedMediaType


def test_apply_makes_keeps_and_takes_back(play: Play) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.apply(scene.config_map(data={"a": "1", "b": "2"}), manager="one")
        again = await scene.client.apply(scene.config_map(data={"a": "1", "b": "2"}), manager="one")
        assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        less = await scene.client.apply(scene.config_map(data={"a": "1"}), manager="one")
        assert less["data"] == {"a": "1"}
        both = await scene.client.apply(scene.config_map(data={"c": "3"}), manager="two")
        assert both["data"] == {"a": "1", "c": "3"}
        managers = [entry["manager"] for entry in both["metadata"]["managedFields"]]
        assert sorted(managers) == ["one", "two"]

    play(story)


def test_apply_does_not_take_what_another_owns_unless_forced(play: Play) -> None:
    async def story(scene: Scene) -> None:
        await scene.client.apply(scene.config_map(data={"a": "1", "b": "2"}), manager="one")
        with pytest.raises(ApplyConflict) as caught:
            await scene.client.apply(scene.config_map(data={"a": "9", "b": "8"}), manager="two")
        assert caught.value.conflicts == (('"one"', (".data.a", ".data.b")),)
        assert words(caught) == 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b'
        taken = await scene.client.apply(scene.config_map(data={"a": "9"}), manager="two", force=True)
        assert taken["data"] == {"a": "9", "b": "2"}

    play(story)


@pytest.mark.parametrize("there", [True, False], ids=["another is there", "nothing is there"])
def test_apply_with_a_uid_is_for_that_object_alone(play: Play, *, there: bool) -> None:
    async def story(scene: Scene) -> None:
        for raw in (scene.config_map(), scene.job_set()):
            if there:
                made = await scene.client.create(raw)
                await scene.client.apply(raw, manager="one", uid=made["metadata"]["uid"], force=True)
            with pytest.raises(Conflict):
                await scene.client.apply(raw, manager="one", uid=OTHER_UID, force=True)

    play(story)


@pytest.mark.parametrize(
    ("patch", "data"),
    [
        (Patch.merge({"data": {"a": None, "b": "2"}}), {"b": "2"}),
        (Patch.json([{"op": "add", "path": "/data/b", "value": "2"}]), {"a": "1", "b": "2"}),
        (Patch.strategic({"data": {"b": "2", "$retainKeys": ["b"]}}), {"b": "2"}),
    ],
    ids=["merge", "json", "strategic"],
)
def test_patches(play: Play, patch: Patch, data: dict[str, str]) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.create(scene.config_map(data={"a": "1"}))
        changed = await scene.client.patch(Ref.of(made), patch)
        assert changed["data"] == data
        assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
        assert changed["metadata"]["managedFields"][0]["manager"] == "trainplane"
        same = await scene.client.patch(Ref.of(made), Patch.merge({"data": data}))
        assert same["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]

    play(story)


@pytest.mark.parametrize(
    "patch",
    [
        Patch.merge({"metadata": {"labels": {"x": "y"}}}),
        Patch.json([{"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}]),
        Patch.strategic({"metadata": {"labels": {"x": "y"}}}),
    ],
    ids=["merge", "json", "strategic"],
)
def test_a_patch_with_a_uid_is_for_that_object_alone(play: Play, patch: Patch) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.create(scene.config_map())
        with pytest.raises(Conflict):
            await scene.client.patch(Ref.of(made), patch, uid=OTHER_UID)
        changed = await scene.client.patch(Ref.of(made), patch, uid=made["metadata"]["uid"])
        assert changed["metadata"]["labels"] == {"x": "y"}

    play(story)


def test_patches_that_do_not_fit(play: Play) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.create(scene.config_map(data={"a": "1"}))
        ref = Ref.of(made)
        with pytest.raises(Invalid, match="the server rejected our request due to an error in our request"):
            await scene.client.patch(ref, Patch.json([{"op": "test", "path": "/data/a", "value": "2"}]))
        with pytest.raises(Conflict, match="the object has been modified"):
            await scene.client.patch(ref, Patch.merge({"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}}))
        with pytest.raises(NotFound, match='configmaps "b" not found'):
            await scene.client.patch(ref._replace(name="b"), Patch.merge({"data": {"a": "2"}}))
        with pytest.raises(Invalid, match="cannot unmarshal number into Go struct field"):
            await scene.client.patch(ref, Patch.merge({"data": {"a": 1}}))
        custom = await scene.client.create(scene.job_set())
        with pytest.raises(UnsupportedMediaType):
            await scene.client.patch(Ref.of(custom), Patch.strategic({"spec": {"suspend": True}}))

    play(story)


def test_strategic_patches_know_lists_by_their_keys(play: Play) -> None:
    async def story(scene: Scene) -> None:
        await scene.account()
        made = await scene.client.create(scene.pod())
        changed = await scene.client.patch(
            Ref.of(made), Patch.strategic({"spec": {"containers": [{"name": "c", "image": "example.test/c:2"}]}})
        )
        assert [each["image"] for each in changed["spec"]["containers"]] == ["example.test/c:2"]
        assert changed["metadata"]["generation"] == made["metadata"]["generation"] + 1

    play(story)


def test_status_and_spec_are_apart(play: Play) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.create(scene.job_set())
        ref = Ref.of(made)
        status = {"restarts": 1, "restartsCountTowardsMax": 1}
        told = await scene.client.set_status(ref, status, uid=made["metadata"]["uid"])
        assert told["status"] == status
        assert told["metadata"]["generation"] == 1
        less = await scene.client.set_status(ref, {"restarts": 2})
        assert less["status"] == {"restarts": 2}
        changed = await scene.client.patch(ref, Patch.merge({"spec": {"suspend": False}, "status": {"restarts": 9}}))
        assert changed["status"] == {"restarts": 2}
        assert changed["metadata"]["generation"] == 2
        kept = await scene.client.patch(
            ref, Patch.merge({"spec": {"suspend": True}, "status": {"restarts": 3}}), subresource="status"
        )
        assert (kept["spec"]["suspend"], kept["status"]["restarts"]) == (False, 3)

    play(story)


@pytest.mark.parametrize("kind", ["JobSet", "Pod"])
def test_a_status_with_a_uid_is_for_that_object_alone(play: Play, kind: str) -> None:
    async def story(scene: Scene) -> None:
        await scene.account()
        made = await scene.client.create(scene.job_set() if kind == "JobSet" else scene.pod())
        ref = Ref.of(made)
        status = {"restarts": 1} if kind == "JobSet" else {"phase": "Running"}
        with pytest.raises(Conflict):
            await scene.client.set_status(ref, status, uid=OTHER_UID)
        with pytest.raises(Conflict):
            await scene.client.patch(ref, Patch.merge({"status": status}), uid=OTHER_UID, subresource="status")
        told = await scene.client.patch(
            ref, Patch.merge({"status": status}), uid=made["metadata"]["uid"], subresource="status"
        )
        assert status.items() <= told["status"].items()
        with pytest.raises(NotFound):
            await scene.client.set_status(ref._replace(name="no"), status, uid=OTHER_UID)

    play(story)


@pytest.mark.parametrize("kind", ["JobSet", "Pod"])
def test_a_status_with_a_version_is_for_that_version_alone(play: Play, kind: str) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.create(scene.job_set() if kind == "JobSet" else scene.pod())
        ref, version = Ref.of(made), made["metadata"]["resourceVersion"]
        status = {"restarts": 1} if kind == "JobSet" else {"phase": "Running"}
        told = await scene.client.set_status(ref, status, version=version)
        assert status.items() <= told["status"].items()
        with pytest.raises(Conflict):
            await scene.client.set_status(ref, status, version=version)

    play(story)


def test_a_job_is_scaled_by_the_nodes_it_asks_for(play: Play) -> None:
    async def story(scene: Scene) -> None:
        patch = Patch.merge({"spec": {"replicas": 3}})
        try:
            made = await scene.client.create(scene.train_job(runtime="torch-elastic"))
            ref, uid = Ref.of(made), made["metadata"]["uid"]
            scale = await scene.client.patch(ref, patch, uid=uid, subresource="scale")
        except (NotFound, Forbidden):
            pytest.skip("needs our CRDs: the TrainJobs of this cluster have no scale")
        assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 3)
        assert (await scene.client.get(ref))["spec"]["trainer"]["numNodes"] == 3
        with pytest.raises(Conflict):
            await scene.client.patch(ref, patch, uid=OTHER_UID, subresource="scale")

    play(story)


def test_a_pod_is_bound_once(play: Play) -> None:
    async def story(scene: Scene) -> None:
        await scene.account()
        made = await scene.client.create(scene.pod())
        await scene.client.bind(Ref.of(made), "n1")
        pod = await scene.client.get(Ref.of(made))
        assert pod["spec"]["nodeName"] == "n1"
        assert ("PodScheduled", "True") in {(each["type"], each["status"]) for each in pod["status"]["conditions"]}
        with pytest.raises(Conflict) as caught:
            await scene.client.bind(Ref.of(made), "n2")
        assert words(caught).endswith('pod p is already assigned to node "n1"')
        with pytest.raises(NotFound):
            await scene.client.bind(Ref.of(made)._replace(name="no"), "n1")

    play(story)
