"""CustomResourceDefinitions, applied by the real kubectl to a cluster whose kinds are fixed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.kubectls import KUBECTL, MISSING, Kubectl, serving

pytestmark = pytest.mark.skipif(not KUBECTL, reason=MISSING)


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    with serving(tmp_path) as run:
        yield run


def test_the_definitions_of_what_is_served_are_applied_again_in_silence(kubectl: Kubectl) -> None:
    folder = Path(__file__).parents[2] / "deploy/crds"
    for word in ("configured", "unchanged", "unchanged"):
        done = kubectl("apply -f", str(folder))
        assert done.stderr == ""
        assert {line.split()[-1] for line in done.stdout.splitlines()} == {word}
    for _ in range(2):
        assert kubectl("apply --server-side -f", str(folder)).stderr == ""
    assert kubectl("diff -f", str(folder)).stdout == ""


def test_what_was_applied_is_known_after_a_restart(tmp_path: Path) -> None:
    file = str(Path(__file__).parents[2] / "deploy/crds/trainer.kubeflow.org_trainjobs.yaml")
    for word in ("configured", "unchanged"):
        with serving(tmp_path) as kubectl:
            assert kubectl("apply -f", file).stdout.split()[-1] == word


def test_a_definition_of_what_is_not_served_is_refused_by_name(kubectl: Kubectl, tmp_path: Path) -> None:
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"kind": "Foo", "plural": "foos"}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    raw = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    file = tmp_path / "foo.json"
    file.write_text(json.dumps({**raw, "metadata": {"name": "foos.example.com"}}), encoding="utf-8")
    for way in ("apply -f", "apply --server-side -f", "create -f"):
        assert '"foos.example.com" is forbidden' in kubectl(way, str(file), code=1).stderr
