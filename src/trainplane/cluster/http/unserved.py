"""What Kubernetes serves and this cluster does not, refused by name to whoever asks for it."""

from trainplane.cluster.errors import NotFound
from trainplane.cluster.wire import Request

_INSTEAD = "this cluster is for training; run it as a TrainJob, a JobSet, a Job or a Pod, or on a Kubernetes cluster"
_STORAGE = "volumes are folders of this machine; claim one with a PersistentVolumeClaim"
_NETWORK = "pods reach each other by their names; reach one from outside with kubectl port-forward"
_RESOURCES = {
    ("", "replicationcontrollers"): _INSTEAD,
    ("apps", "daemonsets"): _INSTEAD,
    ("apps", "deployments"): _INSTEAD,
    ("apps", "replicasets"): _INSTEAD,
    ("apps", "statefulsets"): _INSTEAD,
    ("batch", "cronjobs"): "start TrainJobs or Jobs with a timer of your own",
    ("", "persistentvolumes"): _STORAGE,
    ("storage.k8s.io", "storageclasses"): _STORAGE,
    ("networking.k8s.io", "ingresses"): _NETWORK,
    ("networking.k8s.io", "networkpolicies"): _NETWORK,
    ("policy", "poddisruptionbudgets"): "an eviction asks nobody; suspend a job that must not be disturbed",
}
_VERSIONS = {("autoscaling", "v1"): "write apiVersion: autoscaling/v2, or use a newer kubectl"}
"""Versions of Kubernetes' own that some client still asks for, and what to do instead."""


def refuse_by_name(asked: Request) -> None:
    """Refuse what is known and not served, and say what to do; raises NotFound."""
    group, resource = asked.group, asked.resource
    if words := _VERSIONS.get((group, asked.version)):
        raise NotFound(f"{group}/{asked.version} is not served here; {words}", details={})
    if words := _RESOURCES.get((group, resource)):
        name = f"{resource}.{group}" if group else resource
        raise NotFound(f"{name} are not served here: {words}", details={"group": group, "kind": resource})
