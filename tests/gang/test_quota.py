"""Quotas and limit ranges: what is counted, what is filled in, and the words of a refusal as a real server has them."""

from typing import Any

import pytest

from trainplane.api.quantity import spell
from trainplane.gang.limits import check_limits, with_defaults
from trainplane.gang.quota import admit_pod, status, usage, used

Raw = dict[str, Any]


def pod(name: str = "p", *, spec: Raw | None = None, **resources: Raw) -> Raw:
    """A pod of one container with these resources."""
    body = {"containers": [{"name": "c", "image": "x/y:1", "resources": resources}], **(spec or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml"}, "spec": body}


def quota(*scopes: str, **spec: Any) -> Raw:
    """A ResourceQuota called q."""
    return {"metadata": {"name": "q"}, "spec": {**spec, **({"scopes": list(scopes)} if scopes else {})}}


COMPUTE = quota(hard={"requests.cpu": "1", "limits.memory": "1Gi", "pods": "2"})
FIRST = pod("a", requests={"cpu": "600m", "memory": "1Mi"}, limits={"memory": "600Mi"})


def said(new: Raw, one: Raw, *there: Raw) -> list[str]:
    """Why the quota refuses a pod beside others."""
    return [problem.what for problem in admit_pod(new, [one], {"q": used(one, there)})]


def test_containers_must_say_what_is_limited() -> None:
    """In the words of a real server."""
    assert said(pod(), COMPUTE) == ["failed quota: q: must specify limits.memory for: c; requests.cpu for: c"]


def test_what_goes_beyond_is_listed_with_all_figures() -> None:
    """In the words of a real server; what is not exceeded is not named."""
    second = pod("b", requests={"cpu": "600m"}, limits={"memory": "600Mi"})
    assert said(FIRST, COMPUTE) == []
    words = (
        "exceeded quota: q, requested: limits.memory=600Mi,requests.cpu=600m, "
        "used: limits.memory=600Mi,requests.cpu=600m, limited: limits.memory=1Gi,requests.cpu=1"
    )
    assert said(second, COMPUTE, FIRST) == [words]


def test_status_has_what_is_used() -> None:
    """A pod that has ended uses nothing."""
    done = {**FIRST, "status": {"phase": "Succeeded"}}
    assert status(COMPUTE, [FIRST, done]) == {
        "hard": {"requests.cpu": "1", "limits.memory": "1Gi", "pods": "2"},
        "used": {"requests.cpu": "600m", "limits.memory": "600Mi", "pods": "1"},
    }


@pytest.mark.parametrize(
    ("scope", "counted", "not_counted"),
    [
        ("BestEffort", pod(), pod(requests={"cpu": "1"})),
        ("NotBestEffort", pod(requests={"cpu": "1"}), pod()),
        ("Terminating", pod(spec={"activeDeadlineSeconds": 5}), pod()),
        ("NotTerminating", pod(), pod(spec={"activeDeadlineSeconds": 5})),
    ],
)
def test_scopes(scope: str, counted: Raw, not_counted: Raw) -> None:
    """A quota counts the pods of its scopes alone."""
    one = quota(scope, hard={"pods": "1"})
    assert said(pod("new", spec=counted["spec"]), one, counted) == [
        "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"
    ]
    assert said(not_counted, one, counted) == []
    assert said(counted, one, not_counted) == []


def test_priority_classes_have_quotas_of_their_own() -> None:
    """By scopeSelector."""
    match = [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
    one = quota(hard={"pods": "0"}, scopeSelector={"matchExpressions": match})
    assert said(pod(spec={"priorityClassName": "high"}), one)
    assert not said(pod(spec={"priorityClassName": "low"}), one)


def test_usage_counts_limits_and_extended_resources() -> None:
    """Limits stand for requests; overhead is added where there is something to add it to."""
    given = pod(spec={"overhead": {"memory": "24Mi", "cpu": "1m"}})
    given["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 2, "memory": "1Gi"}}
    assert spell(usage(given)) == {
        "pods": "1",
        "count/pods": "1",
        "requests.nvidia.com/gpu": "2",
        "requests.memory": "1048Mi",
        "requests.cpu": "1m",
        "limits.nvidia.com/gpu": "2",
        "limits.memory": "1048Mi",
        "memory": "1048Mi",
        "cpu": "1m",
    }


def test_defaults_and_their_annotation() -> None:
    """As recorded: a limit of the author's stands for the request before any default."""
    items = [{"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "500m", "memory": "10Mi"}}]
    given = pod()
    given["spec"]["containers"].append({"name": "d", "image": "x/y:1", "resources": {"limits": {"cpu": "1"}}})
    new = with_defaults(given, [{"spec": {"limits": items}}])
    assert [one["resources"] for one in new["spec"]["containers"]] == [
        {"limits": {"cpu": "500m"}, "requests": {"cpu": "500m", "memory": "10Mi"}},
        {"limits": {"cpu": "1"}, "requests": {"cpu": "1", "memory": "10Mi"}},
    ]
    assert new["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container c; "
        "cpu limit for container c; memory request for container d"
    }
    assert with_defaults(new, [{"spec": {"limits": items}}]) == new


@pytest.mark.parametrize(
    ("item", "resources", "words"),
    [
        (
            {"max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            ["maximum cpu usage per Container is 1, but limit is 2"],
        ),
        ({"max": {"cpu": "1"}}, {}, ["maximum cpu usage per Container is 1.  No limit is specified"]),
        (
            {"min": {"memory": "1Gi"}},
            {"requests": {"memory": "1Mi"}},
            ["minimum memory usage per Container is 1Gi, but request is 1Mi"],
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
            ["cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"],
        ),
        ({"max": {"cpu": "2"}, "min": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, []),
    ],
)
def test_bounds(item: Raw, resources: Raw, words: list[str]) -> None:
    """Each breach has its sentence."""
    ranges = [{"spec": {"limits": [{"type": "Container", **item}]}}]
    assert [problem.what for problem in check_limits(pod(**resources), ranges)] == words
