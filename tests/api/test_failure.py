"""Of everything that fails when one rank fails, the one that failed first is named, with the class of its end."""

from typing import Any

import pytest

from trainplane.api.failure import CONDITION, ExitClass, Verdict, first_failure, judge, report_at

TORCHRUN = """\
[rank1]: [rank1]: Traceback (most recent call last):
[rank1]: [rank1]:   File "/workspace/boom.py", line 4, in <module>
[rank1]: [rank1]:     import no_such_module
[rank1]: [rank1]: ModuleNotFoundError: No module named 'no_such_module'
[rank0]: [rank0]: Traceback (most recent call last):
[rank0]: [rank0]: RuntimeError: [/pytorch/gloo/transport/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:906
W1115 09:27:27.020000 18685 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 18848 SIGTERM
Traceback (most recent call last):
  File "/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
boom.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-15_09:27:27
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 18848)  (SIGTERM)
  error_file: <N/A>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-15_09:27:27
  host      : localhost
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 18849)
  error_file: <N/A>
============================================================
""".splitlines()


MPIRUN = """\
[rank0]: Traceback (most recent call last):
[rank0]: RuntimeError: Connection closed by peer [10.244.0.5]:29500
[rank0]: trainplane: this rank ended with exit code 1
[rank3]: step 7
[rank3]: Traceback (most recent call last):
[rank3]: ModuleNotFoundError: No module named 'no_such_module'
[rank3]: trainplane: this rank ended with exit code 4
ssh: this is what mpirun makes of it
""".splitlines()


def without(*words: str) -> list[str]:
    return [line for line in TORCHRUN if not any(word in line for word in words)]


@pytest.mark.parametrize(
    ("code", "lines", "verdict"),
    [
        pytest.param(
            255, MPIRUN, Verdict(ExitClass.IMPORT_ERROR, 3, 4), id="mpirun, and who lost a peer noticed first"
        ),
        pytest.param(
            1, MPIRUN[:3], Verdict(ExitClass.PEER_LOST, 0, 1), id="mpirun, and nobody else says that it failed"
        ),
        pytest.param(
            0,
            ["[rank1]: trainplane: this rank ended with signal 9"],
            Verdict(ExitClass.SIGNAL, 1, 137),
            id="mpirun, and a rank was killed",
        ),
        pytest.param(255, ["nothing"], Verdict(ExitClass.EXIT_CODE, None, 255), id="255 is no signal"),
        pytest.param(
            1,
            ["Traceback (most recent call last):", "OSError: [Errno 98] Address already in use"],
            Verdict(ExitClass.PORT_IN_USE, None, 1),
            id="a port in use",
        ),
        pytest.param(
            1,
            ["Traceback (most recent call last):", "socket.gaierror: [Errno -2] Name or service not known"],
            Verdict(ExitClass.NAME_NOT_FOUND, None, 1),
            id="a name not found",
        ),
        pytest.param(1, TORCHRUN, Verdict(ExitClass.IMPORT_ERROR, 1, 1), id="the rank that torchrun blames"),
        pytest.param(1, without("[rank"), Verdict(ExitClass.EXIT_CODE, 1, 1), id="torchrun's own traceback is none"),
        pytest.param(
            1,
            [line.replace("exitcode  : 1 ", "exitcode  : -9 ") for line in without("[rank")],
            Verdict(ExitClass.SIGNAL, 1, 137),
            id="a worker was killed",
        ),
        pytest.param(
            1,
            ["Traceback (most recent call last):", "ValueError: bad"],
            Verdict(ExitClass.USER_EXCEPTION, None, 1),
            id="an exception without torchrun",
        ),
        pytest.param(
            134,
            ["Traceback (most recent call last):", "ValueError: bad", "terminate called without an active exception"],
            Verdict(ExitClass.USER_EXCEPTION, None, 134),
            id="an exception, and threads that made it an abort",
        ),
        pytest.param(134, ["free(): invalid pointer"], Verdict(ExitClass.SIGNAL, None, 134), id="an abort alone"),
        pytest.param(
            143,
            ["Traceback (most recent call last):", "SignalException: got signal: 15"],
            Verdict(ExitClass.SIGNAL, None, 143),
            id="who was ended did not fail",
        ),
        pytest.param(3, ["bye"], Verdict(ExitClass.EXIT_CODE, None, 3), id="a code of its own"),
        pytest.param(143, ["bye"], Verdict(ExitClass.SIGNAL, None, 143), id="a signal"),
        pytest.param(
            1, ["OSError: [Errno 28] No space left on device"], Verdict(ExitClass.DISK_FULL, None, 1), id="disk full"
        ),
        pytest.param(
            1, ["torch.OutOfMemoryError: CUDA out of memory."], Verdict(ExitClass.OUT_OF_MEMORY, None, 1), id="a GPU"
        ),
        pytest.param(
            255, ["root@w: Permission denied (publickey)."], Verdict(ExitClass.SSH, None, 255), id="mpirun and keys"
        ),
        pytest.param(
            1,
            ["RuntimeError: Watchdog caught collective operation timeout: WorkNCCL"],
            Verdict(ExitClass.COLLECTIVE_TIMEOUT, None, 1),
            id="a rank that hangs",
        ),
    ],
)
def test_what_an_end_means(code: int, lines: list[str], verdict: Verdict) -> None:
    assert judge(code, lines) == verdict


def test_what_torchrun_tells_of_its_own_end_is_told_from_what_was_before() -> None:
    assert TORCHRUN[report_at(TORCHRUN) :][:2] == ["Traceback (most recent call last):", TORCHRUN[8]]
    quiet = without("ChildFailedError")
    assert report_at(quiet) == len(quiet)


def test_the_kernel_and_the_runner_know_better_than_the_lines() -> None:
    assert judge(137, TORCHRUN, oom=True).kind is ExitClass.OUT_OF_MEMORY
    assert judge(128, [], started=False).kind is ExitClass.NOT_STARTED


def pod(index: int, *, code: int = 1, at: str = "2026-11-15T09:27:27Z", kind: str = "", rank: int | None = None) -> Any:
    said = [{"type": CONDITION, "status": "True", "reason": kind, "message": "" if rank is None else f"rank {rank}"}]
    return {
        "metadata": {
            "name": f"digits-node-0-{index}-x",
            "labels": {
                "jobset.sigs.k8s.io/replicatedjob-name": "node",
                "batch.kubernetes.io/job-completion-index": str(index),
            },
        },
        "spec": {"nodeName": f"node-{index}"},
        "status": {
            "containerStatuses": [{"name": "node", "state": {"terminated": {"exitCode": code, "finishedAt": at}}}],
            "conditions": said if kind else [],
        },
    }


def test_the_one_that_failed_first_is_named_and_the_others_are_counted() -> None:
    pods = [pod(0, at="2026-11-15T09:27:29Z"), pod(1, code=137), pod(2, code=0), pod(3, at="2026-11-15T09:27:28Z")]
    found = first_failure(pods)
    assert found is not None
    assert found.told() == (
        "node-1 (pod digits-node-0-1-x on node-1) failed first: signal 9; 2 other pods failed after it"
    )


def test_who_lost_a_peer_is_not_the_cause_though_it_was_noticed_first() -> None:
    pods = [
        pod(0, at="2026-11-15T09:27:26Z", kind="PeerLost", rank=0),
        pod(1, kind="ImportError", rank=3),
    ]
    found = first_failure(pods)
    assert found is not None
    assert (found.rank, found.kind, found.others) == (3, ExitClass.IMPORT_ERROR, 1)


def test_who_was_told_to_end_is_not_the_cause() -> None:
    ended = pod(1, at="2026-11-15T09:27:30Z")
    ended["metadata"]["deletionTimestamp"] = "2026-11-15T09:27:29Z"
    found = first_failure([pod(0, kind="CollectiveTimeout", rank=0), ended])
    assert found is not None
    assert (found.rank, found.kind, found.others) == (0, ExitClass.COLLECTIVE_TIMEOUT, 1)


def test_the_code_is_that_of_the_rank_and_not_of_its_launcher() -> None:
    killed = pod(1, kind="Signal", rank=3)
    killed["status"]["conditions"][0]["message"] = "rank 3: signal, signal 9"
    found = first_failure([killed])
    assert found is not None
    assert (found.code, found.told()) == (137, "rank 3 (pod digits-node-0-1-x on node-1) failed first: signal 9")


def test_what_a_node_has_lost_is_called_so_and_what_never_ran_is_not_to_blame() -> None:
    lost, idle = pod(0, code=137), pod(1, code=137, at="")
    for each in (lost, idle):
        each["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] = "ContainerStatusUnknown"
    found = first_failure([idle, lost])
    assert found is not None
    assert found.told() == "node-0 (pod digits-node-0-0-x on node-0) failed first: lost by its node, signal 9"


def test_where_nothing_failed_there_is_no_failure() -> None:
    assert first_failure([pod(0, code=0)]) is None
