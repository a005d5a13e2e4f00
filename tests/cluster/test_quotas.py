"""Quotas and limit ranges: what is counted, what is filled in, and the words of a refusal as a real server has them."""

from typing import Any

import pytest

from trainplane.api.kinds import KINDS
from trainplane.api.quantity import spell
from trainplane.api.quota_use import in_scope, lacking, object_use, pod_use
from trainplane.cluster.limit_ranges import breaches, limit_range_causes, with_defaults

Raw = dict[str, Any]


def pod(name: str = "p", *, spec: Raw | None = None, **resources: Raw) -> Raw:
    """A pod of one container with these resources."""
    body = {"containers": [{"name": "c", "image": "x/y:1", "resources": resources}], **(spec or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml"}, "spec": body}


def test_containers_must_say_what_is_limited() -> None:
    """In the words of a real server."""
    hard = ["requests.cpu", "limits.memory", "pods", "requests.nvidia.com/gpu"]
    assert lacking(pod()["spec"], hard) == "limits.memory for: c; requests.cpu for: c"


def test_a_pod_that_has_ended_uses_nothing() -> None:
    assert pod_use({**pod(requests={"cpu": "1"}), "status": {"phase": "Succeeded"}}) == {}


@pytest.mark.parametrize(
    ("scope", "counted", "not_counted"),
    [
        ("BestEffort", pod(), pod(requests={"cpu": "1"})),
        ("NotBestEffort", pod(requests={"cpu": "1"}), pod()),
        ("Terminating", pod(spec={"activeDeadlineSeconds": 5}), pod()),
        ("NotTerminating", pod(), pod(spec={"activeDeadlineSeconds": 5})),
    ],
)
def test_a_quota_counts_the_pods_of_its_scopes_alone(scope: str, counted: Raw, not_counted: Raw) -> None:
    assert in_scope(counted, {"scopes": [scope]})
    assert not in_scope(not_counted, {"scopes": [scope]})


def test_priority_classes_have_quotas_of_their_own() -> None:
    match = [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
    spec = {"scopeSelector": {"matchExpressions": match}}
    assert in_scope(pod(spec={"priorityClassName": "high"}), spec)
    assert not in_scope(pod(spec={"priorityClassName": "low"}), spec)


def test_usage_counts_limits_and_extended_resources() -> None:
    """Limits stand for requests; overhead is added where there is something to add it to."""
    given = pod(spec={"overhead": {"memory": "24Mi", "cpu": "1m"}})
    given["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 2, "memory": "1Gi"}}
    assert spell(pod_use(given)) == {
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


def test_services_and_claims_count_what_they_take() -> None:
    rows = {row.kind: row for row in KINDS}
    service = {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}, {"port": 81}]}}
    assert spell(object_use(service, rows["Service"])) == {
        "count/services": "1",
        "services": "1",
        "services.loadbalancers": "1",
        "services.nodeports": "2",
    }
    claim = {"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}}
    used = spell(object_use(claim, rows["PersistentVolumeClaim"]))
    assert used["fast.storageclass.storage.k8s.io/requests.storage"] == used["requests.storage"] == "2Gi"


def test_defaults_and_their_annotation() -> None:
    """As recorded: requests and limits of containers, then of init containers."""
    items = [{"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "500m", "memory": "10Mi"}}]
    given = pod(spec={"initContainers": [{"name": "i", "image": "x", "resources": {"limits": {"cpu": "1"}}}]})
    new = with_defaults(given, [{"spec": {"limits": items}}])
    resources = [one["resources"] for kind in ("containers", "initContainers") for one in new["spec"][kind]]
    assert resources == [
        {"limits": {"cpu": "500m"}, "requests": {"cpu": "500m", "memory": "10Mi"}},
        {"limits": {"cpu": "1"}, "requests": {"cpu": "500m", "memory": "10Mi"}},
    ]
    assert new["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container c; "
        "cpu limit for container c; cpu, memory request for init container i"
    }
    assert with_defaults(new, [{"spec": {"limits": items}}]) == new


@pytest.mark.parametrize(
    ("item", "resources", "words"),
    [
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, ["maximum cpu usage per Container is 1, but limit is 2"]),
        ({"max": {"cpu": "1"}}, {}, ["maximum cpu usage per Container is 1.  No limit is specified"]),
        (
            {"min": {"memory": "1Gi"}},
            {"requests": {"memory": "1Mi"}},
            ["minimum memory usage per Container is 1Gi, but request is 1Mi"],
        ),
        (
            {"maxLimitRequestRatio": {"memory": "2"}},
            {"requests": {"memory": "100Mi"}, "limits": {"memory": "1Gi"}},
            ["memory max limit to request ratio per Container is 2, but provided ratio is 10.240000"],
        ),
        ({"max": {"cpu": "2"}, "min": {"cpu": "1"}}, {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, []),
    ],
)
def test_each_breach_has_its_sentence(item: Raw, resources: Raw, words: list[str]) -> None:
    ranges = [{"spec": {"limits": [{"type": "Container", **item}]}}]
    assert breaches(pod(**resources), ranges) == words


def test_a_pod_is_bounded_as_a_whole_and_a_claim_by_its_size() -> None:
    ranges = [
        {
            "spec": {
                "limits": [
                    {"type": "Pod", "max": {"cpu": "3"}},
                    {"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}},
                ]
            }
        }
    ]
    two = [{"name": name, "resources": {"limits": {"cpu": "2"}}} for name in "ab"]
    assert breaches(pod(spec={"containers": two}), ranges) == ["maximum cpu usage per Pod is 3, but limit is 4"]
    claim = {"kind": "PersistentVolumeClaim", "spec": {"resources": {"requests": {"storage": "10Gi"}}}}
    assert breaches(claim, ranges) == ["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 10Gi"]


def test_what_is_wrong_with_a_limit_range() -> None:
    """In the words of a real server."""
    item = {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}, "default": {"cpu": "3"}}
    limits = [{**item, "defaultRequest": {"cpu": "4"}}, {"type": "Foo"}, {"type": "Pod", "default": {"cpu": "3"}}]
    limits += [{"type": "Container", "maxLimitRequestRatio": {"cpu": "0.5"}}, {"type": "PersistentVolumeClaim"}]
    found = limit_range_causes({"spec": {"limits": limits}}, None, "")
    assert [str(cause).partition("spec.limits")[2] for cause in found] == [
        '[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
        '[0].defaultRequest[cpu]: Invalid value: "4": default request value 4 is greater than max value 1',
        '[0].defaultRequest[cpu]: Invalid value: "4": default request value 4 is greater than default limit value 3',
        '[0].default[cpu]: Invalid value: "1": default value 3 is greater than max value 1',
        '[1].type: Invalid value: "Foo": must be a standard limit type or fully qualified',
        "[2].default: Forbidden: may not be specified when `type` is 'Pod'",
        '[3].type: Duplicate value: "Container"',
        '[3].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
        "[4].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
    ]
