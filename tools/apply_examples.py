"""Sends every example to a real cluster that has our CRDs, and tells what became of it there and what lint says.

KUBECONFIG=... python -m tools.apply_examples
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from tools import ROOT
from trainplane.api.kinds import CRD_KINDS, kind_of
from trainplane.api.problem import Severity
from trainplane.lint import lint

EXAMPLES = ROOT / "examples"
NAMESPACE = "trainplane-examples"
LABEL = "trainplane.example/purpose"

BY_SCHEMA = frozenset(f"TP{number:03}" for number in (*range(1, 22), 50, 51, *range(53, 62), 102, 152))
"""The rules that text, schema and CEL enforce by themselves; the others need our admission, or are advice."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a file got from lint, and what from the cluster."""

    path: Path
    errors: tuple[str, ...]
    refused: str
    """The cluster's words, or "" where it took every document."""

    @property
    def expected(self) -> str:
        """`taken`, `refused`, or `either` where only our admission can refuse."""
        if not self.errors:
            return "taken"
        return "refused" if BY_SCHEMA.intersection(self.errors) else "either"

    @property
    def agrees(self) -> bool:
        """Whether the cluster and lint say the same."""
        return self.expected in ("either", "refused" if self.refused else "taken")

    def __str__(self) -> str:
        """One line of the table."""
        cluster = f"refused: {self.refused}" if self.refused else "taken"
        mark = "ok " if self.agrees else "NOT"
        return f"{mark}  {self.path.relative_to(EXAMPLES)!s:<48} {' '.join(self.errors) or '-':<20} {cluster}"


def send_all(kubeconfig: str, files: list[Path]) -> list[Outcome]:
    """Create everything in a namespace of our own, and take it away again."""
    kubectl = _Kubectl(kubeconfig)
    kubectl.run("create", "namespace", NAMESPACE)
    try:
        return [send(kubectl, path) for path in files]
    finally:
        kubectl.run("delete", "namespace", NAMESPACE, "--wait=false")
        for resource in sorted({kind.resource for kind in CRD_KINDS if not kind.namespaced} | {"clusterroles"}):
            kubectl.run("delete", resource, "-l", LABEL, "--wait=false")


def send(kubectl: "_Kubectl", path: Path) -> Outcome:
    """Send one file, document by document; dialect TrainJobs go through `trainplane convert`, as users send them."""
    found = lint([(path.name, path.read_bytes())]).located
    errors = tuple(dict.fromkeys(each.problem.rule.id for each in found if each.severity is Severity.ERROR))
    text = path.read_text(encoding="utf-8")
    refusals = [
        refusal for document in re.split(r"^---$", text, flags=re.MULTILINE) if (refusal := _one(kubectl, document))
    ]
    return Outcome(path, errors, refusals[0] if refusals else "")


def _one(kubectl: "_Kubectl", text: str) -> str:
    try:
        obj = yaml.safe_load(text)
    except yaml.YAMLError:
        return kubectl.create(text)
    known = kind_of(str(obj.get("apiVersion")), str(obj.get("kind")))
    if known is not None and known not in CRD_KINDS and known.kind in ("TrainJob", *_RUNTIMES):
        done = subprocess.run(
            [sys.executable, "-m", "trainplane", "convert", "-"],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            return f"by convert: {done.stderr.strip()}"
        obj = yaml.safe_load(done.stdout)
        known = kind_of(obj["apiVersion"], obj["kind"])
    if not isinstance(obj.get("metadata"), dict):
        # Without its metadata the document goes as it is: there is nowhere to put the namespace.
        return kubectl.create(text)
    metadata = obj["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), LABEL: "example"}
    if known is None or known.namespaced:
        metadata["namespace"] = NAMESPACE
    # Many mistakes share their names; the name is not what is tried here.
    metadata["name"] = (
        f"{metadata['name'][:40]}-{kubectl.next()}" if known and known.kind != "TrainJob" else metadata["name"]
    )
    return kubectl.create(json.dumps(obj))


_RUNTIMES = ("TrainingRuntime", "ClusterTrainingRuntime")


class _Kubectl:
    def __init__(self, kubeconfig: str) -> None:
        self._environment = {**os.environ, "KUBECONFIG": kubeconfig}
        self._number = 0

    def next(self) -> int:
        """A number that was not used before."""
        self._number += 1
        return self._number

    def run(self, *args: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run kubectl."""
        return subprocess.run(
            ["kubectl", *args],
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
            env=self._environment,
            check=False,
        )

    def create(self, text: str) -> str:
        """Create what the text says; "" when it was taken, else why not."""
        done = self.run("create", "--validate=strict", "-f", "-", given=text)
        return " ".join(done.stderr.split()) if done.returncode else ""


def main() -> int:
    """Print the table; the exit code says whether lint and the cluster agree."""
    kubeconfig = os.environ.get("KUBECONFIG", "")
    if not kubeconfig:
        print("KUBECONFIG must name a cluster that has the CRDs of deploy/crds", file=sys.stderr)
        return 2
    outcomes = send_all(kubeconfig, sorted(EXAMPLES.rglob("*.yaml")))
    for outcome in outcomes:
        print(str(outcome)[:200])
    against = sum(not outcome.agrees for outcome in outcomes)
    print(f"{len(outcomes)} files, {against} on which lint and the cluster differ")
    return 1 if against else 0


if __name__ == "__main__":
    sys.exit(main())
