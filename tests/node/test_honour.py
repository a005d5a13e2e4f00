"""What a pod asks for and does not get is told, field by field; what cannot be at all is refused."""

from pathlib import Path
from typing import Any

import pytest

from trainplane.api.ref import Ref
from trainplane.node.environment import ConfigError
from trainplane.node.home import USERS, with_policy
from trainplane.node.honour import NOT_HERE, NOWHERE, not_honoured, refused
from trainplane.node.identity import user_of
from trainplane.node.runner import Ability, Box
from trainplane.reconcile.view import View

WITHOUT = (
    Ability("Sysctls", False, "PlainProcesses", "no"),
    Ability("NameLookup", False, "PlainProcesses", "no"),
    Ability("Seccomp", False, "PlainProcesses", "no"),
    Ability("HostNetwork", True, "Root", "yes"),
)


def pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", **(container or {})}], **spec}}


def told(found: dict[str, Any], *, host_users: bool = False) -> list[str]:
    return [said.note.partition(":")[0] for said in not_honoured(found, WITHOUT, host_users=host_users)]


SECCOMP = {"seccompProfile": {"type": "RuntimeDefault"}}
PROPAGATED = {"volumeMounts": [{"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"}]}


@pytest.mark.parametrize(
    ("found", "fields"),
    [
        (pod(), []),
        (pod(hostNetwork=True), []),
        (pod(hostPID=True, hostIPC=True), ["hostIPC", "hostPID"]),
        (pod(hostUsers=True), ["hostUsers"]),
        (pod(hostUsers=False), []),
        (pod(dnsPolicy="Default"), ["dnsPolicy"]),
        (pod(dnsPolicy="Default", hostNetwork=True), []),
        (pod(dnsPolicy="ClusterFirstWithHostNet", hostNetwork=True), ["dnsPolicy"]),
        (pod(dnsPolicy="None", dnsConfig={"nameservers": ["192.0.2.1"]}), ["NameLookup"]),
        (pod(hostAliases=[{"ip": "192.0.2.1"}]), ["NameLookup"]),
        (pod(runtimeClassName="gvisor"), ["runtimeClassName"]),
        (pod(schedulingGroup={"podGroupName": "g"}), ["schedulingGroup"]),
        (pod(securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}), ["Sysctls"]),
        (pod(securityContext=SECCOMP), ["Seccomp"]),
        (pod({"securityContext": SECCOMP}), ["Seccomp"]),
        (pod({"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}), ["appArmorProfile"]),
        (pod({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}), []),
        (pod(securityContext={"seLinuxOptions": {"type": "t"}}), ["seLinuxOptions"]),
        (pod(securityContext={"windowsOptions": {"hostProcess": True}}), ["windowsOptions"]),
        (pod({"ports": [{"containerPort": 1, "hostPort": 1}]}), ["hostPort"]),
        (pod({"ports": [{"containerPort": 1}]}), []),
        (pod(PROPAGATED), ["mountPropagation"]),
        (pod({"readinessProbe": {"httpGet": {"port": 1, "host": "192.0.2.1"}}}), ["probe host"]),
        (
            pod({"lifecycle": {"preStop": {"tcpSocket": {"port": 1, "host": "h"}}, "stopSignal": "SIGINT"}}),
            ["probe host"],
        ),
    ],
)
def test_fields(found: dict[str, Any], fields: list[str]) -> None:
    assert told(found) == fields


def test_the_users_of_the_host_are_had_where_the_namespace_allows_it() -> None:
    assert told(pod(hostUsers=True), host_users=True) == []


@pytest.mark.parametrize(("says", "host"), [({}, True), ({"hostUsers": True}, True), ({"hostUsers": False}, False)])
def test_a_pod_may_have_users_of_its_own_wherever_it_is(says: dict[str, Any], host: bool) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {USERS: "host"}}}
    box = Box(Ref("", "Pod", "n", "p"), "uid", "p", Path("box"))
    assert with_policy(box, View.of(namespace), pod=pod(**says)).host_users is host
    assert not with_policy(box, View.of(), pod=pod(**says)).host_users


def test_who_must_not_be_root_is_not_even_where_nobody_says_who_it_is() -> None:
    found = pod(securityContext={"runAsNonRoot": True})
    assert user_of(found, found["spec"]["containers"][0]).uid is None
    with pytest.raises(ConfigError, match="runAsNonRoot and image will run as root"):
        user_of(found, found["spec"]["containers"][0], is_root_by_default=True)


def test_every_node_says_what_none_honours() -> None:
    assert not NOT_HERE.honoured
    assert all(field in NOT_HERE.message for field in NOWHERE)


@pytest.mark.parametrize(
    ("found", "reason", "word"),
    [
        (pod(os={"name": "windows"}), "PodOSNotSupported", "the pod is for windows"),
        (pod(resourceClaims=[{"name": "gpu"}]), "UnexpectedAdmissionError", "nvidia.com/gpu"),
        (pod({"volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]}), "UnexpectedAdmissionError", "volumeMounts"),
    ],
)
def test_what_cannot_be_is_refused(found: dict[str, Any], reason: str, word: str) -> None:
    refusal = refused(found)
    assert refusal
    assert refusal[0] == reason
    assert word in refusal[1]


def test_what_can_be_is_not() -> None:
    assert refused(pod(os={"name": "linux"})) is None
