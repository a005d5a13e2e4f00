"""A namespace gets back what every namespace holds, and nothing once it is on its way out."""

from tests.upkeep.town import Town, config_map, play
from trainplane.api.ref import Ref
from trainplane.upkeep.companions import keeper

COMPANIONS = keeper(
    [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "authority"}, "data": {"ca.crt": "text"}},
    ]
)


def test_what_was_deleted_is_made_again() -> None:
    async def story(town: Town) -> None:
        await town.settle([COMPANIONS])
        account = Ref("", "ServiceAccount", "ns", "default")
        first = await town.api.get(account)
        await town.api.delete(account)
        await town.api.delete(Ref("", "ConfigMap", "ns", "authority"))
        await town.settle([COMPANIONS])
        assert (await town.api.get(account))["metadata"]["uid"] != first["metadata"]["uid"]
        assert (await town.api.get(Ref("", "ConfigMap", "ns", "authority")))["data"] == {"ca.crt": "text"}

    play(story)


def test_a_namespace_that_goes_gets_nothing_back() -> None:
    async def story(town: Town) -> None:
        await town.settle([COMPANIONS])
        await town.api.delete(Ref("", "Namespace", "", "ns"))
        await town.api.delete(Ref("", "ServiceAccount", "ns", "default"))
        await town.settle([COMPANIONS])
        assert await town.there("ServiceAccount") == ["default"], "that of kube-node-lease"

    play(story)


def test_only_they_wake_it() -> None:
    ((_, wake), _) = COMPANIONS.watches
    account = {"kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "ns"}}
    assert list(wake(account, None)) == [Ref("", "Namespace", "", "ns")]
    assert list(wake(config_map("other"), None)) == []
