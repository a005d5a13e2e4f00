"""The ServiceAccount of a pod: who it is to the API, and the token by which it proves it."""

from collections.abc import Callable

from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.admission import Lookup
from trainplane.cluster.errors import Forbidden
from trainplane.cluster.names import SUFFIX_CHARACTERS, path_name_faults

DEFAULT_ACCOUNT = "default"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
TOKEN_SECONDS = 3607
"""As a real server asks for, so that such a token is told from one that a person asked for."""
_MIRROR = "kubernetes.io/config.mirror"
"""Pods that a node tells of have nothing to say to the API."""
ROOT_CERTIFICATE = "kube-root-ca.crt"


def with_account(pod: Raw, lookup: Lookup, *, place: Callable[[int], int]) -> Raw:
    """A pod with its account, that account's pull secrets, and its token where it wants one; raises Forbidden."""
    spec, namespace = dict(pod.get("spec") or {}), pod["metadata"].get("namespace", "")
    if _MIRROR in (pod["metadata"].get("annotations") or ()):
        return pod
    name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
    spec |= {"serviceAccountName": name, "serviceAccount": name}
    account = lookup(Ref("", "ServiceAccount", namespace, name))
    if account is None:
        faults = " ".join(path_name_faults(name))
        found = f'invalid resource name "{name}": [{faults}]' if faults else f'serviceaccount "{name}" not found'
        words = f"error looking up service account {namespace}/{name}: {found}"
        raise Forbidden.of("pods", pod["metadata"].get("name", ""), words)
    wanted = spec.get("automountServiceAccountToken")
    if wanted is None:
        wanted = account.get("automountServiceAccountToken")
    if wanted is not False:
        spec = _with_token(spec, place)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    return {**pod, "spec": spec}


def _with_token(spec: Raw, place: Callable[[int], int]) -> Raw:
    """A spec with the token's volume, mounted wherever nothing else is."""
    volumes = spec.get("volumes") or []
    known = [each["name"] for each in volumes if str(each.get("name")).startswith(VOLUME_PREFIX)]
    letters = SUFFIX_CHARACTERS
    name = known[0] if known else VOLUME_PREFIX + "".join(letters[place(len(letters))] for _ in range(5))
    filled, mounted = dict(spec), False
    for kind in ("initContainers", "containers"):
        if not spec.get(kind):
            continue
        made = [_mounted(each, name) for each in spec[kind]]
        mounted = mounted or made != spec[kind]
        filled[kind] = made
    if mounted and not known:
        filled["volumes"] = [*volumes, {"name": name, "projected": _projected()}]
    return filled


def _mounted(container: Raw, volume: str) -> Raw:
    mounts = container.get("volumeMounts") or []
    if any(each.get("mountPath") == MOUNT_PATH for each in mounts):
        return container
    return {**container, "volumeMounts": [*mounts, {"name": volume, "readOnly": True, "mountPath": MOUNT_PATH}]}


def _projected() -> Raw:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": ROOT_CERTIFICATE, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 420,
    }
