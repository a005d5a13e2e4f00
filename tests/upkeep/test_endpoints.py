"""The names of pods lead to their addresses: EndpointSlices and Endpoints follow the pods behind a Service."""

from typing import Any

from tests.upkeep.town import Raw, Town, play, pod
from trainplane.api.ref import Ref
from trainplane.reconcile.view import View
from trainplane.upkeep.endpoints import ENDPOINT_SLICES, ENDPOINTS, before, pods_of

READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T12:00:00Z"}
JOB = {"job": "a"}


def service(**spec: Any) -> Raw:
    """A headless Service of the pods of job a."""
    metadata = {"name": "svc", "namespace": "ns"}
    body = {"clusterIP": "None", "selector": JOB, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": body}


def member(name: str, address: str, *, ready: bool = True, phase: str = "Running") -> Raw:
    """A pod behind the Service, on a node."""
    status: Raw = {"phase": phase, "conditions": [READY] if ready else []}
    if address:
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    return pod(name, node="n", labels=JOB, status=status, hostname=name, subdomain="svc")


async def endpoints(town: Town) -> list[Raw]:
    """All endpoints of all slices."""
    view = await town.view()
    return [one for raw in view.all("discovery.k8s.io", "EndpointSlice") for one in raw.get("endpoints") or ()]


def test_every_pod_with_an_address_is_found_by_its_name() -> None:
    async def story(town: Town) -> None:
        zone = {"topology.kubernetes.io/zone": "z1"}
        await town.make(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": zone}},
            service(),
            member("a-0", "10.0.0.1"),
            member("a-1", "10.0.0.2", ready=False),
            member("a-2", ""),
            member("a-3", "10.0.0.4", phase="Succeeded"),
        )
        await town.settle([ENDPOINT_SLICES, ENDPOINTS])
        found = await endpoints(town)
        assert [(one["addresses"], one["hostname"], one["conditions"]["ready"]) for one in found] == [
            (["10.0.0.1"], "a-0", True),
            (["10.0.0.2"], "a-1", False),
        ]
        assert (found[0]["nodeName"], found[0]["zone"], found[0]["targetRef"]["name"]) == ("n", "z1", "a-0")
        (old,) = (await town.api.get(Ref("", "Endpoints", "ns", "svc")))["subsets"]
        assert [one["ip"] for one in old["addresses"]] == ["10.0.0.1"]
        assert [one["ip"] for one in old["notReadyAddresses"]] == ["10.0.0.2"]

    play(story)


def test_a_service_may_publish_pods_that_are_not_ready() -> None:
    async def story(town: Town) -> None:
        await town.make(service(publishNotReadyAddresses=True), member("a-0", "10.0.0.1", ready=False))
        await town.settle([ENDPOINT_SLICES, ENDPOINTS])
        (one,) = await endpoints(town)
        assert one["conditions"] == {"ready": True, "serving": False, "terminating": False}
        (old,) = (await town.api.get(Ref("", "Endpoints", "ns", "svc")))["subsets"]
        assert "notReadyAddresses" not in old

    play(story)


def test_a_slice_is_made_with_the_first_address_and_stays_empty_after_the_last() -> None:
    async def story(town: Town) -> None:
        await town.make(service())
        await town.settle([ENDPOINT_SLICES])
        assert await town.there("EndpointSlice") == []
        await town.make(member("a-0", "10.0.0.1"))
        await town.settle([ENDPOINT_SLICES])
        (name,) = await town.there("EndpointSlice")
        raw = await town.api.get(Ref("discovery.k8s.io", "EndpointSlice", "ns", name))
        assert raw["metadata"]["labels"]["kubernetes.io/service-name"] == "svc"
        assert raw["metadata"]["ownerReferences"][0]["name"] == "svc"
        status = {"phase": "Succeeded", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}
        await town.api.set_status(Ref("", "Pod", "ns", "a-0"), status)
        await town.settle([ENDPOINT_SLICES])
        assert await town.there("EndpointSlice") == [name]
        assert await endpoints(town) == []
        writes = town.writes
        await town.settle([ENDPOINT_SLICES])
        assert town.writes == writes

    play(story)


def test_a_hundred_endpoints_fill_a_slice() -> None:
    async def story(town: Town) -> None:
        await town.make(service(), *(member(f"a-{i}", f"10.0.1.{i}") for i in range(120)))
        await town.settle([ENDPOINT_SLICES])
        assert len(await town.there("EndpointSlice")) == 2
        assert len(await endpoints(town)) == 120
        for i in range(90):
            await town.api.delete(Ref("", "Pod", "ns", f"a-{i}"))
            await town.api.set_status(Ref("", "Pod", "ns", f"a-{i}"), {"phase": "Failed"})
        await town.settle([ENDPOINT_SLICES])
        assert len(await town.there("EndpointSlice")) == 1
        assert len(await endpoints(town)) == 30

    play(story)


def test_ports_are_those_of_the_pods() -> None:
    async def story(town: Town) -> None:
        one = member("a-0", "10.0.0.1")
        one["spec"]["containers"][0]["ports"] = [{"name": "metrics", "containerPort": 8080}]
        ports = [{"name": "m", "port": 80, "targetPort": "metrics"}, {"name": "r", "port": 29500}]
        await town.make(service(ports=ports), one)
        await town.settle([ENDPOINT_SLICES])
        (raw,) = (await town.view()).all("discovery.k8s.io", "EndpointSlice")
        assert [(port["name"], port["port"]) for port in raw["ports"]] == [("m", 8080), ("r", 29500)]

    play(story)


def test_a_service_without_a_selector_is_its_authors() -> None:
    async def story(town: Town) -> None:
        raw = service()
        del raw["spec"]["selector"]
        await town.make(raw, member("a-0", "10.0.0.1"))
        await town.settle([ENDPOINT_SLICES, ENDPOINTS])
        assert await town.there("EndpointSlice") == []

    play(story)


def test_the_service_of_a_jobset_is_asked_for_by_its_own_pods_alone() -> None:
    jobset = {"kind": "JobSet", "uid": "1", "controller": True}
    raw = service()
    raw["metadata"] |= {"uid": "2", "ownerReferences": [jobset]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "ns", "uid": "3"}}
    job["metadata"]["ownerReferences"] = [jobset]
    mine, other = member("a-0", "10.0.0.1"), member("b-0", "10.0.0.2")
    mine["metadata"]["ownerReferences"] = [{"kind": "Job", "uid": "3", "controller": True}]
    view = View.of(raw, job, mine, other)
    assert pods_of(raw, view) == [mine]
    assert list(before(mine, view)) == [Ref("", "Service", "ns", "svc")]
