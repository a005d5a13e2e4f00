"""Metrics and profiling: two annotations of the OME document, and what they become."""

from typing import Any

import pytest

from tests.trainjob.worlds import env, job, replicated, runtime, trainjob
from trainplane.trainjob.pipeline import Surroundings, build
from trainplane.trainjob.plan import Plan

METRICS, PROFILING = "ome.io/metrics-enabled", "ome.io/profiling-enabled"
PODMONITOR = frozenset({"PodMonitor.monitoring.coreos.com"})


def observed(annotations: dict[str, str], *ports: dict[str, Any], kinds: frozenset[str] = frozenset()) -> Plan:
    node = replicated("node", {"name": "node", "image": "x", "ports": list(ports)}, step="trainer")
    raw = runtime({"torch": {}}, node)
    raw["metadata"]["annotations"] = annotations
    return build(trainjob({}), raw, Surroundings(kinds=kinds))


def annotations(plan: Plan) -> dict[str, str]:
    found: dict[str, str] = job(plan)["template"]["spec"]["template"]["metadata"].get("annotations", {})
    return found


def test_metrics_are_scraped_where_the_port_is_called_metrics() -> None:
    plan = observed({METRICS: "true"}, {"name": "metrics", "containerPort": 9100})
    assert annotations(plan) == {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "9100",
        "prometheus.io/path": "/metrics",
    }
    assert plan.companions == ()


def test_without_such_a_port_it_is_the_usual_one() -> None:
    assert annotations(observed({METRICS: "true"}))["prometheus.io/port"] == "8080"


def test_a_pod_monitor_where_the_cluster_knows_the_kind() -> None:
    plan = observed({METRICS: "true"}, {"name": "metrics", "containerPort": 9100}, kinds=PODMONITOR)
    (monitor,) = plan.companions
    assert monitor["kind"] == "PodMonitor"
    assert monitor["spec"]["podMetricsEndpoints"] == [{"port": "metrics", "path": "/metrics"}]
    assert monitor["spec"]["selector"]["matchLabels"]["jobset.sigs.k8s.io/jobset-name"] == "job"


def test_a_pod_monitor_needs_a_port_to_name() -> None:
    assert observed({METRICS: "true"}, kinds=PODMONITOR).companions == ()


@pytest.mark.parametrize("value", ["false", "True", "yes", ""])
def test_only_true_is_true(value: str) -> None:
    plan = observed({METRICS: value, PROFILING: value})
    assert annotations(plan) == {}
    assert "TRAINPLANE_PROFILER_ADDRESS" not in env(plan)


def test_the_profiler_is_bound_to_loopback() -> None:
    assert env(observed({PROFILING: "true"}))["TRAINPLANE_PROFILER_ADDRESS"] == "127.0.0.1:8081"
    plan = observed({PROFILING: "true"}, {"name": "profiler", "containerPort": 6009})
    assert env(plan)["TRAINPLANE_PROFILER_ADDRESS"] == "127.0.0.1:6009"
