"""A real API server with our CRDs takes every good example, and refuses by schema and CEL what lint refuses so."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tools.apply_examples import EXAMPLES, send_all


def test_the_cluster_and_lint_say_the_same_of_every_example(real_kubeconfig: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl: it sends the examples as people do")
    crds = ["kubectl", "--kubeconfig", str(real_kubeconfig), "get", "crd", "trainingruntimes.ome.io"]
    if subprocess.run(crds, capture_output=True, check=False).returncode:
        pytest.skip("needs our CRDs on the real cluster: `trainplane crds | kubectl apply -f -`")
    outcomes = send_all(str(real_kubeconfig), sorted(EXAMPLES.rglob("*.yaml")))
    assert [str(outcome) for outcome in outcomes if not outcome.agrees] == []
    assert sum(bool(outcome.refused) for outcome in outcomes) > 10
