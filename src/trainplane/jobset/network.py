"""spec.network: the headless Service by which the pods of a JobSet find each other, and the names in it."""

from collections.abc import Iterator

from trainplane.api.jobset import JOBSET_NAME
from trainplane.api.meta import Raw
from trainplane.api.network import HEADLESS
from trainplane.api.raw import look
from trainplane.jobset.fields import name_of, namespace_of, owner
from trainplane.reconcile.decision import Create
from trainplane.reconcile.view import Ref, View

CREATION_FAILED = "HeadlessServiceCreationFailed"


def has_dns(jobset: Raw) -> bool:
    """Whether the pods have names."""
    return bool(look(jobset, "spec", "network", "enableDNSHostnames"))


def subdomain(jobset: Raw) -> str:
    """The name of the Service, in which the pods have theirs."""
    return look(jobset, "spec", "network", "subdomain") or name_of(jobset)


def coordinator(jobset: Raw) -> str:
    """The name of the pod that leads, or "" where none does."""
    given = look(jobset, "spec", "coordinator")
    if not given:
        return ""
    job, pod = given.get("jobIndex") or 0, given.get("podIndex") or 0
    return f"{name_of(jobset)}-{given['replicatedJob']}-{job}-{pod}.{subdomain(jobset)}"


def service(jobset: Raw) -> Raw:
    """The headless Service."""
    published = look(jobset, "spec", "network", "publishNotReadyAddresses")
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": subdomain(jobset),
            "namespace": namespace_of(jobset),
            "ownerReferences": [owner(jobset)],
        },
        "spec": {
            "clusterIP": HEADLESS,
            "selector": {JOBSET_NAME: name_of(jobset)},
            "publishNotReadyAddresses": True if published is None else published,
        },
    }


def missing_service(jobset: Raw, view: View) -> Iterator[Create]:
    """The Service where it is wanted and there is none; one of that name that exists serves, whoever made it."""
    if has_dns(jobset) and view.get(Ref("", "Service", namespace_of(jobset), subdomain(jobset))) is None:
        yield Create(service(jobset), complaint=CREATION_FAILED, shared=True)
