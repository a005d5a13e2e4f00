"""Objects go in and come out the same: recorded ones, and one of every kind with every odd name in it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.places import need_shared
from trainplane.api.autoscaling import HorizontalPodAutoscaler
from trainplane.api.batch import Job
from trainplane.api.claims import PersistentVolumeClaim
from trainplane.api.core import ConfigMap, Namespace, Pod, Secret, ServiceAccount
from trainplane.api.events import CoreEvent, Event
from trainplane.api.jobset import IMMUTABLE, NO_NAMESPACES, ONE_WAY_TO_ORDER, JobSet
from trainplane.api.meta import ObjectMeta, Wire, micro_time, read, write
from trainplane.api.network import Endpoints, EndpointSlice, Service
from trainplane.api.nodes import Lease, Node, RuntimeClass
from trainplane.api.quota import LimitRange, ResourceQuota
from trainplane.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from trainplane.api.scheduling import PodGroup, PriorityClass, Queue, VolcanoPodGroup

KINDS: dict[tuple[str, str], type[Wire]] = {
    (msgspec.structs.fields(kind)[0].default_factory(), msgspec.structs.fields(kind)[1].default_factory()): kind
    for kind in (
        *(ClusterRole, ClusterRoleBinding, ConfigMap, CoreEvent, EndpointSlice, Endpoints, Event, Job, JobSet, Lease),
        *(HorizontalPodAutoscaler, LimitRange, Namespace, Node, PersistentVolumeClaim, Pod, PodGroup, PriorityClass),
        *(Queue, ResourceQuota, Role, RoleBinding, RuntimeClass, Secret, Service, ServiceAccount, VolcanoPodGroup),
    )
}
MANIFESTS = Path(__file__).parent / "manifests"
FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "facts" / "kubernetes.json").read_text(encoding="utf-8"))
SAMPLES: dict[str, Any] = {
    "str": "",
    "bool": False,
    "int32": 0,
    "int64": 2**60,
    "bytes": "AA==",
    "Quantity": "1500m",
    "IntOrString": 80,
    "Time": "2026-01-31T12:00:00Z",
    "MicroTime": "2026-01-31T12:00:00.000000Z",
    "object": {"any": [1, None]},
}
GROUPS = {
    "autoscaling": "autoscaling.v2",
    "batch": "batch.v1",
    "coordination.k8s.io": "coordination.v1",
    "discovery.k8s.io": "discovery.v1",
    "events.k8s.io": "events.v1",
    "node.k8s.io": "node.v1",
    "rbac.authorization.k8s.io": "rbac.v1",
    "scheduling.k8s.io": "scheduling.v1",
    "v1": "core.v1",
}
TEMPLATES = ("core.v1.PodTemplateSpec", "core.v1.PersistentVolumeClaimTemplate")
"""Of their metadata we know what a CRD keeps."""
BUILT_IN = [key for key in KINDS if key[0].partition("/")[0] in GROUPS]


class TextOnly(yaml.CSafeLoader):
    """Reads YAML as JSON has it: a time is text."""


TextOnly.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def documents(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of ours, or of a recorded case."""
    for document in yaml.load_all(path.read_text(encoding="utf-8"), TextOnly):
        yield from document.get("objects", (document,))


def filled(definition: str) -> dict[str, Any]:
    """An object with every field that the API server knows, under the server's own names."""
    whole = {field: sample(shape) for field, (shape, *_) in FACTS[definition]["fields"].items()}
    return whole | {"metadata": {"name": "a", "labels": {"a": "b"}}} if definition in TEMPLATES else whole


def sample(shape: str) -> Any:
    """A value of a recorded type."""
    if shape[0] in "[{":
        inner = sample(shape[1:-1])
        return [inner, inner] if shape[0] == "[" else {"a.b/c": inner}
    return SAMPLES[shape] if shape in SAMPLES else filled(shape)


def as_sent(raw: dict[str, Any]) -> dict[str, Any]:
    """A recorded object without the recorder's own notation: who wrote it, no uids or times, text shown parsed."""
    sent = {key: value for key, value in raw.items() if not key.startswith("x-")}
    for owner in sent["metadata"].get("ownerReferences", ()):
        owner["uid"] = "3f1c"
    for condition in sent.get("status", {}).get("conditions", ()):
        condition["lastTransitionTime"] = SAMPLES["Time"]
    if "data" in sent:
        sent["data"] = {key: value if isinstance(value, str) else "parsed" for key, value in sent["data"].items()}
    return sent


def kind_of(raw: dict[str, Any]) -> type[Wire] | None:
    return KINDS.get((raw.get("apiVersion", ""), raw.get("kind", "")))


@pytest.mark.parametrize("path", sorted(MANIFESTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_field_of_our_manifests_survives(path: Path) -> None:
    for raw in documents(path):
        kind = kind_of(raw)
        assert kind is not None, f"no type for {raw['kind']}"
        assert write(read(raw, kind)) == raw


@pytest.mark.parametrize(("api_version", "kind"), BUILT_IN)
def test_every_field_that_the_api_server_knows_survives(api_version: str, kind: str) -> None:
    definition = f"{GROUPS[api_version.partition('/')[0]]}.{kind}"
    raw = filled(definition) | {"apiVersion": api_version, "kind": kind}
    assert write(read(raw, KINDS[api_version, kind])) == raw


def test_every_recorded_object_survives() -> None:
    cases = need_shared("conformance/cases")
    seen = 0
    for path in sorted(cases.glob("*/full-expected*.yaml")):
        for raw in documents(path):
            kind = kind_of(raw)
            if kind is not None:
                sent = as_sent(raw)
                assert write(read(sent, kind)) == sent, path.parent.name
                seen += 1
    assert seen > 100


def test_a_new_object_says_its_kind_and_nothing_else() -> None:
    assert write(ConfigMap(metadata=ObjectMeta(name="a"))) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
    }


def test_an_item_of_a_list_need_not_say_its_kind() -> None:
    assert read({"metadata": {"name": "a"}}, Namespace).kind == "Namespace"


def test_an_event_of_the_old_form_has_no_event_time() -> None:
    assert write(read({"metadata": {"name": "a"}, "eventTime": None}, Event)) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a"},
    }


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00.000000Z"),
        (datetime(2026, 1, 31, 12, 0, 0, 50, tzinfo=UTC), "2026-01-31T12:00:00.000050Z"),
        (datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))), "2026-01-31T10:00:00.000000Z"),
    ],
)
def test_a_micro_time_always_has_six_digits(time: datetime, text: str) -> None:
    assert micro_time(time) == text


@pytest.mark.parametrize(
    ("spec", "holds"),
    [
        ({}, True),
        ({"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": [{"name": "a"}]}, True),
        ({"startupPolicy": {"startupPolicyOrder": "AnyOrder"}, "replicatedJobs": [{"dependsOn": []}]}, True),
        ({"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": [{}, {"dependsOn": []}]}, False),
    ],
)
def test_jobs_start_in_order_in_one_way_only(spec: dict[str, Any], holds: bool) -> None:
    assert ONE_WAY_TO_ORDER.holds(spec, None) is holds


@pytest.mark.parametrize(
    ("policy", "holds"),
    [
        ({}, True),
        ({"templates": [{}, {"metadata": {"namespace": ""}}]}, True),
        ({"templates": [{"metadata": {"name": "a"}}, {"metadata": {"namespace": "b"}}]}, False),
    ],
)
def test_claims_of_a_jobset_name_no_namespace(policy: dict[str, Any], holds: bool) -> None:
    assert NO_NAMESPACES.holds(policy, None) is holds


def test_what_is_immutable_may_be_sent_again() -> None:
    assert IMMUTABLE.transition
    assert IMMUTABLE.holds({"subdomain": "a"}, {"subdomain": "a"})
    assert not IMMUTABLE.holds({"subdomain": "a"}, {"subdomain": "b"})
