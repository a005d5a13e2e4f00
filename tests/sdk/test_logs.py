"""Every line of a job's output says who wrote it, and only the lines that are wanted are told."""

from pathlib import Path

import pytest

from tests.node import nodes
from tests.node.nodes import NAMESPACE, Nodes, container, played
from trainplane.api.jobset import JOBSET_NAME, JOBSET_UID
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.sdk.logs import Following, Line, Wanted, line_of, place, so_far, steps_of, writer


def pod(*containers: str, labels: dict[str, str] | None = None, **annotations: str) -> Raw:
    spec = {"containers": [{"name": name} for name in containers]}
    named = {"jobset.sigs.k8s.io/replicatedjob-name": "node"}
    return {"metadata": {"name": "p", "labels": {**named, **(labels or {})}, "annotations": annotations}, "spec": spec}


INDEX = "batch.kubernetes.io/job-completion-index"
NODE = Line("node", 1, "", pod="p")


@pytest.mark.parametrize(
    ("raw", "rank", "text"),
    [
        (b"hello", None, "hello"),
        (b"hello\r", None, "hello"),
        (b"[rank3]: hello", 3, "hello"),
        (b"[rank3]: [rank3]: Traceback", 3, "Traceback"),
        (b"[rank0]:", 0, ""),
        (b"[default0]: by torchrun's own template", 0, "by torchrun's own template"),
        (b"  [rank3]: inside a sentence", None, "  [rank3]: inside a sentence"),
        (b"caf\xc3\xa9 \xff", None, "café \ufffd"),
    ],
)
def test_a_line_says_its_rank_once(raw: bytes, rank: int | None, text: str) -> None:
    line = line_of(NODE, raw, stamped=False)
    assert (line.rank, line.text, line.index, line.pod) == (rank, text, 1, "p")


def test_the_time_stands_before_the_rank() -> None:
    line = line_of(NODE, b"2026-01-02T03:04:05.678Z [rank2]: step 1", stamped=True)
    assert (line.time, line.rank, line.text) == ("2026-01-02T03:04:05.678Z", 2, "step 1")


@pytest.mark.parametrize(("rank", "tag"), [(None, "node-1"), (0, "rank 0"), (7, "rank 7")])
def test_a_line_is_tagged_with_its_rank_or_its_pod(rank: int | None, tag: str) -> None:
    assert Line("node", 1, "", rank=rank).tag == tag


@pytest.mark.parametrize(("rank", "wanted"), [(None, False), (0, True), (1, False)])
def test_rank_0_is_the_process_and_not_every_process_of_node_0(rank: int | None, wanted: bool) -> None:
    assert Wanted(ranks=frozenset({0})).of_line(Line("node", 1, "", rank=rank)) is wanted


def test_without_ranks_the_pod_counts() -> None:
    ranks = Wanted(ranks=frozenset({1}))
    assert ranks.of_line(NODE)
    assert not ranks.of_line(Line("node", 0, ""))
    assert Wanted().of_line(NODE)


@pytest.mark.parametrize(
    ("raw", "index"),
    [
        (pod(labels={INDEX: "3"}), 3),
        (pod(**{INDEX: "2"}), 2),
        (pod(labels={"jobset.sigs.k8s.io/job-index": "4"}), 4),
        (pod(labels={INDEX: "0", "jobset.sigs.k8s.io/job-index": "4"}), 4),
        (pod(labels={INDEX: "odd"}), 0),
        (pod(), 0),
    ],
)
def test_the_place_of_a_pod(raw: Raw, index: int) -> None:
    assert place(raw) == index


def test_the_container_is_named_where_there_are_several() -> None:
    assert writer(pod("node"), "node").container == ""
    assert writer(pod("node", "side"), "side").container == "side"


ALONE = {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "1"}


@pytest.mark.parametrize(
    ("env", "rank"),
    [
        (ALONE, 3),
        ({**ALONE, "PET_NPROC_PER_NODE": "2"}, None),
        ({**ALONE, "PET_NNODES": "1:4"}, None),
        ({**ALONE, "PET_TEE": "3"}, None),
        ({**ALONE, "PET_RDZV_BACKEND": "c10d"}, None),
        ({}, None),
    ],
)
def test_the_rank_of_a_node_with_one_process_is_the_node_s(env: dict[str, str], rank: int | None) -> None:
    raw = pod("node", "side", labels={INDEX: "3"})
    raw["spec"]["containers"][0]["env"] = [{"name": name, "value": value} for name, value in env.items()]
    who = writer(raw, "node")
    assert line_of(who, b"step 1", stamped=False).rank == rank
    assert writer(raw, "side").rank is None
    own = b"E1115 18:47:14.075000 2 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1)"
    assert line_of(who, own, stamped=False).rank is None


def test_nodes_that_meet_are_given_ranks_as_they_come() -> None:
    raw = pod("node", labels={INDEX: "3"})
    raw["spec"]["containers"][0]["env"] = [{"name": name, "value": value} for name, value in ALONE.items()]
    assert writer(raw, "node").rank == 3
    raw["spec"]["containers"][0]["command"] = ["torchrun", "--rdzv-backend=c10d", "train.py"]
    assert writer(raw, "node").rank is None


def test_only_pods_of_the_steps_that_are_wanted_are_read() -> None:
    data = pod(labels={"jobset.sigs.k8s.io/replicatedjob-name": "data"})
    only = Wanted(steps=frozenset({"data"}))
    assert (only.of_pod(data), only.of_pod(pod())) == (True, False)
    assert steps_of([pod(), data, pod(), {"metadata": {"name": "stranger"}}]) == ["data", "node"]


def test_what_an_earlier_job_of_the_name_wrote_is_not_told(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        template = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container()]}}}}
        jobset = await made.create(
            {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "metadata": {"name": "j", "namespace": NAMESPACE},
                "spec": {"replicatedJobs": [{"name": "node", "template": template}]},
            }
        )
        for name, uid in (("old", "of-another"), ("new", jobset["metadata"]["uid"])):
            one = nodes.pod(name, containers=[container(script=f"echo {name}")])
            one["metadata"]["labels"] = {JOBSET_NAME: "j", JOBSET_UID: uid}
            await made.create(one)
            await made.ended(name)
        job = Ref("jobset.x-k8s.io", "JobSet", NAMESPACE, "j")
        streams = made.running.streams
        assert [line.text async for line in so_far(made.api, streams, job, Wanted())] == ["new"]
        following = Following(made.api, streams, job, Wanted())
        following.finish()
        assert [line.text async for line in following.lines()] == ["new"]

    played(tmp_path, play)
