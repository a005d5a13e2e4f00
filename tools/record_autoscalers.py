"""Write down what Kubernetes' own autoscaler controller makes of the cases of tests/conformance/autoscalers.

KUBECONFIG=... python -m tools.record_autoscalers [CASE...]

The cluster must not be in use: it needs kube-controller-manager with `--horizontal-pod-autoscaler-sync-period=2s`, our
CustomResourceDefinitions, no scheduler and no kubelet. Figures of pods are served by a CustomResourceDefinition that
has the path and the shape of the metrics API, so that no metrics server is needed.
"""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.autoscaling import CASES, NAME, Raw, objects, seen
from trainplane.control import clock

METRICS: Raw = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "pods.metrics.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for recording"},
    },
    "spec": {
        "group": "metrics.k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "pods", "singular": "pod", "kind": "PodMetrics", "listKind": "PodMetricsList"},
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
PATHS = {
    "Pod": "api/v1/namespaces/{}/pods",
    "PodMetrics": "apis/metrics.k8s.io/v1beta1/namespaces/{}/pods",
    "TrainJob": "apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainjobs",
    "HorizontalPodAutoscaler": "apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
}
AT_ONCE = 6


def kubectl(*words: str, body: Raw | None = None) -> Any:
    """What the server answers."""
    text = json.dumps(body) if body is not None else None
    done = subprocess.run(["kubectl", *words], input=text, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout


def put(raw: Raw, namespace: str, there: set[str]) -> None:
    """Make an object as it is said, its status included, or change it."""
    where, name = "/" + PATHS[raw["kind"]].format(namespace), raw["metadata"]["name"]
    key = f"{raw['kind']}/{name}"
    if key not in there:
        kubectl("create", "--raw", where, "-f", "-", body=raw)
        there.add(key)
    elif raw["kind"] == "PodMetrics":
        version = kubectl("get", "--raw", f"{where}/{name}")["metadata"]["resourceVersion"]
        body = {**raw, "metadata": {**raw["metadata"], "resourceVersion": version}}
        kubectl("replace", "--raw", f"{where}/{name}", "-f", "-", body=body)
    if raw.get("status"):
        now = kubectl("get", "--raw", f"{where}/{name}")
        kubectl("replace", "--raw", f"{where}/{name}/status", "-f", "-", body={**now, "status": raw["status"]})
    if raw["metadata"].get("deletionTimestamp"):
        kubectl("delete", "--raw", f"{where}/{name}")


def record(path: Path) -> None:
    """Play one case and write down what was seen after each of its steps."""
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    namespace = f"case-{path.stem}"
    kubectl("create", "namespace", namespace)
    try:
        while not kubectl("get", "serviceaccounts", "-n", namespace, "-o", "json")["items"]:
            time.sleep(0.2)
        there: set[str] = set()
        recorded: list[Raw] = []
        for number in range(len(case["steps"])):
            size = recorded[-1]["size"] if recorded else None
            for raw in objects(case, number, now=clock.now(), namespace=namespace, size=size):
                put(raw, namespace, there)
            time.sleep(case["steps"][number]["wait"])
            jobs = kubectl("get", "trainjobs", "-n", namespace, "-o", "json")["items"]
            autoscaler = kubectl("get", "hpa", NAME, "-n", namespace, "-o", "json")
            events = kubectl("get", "events", "-n", namespace, "-o", "json")["items"]
            own = [one for one in events if one["involvedObject"]["name"] == NAME]
            said = [(one["reason"], one["message"]) for one in sorted(own, key=lambda one: one["firstTimestamp"])]
            recorded.append(seen(jobs, autoscaler, said))
    finally:
        kubectl("delete", "namespace", namespace, "--wait=false")
    text = path.read_text(encoding="utf-8").partition("recorded:\n")[0]
    told = yaml.safe_dump({"recorded": recorded}, sort_keys=False, allow_unicode=True, width=120)
    path.write_text(text.rstrip("\n") + "\n" + told, encoding="utf-8")


def main(names: list[str]) -> None:
    """Record the cases of these names, or all."""
    kubectl("apply", "-f", "-", body=METRICS)
    kubectl("wait", "--for=condition=Established", "crd/pods.metrics.k8s.io", "--timeout=30s")
    chosen = [path for path in CASES if not names or path.stem in names]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(record, chosen))


if __name__ == "__main__":
    main(sys.argv[1:])
