"""One suite over Client: the in-process Api, HTTPS to the embedded server, and a real cluster where one is named."""

import asyncio
import itertools
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.places import need_real_kubeconfig
from trainplane.api.kinds import Kind, kind_of
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.client import Change, Client, Patch
from trainplane.cluster.errors import (
    AlreadyExists,
    ApiError,
    ApplyConflict,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Internal,
    Invalid,
    MethodNotAllowed,
    NotFound,
    UnsupportedMediaType,
)
from trainplane.cluster.remote import Remote
from trainplane.embed import Config, running

LIMIT = 60.0
OTHER_UID = "00000000-0000-0000-0000-000000000000"


def row(api_version: str, kind: str) -> Kind:
    """The row of a kind that is there."""
    found = kind_of(api_version, kind)
    assert found
    return found


CONFIG_MAPS, PODS, JOB_SETS = row("v1", "ConfigMap"), row("v1", "Pod"), row("jobset.x-k8s.io/v1alpha2", "JobSet")


class _World(threading.Thread):
    """A loop in a thread of its own with the clients that the suite is played on, since they outlive a test."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._ready: Future[None] = Future()
        self._end: asyncio.Event
        self.clients: dict[str, Client] = {}

    def run(self) -> None:
        try:
            self._loop.run_until_complete(self._live())
        finally:
            self._loop.close()

    async def _live(self) -> None:
        self._end = asyncio.Event()
        async with AsyncExitStack() as stack:
            try:
                await self._open(stack)
            except BaseException as fault:
                self._ready.set_exception(fault)
                raise
            self._ready.set_result(None)
            await self._end.wait()

    async def _open(self, stack: AsyncExitStack) -> None:
        cluster = await stack.enter_async_context(running(Config(self._folder)))
        self.clients["api"] = cluster.api
        self.clients["embedded"] = await stack.enter_async_context(Remote.connect(cluster.kubeconfig))
        if named := os.environ.get("TRAINPLANE_REAL_KUBECONFIG"):
            self.clients["real"] = await stack.enter_async_context(Remote.connect(Path(named)))

    def wait(self) -> None:
        self._ready.result(LIMIT)

    def play(self, story: Awaitable[None]) -> None:
        async def timed() -> None:
            await asyncio.wait_for(story, LIMIT)

        asyncio.run_coroutine_threadsafe(timed(), self._loop).result(LIMIT + 5)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self.join(LIMIT)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    made = _World(tmp_path_factory.mktemp("world") / "cluster")
    made.start()
    made.wait()
    yield made
    made.close()


class Scene:
    """A client and a namespace of one's own."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    def config_map(self, name: str = "a", *, labels: dict[str, str] | None = None, **fields: Any) -> Raw:
        metadata: Raw = {"name": name, "namespace": self.namespace}
        if labels:
            metadata["labels"] = labels
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}

    def pod(self, name: str = "p", **spec: Any) -> Raw:
        containers = [{"name": "c", "image": "example.test/c:1"}]
        metadata = {"name": name, "namespace": self.namespace}
        # Nobody schedules it but the test.
        own = {"schedulerName": "nobody", "containers": containers, **spec}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own}

    def job_set(self, name: str = "j") -> Raw:
        job = {
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "example.test/c"}]}}
        }
        jobs = [{"name": "w", "replicas": 1, "template": {"spec": job}}]
        metadata = {"name": name, "namespace": self.namespace}
        return {
            "apiVersion": JOB_SETS.api_version,
            "kind": "JobSet",
            "metadata": metadata,
            # Whoever else manages it leaves it alone, so that its status is the test's.
            "spec": {"managedBy": "example.test/nobody", "suspend": True, "replicatedJobs": jobs},
        }

    def train_job(self, *, runtime: str = "torch-distributed") -> Raw:
        return {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "t", "namespace": self.namespace},
            "spec": {
                "suspend": True,
                "managedBy": "kueue.x-k8s.io/multikueue",
                "runtimeRef": {"name": runtime},
                "trainer": {"numNodes": 2},
            },
        }

    async def account(self) -> None:
        """Wait until pods can be made: a real cluster gives a namespace its account in its own time."""
        for _ in range(100):
            try:
                await self.client.get(Ref("", "ServiceAccount", self.namespace, "default"))
            except NotFound:
                await asyncio.sleep(0.1)
            else:
                return

    async def names(self, kind: Kind = CONFIG_MAPS, **selected: Any) -> list[str]:
        page = await self.client.list(kind, namespace=self.namespace, **selected)
        return [item["metadata"]["name"] for item in page.items if item["metadata"]["name"] != "kube-root-ca.crt"]

    async def gone(self, ref: Ref) -> None:
        """Wait until an object is no more."""
        for _ in range(200):
            try:
                await self.client.get(ref)
            except NotFound:
                return
            await asyncio.sleep(0.05)
        pytest.fail(f"{ref} is still there")


Play = Callable[[Callable[[Scene], Awaitable[None]]], None]
_numbers = itertools.count()


@pytest.fixture(params=["api", "embedded", "real"])
def play(request: pytest.FixtureRequest, world: _World) -> Play:
    """Play a story in a namespace of its own, on each client."""
    which: str = request.param
    if which == "real":
        need_real_kubeconfig()
    client, namespace = world.clients[which], f"suite-{os.getpid()}-{next(_numbers)}"

    def now(story: Callable[[Scene], Awaitable[None]]) -> None:
        async def whole() -> None:
            await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            try:
                await story(Scene(client, namespace))
            finally:
                # A pod that was bound waits for its node, and there is none that would let it go.
                for pod in (await client.list(PODS, namespace=namespace)).items:
                    with suppress(NotFound):
                        await client.delete(Ref.of(pod), grace=0)
                await client.delete(Ref("", "Namespace", "", namespace))

        world.play(whole())

    return now


async def take(changes: AsyncIterator[Change], count: int) -> list[tuple[str, str]]:
    """What a watch tells of the test's own objects, until there are so many."""
    found: list[tuple[str, str]] = []
    async with aclosing(changes) as told:  # type: ignore[type-var]
        async for change in told:
            name = change.object["metadata"].get("name", "kube-root-ca.crt")
            if name != "kube-root-ca.crt":
                found.append((str(change.happened), name))
            if len(found) == count:
                return found
    return found


def words(error: pytest.ExceptionInfo[ApiError]) -> str:
    """What the API said."""
    return error.value.message


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
        for _ in range(200):
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
