"""Names that pods find each other by."""

from typing import Any

from trainplane.api.meta import Raw
from trainplane.node.names import named, names


def service(name: str, **spec: Any) -> Raw:
    selector = {"app": name}
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"selector": selector, **spec}}


def pod(name: str, ip: str, *, app: str = "job", ready: bool = True, phase: str = "Running", **spec: Any) -> Raw:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "metadata": {"name": name, "namespace": "ns", "labels": {"app": app}},
        "spec": spec,
        "status": {"podIP": ip, "phase": phase, "conditions": conditions},
    }


def test_names() -> None:
    services = [service("job", clusterIP="None", publishNotReadyAddresses=True), service("web"), service("none")]
    pods = [
        pod("job-0-x", "10.0.0.2", hostname="job-0", subdomain="job", ready=False),
        pod("job-1-x", "10.0.0.3", hostname="job-1", subdomain="job"),
        pod("job-2-x", "10.0.0.4", hostname="job-2", subdomain="job", phase="Failed"),
        pod("web-1", "10.0.0.5", app="web"),
        pod("web-2", "10.0.0.6", app="web", ready=False),
    ]
    found = names(services, pods, gateway="10.0.0.1")
    assert names(services, [small for each in pods if (small := named(each))], gateway="10.0.0.1") == found
    assert found == {
        "kubernetes.default.svc.cluster.local": ("10.0.0.1",),
        "job.ns.svc.cluster.local": ("10.0.0.2", "10.0.0.3"),
        "job-0.job.ns.svc.cluster.local": ("10.0.0.2",),
        "job-1.job.ns.svc.cluster.local": ("10.0.0.3",),
        "web.ns.svc.cluster.local": ("10.0.0.5",),
        "none.ns.svc.cluster.local": (),
    }
