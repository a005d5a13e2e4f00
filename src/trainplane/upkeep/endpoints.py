"""The endpoints of Services: which addresses the pods behind a name have, as EndpointSlices and as Endpoints."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from trainplane.api.conditions import condition
from trainplane.api.core import FAILED, READY, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.nodes import ZONE
from trainplane.api.raw import look
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Create, Decision, Delete, Patch
from trainplane.reconcile.view import Ref, View

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
HEADLESS = "service.kubernetes.io/headless"
RESYNC = timedelta(seconds=10)
"""How soon a Service that is not a JobSet's looks again: its pods do not name it, so their changes do not wake it."""
MOST = 100
"""How many endpoints a slice holds."""


def slices(service: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """The EndpointSlices of a Service brought into line with its pods; none is made before there is an address."""
    if not is_served(service):
        return NOTHING
    kept = {str(one["metadata"]["name"]): one for one in own(service, view, "discovery.k8s.io", "EndpointSlice")}
    actions: list[Action] = []
    for wanted in wanted_slices(service, view):
        there = kept.pop(wanted["metadata"]["name"], None)
        if there is None:
            actions.append(Create(wanted))
        elif changed := {key: wanted[key] for key in ("endpoints", "ports") if wanted[key] != (there.get(key) or [])}:
            actions.append(Patch(Ref.of(there), changed, there["metadata"].get("uid", "")))
    # The last slice stays, empty: that a Service has nobody behind it is worth knowing too.
    first = slice_name(service, "IPv4", 0)
    for name, there in kept.items():
        uid = there["metadata"].get("uid", "")
        if name != first:
            actions.append(Delete(Ref.of(there), uid))
        elif there.get("endpoints"):
            actions.append(Patch(Ref.of(there), {"endpoints": []}, uid))
    return Decision.of(actions, again=resync(service), final=True)


def resync(service: Raw) -> timedelta | None:
    """When a Service must look again by itself."""
    return None if jobset_uid(service) else RESYNC


def wanted_slices(service: Raw, view: View) -> Iterator[Raw]:
    """The slices that a Service should have, by kind of address and at most a hundred endpoints each."""
    found = [(address, pod) for pod in pods_of(service, view) for address in addresses(pod)]
    for family in ("IPv4", "IPv6"):
        mine = [(address, pod) for address, pod in found if (":" in address) == (family == "IPv6")]
        for start in range(0, len(mine), MOST):
            endpoints = [endpoint(service, pod, address, view) for address, pod in mine[start : start + MOST]]
            yield {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "name": slice_name(service, family, start // MOST),
                    "namespace": service["metadata"].get("namespace", ""),
                    "labels": labels(service) | {SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: MANAGER},
                    "ownerReferences": [owner(service)],
                },
                "addressType": family,
                "endpoints": endpoints,
                "ports": [port(one, mine[0][1]) for one in look(service, "spec", "ports") or ()],
            }


def endpoint(service: Raw, pod: Raw, address: str, view: View) -> Raw:
    """One pod behind a Service, at one of its addresses."""
    serving = is_ready(pod)
    going = bool(pod["metadata"].get("deletionTimestamp"))
    always = bool(look(service, "spec", "publishNotReadyAddresses"))
    raw: Raw = {
        "addresses": [address],
        "conditions": {"ready": always or (serving and not going), "serving": serving, "terminating": going},
    }
    if name := hostname(service, pod):
        raw["hostname"] = name
    raw["nodeName"] = pod["spec"]["nodeName"]
    raw["targetRef"] = target(pod)
    node = view.get(Ref("", "Node", "", pod["spec"]["nodeName"]))
    if zone := look(node, "metadata", "labels", ZONE):
        raw["zone"] = zone
    return raw


def endpoints(service: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """The Endpoints of a Service, for those who ask in the old way."""
    if not is_served(service):
        return NOTHING
    ref = Ref("", "Endpoints", service["metadata"].get("namespace", ""), service["metadata"]["name"])
    there = view.get(ref)
    subsets = list(subset(service, pods_of(service, view)))
    if there is None:
        metadata: Raw = {
            "name": ref.name,
            "namespace": ref.namespace,
            "labels": labels(service),
            "ownerReferences": [owner(service)],
        }
        raw = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}
        return Decision.of([Create(raw)] if subsets else [], again=resync(service), final=True)
    if subsets == (there.get("subsets") or []):
        return Decision(again=resync(service))
    patch = Patch(ref, {"subsets": subsets or None}, there["metadata"].get("uid", ""))
    return Decision((patch,), resync(service), final=True)


def subset(service: Raw, pods: Sequence[Raw]) -> Iterator[Raw]:
    """The addresses behind a Service, those that are ready apart from those that are not."""
    always = bool(look(service, "spec", "publishNotReadyAddresses"))
    ready: list[Raw] = []
    others: list[Raw] = []
    for pod in pods:
        if always or not pod["metadata"].get("deletionTimestamp"):
            host = {"hostname": name} if (name := hostname(service, pod)) else {}
            entry = {"ip": addresses(pod)[0], **host, "nodeName": pod["spec"]["nodeName"], "targetRef": target(pod)}
            (ready if always or is_ready(pod) else others).append(entry)
    if ready or others:
        raw: Raw = {"addresses": ready} if ready else {}
        raw |= {"notReadyAddresses": others} if others else {}
        ports = [port(one, pods[0]) for one in look(service, "spec", "ports") or ()]
        yield raw | ({"ports": ports} if ports else {})


def pods_of(service: Raw, view: View) -> list[Raw]:
    """The pods behind a Service that have an address and have not ended, by name."""
    selector = service["spec"]["selector"]
    found = [
        pod
        for pod in candidates(service, view)
        if selects(selector, pod)
        and look(pod, "spec", "nodeName")
        and addresses(pod)
        and look(pod, "status", "phase") not in (SUCCEEDED, FAILED)
    ]
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def candidates(service: Raw, view: View) -> Iterable[Raw]:
    """The pods that may be behind a Service: for a JobSet's own those of its Jobs, which spares a look at all pods."""
    jobset = jobset_uid(service)
    if not jobset:
        return view.all("", "Pod", namespace=service["metadata"].get("namespace", ""))
    jobs = view.controlled_by(jobset, "Job")
    return (pod for job in jobs for pod in view.controlled_by(job["metadata"]["uid"], "Pod"))


def jobset_uid(service: Raw) -> str:
    """The uid of the JobSet that a Service was made by and for; "" for any other Service."""
    owners = service["metadata"].get("ownerReferences") or ()
    return next((str(one["uid"]) for one in owners if one.get("controller") and one["kind"] == "JobSet"), "")


def may_have_pods(service: Raw, view: View) -> bool:
    """Whether a pod may be behind a Service: a JobSet's own is made before its Jobs, and is woken by their pods."""
    jobset = jobset_uid(service)
    return not jobset or bool(view.controlled_by(jobset, "Job"))


def is_served(service: Raw) -> bool:
    """Whether a Service's endpoints are kept here: it selects pods, and is neither going nor a name for elsewhere."""
    spec = service.get("spec") or {}
    going = service["metadata"].get("deletionTimestamp")
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName" and not going


def selects(selector: dict[str, str], pod: Raw) -> bool:
    """Whether a Service's selector means this pod."""
    labels = pod["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in selector.items())


def addresses(pod: Raw) -> list[str]:
    """The pod's addresses."""
    many = [one["ip"] for one in look(pod, "status", "podIPs") or () if one.get("ip")]
    single = look(pod, "status", "podIP")
    return many or ([single] if single else [])


def hostname(service: Raw, pod: Raw) -> str:
    """The name under which the pod is found below the Service's own, if it has one."""
    mine = look(pod, "spec", "subdomain") == service["metadata"]["name"]
    return str(look(pod, "spec", "hostname") or "") if mine else ""


def port(wanted: Raw, pod: Raw) -> Raw:
    """A port of a Service at its pods; one that is named is looked up in the pod."""
    number = wanted.get("targetPort", wanted["port"])
    if isinstance(number, str):
        declared = (one for container in pod["spec"].get("containers") or () for one in container.get("ports") or ())
        number = next((one["containerPort"] for one in declared if one.get("name") == number), wanted["port"])
    named = {"name": wanted["name"]} if wanted.get("name") else {}
    return {**named, "port": number, "protocol": wanted.get("protocol", "TCP")}


def is_ready(pod: Raw) -> bool:
    """Whether the pod says that it is ready."""
    return (condition(pod.get("status") or {}, READY) or {}).get("status") == "True"


def target(pod: Raw) -> Raw:
    """The pod as an endpoint names it."""
    metadata = pod["metadata"]
    keys = ("name", "namespace", "uid")
    return {"kind": "Pod", **{key: metadata[key] for key in keys if key in metadata}}


def labels(service: Raw) -> dict[str, str]:
    """The labels that an endpoint object takes over from its Service."""
    own = dict(service["metadata"].get("labels") or {})
    return own | ({HEADLESS: ""} if look(service, "spec", "clusterIP") == "None" else {})


def owner(service: Raw) -> Raw:
    """The reference by which an endpoint object names its Service."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "name": service["metadata"]["name"],
        "uid": service["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def slice_name(service: Raw, family: str, number: int) -> str:
    """The name of a slice: always the same for the same Service and place, so that none is made twice."""
    text = f"{service['metadata'].get('uid', '')}/{family}/{number}"
    return f"{service['metadata']['name']}-{sha256(text.encode()).hexdigest()[:5]}"


def own(service: Raw, view: View, group: str, kind: str) -> Iterator[Raw]:
    """The endpoint objects that a Service controls."""
    for raw in view.controlled_by(service["metadata"].get("uid", ""), kind):
        if Ref.of(raw)[:2] == (group, kind) and not raw["metadata"].get("deletionTimestamp"):
            yield raw


def before(pod: Raw, view: View) -> Iterator[Ref]:
    """The Service that a pod with an address has its name from; all others look again by themselves."""
    name = look(pod, "spec", "subdomain")
    if name and addresses(pod):
        ref = Ref("", "Service", pod["metadata"].get("namespace", ""), name)
        if view.has(ref):
            yield ref


SETTLE = 0.02
"""Seconds that the change of a pod waits for those of the others: they come up and end together."""
PAUSE = 0.05
"""Seconds between two looks at a Service."""
ENDPOINT_SLICES = Controller(
    name="endpoint-slices",
    group="",
    kind="Service",
    reconcile=slices,
    owns=(("discovery.k8s.io", "EndpointSlice"),),
    watches=((("", "Pod"), before),),
    reads=(("batch", "Job"), ("", "Node")),
    cares=may_have_pods,
    pause=PAUSE,
    settle=SETTLE,
    reports_as="endpoint-slice-controller",
)
"""The controller of EndpointSlices."""
ENDPOINTS = Controller(
    name="endpoints",
    group="",
    kind="Service",
    reconcile=endpoints,
    owns=(("", "Endpoints"),),
    watches=((("", "Pod"), before),),
    reads=(("batch", "Job"),),
    cares=may_have_pods,
    pause=PAUSE,
    settle=SETTLE,
    reports_as="endpoint-controller",
)
"""The controller of Endpoints, which EndpointSlices replace; a cluster may do without it and save the writes."""
