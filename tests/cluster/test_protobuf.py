"""Kubernetes protobuf: what kubectl sends, and what a real API server says of one object in both forms."""

import base64
import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainplane.api.kinds import KINDS
from trainplane.api.meta import EmbeddedMeta, Wire, without_nulls
from trainplane.api.schema import bare
from trainplane.cluster.protobuf import MAGIC, NotInProtobuf, ProtobufError, _message, _message_of, decode, takes
from trainplane.cluster.resources import BUILT_IN_GROUPS

FACTS = json.loads((Path(__file__).parent / "facts" / "protobuf.json").read_text(encoding="utf-8"))
COMMANDS = {fact["name"]: base64.b64decode(fact["protobuf"]) for fact in FACTS["commands"]}
BUILT_IN = [kind for kind in KINDS if takes(kind.api_version, kind.kind)]


@pytest.mark.parametrize("fact", FACTS["objects"], ids=lambda fact: fact["name"])
def test_an_object_is_the_same_in_both_forms(fact: Any) -> None:
    assert decode(base64.b64decode(fact["protobuf"])) == without_nulls(fact["json"])


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("create-ns", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "wire-pbx"}}),
        ("create-cm", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}),
        ("create-secret", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "Yg=="}}),
        (
            "create-quota",
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "q"},
                "spec": {"hard": {"pods": "5", "requests.nvidia.com/gpu": "8"}},
            },
        ),
        (
            "create-pc",
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "wire-pc"},
                "value": 5,
                "preemptionPolicy": "PreemptLowerPriority",
            },
        ),
        (
            "create-role",
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "r"},
                "rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}],
            },
        ),
        (
            "create-job",
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "j"},
                "spec": {
                    "template": {
                        "metadata": {},
                        "spec": {
                            "containers": [{"name": "j", "image": "x", "resources": {}}],
                            "restartPolicy": "Never",
                        },
                    }
                },
            },
        ),
        (
            "create-svc",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s", "labels": {"app": "s"}},
                "spec": {
                    "ports": [{"name": "80-80", "protocol": "TCP", "port": 80, "targetPort": 80}],
                    "selector": {"app": "s"},
                    "type": "ClusterIP",
                },
            },
        ),
        (
            "can-i-sub",
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "metadata": {},
                "spec": {
                    "resourceAttributes": {
                        "namespace": "wire-pb",
                        "verb": "get",
                        "resource": "pods",
                        "subresource": "log",
                    }
                },
            },
        ),
        (
            "create-token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "metadata": {},
                "spec": {"expirationSeconds": 3600},
            },
        ),
    ],
)
def test_what_kubectl_means(command: str, meant: dict[str, Any]) -> None:
    sent = decode(COMMANDS[command])
    sent.pop("status", None)
    assert {key: value for key, value in sent.items() if value != {} or key == "metadata"} == meant


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"create-dep"}))
def test_every_typed_command_of_kubectl_is_understood(command: str) -> None:
    assert decode(COMMANDS[command])["kind"]


def test_a_kind_that_is_not_served_is_refused_by_name() -> None:
    with pytest.raises(
        NotInProtobuf, match=r"Deployment of apps/v1 is not taken in protobuf; send it as application/j"
    ):
        decode(COMMANDS["create-dep"])
    assert not takes("trainer.kubeflow.org/v1alpha1", "TrainJob")


def field(number: int, value: bytes) -> bytes:
    """A field of bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def body(content: bytes, kind: str = "ConfigMap") -> bytes:
    """A body around the bytes of an object."""
    return MAGIC + field(1, field(1, b"v1") + field(2, kind.encode())) + field(2, content)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"", "four bytes"),
        (b'{"kind":"Pod"}', "four bytes"),
        (COMMANDS["create-cm"][:-7], "middle of"),
        (body(b"\x0a\xff"), "middle of"),
        (body(b"\x0a" + b"\xff" * 12), "too many bytes"),
        (body(field(1, field(1, b"\xff\xfe"))), "not UTF-8"),
        (body(b"\x08\x01"), "a number stands where a text belongs"),
        (body(b"\x0b"), "wire type 3"),
        (body(field(9, b"new")), "field 9 of ConfigMap is not known"),
        (MAGIC + field(3, b"gzip"), "'gzip'"),
    ],
)
def test_broken_bodies_are_refused_in_words(sent: bytes, words: str) -> None:
    with pytest.raises(ProtobufError, match=words):
        decode(sent)


def test_a_newer_clients_empty_fields_are_passed_over() -> None:
    assert decode(body(field(1, field(1, b"a")) + field(9, b""))) == (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    )


@given(st.binary(max_size=300), st.sampled_from(sorted(COMMANDS)), st.integers(0, 400))
def test_no_bytes_do_worse_than_be_refused(noise: bytes, command: str, at: int) -> None:
    for sent in (noise, MAGIC + noise, body(noise), COMMANDS[command][:at] + noise + COMMANDS[command][at + 1 :]):
        try:
            decode(sent)
        except (ProtobufError, NotInProtobuf):
            continue


def compare(message: str, type_: type[Wire], seen: set[str]) -> list[str]:
    """Fields that protobuf has and our type has not, below a message."""
    if message in seen:
        return []
    seen.add(message)
    ours = {field.encode_name: field.type for field in msgspec.structs.fields(type_)}
    lacking: list[str] = []
    for known in _message(message).values():
        if known.inline:
            lacking += compare(known.type, type_, set())
        elif known.name not in ours:
            lacking.append(f"{message}.{known.name}")
        elif "." in known.type:
            held = bare(ours[known.name])
            if known.repeated or known.mapped:
                held = bare(get_args(held)[-1 if known.mapped else 0])
            # The metadata of a template keeps five fields on purpose.
            if isinstance(held, type) and issubclass(held, Wire) and held is not EmbeddedMeta:
                lacking += compare(known.type, held, seen)
    return lacking


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.kind)
def test_our_types_have_every_field_that_protobuf_brings(kind: Any) -> None:
    lacking = compare(_message_of(kind.api_version, kind.kind), kind.type, set())
    assert lacking == []


def test_all_of_kubernetes_own_kinds_are_taken() -> None:
    assert [kind for kind in KINDS if kind.group in BUILT_IN_GROUPS] == BUILT_IN
