"""Pod Security says of pods what a real API server says (facts/pod_security.yaml), by the labels of their namespace."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from trainplane.cluster.pod_security import (
    AUDIT,
    ENFORCE,
    WARN,
    Policy,
    label_causes,
    policy,
    told,
    violations,
    warnings_of_pods,
)

Raw = dict[str, Any]
FACTS = yaml.load((Path(__file__).parent / "facts" / "pod_security.yaml").read_text(), Loader=yaml.CSafeLoader)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['policy']} {fact['says'][:40]}")
def test_violations_are_a_real_servers(fact: Raw) -> None:
    assert told(violations(fact["spec"], Policy(*fact["policy"].split(":")))) == fact["says"]


def space(**labels: str) -> Raw:
    """A namespace with labels of pod security."""
    return {"metadata": {"name": "ml", "labels": {f"pod-security.kubernetes.io/{key}": labels[key] for key in labels}}}


def test_a_namespace_that_says_nothing_is_at_the_baseline() -> None:
    assert [str(policy(space(), mode)) for mode in (ENFORCE, WARN, AUDIT)] == [
        "baseline:latest",
        "baseline:latest",
        "privileged:latest",
    ]


def test_each_mode_has_a_level_and_a_version() -> None:
    labels = {"enforce": "privileged", "warn": "restricted", "warn-version": "v1.24", "audit": "baseline"}
    assert [str(policy(space(**labels), mode)) for mode in (ENFORCE, WARN, AUDIT)] == [
        "privileged:latest",
        "restricted:v1.24",
        "baseline:latest",
    ]


def test_a_label_that_is_no_level_is_refused() -> None:
    labels = space(enforce="foo", **{"warn-version": "bar"})["metadata"]["labels"]
    level, version = map(str, label_causes(labels))
    assert level.endswith('/enforce]: Invalid value: "foo": must be one of privileged, baseline, restricted')
    assert version.endswith('/warn-version]: Invalid value: "bar": must be "latest" or "v1.x"')


def test_a_stricter_namespace_names_the_pods_it_would_not_take() -> None:
    pods = [
        {"metadata": {"name": name}, "spec": {"hostNetwork": True, "containers": [{"name": "c"}]}} for name in "abc"
    ]
    found = list(warnings_of_pods(space(enforce="baseline"), space(enforce="privileged"), pods))
    assert found == [
        'existing pods in namespace "ml" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
    ]
    assert list(warnings_of_pods(space(enforce="privileged"), space(enforce="baseline"), pods)) == []
