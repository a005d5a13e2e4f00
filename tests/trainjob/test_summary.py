"""status.summary: every state, in sentences that say which stage, how many of how many, and what to do."""

from typing import Any

import pytest

from tests.trainjob.stories import ELASTIC, JOB, JOBSET, Story, runtime, trainjob
from tests.trainjob.worlds import replicated
from trainplane.api.check import check
from trainplane.api.schema import openapi
from trainplane.api.trainer import TrainJob
from trainplane.api.trainjob_status import STATES
from trainplane.reconcile.view import View
from trainplane.trainjob.reconcile import controller
from trainplane.trainjob.summary import Scene, State, lasted, listed, state_of, summarize

NODE = {"name": "node", "image": "train:1"}
FIRST = {"name": "dataset-initializer", "image": "fetch:1"}


def staged() -> Story:
    first = replicated("dataset-initializer", FIRST, step="dataset-initializer")
    waits = [{"name": "dataset-initializer", "status": "Complete"}]
    return Story(runtime({"torch": {}}, first, replicated("node", NODE, step="trainer", dependsOn=waits)), trainjob())


def test_created_before_there_is_a_jobset() -> None:
    scene = Scene(job=trainjob(), jobset=None, view=View(), now=Story(runtime(), trainjob()).now)
    assert state_of({}, scene) == State("Created", "Accepted", "the job was accepted; its JobSet is about to be made")


def test_pending_before_there_are_pods() -> None:
    story = Story(runtime(), trainjob())
    assert story.told == ("Pending", "NoPodsYet", "the JobSet is there; the pods of node are not")


def test_pending_while_pods_have_no_node() -> None:
    story = Story(runtime(), trainjob({"numNodes": 3}))
    story.child(size=3, active=3)
    story.pod(0, spec={"nodeName": "a"}, status={"phase": "Running"})
    for rank in (1, 2):
        story.pod(rank, spec={}, status={"phase": "Pending"})
    story.jobset_says(counts={"node": {"active": 1}})
    assert story.told == ("Pending", "WaitingForNodes", "2 of 3 pods of node wait for a node")


def test_starting_while_not_all_pods_are_ready() -> None:
    story = Story(runtime(), trainjob({"numNodes": 3}))
    story.child(size=3, active=3, ready=1)
    story.jobset_says(counts={"node": {"active": 1}})
    assert story.told == ("Starting", "PodsStarting", "1 of 3 pods of node is ready")


def test_it_says_how_many_nodes_whoever_said_so() -> None:
    assert Story(runtime({"numNodes": 5}), trainjob()).summary["nodes"] == 5
    assert Story(runtime({"numNodes": 5}), trainjob({"numNodes": 3})).summary["nodes"] == 3


def test_starting_while_an_earlier_stage_runs() -> None:
    story = staged()
    story.jobset_says(counts={"dataset-initializer": {"active": 1, "ready": 1}, "node": {}})
    message = "dataset-initializer (1 of 1 Job ready) must come first; node follows"
    assert story.told == ("Starting", "EarlierStage", message)
    story.jobset_says(counts={"dataset-initializer": {"succeeded": 1}, "node": {"active": 1, "ready": 1}})
    assert story.told == ("Running", "AllReady", "node is ready")


def test_running_says_how_many() -> None:
    story = Story(runtime(), trainjob({"numNodes": 3}))
    story.child(size=3, active=3, ready=3)
    story.jobset_says(counts={"node": {"active": 1, "ready": 1}})
    assert story.told == ("Running", "AllReady", "all 3 pods of node are ready")


def test_an_mpi_job_runs_when_its_launcher_does() -> None:
    mpi = runtime({"mpi": {}}, replicated("launcher", NODE, step="trainer"), replicated("node", NODE))
    story = Story(mpi, trainjob())
    story.jobset_says(counts={"launcher": {"active": 1}, "node": {"active": 1, "ready": 1}})
    assert story.summary["state"] == "Starting"
    story.jobset_says(counts={"launcher": {"active": 1, "ready": 1}, "node": {"active": 1, "ready": 1}})
    assert story.summary["state"] == "Running"


def test_an_elastic_job_runs_while_enough_of_it_does() -> None:
    story = Story(runtime(ELASTIC), trainjob())
    story.child(size=3, active=3, ready=2)
    story.jobset_says(counts={"node": {"active": 1}})
    assert story.told == ("Running", "EnoughReady", "2 of 3 pods of node are ready")


def test_a_restart_is_counted_against_what_is_allowed() -> None:
    story = Story(runtime(None, failurePolicy={"maxRestarts": 3}), trainjob())
    again = {"type": "RestartingJobSet", "reason": "DefaultFailurePolicy"}
    story.jobset_says(restarts=2, condition=again, counts={"node": {}})
    message = "a pod failed, and the job is being started again from the beginning (restart 2 of 3)"
    assert story.told == ("Starting", "Restarting", message)
    assert story.summary["restarts"] == 2


def test_suspended_says_how_to_go_on() -> None:
    story = Story(runtime(), trainjob(suspend=True))
    message = "the job is suspended; set spec.suspend to false to let it run"
    assert story.told == ("Suspended", "Suspended", message)


def test_suspending_says_whose_pods_are_left() -> None:
    story = Story(runtime(), trainjob(suspend=True))
    story.jobset_says(counts={"node": {"active": 1}})
    assert story.told[1:] == ("Suspending", "the job is being suspended; pods of node are still there")


def test_a_job_in_a_queue_names_the_queue() -> None:
    queued = trainjob(suspend=True)
    queued["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpus"}
    story = Story(runtime(), queued)
    assert story.told == ("Suspended", "Queued", "the job is suspended until the queue gpus admits it")


def test_complete_says_how_long_it_took() -> None:
    story = Story(runtime(), trainjob())
    story.jobset_says(counts={"node": {"active": 1, "ready": 1}})
    started = story.summary["startTime"]
    story.wait(3725)
    story.completes()
    assert story.told == ("Complete", "AllJobsCompleted", "the job has completed, after 1 h 2 min of training")
    assert story.summary["startTime"] == started
    assert story.summary["completionTime"] > started
    assert story.conditions == {"Complete": ("True", "AllJobsCompleted")}


class TestFailed:
    MESSAGE = "jobset failed due to one or more job failures (first failed job: job-node-0)"

    def test_it_names_the_rank_and_its_exit_code(self) -> None:
        story = Story(runtime(), trainjob({"numNodes": 2}))
        story.child(size=2)
        for rank, code, when in ((0, 1, "2026-01-02T03:09:02Z"), (1, 137, "2026-01-02T03:09:00Z")):
            end = {"exitCode": code, "finishedAt": when, "reason": "OOMKilled" if code == 137 else "Error"}
            status = {"phase": "Failed", "containerStatuses": [{"name": "node", "state": {"terminated": end}}]}
            story.pod(rank, status=status)
        story.fails(self.MESSAGE)
        message = (
            "the job failed: node ended with exit code 137 (OOMKilled) in rank 1 of job-node-0, which failed first"
        )
        assert story.told == ("Failed", "FailedJobs", message)

    def test_without_pods_it_names_the_job_and_its_reason(self) -> None:
        story = Story(runtime(), trainjob())
        said = {"type": "Failed", "status": "True", "message": "Job has reached the specified backoff limit"}
        story.child(conditions=[said])
        story.fails(self.MESSAGE)
        expected = "the job failed: job-node-0 failed first: Job has reached the specified backoff limit"
        assert story.summary["message"] == expected

    def test_an_evicted_pod_is_told_by_its_reason(self) -> None:
        story = Story(runtime(), trainjob())
        story.child()
        story.pod(0, status={"phase": "Failed", "reason": "Evicted"})
        story.fails(self.MESSAGE)
        assert "Evicted in rank 0 of job-node-0" in story.summary["message"]

    def test_without_anything_left_the_jobsets_words_stand(self) -> None:
        story = Story(runtime(), trainjob())
        story.fails("something went wrong")
        assert story.summary["message"] == "the job failed: something went wrong"

    def test_it_says_when_all_restarts_are_used(self) -> None:
        story = Story(runtime(None, failurePolicy={"maxRestarts": 3}), trainjob())
        story.jobset_says(restarts=3)
        story.fails(self.MESSAGE, "ReachedMaxRestarts")
        assert story.summary["message"].endswith("it had been started again 3 times, which is all that is allowed")
        assert story.summary["restarts"] == 3

    def test_what_was_known_at_the_end_is_not_forgotten(self) -> None:
        story = Story(runtime(), trainjob())
        story.child()
        story.jobset_says(restarts=1)
        story.fails(self.MESSAGE)
        known = story.summary
        story.delete(JOBSET)
        story.wait(100)
        assert story.summary == known


def test_since_changes_with_the_state_alone() -> None:
    story = Story(runtime(), trainjob())
    since = story.summary["since"]
    story.wait(60)
    assert story.summary["since"] == since
    story.jobset_says(counts={"node": {"active": 1}})
    assert story.summary["since"] > since


def test_what_was_once_started_keeps_its_start() -> None:
    story = Story(runtime(), trainjob())
    assert "startTime" not in story.summary
    story.jobset_says(counts={"node": {"active": 1, "ready": 1}})
    started = story.summary["startTime"]
    story.wait(60)
    story.jobset_says(counts={"node": {"active": 1}})
    assert (story.summary["state"], story.summary["startTime"]) == ("Starting", started)


class TestWhy:
    """Another room knows better what a job waits for; its sentence is asked for only then."""

    def sentence(self, story: Story) -> tuple[str, list[str]]:
        asked: list[str] = []

        def why(job: Any, *_: Any) -> str:
            asked.append(job["metadata"]["name"])
            return "no node has 8 GPUs; ask for 4"

        decision = controller(why=why).reconcile(story.job, story.view(), story.now)
        status = next((a.status for a in decision.actions if hasattr(a, "status")), story.job["status"])
        return status["summary"]["message"], asked

    def test_it_is_asked_while_the_job_waits(self) -> None:
        assert self.sentence(Story(runtime(), trainjob())) == ("no node has 8 GPUs; ask for 4", ["job"])

    def test_it_is_not_asked_of_a_job_that_runs(self) -> None:
        story = Story(runtime(), trainjob())
        story.jobset_says(counts={"node": {"active": 1, "ready": 1}})
        assert self.sentence(story) == ("node is ready", [])

    def test_it_knows_more_of_what_is_refused(self) -> None:
        story = Story(runtime(), trainjob())
        story.event(story.jobset, "quota")
        assert self.sentence(story) == ("no node has 8 GPUs; ask for 4", ["job"])

    def test_one_that_knows_nothing_leaves_the_plain_sentence(self) -> None:
        story = Story(runtime(), trainjob())
        decision = controller(why=lambda *_: "").reconcile(story.job, story.view(), story.now)
        assert decision.actions == ()


def test_every_status_is_one_that_the_api_takes() -> None:
    story = staged()
    story.jobset_says(counts={"dataset-initializer": {"active": 1}, "node": {}}, restarts=1)
    story.fails("no")
    assert story.summary["state"] in STATES
    assert list(check(story.job, openapi(TrainJob))) == []


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("2026-01-01T00:00:09Z", ", after 9 s of training"),
        ("2026-01-01T00:02:00Z", ", after 2 min of training"),
        ("2026-01-03T01:00:30Z", ", after 49 h of training"),
        ("2026-01-01T00:00:00Z", ""),
        ("2025-01-01T00:00:00Z", ""),
    ],
)
def test_spans_are_told_in_hours_minutes_and_seconds(end: str, words: str) -> None:
    assert lasted("2026-01-01T00:00:00Z", end) == words


def test_lists_read_as_sentences() -> None:
    assert [listed("a"), listed("ab"), listed("abc")] == ["a", "a and b", "a, b and c"]


def test_an_end_without_a_start_has_no_length() -> None:
    story = Story(runtime(), trainjob())
    story.completes()
    assert story.summary["message"] == "the job has completed"
    assert summarize(story.job["status"], Scene(story.job, None, View(), story.now)) == story.job["status"]
    assert JOB in story.objects
