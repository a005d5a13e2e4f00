"""Pods that are alike but for how others call them: what was worked out for one is right for the next."""

import asyncio
from typing import Any

import pytest

from tests.cluster.apis import api, pod
from trainplane.cluster.errors import Invalid


def _called(name: str, **spec: Any) -> dict[str, Any]:
    made = pod(hostname=f"{name}-0", subdomain=name, **spec)
    return {**made, "metadata": {**made["metadata"], "name": name}}


def test_pods_that_are_alike_are_called_as_each_was_sent() -> None:
    async def story() -> None:
        async with api() as cluster:
            for name in ("one", "two"):
                kept = (await cluster.create(_called(name)))["spec"]
                assert (kept["hostname"], kept["subdomain"]) == (f"{name}-0", name)

    asyncio.run(story())


@pytest.mark.parametrize("field", ["hostname", "subdomain"])
def test_a_name_that_cannot_be_is_refused_after_one_that_can(field: str) -> None:
    async def story() -> None:
        async with api() as cluster:
            await cluster.create(_called("good"))
            bad = _called("bad")
            bad["spec"][field] = "not_a_label"
            with pytest.raises(Invalid, match=f"spec.{field}"):
                await cluster.create(bad)

    asyncio.run(story())


@pytest.mark.parametrize("field", ["hostname", "subdomain"])
def test_a_pod_without_the_name_is_not_taken_for_one_with_it(field: str) -> None:
    async def story() -> None:
        async with api() as cluster:
            await cluster.create(_called("named"))
            bare = _called("bare")
            del bare["spec"][field]
            assert field not in (await cluster.create(bare))["spec"]

    asyncio.run(story())
