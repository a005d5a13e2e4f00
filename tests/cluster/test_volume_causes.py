"""What the API server refuses in volumes; the messages are those of kube-apiserver 1.36."""

from typing import Any

import pytest

from trainplane.cluster.volume_causes import volume_causes

FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}


def refused(**volume: Any) -> list[str]:
    return [str(cause) for cause in volume_causes([{"name": "v", **volume}], "spec.volumes")]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"serviceAccountToken": {"path": "../../tok"}}, """path: Invalid value: "../../tok": must not contain '..'"""),
        ({"serviceAccountToken": {"path": "/abs"}}, 'path: Invalid value: "/abs": must be a relative path'),
        ({"serviceAccountToken": {"path": "..x"}}, """path: Invalid value: "..x": must not start with '..'"""),
        (
            {"downwardAPI": {"items": [{"path": "../x", **FIELD}]}},
            """sources[0].downwardAPI.path: Invalid value: "../x": must not contain '..'""",
        ),
        (
            {"secret": {"name": "s", "items": [{"key": "a", "path": "../x"}]}},
            """sources[0].secret.items[0].path: Invalid value: "../x": must not contain '..'""",
        ),
        (
            {"configMap": {"name": "s", "items": [{"key": "a", "path": "..x/b"}]}},
            """sources[0].configMap.items[0].path: Invalid value: "..x/b": must not start with '..'""",
        ),
        ({"secret": {"items": [{"key": "a", "path": "b"}]}}, "sources[0].secret.name: Required value"),
    ],
)
def test_files_of_projected_volumes_stay_in_them(source: dict[str, Any], message: str) -> None:
    assert refused(projected={"sources": [source]}) == [f"spec.volumes[0].projected.{message}"]


def test_no_file_is_there_twice() -> None:
    sources = [{kind: {"name": "s", "items": [{"key": "a", "path": "b"}]}} for kind in ("configMap", "secret")]
    said = 'spec.volumes[0].projected: Invalid value: "s": conflicting duplicate paths'
    assert refused(projected={"sources": sources}) == [said]


@pytest.mark.parametrize(
    ("volume", "at"),
    [
        ({"configMap": {"name": "c", "items": [{"key": "a", "path": "..data"}]}}, "configMap.items[0].path"),
        ({"downwardAPI": {"items": [{"path": "..data", **FIELD}]}}, "downwardAPI.path"),
    ],
)
def test_names_of_the_node_are_not_for_files(volume: dict[str, Any], at: str) -> None:
    assert refused(**volume) == [f"spec.volumes[0].{at}: Invalid value: \"..data\": must not start with '..'"]


def test_what_pods_usually_have_is_taken() -> None:
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", **FIELD}]}},
    ]
    assert refused(projected={"sources": sources}) == []
