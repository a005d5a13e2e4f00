"""Discovery, held against what a real API server says of the same kinds (facts/discovery.json)."""

import json
from pathlib import Path
from typing import Any

import pytest

from trainplane.api.kinds import DIALECT_KINDS, HUB_KINDS
from trainplane.cluster.discovery import Discovery, aggregated_version, paths, version_info
from trainplane.cluster.resources import SERVED_KINDS, served

FACTS = json.loads((Path(__file__).parent / "facts" / "discovery.json").read_text(encoding="utf-8"))
V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2BETA1 = V2.replace("v=v2", "v=v2beta1")
KUBECTL_1_32 = f"{V2},{V2BETA1},application/json"
KUBECTL_1_37 = f"{V2},application/json"
NOT_SERVED = {"proxy", "resize"}
"""Subresources that only a real node or a resizing kubelet can answer."""

DISCOVERY = Discovery(served(), address="127.0.0.1:6443")


def read(path: str, accept: str = "") -> Any:
    """The document at a path."""
    found = DISCOVERY.answer(path, accept)
    assert found is not None, f"nothing at {path}"
    return json.loads(found.body)


def served_part(resource: dict[str, Any]) -> dict[str, Any]:
    """A real server's entry without what is not served here."""
    parts = [part for part in resource.get("subresources", ()) if part["subresource"] not in NOT_SERVED]
    rest = {key: value for key, value in resource.items() if key != "subresources"}
    if resource["resource"] == "customresourcedefinitions":
        # The CRDs of what is served can be read and applied again, never removed.
        return {**rest, "verbs": [verb for verb in rest["verbs"] if not verb.startswith("delete")]}
    return {**rest, "subresources": parts} if parts else rest


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['group'] or 'core'}-{fact['version']}")
def test_aggregated_discovery_is_a_real_servers(fact: dict[str, Any]) -> None:
    groups = read("/apis" if fact["group"] else "/api", KUBECTL_1_37)["items"]
    group = next(item for item in groups if item["metadata"].get("name", "") == fact["group"])
    version = next(item for item in group["versions"] if item["version"] == fact["version"])
    ours = {item["resource"]: item for item in version["resources"]}
    for expected in map(served_part, fact["resources"]):
        assert ours[expected["resource"]] == expected


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['group'] or 'core'}-{fact['version']}")
def test_resource_lists_are_a_real_servers(fact: dict[str, Any]) -> None:
    path = f"/apis/{fact['group']}/{fact['version']}" if fact["group"] else f"/api/{fact['version']}"
    ours = read(path)
    assert {key: ours[key] for key in ours if key != "resources"} == {
        key: value for key, value in fact["list"].items() if key != "resources"
    }
    entries = {
        entry["name"]: {key: value for key, value in entry.items() if key != "storageVersionHash"}
        for entry in ours["resources"]
    }
    for expected in fact["list"]["resources"]:
        plural, _, part = expected["name"].partition("/")
        if plural != "customresourcedefinitions" and part not in NOT_SERVED:
            assert entries[expected["name"]] == expected


@pytest.mark.parametrize(
    ("path", "name", "hash_"),
    [
        ("/api/v1", "configmaps", "qFsyl6wFWjQ="),
        ("/apis/coordination.k8s.io/v1", "leases", "gqkMMb/YqFM="),
        ("/apis/events.k8s.io/v1", "events", "r2yiGXH7wu8="),
        ("/apis/jobset.x-k8s.io/v1alpha2", "jobsets", "KpiKgyjBCag="),
        ("/apis/authorization.k8s.io/v1", "subjectaccessreviews", None),
    ],
)
def test_what_a_kind_is_stored_as_is_told_as_a_real_server_tells_it(path: str, name: str, hash_: str | None) -> None:
    entry = next(entry for entry in read(path)["resources"] if entry["name"] == name)
    assert entry.get("storageVersionHash") == hash_


def test_every_served_kind_is_discovered_both_ways() -> None:
    wanted = {(kind.api_version, kind.plural, kind.kind) for kind in SERVED_KINDS}
    old, new = set(), set()
    for group in read("/apis")["groups"]:
        for version in group["versions"]:
            for entry in read(f"/apis/{version['groupVersion']}")["resources"]:
                old.add((version["groupVersion"], entry["name"], entry["kind"]))
    old |= {("v1", entry["name"], entry["kind"]) for entry in read("/api/v1")["resources"]}
    for path in ("/api", "/apis"):
        for group in read(path, KUBECTL_1_32)["items"]:
            for version in group["versions"]:
                name = group["metadata"].get("name")
                api_version = f"{name}/{version['version']}" if name else version["version"]
                new |= {(api_version, r["resource"], r["responseKind"]["kind"]) for r in version["resources"]}
    assert wanted <= old
    assert wanted <= new


def test_the_hub_comes_before_its_dialects_and_they_share_no_category() -> None:
    groups = [item["metadata"]["name"] for item in read("/apis", V2)["items"]]
    hub = groups.index(HUB_KINDS[0].group)
    dialects = {kind.group for kind in DIALECT_KINDS} - {HUB_KINDS[0].group}
    assert all(groups.index(group) > hub for group in dialects)
    for item in read("/apis", V2)["items"]:
        if item["metadata"]["name"] in dialects:
            assert all("categories" not in resource for resource in item["versions"][0]["resources"])


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        (KUBECTL_1_37, "v2"),
        (KUBECTL_1_32, "v2"),
        (f"{V2BETA1},application/json", ""),
        ("application/json", ""),
        ("", ""),
        ("*/*", ""),
        (f"application/json, {V2}", ""),
        (f"application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{V2}", "v2"),
    ],
)
def test_the_first_acceptable_form_is_given(accept: str, version: str) -> None:
    assert aggregated_version(accept) == version
    found = DISCOVERY.answer("/apis", accept)
    assert found is not None
    assert found.content_type == (V2.replace("v=v2", f"v={version}") if version else "application/json")


def test_documents_keep_their_etag_and_forms_have_their_own() -> None:
    first, again, old = (DISCOVERY.answer("/apis", accept) for accept in (V2, V2, "application/json"))
    assert first is not None
    assert again is not None
    assert old is not None
    assert first.etag == again.etag != old.etag
    assert first.etag.startswith('"')


@pytest.mark.parametrize("path", ["/apis/nosuch", "/apis/batch/v9", "/api/v2", "/apis/batch/v1/jobs", "/nothing"])
def test_what_is_not_served_is_not_discovered(path: str) -> None:
    assert DISCOVERY.answer(path) is None


def test_version_says_both_versions_and_root_lists_paths() -> None:
    info = version_info("0.1.0+local/x", platform="linux/arm64")
    assert info["gitVersion"] == "v1.36.0+trainplane.0.1.0.local.x"
    assert (info["major"], info["minor"], info["platform"]) == ("1", "36", "linux/arm64")
    assert {"/apis/batch/v1", "/api/v1", "/openapi/v3"} <= set(paths(served())["paths"])
