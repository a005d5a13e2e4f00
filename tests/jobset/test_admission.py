"""What is filled into a JobSet, what is refused of it, and what may change once it is there."""

from typing import Any

import pytest

from tests.jobset.worlds import NS, Denied, admitted, jobset, rjob
from trainplane.api.merge import merge_patch
from trainplane.api.raw import look, put

Raw = dict[str, Any]
POD = ("spec", "replicatedJobs", 0, "template", "spec", "template")
CONTAINER = {"name": "c", "image": "i:1"}
MOUNTING = {"containers": [{**CONTAINER, "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]}
SIZED = {"parallelism": 2, "completions": 2}


def refused(raw: Raw, old: Raw | None = None, **options: Any) -> set[str]:
    """The fields for which a JobSet is refused."""
    try:
        admitted(raw, old, **options)
    except Denied as denied:
        return {problem.field for problem in denied.problems}
    return set()


class TestDefaults:
    @pytest.mark.parametrize(
        ("given", "path", "expected"),
        [
            pytest.param({}, (*POD[:-1], "completionMode"), "Indexed", id="pods are counted"),
            pytest.param({}, (*POD, "spec", "restartPolicy"), "OnFailure", id="containers start again"),
            pytest.param({}, ("spec", "network", "enableDNSHostnames"), True, id="pods have names"),
            pytest.param({}, ("spec", "network", "publishNotReadyAddresses"), True, id="known before they are ready"),
            pytest.param({}, ("spec", "successPolicy"), {"operator": "All"}, id="all must succeed"),
            pytest.param({}, ("spec", "startupPolicy"), {"startupPolicyOrder": "AnyOrder"}, id="in any order"),
            pytest.param({}, ("spec", "managedBy"), None, id="the controller is not named"),
            pytest.param({}, ("spec", "replicatedJobs", 0, "replicas"), 1, id="one Job"),
            pytest.param({}, ("spec", "replicatedJobs", 0, "groupName"), "default", id="the default group"),
            pytest.param(
                {"network": {"enableDNSHostnames": False}},
                ("spec", "network", "enableDNSHostnames"),
                False,
                id="no names",
            ),
            pytest.param(
                {"network": {"publishNotReadyAddresses": False}},
                ("spec", "network", "publishNotReadyAddresses"),
                False,
                id="names of ready pods alone",
            ),
            pytest.param(
                {"successPolicy": {"operator": "Any"}}, ("spec", "successPolicy"), {"operator": "Any"}, id="any"
            ),
            pytest.param(
                {"startupPolicy": {"startupPolicyOrder": "InOrder"}},
                ("spec", "startupPolicy"),
                {"startupPolicyOrder": "InOrder"},
                id="in order",
            ),
            pytest.param({"managedBy": "a.b/c"}, ("spec", "managedBy"), "a.b/c", id="another controller"),
            pytest.param(
                {"failurePolicy": {}}, ("spec", "failurePolicy", "restartStrategy"), "Recreate", id="recreated"
            ),
            pytest.param(
                {"failurePolicy": {"rules": [{"name": "", "action": "FailJobSet"}]}},
                ("spec", "failurePolicy", "rules", 0, "name"),
                "failurePolicyRule0",
                id="a rule without a name",
            ),
            pytest.param(
                {"failurePolicy": {"rules": [{"name": "x", "action": "FailJobSet"}, {"action": "RestartJobSet"}]}},
                ("spec", "failurePolicy", "rules", 1, "name"),
                "failurePolicyRule1",
                id="a rule after one with a name",
            ),
            pytest.param(
                {
                    "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "data"}}]}],
                    "replicatedJobs": [rjob("a", pod=MOUNTING)],
                },
                ("spec", "volumeClaimPolicies", 0, "retentionPolicy", "whenDeleted"),
                "Delete",
                id="claims go with the JobSet",
            ),
        ],
    )
    def test_a_default(self, given: Raw, path: tuple[str | int, ...], expected: Any) -> None:
        assert look(admitted(jobset(**{"replicatedJobs": [rjob("a")], **given})), *path) == expected

    def test_what_is_given_stays(self) -> None:
        pod = {"containers": [CONTAINER], "restartPolicy": "Never"}
        stored = admitted(jobset(rjob("a", 0, job={"completionMode": "NonIndexed"}, pod=pod)))
        assert look(stored, *POD[:-1], "completionMode") == "NonIndexed"
        assert look(stored, *POD, "spec", "restartPolicy") == "Never"
        assert look(stored, "spec", "replicatedJobs", 0, "replicas") == 0

    def test_filling_in_twice_is_filling_in_once(self) -> None:
        stored = admitted(jobset(failurePolicy={"rules": [{"action": "FailJobSet"}]}))
        assert admitted(stored) == stored


RULES = "spec.failurePolicy.rules[0]"


def with_rule(**rule: Any) -> Raw:
    return {"failurePolicy": {"rules": [{"name": "R", "action": "FailJobSet", **rule}]}}


def claims(name: str = "data", *, keep: bool = False) -> Raw:
    retention = {"retentionPolicy": {"whenDeleted": "Retain"}} if keep else {}
    spec = {"accessModes": ["ReadWriteMany"]}
    return {"volumeClaimPolicies": [{"templates": [{"metadata": {"name": name}, "spec": spec}], **retention}]}


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        pytest.param(
            {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["x"]}},
            {"spec.successPolicy.targetReplicatedJobs[0]"},
            id="success of nobody",
        ),
        pytest.param({"network": {"subdomain": "a" * 64}}, {"spec.network.subdomain"}, id="a long subdomain"),
        pytest.param({"replicatedJobs": [rjob("a.b")]}, {"spec.replicatedJobs[0].name"}, id="a dot in a name"),
        pytest.param(
            {"replicatedJobs": [rjob("a", groupName="g" * 64)]}, {"spec.replicatedJobs[0].groupName"}, id="a long group"
        ),
        pytest.param({"replicatedJobs": [rjob("a" * 58, 101)]}, {"spec.replicatedJobs[0].name"}, id="a long Job name"),
        pytest.param(
            {"replicatedJobs": [rjob("a" * 52, job={"completions": 1, "parallelism": 1})]},
            {"spec.replicatedJobs[0].name"},
            id="a long pod name",
        ),
        pytest.param(
            {"replicatedJobs": [rjob("a", 2**31 - 1, job={"parallelism": 2, "completions": 2})]},
            {"spec.replicatedJobs[0].replicas"},
            id="too many pods",
        ),
        pytest.param({"managedBy": "me"}, {"spec.managedBy"}, id="a manager without a domain"),
        pytest.param({"managedBy": "a.b/" + "c" * 60}, {"spec.managedBy"}, id="a long manager"),
        pytest.param({"managedBy": "a.b/c"}, set(), id="a manager"),
        pytest.param(
            with_rule(onJobFailureReasons=["Fake"]), {RULES + ".onJobFailureReasons[0]"}, id="a reason for nothing"
        ),
        pytest.param(
            with_rule(targetReplicatedJobs=["x"]), {RULES + ".targetReplicatedJobs[0]"}, id="failure of nobody"
        ),
        pytest.param(with_rule(name="n" * 129), {RULES + ".name"}, id="a long rule name"),
        pytest.param(with_rule(name="1st"), {RULES + ".name"}, id="a digit first"),
        pytest.param(with_rule(name="a,"), {RULES + ".name"}, id="a comma last"),
        pytest.param(
            {"failurePolicy": {"rules": [{"name": "R", "action": "FailJobSet"}] * 2}},
            {"spec.failurePolicy.rules[1].name"},
            id="a name twice",
        ),
        pytest.param(with_rule(), set(), id="a rule"),
        pytest.param(with_rule(action="RestartJob"), {RULES + ".action"}, id="one Job alone, the gate closed"),
        pytest.param(
            with_rule(action="RestartJobAndIgnoreMaxRestarts"),
            {RULES + ".action"},
            id="one Job alone without counting, the gate closed",
        ),
        pytest.param(
            {"failurePolicy": {"restartStrategy": "InPlaceRestart"}},
            {"spec.failurePolicy.restartStrategy"},
            id="restarted in place",
        ),
        pytest.param(
            {"coordinator": {"replicatedJob": "x"}}, {"spec.coordinator.replicatedJob"}, id="nobody coordinates"
        ),
        pytest.param(
            {"coordinator": {"replicatedJob": "a"}},
            {"spec.coordinator.replicatedJob"},
            id="a coordinator among pods that are not counted",
        ),
        pytest.param(
            {"replicatedJobs": [rjob("a", job=SIZED)], "coordinator": {"replicatedJob": "a", "jobIndex": 2}},
            {"spec.coordinator.jobIndex"},
            id="a coordinating Job that is not there",
        ),
        pytest.param(
            {"replicatedJobs": [rjob("a", job=SIZED)], "coordinator": {"replicatedJob": "a", "podIndex": 2}},
            {"spec.coordinator.podIndex"},
            id="a coordinating pod that is not there",
        ),
        pytest.param(
            {
                "replicatedJobs": [rjob("a" * 30, job=SIZED)],
                "coordinator": {"replicatedJob": "a" * 30},
                "network": {"subdomain": "b" * 30},
            },
            {"spec.coordinator"},
            id="the coordinator's name is no label",
        ),
        pytest.param(
            {"replicatedJobs": [rjob("a"), rjob("b", dependsOn=[{"name": "c", "status": "Ready"}]), rjob("c")]},
            {"spec.replicatedJobs[1].dependsOn[0].name"},
            id="waiting for a later one",
        ),
        pytest.param(
            {"replicatedJobs": [rjob("a", dependsOn=[{"name": "a", "status": "Ready"}])]},
            {"spec.replicatedJobs[0].dependsOn"},
            id="the first waits",
        ),
        pytest.param({"replicatedJobs": []}, set(), id="no replicated job at all"),
        pytest.param({"replicatedJobs": [rjob("")]}, {"spec.replicatedJobs[0].name"}, id="an empty name"),
        pytest.param(
            {"volumeClaimPolicies": [{"templates": [{}]}]},
            {"spec.volumeClaimPolicies[0].templates[0].metadata.name", "spec.replicatedJobs"},
            id="a claim without a name",
        ),
        pytest.param({"volumeClaimPolicies": [{}]}, {"spec.volumeClaimPolicies[0]"}, id="a policy for no claims"),
        pytest.param({**claims(), "replicatedJobs": [rjob("a", pod=MOUNTING)]}, set(), id="a claim that is mounted"),
        pytest.param(
            {**claims("Data"), "replicatedJobs": [rjob("a", pod=MOUNTING)]},
            {"spec.volumeClaimPolicies[0].templates[0].metadata.name", "spec.replicatedJobs"},
            id="a claim of a wrong name that nobody mounts",
        ),
        pytest.param(
            {
                "startupPolicy": {"startupPolicyOrder": "InOrder"},
                "replicatedJobs": [rjob("a"), rjob("b", dependsOn=[{"name": "a", "status": "Ready"}])],
            },
            {"spec", "spec.replicatedJobs[1].dependsOn"},
            id="ordered twice",
        ),
    ],
)
def test_what_is_refused_at_creation(spec: Raw, fields: set[str]) -> None:
    assert refused(jobset(**{"replicatedJobs": [rjob("a"), rjob("b")], **spec})) == fields


@pytest.mark.parametrize("template", [{}, {"spec": {}}, {"spec": {"template": {"spec": {"containers": []}}}}])
def test_a_template_without_containers_is_refused(template: Raw) -> None:
    (field,) = refused(jobset({"name": "a", "template": template}))
    assert field == "spec.replicatedJobs[0].template.spec.template.spec.containers"


def test_a_generated_name_is_judged_at_its_full_length() -> None:
    raw = jobset(rjob("worker"))
    raw["metadata"] = {"generateName": "a" * 49 + "-", "namespace": NS}
    assert refused(raw) == {"spec.replicatedJobs[0].name"}


class TestGates:
    def test_one_job_alone_may_be_restarted_where_the_gate_is_open(self) -> None:
        assert refused(jobset(**with_rule(action="RestartJob")), restart_job=True) == set()

    @pytest.mark.parametrize("action", ["RestartJob", "RestartJobAndIgnoreMaxRestarts"])
    def test_but_not_more_jobs_than_can_be_counted(self, action: str) -> None:
        raw = jobset(rjob("a", 1025), **with_rule(action=action))
        assert refused(raw, restart_job=True) == {"spec.replicatedJobs[0].replicas"}

    def test_the_refusal_names_what_is_refused_and_the_way_out(self) -> None:
        with pytest.raises(Denied, match=r"InPlaceRestart is not done here.*; use Recreate"):
            admitted(jobset(failurePolicy={"restartStrategy": "InPlaceRestart"}))

    def test_a_closed_gate_is_named_as_the_command_line_names_it(self) -> None:
        with pytest.raises(Denied, match=r"gate RestartJob is closed.*--feature-gates RestartJob"):
            admitted(jobset(**with_rule(action="RestartJob")))


class TestExistingClaims:
    RAW = staticmethod(lambda **how: jobset(rjob("a", pod=MOUNTING), **claims(**how)))

    @pytest.mark.parametrize(
        ("keep", "modes", "fields"),
        [
            pytest.param(True, ["ReadWriteMany"], set(), id="as asked for, and kept"),
            pytest.param(False, ["ReadWriteMany"], {"spec.volumeClaimPolicies"}, id="it would be deleted"),
            pytest.param(True, ["ReadWriteOnce"], {"spec.volumeClaimPolicies"}, id="another spec"),
        ],
    )
    def test_a_claim_that_is_there(self, keep: bool, modes: list[str], fields: set[str]) -> None:
        found = {"metadata": {"name": "data-js"}, "spec": {"accessModes": modes, "volumeMode": "Filesystem"}}
        assert refused(self.RAW(keep=keep), lookup=lambda _: found) == fields


def changed(patch: Raw, old: Raw | None = None, **gates: bool) -> set[str]:
    """The fields for which a change of a stored JobSet is refused."""
    stored = admitted(old or jobset(rjob("a"), rjob("b")), **gates)
    return refused(merge_patch(stored, patch), stored, **gates)


class TestChanges:
    @pytest.mark.parametrize(
        ("patch", "fields"),
        [
            pytest.param({"spec": {"suspend": True}}, set(), id="suspend"),
            pytest.param({"spec": {"ttlSecondsAfterFinished": 3}}, set(), id="time to live"),
            pytest.param({"metadata": {"labels": {"a": "b"}}}, set(), id="labels"),
            pytest.param({"spec": {"managedBy": "a.b/c"}}, {"spec.managedBy"}, id="the controller"),
            pytest.param({"spec": {"successPolicy": {"operator": "Any"}}}, {"spec.successPolicy"}, id="success"),
            pytest.param(
                {"spec": {"failurePolicy": {"maxRestarts": 1}}},
                {"spec.failurePolicy"},
                id="a failure policy that was not there",
            ),
            pytest.param({"spec": {"network": {"subdomain": "x"}}}, {"spec.network"}, id="the network"),
            pytest.param(
                {"spec": {"startupPolicy": {"startupPolicyOrder": "InOrder"}}}, {"spec.startupPolicy"}, id="the order"
            ),
            pytest.param({"spec": {"volumeClaimPolicies": []}}, {"spec.volumeClaimPolicies"}, id="claims"),
            pytest.param(
                {"spec": {"replicatedJobs": [rjob("a"), rjob("x")]}}, {"spec.replicatedJobs"}, id="another name"
            ),
            pytest.param(
                {"spec": {"replicatedJobs": [rjob("b"), rjob("a")]}}, {"spec.replicatedJobs"}, id="another order"
            ),
            pytest.param(
                {"spec": {"replicatedJobs": [rjob("a", 2), rjob("b")]}}, {"spec.replicatedJobs"}, id="more replicas"
            ),
            pytest.param(
                {"spec": {"replicatedJobs": [rjob("a"), rjob("b"), rjob("c")]}}, {"spec.replicatedJobs"}, id="one more"
            ),
            pytest.param({"spec": {"replicatedJobs": [rjob("a"), rjob("b")]}}, set(), id="the manifest sent again"),
            pytest.param({"spec": {"successPolicy": None}}, set(), id="a default left out is filled in again"),
        ],
    )
    def test_of_a_running_jobset(self, patch: Raw, fields: set[str]) -> None:
        assert changed(patch) == fields

    def test_a_dependency(self) -> None:
        old = jobset(rjob("a"), rjob("b", dependsOn=[{"name": "a", "status": "Ready"}]))
        new = {"spec": {"replicatedJobs": [rjob("a"), rjob("b", dependsOn=[{"name": "a", "status": "Complete"}])]}}
        assert "spec.replicatedJobs" in changed(new, old)

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (("metadata", "annotations"), {"a": "1"}),
            (("metadata", "labels"), {"a": "1"}),
            (("spec", "nodeSelector"), {"a": "1"}),
            (("spec", "tolerations"), [{"key": "a"}]),
            (("spec", "schedulingGates"), [{"name": "a"}]),
        ],
    )
    def test_five_fields_of_pods_change_while_it_is_suspended(self, path: tuple[str, ...], value: Any) -> None:
        stored = admitted(jobset(rjob("a")))
        held = put(stored, ("spec", "suspend"), True)
        new = put(stored, (*POD, *path), value)
        new_held = put(new, ("spec", "suspend"), True)
        assert refused(new, stored) == {"spec.replicatedJobs"}
        assert refused(new_held, held) == set()
        assert refused(new_held, stored) == set(), "suspended with the same update"
        assert refused(new, held) == set(), "resumed with the same update"

    def test_the_refusal_says_which_field_and_that_suspending_helps(self) -> None:
        stored = admitted(jobset(rjob("a")))
        with pytest.raises(
            Denied, match=r"template.metadata.labels of a cannot change .*; set spec.suspend to true first"
        ):
            admitted(put(stored, (*POD, "metadata", "labels"), {"a": "1"}), stored)

    @pytest.mark.parametrize("path", [("spec", "hostname"), ("spec", "subdomain"), ("spec", "containers", 0, "image")])
    def test_the_rest_of_the_pod_does_not_even_then(self, path: tuple[str | int, ...]) -> None:
        held = admitted(jobset(rjob("a"), suspend=True))
        assert refused(put(held, (*POD, *path), "x"), held) == {"spec.replicatedJobs"}

    def test_one_more_replicated_job_while_suspended(self) -> None:
        held = admitted(jobset(rjob("a"), suspend=True))
        assert refused(put(held, ("spec", "replicatedJobs"), [rjob("a"), rjob("b")]), held) == {"spec.replicatedJobs"}


SPEC = "spec.replicatedJobs[0].template.spec"


class TestResizing:
    @pytest.mark.parametrize(
        ("mode", "end", "sizes", "gate", "fields"),
        [
            pytest.param("Indexed", None, (4, 4), True, set(), id="both alike"),
            pytest.param(
                "Indexed", None, (0, 0), True, {SPEC + ".parallelism", SPEC + ".completions"}, id="to nothing"
            ),
            pytest.param("Indexed", None, (4, 3), True, {SPEC + ".completions"}, id="not alike"),
            pytest.param("Indexed", "Completed", (4, 4), True, {SPEC}, id="after its success"),
            pytest.param("Indexed", "Failed", (4, 4), True, {SPEC}, id="after its failure"),
            pytest.param("Indexed", None, (4, 4), False, {"spec.replicatedJobs"}, id="the gate closed"),
            pytest.param("NonIndexed", None, (4, 4), True, {"spec.replicatedJobs"}, id="pods that are not counted"),
        ],
    )
    def test_sizes(self, mode: str, end: str | None, sizes: tuple[int, int], gate: bool, fields: set[str]) -> None:
        stored = admitted(jobset(rjob("a", job={**SIZED, "completionMode": mode})))
        if end:
            stored["status"] = {"conditions": [{"type": end, "status": "True"}]}
        new = stored
        for key, size in zip(("parallelism", "completions"), sizes, strict=True):
            new = put(new, (*POD[:-1], key), size)
        assert refused(new, stored, elastic_jobset=gate) == fields

    def test_with_another_change(self) -> None:
        stored = admitted(jobset(rjob("a", job=SIZED)))
        new = put(put(stored, (*POD[:-1], "parallelism"), 4), (*POD[:-1], "completions"), 4)
        new = put(new, (*POD, "spec", "containers", 0, "image"), "other")
        assert refused(new, stored, elastic_jobset=True) == {"spec.replicatedJobs"}

    def test_with_another_order_only_the_order_is_refused(self) -> None:
        stored = admitted(jobset(rjob("a", job=SIZED), rjob("b", job=SIZED)))
        larger = {"parallelism": 4, "completions": 4}
        new = put(stored, ("spec", "replicatedJobs"), [rjob("b", job=larger), rjob("a", job=SIZED)])
        assert refused(new, stored, elastic_jobset=True) == {"spec.replicatedJobs"}
