"""What nodes use, as the metrics API tells it."""

from datetime import UTC, datetime
from typing import Any

from trainplane.control.live import Live
from trainplane.node.use import Use

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Noon:
    """A clock that stands."""

    def now(self) -> datetime:
        """Noon."""
        return NOW


def node(name: str, *, ready: str = "True") -> dict[str, Any]:
    """A node that is not simulated."""
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}, "status": status}


def test_a_node_that_runs_nothing_uses_nothing_and_one_that_is_not_measured_is_left_out() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "spec": {"nodeName": "busy", "containers": [{"name": "c"}]},
        "status": {"phase": "Running"},
    }
    live = Live()
    for raw in (node("idle"), node("lost", ready="Unknown"), node("busy"), pod):
        live.put(raw)
    use = Use(live, Noon())
    assert [(one["metadata"]["name"], one["usage"]) for one in use.nodes()] == [("idle", {"cpu": "0", "memory": "0"})]
    use.report(pod, {"c": {}})
    assert sorted(one["metadata"]["name"] for one in use.nodes()) == ["busy", "idle"]
