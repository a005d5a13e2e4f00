"""successPolicy, startupPolicy, dependsOn, network, volume claims and time to live: each by itself."""

from datetime import timedelta
from typing import Any

import pytest

from tests.jobset.worlds import KEY, NS, START, admitted, jobset, rjob
from trainplane.jobset.children import Children, Unreadable
from trainplane.jobset.claims import claim, missing_claims, templates, with_volumes
from trainplane.jobset.elastic import resized
from trainplane.jobset.fields import is_in_order
from trainplane.jobset.lifetime import expire, time_left
from trainplane.jobset.network import missing_service, service
from trainplane.jobset.order import has_started, may_start
from trainplane.jobset.success import expected, is_complete, matching
from trainplane.reconcile.decision import Create, Delete
from trainplane.reconcile.view import View

Raw = dict[str, Any]


def of(name: str, **status: int) -> Raw:
    return {"name": name, "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0, **status}


def done(name: str) -> Raw:
    return {"metadata": {"name": "j", "labels": {KEY + "replicatedjob-name": name}}}


class TestSuccess:
    """Whose success counts, and how much of it is enough."""

    @pytest.mark.parametrize(
        ("targets", "jobs", "count"),
        [
            pytest.param(["a"], ["a", "b"], 1, id="one of two counts"),
            pytest.param(["a", "b"], ["a", "b"], 2, id="both count"),
            pytest.param(["c"], ["a", "b"], 0, id="neither counts"),
            pytest.param([], ["a", "b"], 2, id="without targets all count"),
        ],
    )
    def test_matching(self, targets: list[str], jobs: list[str], count: int) -> None:
        raw = jobset(
            rjob("a"), rjob("b"), rjob("c"), successPolicy={"operator": "All", "targetReplicatedJobs": targets}
        )
        assert matching(raw, map(done, jobs)) == count

    @pytest.mark.parametrize(
        ("policy", "count"),
        [
            pytest.param({"operator": "Any"}, 1, id="any is one"),
            pytest.param({"operator": "All", "targetReplicatedJobs": ["a", "b"]}, 3, id="all of two"),
            pytest.param({"operator": "All", "targetReplicatedJobs": ["a", "c"]}, 4, id="all of two others"),
            pytest.param({"operator": "All"}, 6, id="all"),
            pytest.param(None, 6, id="without a policy all"),
        ],
    )
    def test_expected(self, policy: Raw | None, count: int) -> None:
        spec = {"successPolicy": policy} if policy else {}
        assert expected(jobset(rjob("a", 1), rjob("b", 2), rjob("c", 3), **spec)) == count

    def test_nothing_is_never_enough(self) -> None:
        assert not is_complete(jobset(rjob("a", 0)), ())


class TestOrder:
    """When a replicated job has started, and for whom another waits."""

    @pytest.mark.parametrize(
        ("policy", "expected"),
        [({"startupPolicyOrder": "AnyOrder"}, False), ({"startupPolicyOrder": "InOrder"}, True), (None, False)],
    )
    def test_in_order(self, policy: Raw | None, expected: bool) -> None:
        assert is_in_order(jobset(startupPolicy=policy)) is expected

    @pytest.mark.parametrize(
        ("replicas", "status", "expected"),
        [
            pytest.param(1, {}, False, id="nothing is known"),
            pytest.param(4, {"ready": 4}, True, id="all ready"),
            pytest.param(4, {"ready": 2, "succeeded": 1, "failed": 1}, True, id="ready or ended"),
            pytest.param(4, {"active": 4}, False, id="active is not ready"),
        ],
    )
    def test_has_started(self, replicas: int, status: dict[str, int], expected: bool) -> None:
        assert has_started(rjob("a", replicas), {"a": of("a", **status)}) is expected

    @pytest.mark.parametrize(
        ("reach", "replicas", "statuses", "expected"),
        [
            pytest.param("Complete", 2, [{"succeeded": 2}, {"succeeded": 2}], True, id="both complete"),
            pytest.param("Complete", 2, [{"succeeded": 2}, {"succeeded": 1}], False, id="one complete"),
            pytest.param("Complete", 2, [{"succeeded": 1}, {"succeeded": 1}], False, id="neither complete"),
            pytest.param("Ready", 3, [{"ready": 1, "succeeded": 1, "failed": 1}] * 2, True, id="both ready"),
            pytest.param("Ready", 3, [{"ready": 3}, {"ready": 2, "active": 1}], False, id="one ready"),
            pytest.param("Ready", 3, [{"ready": 2, "active": 1}] * 2, False, id="neither ready"),
            pytest.param("Ready", 3, [{"ready": 3}], False, id="nothing is known of one"),
            pytest.param("Ready", 3, [], False, id="nothing is known"),
        ],
    )
    def test_waiting_for_two(self, reach: str, replicas: int, statuses: list[Raw], expected: bool) -> None:
        waits = rjob("c", dependsOn=[{"name": name, "status": reach} for name in ("a", "b")])
        raw = jobset(rjob("a", replicas), rjob("b", replicas), waits)
        counts = {name: of(name, **status) for name, status in zip(("a", "b"), statuses, strict=False)}
        assert may_start(raw, waits, counts) is expected

    def test_who_waits_for_nobody_may_start(self) -> None:
        assert may_start(jobset(), rjob("a"), {})


class TestNetwork:
    """The headless Service."""

    @pytest.mark.parametrize(
        ("network", "name", "published"),
        [
            pytest.param({}, "js", True, id="called as the JobSet"),
            pytest.param({"subdomain": "net"}, "net", True, id="called as the subdomain"),
            pytest.param({"publishNotReadyAddresses": False}, "js", False, id="names of ready pods alone"),
            pytest.param({"publishNotReadyAddresses": True}, "js", True, id="names of all pods"),
        ],
    )
    def test_service(self, network: Raw, name: str, published: bool) -> None:
        made = service(jobset(network={"enableDNSHostnames": True, **network}))
        assert made["metadata"]["name"] == name
        assert len(made["metadata"]["ownerReferences"]) == 1
        assert made["spec"] == {
            "clusterIP": "None",
            "selector": {KEY + "jobset-name": "js"},
            "publishNotReadyAddresses": published,
        }

    def test_one_that_exists_serves_whoever_made_it(self) -> None:
        raw = admitted(jobset())
        assert [type(one) for one in missing_service(raw, View.of())] == [Create]
        there = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "js", "namespace": NS}, "spec": {}}
        assert not list(missing_service(raw, View.of(there)))

    def test_none_is_made_where_none_is_wanted(self) -> None:
        assert not list(missing_service(jobset(), View.of()))
        assert not list(missing_service(admitted(jobset(network={"enableDNSHostnames": False})), View.of()))


MOUNTS = {"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]}
PREPARES = {
    **MOUNTS,
    "initContainers": [{"name": "i", "image": "i", "volumeMounts": [{"name": "out", "mountPath": "/o"}]}],
}


def policies(*names: str, keep: bool = False, **metadata: Any) -> list[Raw]:
    retention = {"retentionPolicy": {"whenDeleted": "Retain"}} if keep else {}
    made = [{"metadata": {"name": name, **metadata}, "spec": {"accessModes": ["ReadWriteMany"]}} for name in names]
    return [{"templates": made, **retention}]


class TestClaims:
    """Volume claims that a JobSet makes, and the volumes of its pods."""

    def test_a_claim_goes_with_its_jobset(self) -> None:
        raw = admitted(jobset(rjob("a", pod=MOUNTS), volumeClaimPolicies=policies("data", labels={"x": "1"})))
        (made,) = [one.object for one in missing_claims(raw, View.of())]
        assert made["metadata"]["name"] == "data-js"
        assert made["metadata"]["labels"] == {"x": "1", KEY + "jobset-name": "js"}
        assert made["metadata"]["ownerReferences"][0]["kind"] == "JobSet"
        assert made["spec"] == {"accessModes": ["ReadWriteMany"]}

    def test_a_claim_that_is_kept_has_no_owner(self) -> None:
        given = policies("data", keep=True, annotations={"y": "2"})
        raw = admitted(jobset(rjob("a", pod=MOUNTS), volumeClaimPolicies=given))
        (made,) = [one.object for one in missing_claims(raw, View.of())]
        assert "ownerReferences" not in made["metadata"]
        assert made["metadata"]["annotations"] == {"y": "2"}

    def test_one_that_exists_serves(self) -> None:
        raw = admitted(jobset(rjob("a", pod=MOUNTS), volumeClaimPolicies=policies("data")))
        ((template, goes),) = templates(raw)
        assert not list(missing_claims(raw, View.of(claim(template, raw, goes=goes))))

    @pytest.mark.parametrize(
        ("pod", "names", "volumes"),
        [
            pytest.param(MOUNTS, ["data"], ["data"], id="mounted"),
            pytest.param({"containers": [{"name": "c"}]}, ["data"], [], id="mounted by nobody"),
            pytest.param(MOUNTS, ["data", "out"], ["data"], id="one of two mounted"),
            pytest.param(PREPARES, ["out", "data"], ["out", "data"], id="mounted before the start"),
        ],
    )
    def test_volumes(self, pod: Raw, names: list[str], volumes: list[str]) -> None:
        raw = jobset(volumeClaimPolicies=[one for name in names for one in policies(name)])
        found = with_volumes(pod, raw).get("volumes", [])
        assert found == [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-js"}} for name in volumes]


def ended(type_: str | None, *, ago: int = 0, ttl: int | None = None) -> Raw:
    raw = jobset(**({} if ttl is None else {"ttlSecondsAfterFinished": ttl}))
    if type_:
        when = (START - timedelta(seconds=ago)).isoformat()
        raw["status"] = {"conditions": [{"type": type_, "status": "True", "lastTransitionTime": when}]}
    return raw


class TestLifetime:
    """How long a JobSet is kept after its end."""

    @pytest.mark.parametrize("end", ["Completed", "Failed"])
    @pytest.mark.parametrize(
        ("ttl", "ago", "left"),
        [
            pytest.param(0, 0, 0, id="not at all"),
            pytest.param(10, 0, 10, id="ten seconds"),
            pytest.param(15, 10, 5, id="ten of fifteen are over"),
            pytest.param(5, 10, -5, id="over"),
        ],
    )
    def test_time_left(self, end: str, ttl: int, ago: int, left: int) -> None:
        assert time_left(ended(end, ago=ago, ttl=ttl), START) == timedelta(seconds=left)

    @pytest.mark.parametrize("raw", [ended(None), ended(None, ttl=5), ended("Completed")])
    def test_without_a_limit_or_an_end_there_is_none(self, raw: Raw) -> None:
        assert expire(raw, START) == ([], None)

    def test_when_it_is_over_the_jobset_goes_with_its_jobs(self) -> None:
        actions, again = expire(ended("Completed", ago=10, ttl=5), START)
        assert [(type(one), one.propagation) for one in actions] == [(Delete, "Foreground")]
        assert again is None

    def test_before_that_it_is_looked_at_again(self) -> None:
        assert expire(ended("Completed", ago=2, ttl=5), START) == ([], timedelta(seconds=3))

    def test_an_end_without_a_time_is_said(self) -> None:
        raw = ended("Completed", ttl=5)
        del raw["status"]["conditions"][0]["lastTransitionTime"]
        with pytest.raises(Unreadable, match="since when"):
            expire(raw, START)


class TestElastic:
    """Jobs that run take the size of their template."""

    @pytest.mark.parametrize(
        ("template", "patched"),
        [
            pytest.param((2, 2), None, id="as it is"),
            pytest.param((8, 8), {"parallelism": 8, "completions": 8}, id="both grow"),
            pytest.param((8, 2), None, id="parallelism alone"),
            pytest.param((2, 8), None, id="completions alone"),
            pytest.param((None, None), None, id="neither is said"),
        ],
    )
    def test_resized(self, template: tuple[int | None, int | None], patched: Raw | None) -> None:
        given = {key: n for key, n in zip(("parallelism", "completions"), template, strict=True) if n is not None}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "js-a-0", "namespace": NS, "uid": "u", "labels": {KEY + "replicatedjob-name": "a"}},
            "spec": {"parallelism": 2, "completions": 2},
        }
        found = list(resized(jobset(rjob("a", job=given)), Children(active=(job,))))
        assert [one.patch["spec"] for one in found] == ([patched] if patched else [])
