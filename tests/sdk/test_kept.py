"""What pods that are gone have written is theirs: of this job, of its steps, and of nobody else."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from trainplane.cluster.client import Log
from trainplane.node.logs import Logs
from trainplane.sdk.kept import gone, lines_of
from trainplane.sdk.logs import Wanted

JOB: dict[str, Any] = {
    "metadata": {"name": "a", "namespace": "ns", "creationTimestamp": "2020-01-01T00:00:00Z"},
}


def write(folder: Path, pod: str, *containers: str, text: bytes = b"[rank3]: hello\n", life: int = 0) -> None:
    """What containers of a pod say."""
    logs = Logs(folder)
    for container in containers or ("node",):
        writer = logs.writer(f"ns_{pod}", container, life)
        writer.write("stdout", text)
        logs.close(writer)


def found(folder: Path, *there: str, steps: tuple[str, ...] = ("node",)) -> list[tuple[str, str, int]]:
    return [
        (each.who.pod, each.who.step, each.who.index) for each in gone(folder, JOB, steps=set(steps), there=set(there))
    ]


def test_only_pods_of_the_job_and_its_steps_that_are_gone_are_found(tmp_path: Path) -> None:
    for pod in ("a-node-0-1-abcde_u1", "a-node-0-0-abcde_u2", "a-data-0-0-abcde_u3", "a-node-3-0-abcde_u4"):
        write(tmp_path, pod)
    for stranger in ("a-node-node-0-0-abcde_u5", "ab-node-0-0-abcde_u6", "a-node_u7"):
        write(tmp_path, stranger)
    assert found(tmp_path, "u1") == [("a-node-0-0-abcde", "node", 0), ("a-node-3-0-abcde", "node", 3)]
    assert found(tmp_path, "u1", "u2", "u4", steps=("data", "node")) == [("a-data-0-0-abcde", "data", 0)]
    assert found(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("created", "wanted", "said"),
    [
        pytest.param("2020-01-01T00:00:00Z", Wanted(), ["hello", "bye"], id="all"),
        pytest.param("2020-01-01T00:00:00Z", Wanted(ranks=frozenset({0})), ["bye"], id="one rank"),
        pytest.param("2020-01-01T00:00:00Z", Wanted(log=Log(tail_lines=1)), ["bye"], id="the last"),
        pytest.param("2999-01-01T00:00:00Z", Wanted(), [], id="an earlier job of that name"),
    ],
)
def test_lines_that_are_wanted_are_told_with_their_time(
    tmp_path: Path, created: str, wanted: Wanted, said: list[str]
) -> None:
    write(tmp_path, "a-node-0-0-abcde_u1", text=b"in an earlier life\n")
    write(tmp_path, "a-node-0-0-abcde_u1", text=b"[rank3]: hello\n[rank0]: bye\n", life=1)
    job = {"metadata": {**JOB["metadata"], "creationTimestamp": created}}
    (pod,) = gone(tmp_path, job, steps={"node"}, there=())
    lines = asyncio.run(lines_of(tmp_path, pod, job, wanted))
    assert [line.text for line in lines] == said
    assert all(line.time and line.pod == "a-node-0-0-abcde" and not line.container for line in lines)


def test_the_container_is_named_where_there_are_several(tmp_path: Path) -> None:
    write(tmp_path, "a-node-0-0-abcde_u1", "node", "side")
    (pod,) = gone(tmp_path, JOB, steps={"node"}, there=())
    assert [line.container for line in asyncio.run(lines_of(tmp_path, pod, JOB, Wanted()))] == ["node", "side"]
