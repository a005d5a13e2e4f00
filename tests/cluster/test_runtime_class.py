"""A pod's RuntimeClass adds to it what the class says, and a pod that contradicts it is refused."""

import asyncio
from typing import Any

import pytest

from tests.cluster.apis import api, pod
from trainplane.cluster.errors import Forbidden

CLASS: dict[str, Any] = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "small"},
    "handler": "vm",
    "overhead": {"podFixed": {"cpu": "250m"}},
    "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]},
}


def stored(**spec: Any) -> dict[str, Any] | str:
    """The spec of a pod as a server with that class stores it, or why it does not."""

    async def main() -> dict[str, Any] | str:
        async with api() as server:
            await server.create(CLASS)
            try:
                found: dict[str, Any] = (await server.create(pod(**spec)))["spec"]
            except Forbidden as refused:
                return refused.message
            return found

    return asyncio.run(main())


def test_a_pod_gets_what_its_class_says() -> None:
    spec = stored(runtimeClassName="small", nodeSelector={"zone": "a"})
    assert isinstance(spec, dict)
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"zone": "a", "vm": "yes"}
    assert spec["tolerations"][-1] == {"key": "vm", "operator": "Exists"}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"runtimeClassName": "large"}, 'RuntimeClass "large" not found', id="no such class"),
        pytest.param({"overhead": {"cpu": "1"}}, "Pod Overhead set without corresponding RuntimeClass", id="no class"),
        pytest.param(
            {"runtimeClassName": "small", "overhead": {"cpu": "1"}}, "doesn't match RuntimeClass's", id="other overhead"
        ),
        pytest.param(
            {"runtimeClassName": "small", "nodeSelector": {"vm": "no"}}, "nodeSelector[vm] = no", id="other nodes"
        ),
    ],
)
def test_a_pod_that_contradicts_its_class_is_refused(spec: dict[str, Any], words: str) -> None:
    said = stored(**spec)
    assert isinstance(said, str)
    assert words in said
