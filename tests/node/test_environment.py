"""A container's variables and command line, in Kubernetes' order and with its messages."""

import base64
from typing import Any

import pytest

from trainplane.api.meta import Raw
from trainplane.node.environment import ConfigError, Surroundings, command, environment, expand, references, sub_path
from trainplane.reconcile.view import Ref, View


def of(kind: str, name: str, **fields: Any) -> Raw:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "ns"}, **fields}


def secret(name: str, **data: str) -> Raw:
    return of("Secret", name, data={key: base64.b64encode(value.encode()).decode() for key, value in data.items()})


WORLD = View.of(
    of("ConfigMap", "settings", data={"LR": "0.1", "MODE": "$(HOME)"}),
    secret("keys", TOKEN="s3cret"),
    of("Service", "store", spec={"clusterIP": "10.0.0.9", "ports": [{"name": "http-api", "port": 80}, {"port": 90}]}),
    of("Service", "headless", spec={"clusterIP": "None", "ports": [{"port": 1}]}),
)
AROUND = Surroundings(WORLD, {"cpu": "8", "memory": "16Gi"}, "10.244.0.1", 443)


def variables(container: Raw, **spec: Any) -> dict[str, str]:
    container = {"name": "c", **container}
    pod = {
        "metadata": {
            "name": "p",
            "namespace": "ns",
            "uid": "u",
            "labels": {"app": "x"},
            "annotations": {"note": 'a "b"\nc'},
        },
        "spec": {"nodeName": "node-0", "serviceAccountName": "default", "containers": [container], **spec},
        "status": {"podIP": "10.1.1.1", "podIPs": [{"ip": "10.1.1.1"}, {"ip": "::1"}], "hostIP": "10.244.0.1"},
    }
    return environment(pod, container, AROUND, hostname="host-0")


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        pytest.param("$(A)-$(B)", "1-2", id="known ones are replaced"),
        pytest.param("$(NONE)", "$(NONE)", id="others stay"),
        pytest.param("$$(A)", "$(A)", id="twice the sign is once the sign"),
        pytest.param("$$$(A)", "$1", id="and what follows counts"),
        pytest.param("$A $ $(A", "$A $ $(A", id="nothing else is touched"),
        pytest.param("$(A)$(A)", "11", id="as often as it stands there"),
        pytest.param("$(LOOP)", "$(A)", id="what comes out is not looked at again"),
    ],
)
def test_expand(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1", "B": "2", "LOOP": "$(A)"}.get) == expanded


def test_env_wins_over_env_from_and_sees_what_stands_before_it() -> None:
    found = variables(
        {
            "envFrom": [{"prefix": "P_", "configMapRef": {"name": "settings"}}, {"secretRef": {"name": "keys"}}],
            "env": [
                {"name": "A", "value": "$(P_LR)/$(B)/$(TOKEN)"},
                {"name": "B", "value": "later"},
                {"name": "TOKEN", "value": "own"},
                {"name": "C", "value": "$(TOKEN) $(STORE_SERVICE_HOST)"},
                {"name": "EMPTY"},
                {"name": "STORE_PORT", "value": "mine"},
            ],
        }
    )
    assert found["STORE_PORT"] == "mine"
    assert found["A"] == "0.1/$(B)/s3cret"
    assert (found["TOKEN"], found["C"], found["EMPTY"]) == ("own", "own 10.0.0.9", "")
    assert found["P_MODE"] == "$(HOME)"
    assert found["HOSTNAME"] == "host-0"


@pytest.mark.parametrize(
    ("source", "value"),
    [
        pytest.param({"fieldRef": {"fieldPath": "metadata.name"}}, "p", id="name"),
        pytest.param({"fieldRef": {"fieldPath": "metadata.labels['app']"}}, "x", id="a label"),
        pytest.param({"fieldRef": {"fieldPath": "metadata.labels['none']"}}, "", id="a label that is not there"),
        pytest.param({"fieldRef": {"fieldPath": "status.podIPs"}}, "10.1.1.1,::1", id="addresses"),
        pytest.param({"fieldRef": {"fieldPath": "status.hostIP"}}, "10.244.0.1", id="the node's address"),
        pytest.param({"resourceFieldRef": {"resource": "limits.cpu"}}, "2", id="cores are rounded up"),
        pytest.param({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}, "1500", id="or divided"),
        pytest.param({"resourceFieldRef": {"resource": "limits.memory"}}, "17179869184", id="no limit: the node's"),
        pytest.param({"resourceFieldRef": {"resource": "requests.memory"}}, "0", id="no request: nothing"),
        pytest.param({"configMapKeyRef": {"name": "settings", "key": "LR"}}, "0.1", id="a ConfigMap's key"),
        pytest.param({"secretKeyRef": {"name": "keys", "key": "TOKEN"}}, "s3cret", id="a Secret's key"),
    ],
)
def test_value_from(source: Raw, value: str) -> None:
    container = {"resources": {"limits": {"cpu": "1500m"}}, "env": [{"name": "A", "valueFrom": source}]}
    assert variables(container)["A"] == value


@pytest.mark.parametrize(
    ("container", "message"),
    [
        pytest.param({"envFrom": [{"configMapRef": {"name": "x"}}]}, 'configmap "x" not found', id="ConfigMap"),
        pytest.param({"envFrom": [{"secretRef": {"name": "x"}}]}, 'secret "x" not found', id="Secret"),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "no"}}}]},
            "couldn't find key no in ConfigMap ns/settings",
            id="key of a ConfigMap",
        ),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "no"}}}]},
            "couldn't find key no in Secret ns/keys",
            id="key of a Secret",
        ),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"key": "a", "path": "p", "volumeName": "v"}}}]},
            "valueFrom.fileKeyRef is not supported here; use configMapKeyRef, secretKeyRef or fieldRef",
            id="what is not done here is refused by name",
        ),
    ],
)
def test_what_is_missing_is_said_as_kubernetes_says_it(container: Raw, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        variables(container)
    assert str(caught.value) == message


def test_what_is_optional_is_left_out() -> None:
    found = variables(
        {
            "envFrom": [{"configMapRef": {"name": "x", "optional": True}}],
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "x", "key": "a", "optional": True}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a", "optional": True}}},
            ],
        }
    )
    assert not {"A", "B"} & set(found)


def test_services_are_told_unless_the_pod_wants_none() -> None:
    found = variables({})
    assert found["STORE_SERVICE_PORT_HTTP_API"] == "80"
    assert found["STORE_PORT"] == "tcp://10.0.0.9:80"
    assert found["STORE_PORT_90_TCP_ADDR"] == "10.0.0.9"
    assert not [name for name in found if name.startswith("HEADLESS")]
    quiet = variables({}, enableServiceLinks=False)
    assert not [name for name in quiet if name.startswith("STORE")]
    assert (quiet["KUBERNETES_SERVICE_HOST"], quiet["KUBERNETES_SERVICE_PORT"]) == ("10.244.0.1", "443")


def test_the_command_line_sees_the_whole_environment() -> None:
    container = {"command": ["run", "$(A)"], "args": ["$(B)", "$$(B)"]}
    assert command(container, {"A": "1", "B": "2"}) == ("run", "1", "2", "$(B)")


def test_a_sub_path_needs_its_variables() -> None:
    assert sub_path("$(POD)/x", {"POD": "p"}) == "p/x"
    with pytest.raises(ConfigError, match="missing value for POD"):
        sub_path("$(POD)/x", {"POD": ""})


def test_references_are_what_must_be_looked_up() -> None:
    container = {
        "name": "c",
        "envFrom": [{"configMapRef": {"name": "a"}}],
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "b", "key": "k"}}}],
    }
    pod = {"metadata": {"namespace": "ns"}, "spec": {"containers": [], "initContainers": [container]}}
    assert references(pod) == {Ref("", "ConfigMap", "ns", "a"), Ref("", "Secret", "ns", "b")}
