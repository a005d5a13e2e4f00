"""A namespace that is deleted is emptied, says what it waits for, and goes."""

from tests.upkeep.town import Town, config_map, play, pod
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.upkeep.namespaces import NAMESPACES, PATIENCE

NS = Ref("", "Namespace", "", "ns")


def conditions(raw: dict) -> dict[str, tuple[str, str]]:
    """Status and message of a namespace's conditions."""
    return {one["type"]: (one["status"], one["message"]) for one in raw["status"]["conditions"]}


def test_a_namespace_is_emptied_and_goes() -> None:
    async def story(town: Town) -> None:
        await town.make(config_map("a"), config_map("b"), pod("p"))
        await town.settle([NAMESPACES])
        assert await town.there("ConfigMap") == ["a", "b"], "one that stays is not touched"
        await town.api.delete(NS)
        await town.settle([NAMESPACES])
        assert await town.there("Namespace") == ["kube-node-lease"]
        assert await town.there("ConfigMap") == []
        assert await town.there("Pod") == []

    play(story)


def test_it_says_what_is_left_and_which_finalizers_hold_it() -> None:
    async def story(town: Town) -> None:
        await town.make(config_map("a", finalizers=["example.test/hold"]), config_map("b"))
        await town.api.delete(NS)
        assert await town.settle([NAMESPACES]) == PATIENCE
        raw = await town.api.get(NS)
        assert raw["status"]["phase"] == "Terminating"
        said = conditions(raw)
        assert said["NamespaceContentRemaining"] == (
            "True",
            "Some resources are remaining: configmaps. has 1 resource instances",
        )
        assert said["NamespaceFinalizersRemaining"] == (
            "True",
            "Some content in the namespace has finalizers remaining: example.test/hold in 1 resource instances",
        )
        assert said["NamespaceDeletionContentFailure"][0] == "False"
        await town.api.patch(Ref("", "ConfigMap", "ns", "a"), Patch.merge({"metadata": {"finalizers": None}}))
        await town.settle([NAMESPACES])
        assert await town.there("Namespace") == ["kube-node-lease"]

    play(story)


def test_one_whose_finalizers_went_before_it_goes_with_a_second_deletion() -> None:
    async def story(town: Town) -> None:
        await town.api.patch(NS, Patch.merge({"spec": {"finalizers": []}}), subresource="finalize")
        await town.api.delete(NS)
        await town.settle([NAMESPACES])
        assert await town.there("Namespace") == ["kube-node-lease", "ns"], "a real server keeps it as well"
        await town.api.delete(NS)
        assert await town.there("Namespace") == ["kube-node-lease"]

    play(story)


def test_somebody_elses_finalizer_is_left_to_them() -> None:
    async def story(town: Town) -> None:
        await town.api.patch(
            NS, Patch.merge({"spec": {"finalizers": ["kubernetes", "example.test/hold"]}}), subresource="finalize"
        )
        await town.api.delete(NS)
        await town.settle([NAMESPACES])
        assert (await town.api.get(NS))["spec"]["finalizers"] == ["example.test/hold"]

    play(story)
