"""Whether a node has room for a pod, and whether its volumes keep to theirs."""

from pathlib import Path
from typing import Any

import pytest

from trainplane.api.meta import Raw
from trainplane.node.room import out_of, outgrown, overfull, size_limits, storage_limits

HAS = {"cpu": "2", "memory": "1Gi", "pods": "3"}


def pod(**requests: str) -> Raw:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}


@pytest.mark.parametrize(
    ("asks", "others", "refusal"),
    [
        pytest.param({"cpu": "2"}, [], None, id="it fits"),
        pytest.param({}, [{"cpu": "2"}], None, id="it asks for nothing"),
        pytest.param(
            {"cpu": "1500m"},
            [{"cpu": "1"}],
            ("OutOfcpu", "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000"),
            id="no cores",
        ),
        pytest.param(
            {"memory": "2Gi"},
            [],
            (
                "OutOfmemory",
                "Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824",
            ),
            id="no memory",
        ),
        pytest.param(
            {},
            [{}, {}, {}],
            ("OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"),
            id="too many",
        ),
    ],
)
def test_room(asks: dict[str, str], others: list[dict[str, str]], refusal: Any) -> None:
    assert out_of(pod(**asks), [pod(**each) for each in others], HAS) == refusal


def test_volumes_keep_to_their_limits(tmp_path: Path) -> None:
    volumes = [
        {"name": "a", "emptyDir": {"sizeLimit": "64Ki"}},
        {"name": "b", "emptyDir": {"sizeLimit": "1Mi", "medium": "Memory"}},
        {"name": "c", "emptyDir": {}},
    ]
    limits = size_limits({"spec": {"volumes": volumes}})
    assert limits == {"a": "64Ki"}
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "deep" / "x").write_bytes(b"x" * 32 * 1024)
    assert outgrown(tmp_path, limits) == ""
    (tmp_path / "a" / "y").write_bytes(b"x" * 64 * 1024)
    assert outgrown(tmp_path, limits) == 'Usage of EmptyDir volume "a" exceeds the limit "64Ki".'


def test_what_containers_have_on_disk_keeps_to_their_limits(tmp_path: Path) -> None:
    folder, logs = tmp_path / "pod", tmp_path / "logs"
    limits = storage_limits(
        {
            "spec": {
                "containers": [
                    {"name": "a", "resources": {"limits": {"ephemeral-storage": "64Ki"}}},
                    {"name": "b", "resources": {"limits": {"ephemeral-storage": "64Ki"}}},
                    {"name": "c"},
                ]
            }
        }
    )
    assert limits == {"a": "64Ki", "b": "64Ki"}
    for place in (folder / "box" / "temporary" / "a", folder / "volumes" / "v", logs / "a"):
        place.mkdir(parents=True)
    (folder / "box" / "temporary" / "a" / "x").write_bytes(b"x" * 32 * 1024)
    assert overfull(folder, logs, limits) == ""
    (logs / "a" / "0.log").write_bytes(b"x" * 64 * 1024)
    assert overfull(folder, logs, limits) == 'Container a exceeded its local ephemeral storage limit "64Ki". '
    (logs / "a" / "0.log").unlink()
    (folder / "volumes" / "v" / "x").write_bytes(b"x" * 128 * 1024)
    said = "Pod ephemeral local storage usage exceeds the total limit of containers 128Ki. "
    assert overfull(folder, logs, limits) == said
    assert overfull(folder, logs, {}) == ""
