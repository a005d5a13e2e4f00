"""One suite over Client: the in-process Api, HTTPS to the embedded server, and a real cluster where one is named."""

import pytest

from tests.conformance.scenes import CONFIG_MAPS, Play, Scene, words
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.cluster.errors import AlreadyExists, BadRequest, Forbidden, Invalid, MethodNotAllowed, NotFound


def test_what_is_made_is_found(play: Play) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.create(scene.config_map(data={"k": "v"}))
        assert made["metadata"]["uid"]
        assert made["metadata"]["creationTimestamp"].endswith("Z")
        assert made["metadata"]["resourceVersion"].isdigit()
        assert await scene.client.get(Ref.of(made)) == made

    play(story)


@pytest.mark.parametrize(
    ("kind", "said"),
    [("ConfigMap", 'configmaps "no" not found'), ("Unknown", "the server could not find the requested resource")],
)
def test_what_is_not_there_is_not_found(play: Play, kind: str, said: str) -> None:
    async def story(scene: Scene) -> None:
        with pytest.raises(NotFound) as caught:
            await scene.client.get(Ref("", kind, scene.namespace, "no"))
        assert words(caught) == said

    play(story)


def test_what_has_no_namespace_and_needs_one_is_refused(play: Play) -> None:
    async def story(scene: Scene) -> None:
        with pytest.raises(MethodNotAllowed, match="does not allow this method on the requested resource"):
            await scene.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        with pytest.raises(NotFound, match="could not find the requested resource"):
            await scene.client.get(Ref("", "ConfigMap", "", "a"))

    play(story)


def test_listed_objects_say_what_they_are(play: Play) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.create(scene.config_map())
        page = await scene.client.list(CONFIG_MAPS, namespace=scene.namespace)
        assert [item for item in page.items if item["metadata"]["name"] == "a"] == [made]
        everywhere = await scene.client.list(CONFIG_MAPS)
        assert made in everywhere.items
        assert len({item["metadata"]["namespace"] for item in everywhere.items}) > 1

    play(story)


@pytest.mark.parametrize(
    ("selected", "found"),
    [
        ({"labels": "tier=one"}, ["a"]),
        ({"labels": "tier!=one"}, ["b", "c"]),
        ({"labels": "tier in (one,two)"}, ["a", "b"]),
        ({"labels": "tier"}, ["a", "b"]),
        ({"labels": "!tier"}, ["c"]),
        ({"fields": "metadata.name=b"}, ["b"]),
        ({"fields": "metadata.name!=b", "labels": "tier"}, ["a"]),
    ],
)
def test_selectors(play: Play, selected: dict[str, str], found: list[str]) -> None:
    async def story(scene: Scene) -> None:
        for name, labels in (("a", {"tier": "one"}), ("b", {"tier": "two"}), ("c", None)):
            await scene.client.create(scene.config_map(name, labels=labels))
        assert await scene.names(**selected) == found

    play(story)


@pytest.mark.parametrize(
    ("selected", "said"),
    [
        ({"labels": "a b"}, "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ({"fields": "data.k=v"}, '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ({"after": "nonsense!"}, "continue key is not valid"),
    ],
)
def test_selectors_that_cannot_be_read(play: Play, selected: dict[str, str], said: str) -> None:
    async def story(scene: Scene) -> None:
        with pytest.raises(BadRequest) as caught:
            await scene.client.list(CONFIG_MAPS, namespace=scene.namespace, **selected)  # type: ignore[arg-type]
        assert said in words(caught)

    play(story)


def test_pages_show_one_state(play: Play) -> None:
    async def story(scene: Scene) -> None:
        for number in range(7):
            await scene.client.create(scene.config_map(f"m{number}", labels={"paged": "yes"}))
        first = await scene.client.list(CONFIG_MAPS, namespace=scene.namespace, labels="paged", limit=3)
        await scene.client.create(scene.config_map("m9", labels={"paged": "yes"}))
        found, page = list(first.items), first
        while page.after:
            page = await scene.client.list(
                CONFIG_MAPS, namespace=scene.namespace, labels="paged", limit=3, after=page.after
            )
            assert page.resource_version == first.resource_version
            found += page.items
        assert [item["metadata"]["name"] for item in found] == [f"m{number}" for number in range(7)]

    play(story)


def test_a_name_is_taken_once(play: Play) -> None:
    async def story(scene: Scene) -> None:
        await scene.client.create(scene.config_map())
        with pytest.raises(AlreadyExists) as caught:
            await scene.client.create(scene.config_map())
        assert words(caught) == 'configmaps "a" already exists'

    play(story)


def test_a_name_can_be_left_to_the_server(play: Play) -> None:
    async def story(scene: Scene) -> None:
        raw = scene.config_map()
        raw["metadata"] = {"generateName": "g-", "namespace": scene.namespace}
        names = {(await scene.client.create(raw))["metadata"]["name"] for _ in range(3)}
        assert len(names) == 3
        assert {(name[:2], len(name)) for name in names} == {("g-", 7)}

    play(story)


def test_what_is_wrong_with_an_object_is_told_all_at_once(play: Play) -> None:
    async def story(scene: Scene) -> None:
        await scene.account()
        wrong = scene.pod("Bad_Name", containers=[{"name": "Up", "image": "i"}, {"name": "c"}])
        with pytest.raises(Invalid) as caught:
            await scene.client.create(wrong)
        fields = [cause.field for cause in caught.value.causes]
        assert fields == ["metadata.name", "spec.containers[0].name", "spec.containers[1].image"]

    play(story)


def test_a_whole_number_is_one_however_it_is_written(play: Play) -> None:
    async def story(scene: Scene) -> None:
        raw = scene.train_job()
        raw["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"cpu": 4.0}}
        made = await scene.client.create(raw)
        cpu = made["spec"]["trainer"]["resourcesPerNode"]["limits"]["cpu"]
        assert (cpu, type(cpu)) == (4, int)
        raw["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"cpu": 0.5}}
        raw["metadata"]["name"] = "half"
        with pytest.raises(Invalid, match="must be of type integer,string"):
            await scene.client.create(raw)

    play(story)


def test_copies_without_end_are_refused(play: Play) -> None:
    async def story(scene: Scene) -> None:
        made = await scene.client.create(scene.config_map(data={"a": "x" * 10_000}))
        copies = [{"op": "copy", "from": "/data/a", "path": f"/data/b{number}"} for number in range(2_000)]
        with pytest.raises(Invalid, match="the server rejected our request due to an error in our request"):
            await scene.client.patch(Ref.of(made), Patch.json(copies))

    play(story)


def test_nothing_is_made_in_a_namespace_that_is_not_there(play: Play) -> None:
    async def story(scene: Scene) -> None:
        with pytest.raises(NotFound) as caught:
            await scene.client.create({**scene.config_map(), "metadata": {"name": "a", "namespace": "not-there"}})
        assert words(caught) == 'namespaces "not-there" not found'

    play(story)


def test_nothing_is_made_in_a_namespace_that_goes(play: Play) -> None:
    async def story(scene: Scene) -> None:
        name = f"{scene.namespace}-going"
        raw = scene.config_map()
        held = {**raw, "metadata": {"name": "a", "namespace": name, "finalizers": ["example.test/held"]}}
        await scene.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await scene.client.create(held)
        await scene.client.delete(Ref("", "Namespace", "", name))
        with pytest.raises(Forbidden) as caught:
            await scene.client.create({**raw, "metadata": {"name": "b", "namespace": name}})
        assert f"unable to create new content in namespace {name} because it is being terminated" in words(caught)
        await scene.client.patch(Ref.of(held), Patch.merge({"metadata": {"finalizers": None}}))

    play(story)
