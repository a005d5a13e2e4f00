"""Merge patches: what a real API server answered, and what the two kinds of patch promise."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.places import need_shared
from trainplane.api.diff import merge_diff, strategic_diff
from trainplane.api.jobset import JobSetSpec
from trainplane.api.merge import Fault, PatchError, merge_patch, strategic_merge
from trainplane.api.meta import ObjectMeta
from trainplane.api.pod import PodSpec, PodTemplateSpec
from trainplane.api.schema import openapi

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "facts" / "patches.json").read_text(encoding="utf-8"))


def fields(**properties: Any) -> dict[str, Any]:
    """The schema of a map with these fields."""
    return {"type": "object", "properties": properties}


POD_SPEC = openapi(PodSpec)
META = openapi(ObjectMeta)
SCHEMA = {
    "deployment": fields(
        metadata=META,
        spec=fields(
            strategy={**fields(), "x-kubernetes-patch-strategy": "retainKeys"},
            template=openapi(PodTemplateSpec),
        ),
    ),
    "configmap": fields(metadata=META),
}

OURS = {
    "absent map with $patch replace": "the server drops the map",
    "directives in a new element": "the server leaves the deleted element in",
    "directive in an atomic list": "the server leaves an empty element in",
    "primitive: delete not a list": "the server takes no notice",
    "order: of an unknown field": "the server refuses; there is nothing to order",
    "whole object $patch replace": "the server knows the kind without being told",
    "nulls in a new element are dropped": "the server fills in apiVersion, which the patch leaves out",
}
"""Where we differ from the recorded server on purpose, or a default hides the merge."""

REFUSED_LATER = {"wrong types: list for map", "wrong types: map for list", "wrong types: scalar for list"}
"""The merge takes these, and the types refuse the result."""


@pytest.mark.parametrize(
    "fact",
    [
        fact
        for fact in FACTS["strategic"]
        if fact["about"] not in OURS | dict.fromkeys(REFUSED_LATER) and (not fact.get("validation"))
    ],
    ids=lambda fact: fact["about"],
)
def test_strategic_merge_as_the_real_server(fact: dict[str, Any]) -> None:
    before, patch = FACTS["before"][fact["to"]], fact["patch"]
    untouched = copy.deepcopy((before, patch))
    if fact["code"] == 200:
        assert settled(strategic_merge(before, patch, SCHEMA[fact["to"]])) == settled(fact["after"])
    elif fact["about"] == "whole object $patch delete":
        assert strategic_merge(before, patch, SCHEMA[fact["to"]]) == {}
    else:
        with pytest.raises(PatchError) as refusal:
            strategic_merge(before, patch, SCHEMA[fact["to"]])
        assert ("retainKeys" in fact["message"]) == (refusal.value.fault is Fault.RETAIN_KEYS)
    assert (before, patch) == untouched


def settled(value: Any) -> Any:
    """The object as types would store it: empty maps and lists that nobody meant are not kept, ports default to TCP."""
    if isinstance(value, dict):
        members = {key: settled(item) for key, item in value.items() if key not in ("protocol", "status")}
        droppable = ("nodeSelector", "env", "args", "resources", "securityContext", "binaryData")
        return {key: item for key, item in members.items() if not (key in droppable and not item)}
    if isinstance(value, list):
        return [settled(item) for item in value]
    return value


@pytest.mark.parametrize("fact", FACTS["merge"], ids=lambda fact: fact["about"])
def test_merge_patch_as_the_real_server(fact: dict[str, Any]) -> None:
    result = merge_patch(FACTS["before"][fact["to"]], fact["patch"])
    if fact["code"] == 200:
        assert settled(without_nulls(result)) == settled(fact["after"])


def without_nulls(value: Any) -> Any:
    """A null inside a list element stays in a merge patch; the types then drop it."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", None], ["c", None]),
        ({"a": "b"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_by_the_rfc(document: Any, patch: Any, result: Any) -> None:
    assert merge_patch(document, patch) == result


def test_merge_diff_tells_true_from_one() -> None:
    assert merge_diff({"a": 1, "b": {"c": 1, "d": 2}}, {"a": True, "b": {"c": 1}}) == {"a": True, "b": {"d": None}}


FINALIZERS = {"type": "array", "x-kubernetes-patch-strategy": "merge"}
SPEC = fields(spec=POD_SPEC, finalizers=FINALIZERS, labels=fields())


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({"spec": {"containers": [{"image": "q"}]}}, ["spec.containers[0]", "name"]),
        ({"spec": {"containers": [{"name": {"a": 1}}]}}, ["spec.containers[0]", "name"]),
        ({"spec": {"nodeSelector": {"$patch": "merge"}}}, ["spec.nodeSelector.$patch", "'merge'", "delete or replace"]),
        ({"spec": {"new": [{"a": {"$patch": "explode"}}]}}, ["spec.new[0].a.$patch", "'explode'"]),
        ({"spec": {"containers": ["c"]}}, ["spec.containers", "kind"]),
        ({"spec": {"containers": [["c"]]}}, ["spec.containers", "kind"]),
        ({"spec": {"$retainKeys": ["a"], "b": 1}}, ["spec.$retainKeys", "sets b", "add b"]),
        ({"spec": {"$retainKeys": [1]}}, ["spec.$retainKeys", "field names"]),
        ({"$setElementOrder/finalizers": "a"}, ["$setElementOrder/finalizers", "not a list"]),
        ({"$setElementOrder/finalizers": ["a"], "finalizers": ["b"]}, ["$setElementOrder/finalizers", "same order"]),
        ({"$setElementOrder/labels": ["a"]}, ["labels is not a list"]),
        ({"$deleteFromPrimitiveList/finalizers": [{}]}, ["$deleteFromPrimitiveList/finalizers", "take out"]),
        ([], ["is a map"]),
    ],
)
def test_a_refused_patch_says_where_and_what_to_do(patch: Any, words: list[str]) -> None:
    document = {"spec": {"containers": [{"name": "c"}], "nodeSelector": {"a": "b"}}, "finalizers": ["a"], "labels": {}}
    with pytest.raises(PatchError) as refusal:
        strategic_merge(document, patch, SPEC)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)
    assert refusal.value.todo


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        pytest.param(
            {"new": {"$patch": "replace", "a": 1, "b": None}}, {}, id="replace of what is absent, as a server has it"
        ),
        pytest.param({"new": {"$patch": "delete", "a": 1}}, {}, id="delete of what is absent"),
        pytest.param({"new": {"a": {"$patch": "delete"}, "b": {}}}, {"new": {"b": {}}}, id="delete inside what is new"),
        pytest.param(
            {"new": [{"a": 1, "$retainKeys": ["a"]}, {"b": 1, "$patch": "delete"}]},
            {"new": [{"a": 1}]},
            id="directives in a new list",
        ),
    ],
)
def test_directives_never_reach_the_result(patch: Any, result: Any) -> None:
    assert strategic_merge({}, patch) == result
    assert strategic_merge({}, {"$patch": "replace", **patch}) == result


def test_a_new_element_obeys_its_own_directives() -> None:
    patch = {"containers": [{"name": "n", "env": [{"name": "A"}, {"name": "B", "$patch": "delete"}]}]}
    result = strategic_merge({"containers": [{"name": "c"}]}, patch, POD_SPEC)
    assert result == {"containers": [{"name": "n", "env": [{"name": "A"}]}, {"name": "c"}]}


def test_two_elements_with_one_key_both_stay() -> None:
    ports = [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]
    document = {"containers": [{"name": "dns", "ports": ports}]}
    patch = {"containers": [{"name": "dns", "ports": [{"containerPort": 53, "name": "dns"}]}]}
    result = strategic_merge(document, patch, POD_SPEC)["containers"][0]["ports"]
    assert result == [{"containerPort": 53, "protocol": "TCP", "name": "dns"}, ports[1]]


def test_runtime_patches_put_their_entries_before_those_of_the_template() -> None:
    template = {
        "volumes": [{"name": "t", "emptyDir": {}}],
        "containers": [
            {"name": "node", "env": [{"name": "T", "value": "1"}], "volumeMounts": [{"mountPath": "/t", "name": "t"}]},
            {"name": "side"},
        ],
    }
    patch = {
        "volumes": [{"name": "p", "emptyDir": {}}],
        "containers": [
            {"name": "side", "image": "x"},
            {"name": "node", "env": [{"name": "P", "value": "2"}], "volumeMounts": [{"mountPath": "/p", "name": "p"}]},
        ],
    }
    result = strategic_merge(template, patch, POD_SPEC)
    assert [volume["name"] for volume in result["volumes"]] == ["p", "t"]
    assert [container["name"] for container in result["containers"]] == ["side", "node"]
    side, node = result["containers"]
    assert [env["name"] for env in node["env"]] == ["P", "T"]
    assert [mount["mountPath"] for mount in node["volumeMounts"]] == ["/p", "/t"]
    assert side == {"name": "side", "image": "x"}


def test_a_list_can_be_removed_although_its_order_is_given() -> None:
    patch = {"$setElementOrder/finalizers": ["a"], "finalizers": None}
    assert strategic_merge({"finalizers": ["a"]}, patch, SPEC) == {}


def test_a_map_that_is_replaced_is_sent_whole() -> None:
    schema = fields(selector={"x-kubernetes-patch-strategy": "replace"})
    before, after = {"selector": {"a": 1, "b": 2}}, {"selector": {"a": 1}}
    assert strategic_diff(before, after, schema) == after
    assert strategic_merge(before, after, schema) == after


def test_strategic_diff_is_what_kubectl_would_send() -> None:
    before = {
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [
            {"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]},
            {"name": "b"},
        ],
        "nodeSelector": {"k": "1", "l": "2"},
    }
    after = {
        "volumes": [{"name": "v", "configMap": {"name": "m"}}],
        "containers": [{"name": "a", "image": "1", "env": [{"name": "Y", "value": "3"}]}],
        "nodeSelector": {"k": "1"},
    }
    assert strategic_diff(before, after, POD_SPEC) == {
        "$setElementOrder/volumes": [{"name": "v"}],
        "volumes": [
            {
                "$retainKeys": ["configMap", "name"],
                "name": "v",
                "emptyDir": None,
                "configMap": {"name": "m"},
            }
        ],
        "$setElementOrder/containers": [{"name": "a"}],
        "containers": [
            {
                "name": "a",
                "$setElementOrder/env": [{"name": "Y"}],
                "env": [{"name": "Y", "value": "3"}, {"name": "X", "$patch": "delete"}],
            },
            {"name": "b", "$patch": "delete"},
        ],
        "nodeSelector": {"l": None},
    }


def test_a_list_without_usable_keys_is_replaced_by_the_diff() -> None:
    before = {"containers": [{"name": "a"}, {"name": "b"}]}
    after = {"containers": [{"name": "a"}, {"name": "a", "image": "2"}]}
    patch = strategic_diff(before, after, POD_SPEC)
    assert patch == {"containers": [{"$patch": "replace"}, *after["containers"]]}
    assert strategic_merge(before, patch, POD_SPEC) == after


def test_runtime_patches_merge_as_the_real_trainer_merges_them() -> None:
    schema, compared = openapi(JobSetSpec), 0
    for case in sorted(need_shared("conformance/cases").iterdir()):
        text = (case / "input.yaml").read_text(encoding="utf-8")
        if "runtimePatches" not in text or not (case / "expected.yaml").exists():
            continue
        documents = list(yaml.safe_load_all(text))
        specs = [document.get("spec") or {} for document in documents if document]
        patches = [spec["runtimePatches"] for spec in specs if spec.get("runtimePatches")]
        objects = yaml.safe_load((case / "expected.yaml").read_text(encoding="utf-8"))["objects"]
        jobsets = [obj["spec"] for obj in objects if obj["kind"] == "JobSet"]
        runtimes = [
            text for obj in objects for key, text in (obj.get("data") or {}).items() if key.startswith("runtime ")
        ]
        if not (len(patches) == len(jobsets) == len(runtimes) == 1):
            continue
        spec = runtimes[0]["spec"]["template"]["spec"]
        order = [job["name"] for job in spec["replicatedJobs"]]
        for patch in patches[0]:
            change = ((patch.get("trainingRuntimeSpec") or {}).get("template") or {}).get("spec") or {}
            spec = strategic_merge(spec, change, schema)
        jobs = sorted(spec["replicatedJobs"], key=lambda job, order=order: order.index(job["name"]))
        assert [as_written(job) for job in jobs] == [as_written(job) for job in jobsets[0]["replicatedJobs"]], case.name
        compared += 1
    assert compared > 10


def as_written(job: dict[str, Any]) -> Any:
    """The name and pod template of a replicated job without what defaults and the ML policy add to it."""
    pod = copy.deepcopy(job["template"]["spec"]["template"])
    pod.get("metadata", {}).get("annotations", {}).pop("scheduling.k8s.io/group-name", None)
    pod["metadata"] = {key: value for key, value in pod.get("metadata", {}).items() if value}
    for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])):
        own = [env for env in container.pop("env", []) if not env["name"].startswith("PET_")]
        ports = [port for port in container.pop("ports", []) if port["containerPort"] != 29500]
        container.update({"env": own, "ports": ports, "resources": container.get("resources", {})})
    return job["name"], pod
