"""podGroupPolicy: one gang for each stage, counted with all its pods and all they ask for."""

from typing import Any

import pytest

from tests.trainjob.worlds import job, replicated, rule_ids, runtime, trainjob
from trainplane.trainjob.pipeline import Refused, Surroundings, build
from trainplane.trainjob.plan import Plan

GPU = {"limits": {"nvidia.com/gpu": "4"}, "requests": {"cpu": "2"}}
NODE = {"name": "node", "image": "x", "resources": GPU}
AFTER = [{"name": "dataset-initializer", "status": "Complete"}]
FIRST = replicated("dataset-initializer", {"name": "dataset-initializer", "image": "x"}, step="dataset-initializer")


def ganged(policy: dict[str, Any], *jobs: dict[str, Any], nodes: int = 2, ml: Any = None, **around: Any) -> Plan:
    given = jobs or (replicated("node", NODE, step="trainer"),)
    raw = runtime({"torch": {}} if ml is None else ml, *given)
    raw["spec"]["podGroupPolicy"] = policy
    return build(trainjob({"numNodes": nodes}), raw, Surroundings(**around))


def groups(plan: Plan) -> dict[str, dict[str, Any]]:
    return {raw["metadata"]["name"]: raw["spec"] for raw in plan.companions if raw["kind"] == "PodGroup"}


def pod_metadata(plan: Plan, name: str) -> dict[str, Any]:
    found: dict[str, Any] = job(plan, name)["template"]["spec"]["template"]["metadata"]
    return found


def test_one_stage_is_one_gang_with_all_it_asks_for() -> None:
    """GPUs given as limits count: the scheduler counts them too."""
    plan = ganged({"coscheduling": {"scheduleTimeoutSeconds": 30}})
    resources = {"cpu": "4", "nvidia.com/gpu": "8"}
    assert groups(plan) == {"job": {"minMember": 2, "minResources": resources, "scheduleTimeoutSeconds": 30}}
    assert pod_metadata(plan, "node")["labels"] == {"scheduling.x-k8s.io/pod-group": "job"}


def test_a_staged_start_has_a_gang_for_each_stage_and_cannot_starve_itself() -> None:
    """Upstream's one gang of three waits for trainers that wait for the initializer, for ever."""
    plan = ganged({"coscheduling": {}}, FIRST, replicated("node", NODE, step="trainer", dependsOn=AFTER))
    assert {name: spec["minMember"] for name, spec in groups(plan).items()} == {
        "job-dataset-initializer": 1,
        "job-node": 2,
    }
    assert pod_metadata(plan, "node")["labels"]["scheduling.x-k8s.io/pod-group"] == "job-node"


def test_jobs_that_start_together_share_a_gang_with_all_their_replicas() -> None:
    side = replicated("side", {"name": "side", "image": "x"}, replicas=3)
    side["template"]["spec"]["parallelism"] = 2
    assert groups(ganged({"coscheduling": {}}, replicated("node", NODE, step="trainer"), side))["job"]["minMember"] == 8


def test_the_runtime_classs_overhead_counts() -> None:
    node = replicated("node", NODE, step="trainer")
    node["template"]["spec"]["template"]["spec"]["runtimeClassName"] = "kata"
    plan = ganged({"coscheduling": {}}, node, overheads={"kata": {"cpu": "250m"}})
    assert groups(plan)["job"]["minResources"]["cpu"] == "4500m"


def test_volcano_in_its_own_words() -> None:
    policy = {
        "queue": "gold",
        "priorityClassName": "high",
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    plan = ganged({"volcano": policy})
    spec = groups(plan)["job"]
    assert (spec["queue"], spec["priorityClassName"], spec["networkTopology"]) == tuple(policy.values())
    assert pod_metadata(plan, "node")["annotations"] == {"scheduling.k8s.io/group-name": "job"}


def test_volcanos_queue_from_the_templates_annotation_and_priority_from_the_pods() -> None:
    node = replicated("node", NODE, step="trainer")
    node["template"]["spec"]["template"]["spec"]["priorityClassName"] = "low"
    raw = runtime({"torch": {}}, node)
    raw["spec"]["podGroupPolicy"] = {"volcano": {}}
    raw["spec"]["template"]["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": "silver"}}
    spec = groups(build(trainjob({}), raw))["job"]
    assert (spec["queue"], spec["priorityClassName"]) == ("silver", "low")


def test_an_elastic_gang_needs_only_the_least_it_can_train_with() -> None:
    elastic = {"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 8}}}
    spec = groups(ganged({"coscheduling": {}}, nodes=4, ml=elastic))["job"]
    assert (spec["minMember"], spec["minResources"]["nvidia.com/gpu"]) == (2, "8")


@pytest.mark.parametrize(("least", "rules"), [(2, []), (1, ["TP202"])])
def test_volcanos_own_quorum(least: int, rules: list[str]) -> None:
    plan = ganged({"volcano": {"minMember": least}})
    assert groups(plan)["job"]["minMember"] == least
    assert rule_ids(plan) == rules


def test_a_quorum_that_never_exists_is_refused() -> None:
    with pytest.raises(Refused, match="minMember is 3, and the gang has only 2 pods"):
        ganged({"volcano": {"minMember": 3}})


def test_a_gang_that_waits_for_itself_is_refused_with_its_cycle() -> None:
    exclusive = replicated("node", NODE, step="trainer")
    exclusive["template"]["metadata"]["annotations"] = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    with pytest.raises(Refused, match="its first pod, which waits for gang job"):
        ganged({"coscheduling": {}}, exclusive)
    exclusive["template"]["metadata"]["annotations"]["alpha.jobset.sigs.k8s.io/node-selector"] = "true"
    assert "job" in groups(ganged({"coscheduling": {}}, exclusive))


def test_an_empty_policy_makes_no_gang() -> None:
    assert ganged({}).companions == ()
