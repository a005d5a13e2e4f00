"""Metrics and profiling: the annotations of the OME document become what Prometheus and a profiler look for."""

from trainplane.api.loose import text_at
from trainplane.api.meta import Raw
from trainplane.api.roles import Role
from trainplane.api.trainer import METRICS_ENABLED, PROFILING_ENABLED
from trainplane.trainjob.plan import POD, Plan, Source
from trainplane.trainjob.template import companion
from trainplane.trainjob.tree import at

METRICS_PORT = 8080
PROFILER_PORT = 8081
PROFILER_ADDRESS = "TRAINPLANE_PROFILER_ADDRESS"
"""Where a profiler in the trainer's container listens: on loopback, so that only `trainplane profile` reaches it."""
POD_MONITOR = "PodMonitor.monitoring.coreos.com"


def observe(plan: Plan) -> Plan:
    """Where the runtime asks for it, the trainer's pods say where their metrics are, and where to profile them."""
    trainer = plan.roles.trainer
    if trainer is None or trainer.container is None:
        return plan
    if enabled(plan, METRICS_ENABLED):
        plan = scraped(plan, trainer)
    if enabled(plan, PROFILING_ENABLED):
        address = f"127.0.0.1:{port(plan, trainer, 'profiler') or PROFILER_PORT}"
        plan = plan.with_env(
            trainer.index,
            trainer.container.name,
            [{"name": PROFILER_ADDRESS, "value": address}],
            source=Source("runtime", ("metadata", "annotations", PROFILING_ENABLED), note="bound to loopback"),
        )
    return plan


def enabled(plan: Plan, annotation: str) -> bool:
    """Whether the runtime's annotation says true."""
    return text_at(plan.raw_runtime, "metadata", "annotations", annotation) == "true"


def scraped(plan: Plan, trainer: Role) -> Plan:
    """The annotations that Prometheus scrapes by, and a PodMonitor where the cluster knows that kind."""
    number = port(plan, trainer, "metrics")
    source = Source("runtime", ("metadata", "annotations", METRICS_ENABLED), note="where Prometheus finds the metrics")
    plan = plan.with_metadata(
        trainer.index,
        "annotations",
        {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": str(number or METRICS_PORT),
            "prometheus.io/path": "/metrics",
        },
        source=source,
    )
    if POD_MONITOR in plan.kinds and number:
        plan = plan.with_companion(pod_monitor(plan, trainer), source=source)
    return plan


def pod_monitor(plan: Plan, trainer: Role) -> Raw:
    """A PodMonitor for the container port named `metrics` of the trainer's pods."""
    labels = {
        "jobset.sigs.k8s.io/jobset-name": plan.name,
        "jobset.sigs.k8s.io/replicatedjob-name": trainer.name,
    }
    return companion(
        plan,
        api_version="monitoring.coreos.com/v1",
        kind="PodMonitor",
        name=plan.name,
        spec={"selector": {"matchLabels": labels}, "podMetricsEndpoints": [{"port": "metrics", "path": "/metrics"}]},
    )


def port(plan: Plan, trainer: Role, name: str) -> int | None:
    """The container port of this name, in any of the trainer's containers."""
    for container in at(plan.replicated_jobs[trainer.index], (*POD, "spec", "containers")) or ():
        for declared in container.get("ports") or ():
            if declared.get("name") == name:
                return int(declared["containerPort"])
    return None
