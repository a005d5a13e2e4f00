"""The OpenAPI documents: what kubectl looks for in them, and that they describe what the types are."""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
import yaml

from trainplane.api.kinds import kind_of
from trainplane.cluster.openapi import OpenApi
from trainplane.cluster.protobuf import fields_of
from trainplane.cluster.resources import SERVED_KINDS, served

OPENAPI = OpenApi(served())
CRD_GROUPS = {
    "trainer.kubeflow.org",
    "trainplane.dev",
    "kubeflow.org",
    "ome.io",
    "jobset.x-k8s.io",
    "scheduling.x-k8s.io",
    "scheduling.volcano.sh",
}
TRAINER = "apis/trainer.kubeflow.org/v1alpha1"


def document(path: str) -> Any:
    """The v3 document of a group version."""
    found = OPENAPI.group_version(path)
    assert found is not None, f"no document at {path}"
    return json.loads(found.body)


def path_of(api_version: str) -> str:
    """Where the index keeps a group version."""
    return f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"


def schemas_of(document: Any, kind: str) -> list[Any]:
    """The schemas that say they are of a kind."""
    marked = (s for s in document["components"]["schemas"].values() if "x-kubernetes-group-version-kind" in s)
    return [s for s in marked if any(gvk["kind"] == kind for gvk in s["x-kubernetes-group-version-kind"])]


def references(value: Any) -> Iterator[str]:
    """Every $ref below a value."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for child in value.values():
            yield from references(child)
    if isinstance(value, list):
        for child in value:
            yield from references(child)


def test_the_index_leads_to_each_document_by_its_hash() -> None:
    index = OPENAPI.index()
    assert index.content_type == "text/plain; charset=utf-8"
    paths = json.loads(index.body)["paths"]
    assert paths.keys() == {path_of(kind.api_version) for kind in served()}
    for key, entry in paths.items():
        found = OPENAPI.group_version(key)
        assert found is not None
        assert entry["serverRelativeURL"] == f"/openapi/v3/{key}?hash={found.etag[1:-1]}"
    assert OPENAPI.group_version("apis/bogus/v1") is None


@pytest.mark.parametrize("kind", SERVED_KINDS, ids=lambda kind: f"{kind.api_version}-{kind.kind}")
def test_kubectl_finds_each_kind_and_leaves_validation_to_the_server(kind: Any) -> None:
    found = document(path_of(kind.api_version))
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    patch = found["paths"][f"/{path_of(kind.api_version)}{scope}/{kind.plural}/{{name}}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == gvk
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    strategic = "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    assert strategic is (kind.group not in CRD_GROUPS), "a real server takes strategic merges of its own kinds alone"
    assert len(schemas_of(found, kind.kind)) == 1
    assert gvk in schemas_of(found, kind.kind)[0]["x-kubernetes-group-version-kind"]


def test_every_reference_leads_somewhere() -> None:
    for key in json.loads(OPENAPI.index().body)["paths"]:
        found = document(key)
        assert {r.removeprefix("#/components/schemas/") for r in references(found)} <= (
            found["components"]["schemas"].keys()
        )
    v2 = json.loads(OPENAPI.v2().body)
    assert v2["swagger"] == "2.0"
    assert {r.removeprefix("#/definitions/") for r in references(v2)} <= v2["definitions"].keys()


def test_our_kinds_describe_every_field() -> None:
    schemas = document(TRAINER)["components"]["schemas"]
    silent = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        if name.startswith("dev.trainplane.trainer.")
        for field, node in schema.get("properties", {}).items()
        if not node.get("description")
    ]
    assert silent == []


def test_a_field_of_a_named_type_refers_to_it() -> None:
    (job,) = schemas_of(document(TRAINER), "TrainJob")
    assert job["required"] == ["spec"]
    assert job["properties"]["spec"]["allOf"][0]["$ref"].endswith(".TrainJobSpec")
    schemas = document("api/v1")["components"]["schemas"]
    limits = schemas["dev.trainplane.containers.ResourceRequirements"]["properties"]["limits"]
    assert limits["additionalProperties"]["$ref"].endswith(".Quantity")


def test_lists_say_how_they_merge() -> None:
    containers = document("api/v1")["components"]["schemas"]["dev.trainplane.pod.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


def test_a_dialect_is_described_under_its_own_group() -> None:
    (runtime,) = schemas_of(document("apis/ome.io/v1beta1"), "TrainingRuntime")
    assert runtime["x-kubernetes-group-version-kind"] == [
        {"group": "ome.io", "version": "v1beta1", "kind": "TrainingRuntime"}
    ]
    assert kind_of("ome.io/v1beta1", "TrainingRuntime") is not None


def named_schemas(content: bytes) -> dict[str, bytes]:
    """The named schemas in the bytes of OpenAPI's protobuf."""
    found = {}
    for _, each in fields_of(content):
        assert isinstance(each, bytes)
        parts = dict(fields_of(each))
        name, schema = parts[1], parts[2]
        assert isinstance(name, bytes)
        assert isinstance(schema, bytes)
        found[name.decode()] = schema
    return found


def test_version_2_in_protobuf_says_the_same() -> None:
    found = OPENAPI.v2_protobuf()
    assert found.content_type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    document = dict(fields_of(found.body))
    assert document[1] == b"2.0"
    definitions = document[9]
    assert isinstance(definitions, bytes)
    schemas = named_schemas(definitions)
    assert schemas.keys() == json.loads(OPENAPI.v2().body)["definitions"].keys()
    job = list(fields_of(schemas["dev.trainplane.trainer.TrainJob"]))
    assert (19, b"spec") in job, "required"
    (properties,) = (value for number, value in job if number == 25)
    assert isinstance(properties, bytes)
    assert named_schemas(properties).keys() >= {"apiVersion", "kind", "metadata", "spec", "status"}
    (mark,) = (value for number, value in job if number == 31 and b"group-version-kind" in bytes(value))
    assert b'{"group": "trainer.kubeflow.org", "version": "v1alpha1", "kind": "TrainJob"}' in bytes(mark)


def test_every_field_of_every_kind_says_what_it_is() -> None:
    silent = {
        f"{name.rpartition('.')[2]}.{field}"
        for path in json.loads(OPENAPI.index().body)["paths"]
        for name, schema in document(path)["components"]["schemas"].items()
        for field, said in schema.get("properties", {}).items()
        if not said.get("description")
    }
    assert silent == set()


def test_every_kind_says_what_it_is() -> None:
    for path in json.loads(OPENAPI.index().body)["paths"]:
        for name, schema in document(path)["components"]["schemas"].items():
            assert "x-kubernetes-group-version-kind" not in schema or schema.get("description"), name


def test_no_sentence_is_of_a_field_that_is_not_there() -> None:
    told = yaml.safe_load(files("trainplane.cluster").joinpath("descriptions.yaml").read_text())
    served = [
        s for path in json.loads(OPENAPI.index().body)["paths"] for s in document(path)["components"]["schemas"].items()
    ]
    fields = {(name.rpartition(".")[2], field) for name, schema in served for field in schema.get("properties", {})}
    names = {field for _, field in fields}
    assert not {(type_, field) for type_, said in told.items() for field in said if type_ != "*"} - fields
    assert not told["*"].keys() - names


def test_what_has_no_schema_is_not_merged_by_one() -> None:
    paths = document("apis/apiextensions.k8s.io/v1")["paths"]
    patch = paths["/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
