"""What pods use and what the cluster tells of itself, over HTTP."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp

from tests.cluster.servers import Caller
from tests.patience import PATIENCE, STORY
from tests.rehearsals import pod
from trainplane.cluster.kubeconfig import load
from trainplane.embed import Config, running

METRICS = "/apis/metrics.k8s.io/v1beta1"
PODS = f"{METRICS}/namespaces/default/pods"


def serve_simulated(folder: Path, story: Any) -> None:
    """Play a story against a cluster with two simulated nodes."""

    async def play() -> None:
        async with running(Config(folder / "cluster", nodes=2)) as cluster, aiohttp.ClientSession() as session:
            await story(Caller(cluster, session, load([cluster.kubeconfig]).client_context()))

    asyncio.run(asyncio.wait_for(play(), STORY))


async def until_running(call: Caller, name: str) -> None:
    """Wait until a pod runs."""
    async with asyncio.timeout(PATIENCE):
        while True:
            _, found, _ = await call("GET", f"/api/v1/namespaces/default/pods/{name}")
            if found["status"]["phase"] == "Running":
                return
            await asyncio.sleep(0.02)


def test_pods_and_nodes_are_measured(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        for name, use in (("busy", {"cpu": "1500m", "memory": "3Gi"}), ("idle", {})):
            raw = pod(name, seconds="forever", **use)
            raw["metadata"]["labels"] = {"app": name}
            code, _, _ = await call("POST", "/api/v1/namespaces/default/pods", body=raw)
            assert code == 201
            await until_running(call, name)
        code, found, _ = await call("GET", PODS)
        assert (code, found["kind"]) == (200, "PodMetricsList")
        used = {one["metadata"]["name"]: one["containers"] for one in found["items"]}
        assert used["busy"] == [{"name": "main", "usage": {"cpu": "1500m", "memory": "3Gi"}}]
        assert used["idle"][0]["usage"]["cpu"] == "1", "what says nothing of it uses what it requests"
        _, chosen, _ = await call("GET", f"{PODS}?labelSelector=app%3Dbusy")
        assert [one["metadata"]["name"] for one in chosen["items"]] == ["busy"]
        code, one, _ = await call("GET", f"{PODS}/busy")
        assert (code, one["kind"], one["metadata"]["namespace"]) == (200, "PodMetrics", "default")
        code, status, _ = await call("GET", f"{PODS}/nobody")
        assert (code, status["message"]) == (404, 'pods.metrics.k8s.io "nobody" not found')
        _, nodes, _ = await call("GET", f"{METRICS}/nodes")
        assert sorted(one["usage"]["cpu"] for one in nodes["items"]) == ["1", "1500m"]
        code, _, _ = await call("DELETE", f"{PODS}/busy")
        assert code == 405
        _, groups, _ = await call("GET", "/apis")
        assert "metrics.k8s.io" in {one["name"] for one in groups["groups"]}, "kubectl top looks for it here"

    serve_simulated(tmp_path, story)


def test_the_cluster_tells_of_itself_to_those_who_may_ask(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        await call("POST", "/api/v1/namespaces/default/pods", body=pod("p", seconds="forever"))
        await until_running(call, "p")
        code, text, headers = await call("GET", "/metrics")
        assert (code, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        lines = text.splitlines()
        assert "trainplane_scheduling_seconds_count 1" in lines
        assert any(line.startswith('trainplane_queue_depth{controller="trainjob"} ') for line in lines)
        assert any(line.startswith('trainplane_reconcile_seconds_count{controller="scheduler"} ') for line in lines)
        assert "# TYPE trainplane_reconcile_errors_total counter" in lines
        code, status, _ = await call("GET", "/metrics", headers={"Impersonate-User": "eve"})
        assert (code, status["message"]) == (403, 'forbidden: User "eve" cannot get path "/metrics"')

    serve_simulated(tmp_path, story)
