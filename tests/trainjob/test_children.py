"""Elastic jobs: resized between their bounds and nowhere else, again after every restart, and never below rank 0."""

from typing import Any

import pytest

from tests.conformance.world import Denied
from tests.trainjob.stories import CHILD, ELASTIC, JOB, JOBSET, Story, runtime, trainjob
from trainplane.api.raw import put
from trainplane.reconcile.decision import Apply, Patch
from trainplane.reconcile.view import Ref
from trainplane.trainjob.children import contains
from trainplane.trainjob.reconcile import controller

COUNT = ("spec", "replicatedJobs", 0, "template", "spec", "parallelism")


def elastic(**spec: Any) -> Story:
    """An elastic job of 3 nodes, between 2 and 4, whose Job is there."""
    story = Story(runtime(ELASTIC), trainjob(**spec))
    story.child(size=3)
    story.settle()
    return story


def resize(story: Story, nodes: int) -> None:
    story.edit(JOB, "spec", "trainer", "numNodes", to=nodes)


def test_the_starting_size_is_written_down_so_that_there_is_a_number_to_scale() -> None:
    story = elastic()
    assert story.job["spec"]["trainer"]["numNodes"] == 3
    assert story.actions(Patch) == []


@pytest.mark.parametrize("nodes", [2, 4])
def test_resizing_changes_the_child_job(nodes: int) -> None:
    story = elastic()
    resize(story, nodes)
    (patch,) = story.actions(Patch)
    assert (patch.ref, patch.uid) == (CHILD, "child")
    assert patch.patch == {"spec": {"parallelism": nodes, "completions": nodes}}, "an Indexed Job wants both at once"
    story.settle()
    assert story.actions(Patch) == []
    assert story.actions(Apply) == [], "the JobSet's live template is not to be edited"


def test_after_a_restart_the_new_child_is_resized_again() -> None:
    story = elastic()
    resize(story, 4)
    story.settle()
    story.child(size=3, uid="child-of-the-restart")
    (patch,) = story.actions(Patch)
    assert (patch.uid, patch.patch["spec"]["parallelism"]) == ("child-of-the-restart", 4)


@pytest.mark.parametrize(("asked", "held"), [(1, 2), (0, 2), (-5, 2), (9, 4)])
def test_the_bounds_hold_whoever_asks(asked: int, held: int) -> None:
    """The scale subresource goes past admission; rank 0 stays, because no bound is below one."""
    story = elastic()
    resize(story, asked)
    (patch,) = story.actions(Patch)
    assert patch.patch["spec"]["parallelism"] == held
    story.settle()
    assert f"{asked} nodes are asked for, and the runtime allows 2 to 4" in story.summary["message"]


def test_nothing_is_resized_while_suspended() -> None:
    story = elastic(suspend=True)
    resize(story, 4)
    assert story.actions(Patch) == []
    story.settle()
    story.edit(JOB, "spec", "suspend", to=False)
    story.settle()
    assert story.objects[CHILD]["spec"]["parallelism"] == 4


def test_a_jobset_that_is_not_resumed_yet_is_resumed_first() -> None:
    story = elastic(suspend=True)
    resize(story, 4)
    story.edit(JOB, "spec", "suspend", to=False)
    assert len(story.actions(Apply)) == 1
    assert story.actions(Patch) == []


def test_a_suspended_jobset_keeps_the_size_it_was_made_with() -> None:
    """JobSet refuses every other size, and with it the whole change."""
    story = elastic(suspend=True)
    resize(story, 4)
    story.edit(JOB, "spec", "suspend", to=False)
    (apply,) = story.actions(Apply)
    assert apply.object["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 3


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("metadata", "deletionTimestamp", "2026-01-02T03:04:05Z"), id="going away"),
        pytest.param(("status", "conditions", [{"type": "Complete", "status": "True"}]), id="complete"),
        pytest.param(("metadata", "ownerReferences", []), id="somebody else's"),
    ],
)
def test_a_child_that_cannot_take_it_is_left_alone(change: tuple[str, str, Any]) -> None:
    story = elastic()
    resize(story, 4)
    *path, value = change
    story.edit(CHILD, *path, to=value)
    assert story.actions(Patch) == []


def test_with_jobsets_gate_on_the_template_is_edited_instead() -> None:
    story = elastic()
    resize(story, 4)
    (patch,) = story.actions(Patch, elastic_jobset=True)
    assert patch.ref == JOBSET
    (job,) = patch.patch["spec"]["replicatedJobs"]
    assert (job["template"]["spec"]["parallelism"], job["template"]["spec"]["completions"]) == (4, 4)
    theirs = story.jobset["spec"]["replicatedJobs"][0]
    spec = {**theirs["template"]["spec"], "parallelism": 4, "completions": 4}
    assert job == put(theirs, ("template", "spec"), spec), "everything else is as the JobSet has it"
    story.act(patch, JOB)
    assert story.actions(Patch, elastic_jobset=True) == []


def test_with_jobsets_gate_on_a_suspended_template_follows_too() -> None:
    story = elastic(suspend=True)
    resize(story, 4)
    (apply,) = story.actions(Apply, elastic_jobset=True)
    assert apply.object["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 4


def test_the_gate_is_an_option_of_the_controller() -> None:
    story = elastic()
    resize(story, 4)
    decision = controller(elastic_jobset=True).reconcile(story.job, story.view(), story.now)
    assert [action.ref for action in decision.actions if isinstance(action, Patch)] == [JOBSET]


def test_a_job_of_a_fixed_size_is_never_resized() -> None:
    story = Story(runtime({"numNodes": 3, "torch": {}}), trainjob())
    story.child(size=1)
    assert story.actions(Patch) == []
    assert "nodes" not in story.job["status"]
    assert "selector" not in story.job["status"]


def test_restarts_alone_do_not_make_a_job_resizable() -> None:
    story = Story(runtime({"numNodes": 3, "torch": {"elasticPolicy": {"maxRestarts": 2}}}), trainjob())
    story.child(size=1)
    assert story.actions(Patch) == []
    assert "nodes" not in story.job["status"]
    assert story.jobset["spec"]["failurePolicy"]["maxRestarts"] == 2


def test_autoscalers_read_the_size_now_and_the_labels_of_the_pods() -> None:
    story = elastic()
    assert story.job["status"]["nodes"] == 3
    assert story.job["status"]["selector"] == (
        "jobset.sigs.k8s.io/jobset-name=job,jobset.sigs.k8s.io/replicatedjob-name=node"
    )
    resize(story, 4)
    story.settle()
    assert story.job["status"]["nodes"] == 4
    story.completes()
    assert story.job["status"]["nodes"] == 0


def test_a_job_without_pods_has_no_nodes_yet() -> None:
    story = Story(runtime(ELASTIC), trainjob())
    assert story.job["status"]["nodes"] == 0


def test_metrics_bring_an_autoscaler_which_is_kept() -> None:
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
    story = Story(runtime(put(ELASTIC, ("torch", "elasticPolicy", "metrics"), [metric])), trainjob())
    scaler = Ref("autoscaling", "HorizontalPodAutoscaler", "ns", "job")
    assert story.objects[scaler]["spec"]["maxReplicas"] == 4
    story.edit(scaler, "spec", "maxReplicas", to=400)
    (apply,) = story.actions(Apply)
    assert apply.object["spec"]["maxReplicas"] == 4
    story.settle()
    assert story.actions(Apply) == []


def test_a_gang_of_an_elastic_job_needs_the_least_it_can_train_with() -> None:
    gangs = runtime(ELASTIC)
    gangs["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    story = Story(gangs, trainjob())
    assert story.objects[Ref("scheduling.x-k8s.io", "PodGroup", "ns", "job")]["spec"]["minMember"] == 2


@pytest.mark.parametrize(("suspend", "put_right"), [(True, True), (False, False)])
def test_a_gang_is_put_right_while_suspended_and_left_alone_while_pods_run(suspend: bool, put_right: bool) -> None:
    gangs = runtime(ELASTIC)
    gangs["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    story = Story(gangs, trainjob(suspend=suspend))
    group = Ref("scheduling.x-k8s.io", "PodGroup", "ns", "job")
    story.edit(group, "spec", "minMember", to=7)
    story.settle()
    assert (story.objects[group]["spec"]["minMember"] == 2) is put_right


def test_admission_lets_the_size_change_within_the_bounds_alone() -> None:
    story = elastic()
    step = {"kind": "TrainJob", "name": "job", "body": {"spec": {"trainer": {"numNodes": 4}}}}
    story.patch(step)
    assert story.job["spec"]["trainer"]["numNodes"] == 4
    step["body"] = {"spec": {"trainer": {"numNodes": 5}}}
    with pytest.raises(Denied, match=r"spec\.trainer\.numNodes: 5 nodes do not lie between 2 and 4"):
        story.patch(step)


def test_an_object_is_as_it_should_be_when_all_that_was_asked_is_in_it() -> None:
    assert contains({"a": 1, "b": {"c": [1, 2]}}, {"b": {"c": [1, 2]}})
    assert not contains({"a": 1}, {"a": 1, "b": 2})
    assert not contains({"a": [1, 2]}, {"a": [1]}), "lists are compared whole"
    assert not contains(None, {"a": 1})
