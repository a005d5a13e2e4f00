"""The HTTP face: who may ask, what is answered in which form, and that every refusal is a Status."""

import asyncio
import json
import random
import ssl
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.servers import Caller, serve

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def config_map(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


def test_nobody_is_served_who_does_not_say_who_they_are(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        stranger = ssl.create_default_context(cadata=(tmp_path / "cluster" / "pki" / "ca.crt").read_text())
        for path in ("/version", "/healthz", MAPS):
            code, status, _ = await call("GET", path, ssl=stranger)
            assert (code, status["reason"]) == (401, "Unauthorized")
            code, _, _ = await call("GET", path, ssl=stranger, headers={"Authorization": "Bearer wrong"})
            assert code == 401

    serve(tmp_path, story)


def test_objects_over_http(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        code, made, _ = await call("POST", MAPS, body=config_map(data={"k": "v"}))
        assert (code, made["metadata"]["managedFields"][0]["manager"]) == (201, "tests")
        code, status, _ = await call("POST", MAPS, body=config_map())
        assert (code, status["message"]) == (409, 'configmaps "a" already exists')
        code, found, _ = await call("GET", MAPS)
        assert [item["metadata"]["name"] for item in found["items"]] == ["a", "kube-root-ca.crt"]
        assert "kind" not in found["items"][0]
        code, new, _ = await call(
            "PATCH", f"{MAPS}/a", body=b'{"data":{"k":null}}', headers={"Content-Type": "application/merge-patch+json"}
        )
        assert "data" not in new
        code, gone, _ = await call("DELETE", f"{MAPS}/a")
        assert (code, gone["status"], gone["details"]["kind"]) == (200, "Success", "configmaps")

    serve(tmp_path, story)


def test_warnings_and_strictness(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        body = b'{"metadata":{"name":"a","zap":1},"data":{"k":"1","k":"2"}}'
        code, _, headers = await call("POST", MAPS, body=body)
        assert code == 201
        assert headers.getall("Warning") == [
            '299 - "unknown field \\"metadata.zap\\""',
            '299 - "duplicate field \\"data.k\\""',
        ]
        code, status, _ = await call("POST", f"{MAPS}?fieldValidation=Strict", body=body)
        assert code == 400
        assert status["message"].endswith(
            'strict decoding error: unknown field "metadata.zap", duplicate field "data.k"'
        )

    serve(tmp_path, story)


def test_forms_of_an_answer(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        await call("POST", MAPS, body=config_map(data={"k": "v"}))
        _, table, _ = await call("GET", f"{MAPS}/a", headers={"Accept": TABLE})
        assert (table["kind"], table["rows"][0]["cells"][:2]) == ("Table", ["a", 1])
        _, text, headers = await call("GET", f"{MAPS}/a", headers={"Accept": "application/yaml"})
        assert headers["Content-Type"] == "application/yaml"
        assert text.startswith("apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n")
        code, status, _ = await call("GET", f"{MAPS}/a", headers={"Accept": "image/png"})
        assert (code, status["reason"]) == (406, "NotAcceptable")
        partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
        _, part, _ = await call("GET", f"{MAPS}/a", headers={"Accept": partial})
        assert sorted(part) == ["apiVersion", "kind", "metadata"]

    serve(tmp_path, story)


def test_a_watch_is_lines_and_ends_with_its_time(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        _, found, _ = await call("GET", MAPS)
        version = found["metadata"]["resourceVersion"]
        async with call.stream(f"{MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=2") as answer:
            await call("POST", MAPS, body=config_map())
            await call("DELETE", f"{MAPS}/a")
            lines = [json.loads(line) async for line in answer.content]
        assert [line["type"] for line in lines] == ["ADDED", "DELETED"]
        query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        async with call.stream(f"{MAPS}?{query}&timeoutSeconds=5") as answer:
            first = [json.loads(await answer.content.readline()) for _ in range(2)]
        assert [line["type"] for line in first] == ["ADDED", "BOOKMARK"]
        assert first[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        async with call.stream(f"{MAPS}?watch=1&resourceVersion=1") as answer:
            line = json.loads(await answer.content.readline())
        assert (line["type"], line["object"]["code"], line["object"]["reason"]) == ("ERROR", 410, "Expired")

    serve(tmp_path, story)


def test_a_body_has_its_limit(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        code, status, _ = await call("POST", MAPS, body=b"x" * (3 * 1024 * 1024 + 1))
        assert (code, status["message"]) == (413, "Request entity too large: limit is 3145728")

    serve(tmp_path, story)


def test_roles_decide(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        _, token, _ = await call("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", body={"spec": {}})
        who = {"Authorization": f"Bearer {token['status']['token']}"}
        bare = ssl.create_default_context(cadata=(tmp_path / "cluster" / "pki" / "ca.crt").read_text())
        code, status, _ = await call("GET", MAPS, headers=who, ssl=bare)
        assert code == 403
        assert status["message"] == (
            'configmaps is forbidden: User "system:serviceaccount:default:default" cannot list resource "configmaps" '
            'in API group "" in the namespace "default"'
        )
        binding = {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "view"}}
        binding["subjects"] = [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]
        code, _, _ = await call(
            "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", body=binding
        )
        assert code == 201
        assert (await call("GET", MAPS, headers=who, ssl=bare))[0] == 200
        assert (await call("DELETE", f"{MAPS}/kube-root-ca.crt", headers=who, ssl=bare))[0] == 403

    serve(tmp_path, story)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/version", 200),
        ("/readyz?verbose", 200),
        ("/api", 200),
        ("/apis", 200),
        ("/apis/trainer.kubeflow.org/v1alpha1", 200),
        ("/openapi/v3", 200),
        ("/openapi/v3/apis/trainer.kubeflow.org/v1alpha1", 200),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trainjobs.trainer.kubeflow.org", 200),
        ("/api/v1/bogus", 404),
        ("/bogus", 404),
    ],
)
def test_what_is_not_an_object(tmp_path: Path, path: str, code: int) -> None:
    async def story(call: Caller) -> None:
        assert (await call("GET", path))[0] == code

    serve(tmp_path, story)


def test_a_restart_finds_everything_where_it_was(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    async def before(call: Caller) -> None:
        _, seen["made"], _ = await call("POST", MAPS, body=config_map(data={"k": "v"}))
        seen["server"] = call.cluster.server

    async def after(call: Caller) -> None:
        _, found, _ = await call("GET", f"{MAPS}/a")
        assert found == seen["made"]
        assert call.cluster.server == seen["server"]

    serve(tmp_path, before)
    serve(tmp_path, after)


def test_malformed_requests_get_a_status_and_the_server_stays(tmp_path: Path) -> None:
    chance = random.Random(7)
    pieces = ["api", "v1", "apis", "namespaces", "default", "pods", "%00", "..", "%2F", "status", "ü", "batch", "jobs"]
    bodies = [
        b"",
        b"{",
        b"[1]",
        b"null",
        b'"x"',
        b'{"metadata":1}',
        b'{"kind":1}',
        b"\xff\xfe",
        b'{"spec":{"a":[[[[{}]]]]}}',
    ]
    types = ["", "application/json", "application/yaml", "application/apply-patch+yaml", "application/json-patch+json"]
    types += [
        "application/vnd.kubernetes.protobuf",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ]

    async def one(call: Caller) -> None:
        method = chance.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"])
        path = "/" + "/".join(chance.choice(pieces) for _ in range(chance.randrange(8)))
        query = chance.choice(["", "?limit=x", "?labelSelector=((", "?continue=%ff", "?fieldManager=m", "?dryRun=no"])
        headers = {"Content-Type": chance.choice(types), "Accept": chance.choice(["", "*/*", "x/y", TABLE])}
        code, value, _ = await call(method, path + query, body=chance.choice(bodies), headers=headers)
        assert code < 500 or (isinstance(value, dict) and value.get("kind") == "Status"), (method, path, query, value)
        assert value == "" or isinstance(value, str) or "kind" in value or "paths" in value or "major" in value
        assert not (isinstance(value, dict) and value.get("reason") == "InternalError"), (method, path, query, headers)

    async def story(call: Caller) -> None:
        for _ in range(20):
            await asyncio.gather(*(one(call) for _ in range(20)))
        assert (await call("GET", "/readyz"))[0] == 200

    serve(tmp_path, story)


def test_a_dialect_shows_the_hub_s_objects(tmp_path: Path) -> None:
    hub = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
    dialect = "/apis/ome.io/v1beta1/clustertrainingruntimes"
    container = {"name": "node", "image": "example.test/train:1"}
    job = {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [container]}}}}}
    runtime = {
        "apiVersion": "ome.io/v1beta1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "r"},
        "spec": {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [job]}}},
    }

    async def story(call: Caller) -> None:
        code, made, _ = await call("POST", dialect, body=runtime)
        assert (code, made["apiVersion"]) == (201, "ome.io/v1beta1"), made
        _, found, _ = await call("GET", f"{hub}/r")
        assert (found["apiVersion"], found["metadata"]["uid"]) == (
            "trainer.kubeflow.org/v1alpha1",
            made["metadata"]["uid"],
        )
        _, listed, _ = await call("GET", dialect)
        assert {item["apiVersion"] for item in listed["items"]} == {"ome.io/v1beta1"}
        assert "r" in [item["metadata"]["name"] for item in listed["items"]]
        merge = {"Content-Type": "application/merge-patch+json"}
        await call("PATCH", f"{dialect}/r", body=b'{"spec":{"mlPolicy":{"numNodes":3}}}', headers=merge)
        _, found, _ = await call("GET", f"{hub}/r")
        assert found["spec"]["mlPolicy"]["numNodes"] == 3
        assert (await call("DELETE", f"{dialect}/r"))[0] == 200
        assert (await call("GET", f"{hub}/r"))[0] == 404
        for method in ("GET", "DELETE"):
            _, status, _ = await call(method, f"{dialect}/r")
            assert status["message"] == 'clustertrainingruntimes.ome.io "r" not found'
            assert status["details"]["group"] == "ome.io"

    serve(tmp_path, story)


def test_events_are_one_store_seen_through_two_groups(tmp_path: Path) -> None:
    new, old = "/apis/events.k8s.io/v1/namespaces/default/events", "/api/v1/namespaces/default/events"
    event = {"metadata": {"name": "e"}, "regarding": {"kind": "Pod", "namespace": "default", "name": "p"}}
    event |= {
        "note": "n",
        "reason": "R",
        "type": "Normal",
        "action": "A",
        "reportingController": "x/c",
        "reportingInstance": "i",
    }

    async def story(call: Caller) -> None:
        code, status, _ = await call("POST", new, body=event)
        assert (code, status["message"]) == (422, 'Event "e" is invalid: eventTime: Required value')
        code, _, _ = await call("POST", new, body={**event, "eventTime": "2026-01-31T12:00:00.000000Z"})
        assert code == 201
        _, seen, _ = await call("GET", f"{old}/e")
        assert (seen["message"], seen["involvedObject"]["name"], seen["apiVersion"]) == ("n", "p", "v1")
        _, found, _ = await call("GET", f"{new}?fieldSelector=regarding.name%3Dp")
        assert [item["note"] for item in found["items"]] == ["n"]

    serve(tmp_path, story)


def test_a_new_cluster_has_the_built_in_runtimes_and_says_which_trainer_it_is(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        _, found, _ = await call("GET", "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes")
        assert "torch-distributed" in [item["metadata"]["name"] for item in found["items"]]
        _, public, _ = await call("GET", "/api/v1/namespaces/kubeflow-system/configmaps/kubeflow-trainer-public")
        assert public["data"] == {"kubeflow_trainer_version": "v2.3.0"}

    serve(tmp_path, story)
