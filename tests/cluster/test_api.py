"""The verbs in process: what is stored, who owns it, what is refused, and what watchers see."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.cluster.apis import api, config_map, pod
from tests.patience import PATIENCE
from trainplane.api.kinds import kind_of
from trainplane.api.ref import Ref
from trainplane.cluster.api import Api
from trainplane.cluster.client import Patch
from trainplane.cluster.errors import AlreadyExists, ApplyConflict, Conflict, Forbidden, Invalid, NotFound

A = Ref("", "ConfigMap", "ns", "a")
P = Ref("", "Pod", "ns", "p")
CONFIG_MAPS = kind_of("v1", "ConfigMap")
assert CONFIG_MAPS


def run(story: Callable[[Api], Awaitable[None]]) -> None:
    """Play a story on an Api of its own."""

    async def play() -> None:
        async with api() as made:
            await story(made)

    asyncio.run(play())


def test_an_object_is_created_read_and_deleted() -> None:
    async def story(made: Api) -> None:
        created = await made.create(config_map(data={"k": "v"}))
        assert created["metadata"]["creationTimestamp"] == "2026-01-31T12:00:00Z"
        assert (await made.get(A))["data"] == {"k": "v"}
        await made.delete(A)
        with pytest.raises(NotFound, match='configmaps "a" not found'):
            await made.get(A)

    run(story)


def test_a_name_can_be_generated_and_is_taken_once() -> None:
    async def story(made: Api) -> None:
        raw = config_map()
        raw["metadata"] = {"generateName": "g-", "namespace": "ns"}
        names = {(await made.create(raw))["metadata"]["name"] for _ in range(5)}
        assert len(names) == 5
        assert all(name.startswith("g-") and len(name) == 7 for name in names)
        await made.create(config_map())
        with pytest.raises(AlreadyExists):
            await made.create(config_map())

    run(story)


def test_a_namespace_comes_with_its_account_and_certificate() -> None:
    async def story(made: Api) -> None:
        await made.get(Ref("", "ServiceAccount", "ns", "default"))
        root = await made.get(Ref("", "ConfigMap", "ns", "kube-root-ca.crt"))
        assert root["data"] == {"ca.crt": "certificate"}

    run(story)


def test_nothing_is_made_in_a_namespace_that_is_not_there_or_going() -> None:
    async def story(made: Api) -> None:
        raw = config_map()
        with pytest.raises(NotFound, match='namespaces "none" not found'):
            await made.create({**raw, "metadata": {"name": "a", "namespace": "none"}})
        await made.delete(Ref("", "Namespace", "", "ns"))
        with pytest.raises(Forbidden, match="because it is being terminated"):
            await made.create(raw)

    run(story)


def test_a_pod_is_filled_in() -> None:
    async def story(made: Api) -> None:
        made_pod = await made.create(pod())
        assert made_pod["metadata"]["generation"] == 1
        assert made_pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
        spec = made_pod["spec"]
        assert (spec["restartPolicy"], spec["schedulerName"], spec["priority"]) == ("Always", "default-scheduler", 0)
        assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"
        assert [each["tolerationSeconds"] for each in spec["tolerations"]] == [300, 300]

    run(story)


def test_appliers_share_an_object_and_conflict_over_a_field() -> None:
    async def story(made: Api) -> None:
        await made.apply(config_map(data={"k": "1"}), manager="one")
        both = await made.apply(config_map(data={"l": "2"}), manager="two")
        assert both["data"] == {"k": "1", "l": "2"}
        with pytest.raises(ApplyConflict, match=r'conflict with "one": \.data\.k'):
            await made.apply(config_map(data={"k": "9", "l": "2"}), manager="two")
        left = await made.apply(config_map(), manager="one")
        assert left["data"] == {"l": "2"}

    run(story)


def test_a_uid_keeps_writes_from_another_object_of_the_name() -> None:
    async def story(made: Api) -> None:
        await made.create(config_map())
        for write in (
            made.patch(A, Patch.merge({"data": {"k": "v"}}), uid="other"),
            made.apply(config_map(), manager="m", uid="other"),
            made.delete(A, uid="other"),
        ):
            with pytest.raises(Conflict):
                await write

    run(story)


@pytest.mark.parametrize(
    ("patch", "labels"),
    [
        pytest.param(Patch.merge({"metadata": {"labels": {"a": None, "b": "2"}}}), {"b": "2"}, id="merge"),
        pytest.param(
            Patch.json([{"op": "replace", "path": "/metadata/labels/a", "value": "3"}]), {"a": "3"}, id="json"
        ),
        pytest.param(Patch.strategic({"metadata": {"labels": {"c": "4"}}}), {"a": "1", "c": "4"}, id="strategic"),
    ],
)
def test_patches(patch: Patch, labels: dict[str, str]) -> None:
    async def story(made: Api) -> None:
        raw = config_map()
        raw["metadata"]["labels"] = {"a": "1"}
        await made.create(raw)
        assert (await made.patch(A, patch))["metadata"]["labels"] == labels

    run(story)


def test_a_patch_that_changes_nothing_leaves_the_version() -> None:
    async def story(made: Api) -> None:
        created = await made.create(config_map(data={"k": "v"}))
        again = await made.patch(A, Patch.merge({"data": {"k": "v"}}))
        assert again["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]

    run(story)


def test_finalizers_keep_an_object_until_the_last_is_gone() -> None:
    async def story(made: Api) -> None:
        raw = config_map()
        raw["metadata"]["finalizers"] = ["example.test/hold"]
        await made.create(raw)
        await made.delete(A)
        assert (await made.get(A))["metadata"]["deletionTimestamp"] == "2026-01-31T12:00:00Z"
        with pytest.raises(AlreadyExists, match="object is being deleted"):
            await made.create(config_map())
        await made.patch(A, Patch.merge({"metadata": {"finalizers": None}}))
        with pytest.raises(NotFound):
            await made.get(A)

    run(story)


def test_a_bound_pod_is_given_its_grace() -> None:
    async def story(made: Api) -> None:
        await made.create(pod())
        await made.bind(P, "node")
        bound = await made.get(P)
        assert bound["spec"]["nodeName"] == "node"
        assert [each["type"] for each in bound["status"]["conditions"]] == ["PodScheduled"]
        with pytest.raises(Conflict, match='already assigned to node "node"'):
            await made.bind(P, "other")
        await made.delete(P)
        going = (await made.get(P))["metadata"]
        assert (going["deletionTimestamp"], going["deletionGracePeriodSeconds"]) == ("2026-01-31T12:00:30Z", 30)

    run(story)


def test_status_has_a_way_of_its_own() -> None:
    async def story(made: Api) -> None:
        await made.create(pod())
        done = await made.set_status(P, {"phase": "Running"})
        assert done["status"]["phase"] == "Running"
        same = await made.patch(P, Patch.merge({"status": {"phase": "Failed"}}))
        assert same["status"]["phase"] == "Running"
        assert same["metadata"]["generation"] == 1

    run(story)


def test_a_train_job_is_admitted_by_its_room() -> None:
    async def story(made: Api) -> None:
        job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
        job |= {"metadata": {"name": "t", "namespace": "ns"}, "spec": {"runtimeRef": {"name": "none"}}}
        with pytest.raises(Invalid, match=r"spec\.runtimeRef"):
            await made.create(job)

    run(story)


def test_lists_go_page_by_page_through_one_state() -> None:
    async def story(made: Api) -> None:
        for name in "abcde":
            await made.create(config_map(f"m-{name}"))
        first = await made.list(CONFIG_MAPS, namespace="ns", limit=3)
        await made.create(config_map("m-cc"))
        rest = await made.list(CONFIG_MAPS, namespace="ns", limit=10, after=first.after)
        names = [raw["metadata"]["name"] for page in (first, rest) for raw in page.items]
        assert names == ["kube-root-ca.crt", "m-a", "m-b", "m-c", "m-d", "m-e"]
        assert rest.resource_version == first.resource_version

    run(story)


def test_a_watch_sees_what_enters_and_leaves_its_selection() -> None:
    async def story(made: Api) -> None:
        seen: list[tuple[str, Any]] = []
        start = await made.list(CONFIG_MAPS)

        async def watch() -> None:
            async for change in made.watch(CONFIG_MAPS, labels="l=1", since=start.resource_version):
                seen.append((change.happened, change.object["metadata"].get("labels")))
                if len(seen) == 3:
                    return

        watching = asyncio.create_task(watch())
        await made.create(config_map())
        for labels in ({"l": "1"}, {"l": "1", "m": "1"}, {"l": "2"}):
            await made.patch(A, Patch.merge({"metadata": {"labels": labels}}))
        await asyncio.wait_for(watching, PATIENCE)
        assert seen == [("ADDED", {"l": "1"}), ("MODIFIED", {"l": "1", "m": "1"}), ("DELETED", {"l": "1", "m": "1"})]

    run(story)


def test_a_quota_is_charged_and_holds_against_a_crowd() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ns"}}
    quota["spec"] = {"hard": {"count/configmaps": "4", "requests.cpu": "1"}}

    async def story(made: Api) -> None:
        await made.create(quota)
        tries = await asyncio.gather(*(made.create(config_map(f"m{i}")) for i in range(8)), return_exceptions=True)
        refused = [each for each in tries if isinstance(each, Forbidden)]
        assert len(refused) == 5, tries
        assert "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=4" in refused[0].message
        kept = await made.get(Ref("", "ResourceQuota", "ns", "q"))
        assert kept["status"]["used"]["count/configmaps"] == "4"
        with pytest.raises(Forbidden, match=r"must specify requests\.cpu for: c"):
            await made.create(pod())

    run(story)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param({"hostNetwork": True}, "host namespaces (hostNetwork=true)", id="host namespaces"),
        pytest.param(
            {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, 'hostPath volumes (volume "v")', id="hostPath"
        ),
        pytest.param(
            {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]},
            'privileged (container "c"',
            id="privileged",
        ),
    ],
)
def test_pods_may_not_reach_the_machine_unless_their_namespace_says_so(spec: dict[str, Any], said: str) -> None:
    async def story(made: Api) -> None:
        with pytest.raises(Forbidden) as refused:
            await made.create(pod(**spec))
        assert f'violates PodSecurity "baseline:latest": {said}' in refused.value.message
        label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
        await made.patch(Ref("", "Namespace", "", "ns"), Patch.merge(label))
        await made.create(pod(**spec))

    run(story)
