"""The real cluster as a stage: its Job controller runs, and this stands in for the kubelet."""

import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tests.job.bodies import LONELY, UNLABELLED, pod_status
from tests.job.stories import Raw


class RealStage:
    """A namespace of its own in a real cluster."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server, self.token = cluster["server"], user["token"]
        self.tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self.namespace = namespace
        self.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Raw:
        """Ask the server; its answer, a refusal too."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind, "Accept": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, method=method, headers=headers, data=data)
        try:
            with urllib.request.urlopen(request, timeout=60, context=self.tls) as answer:
                found: Raw = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            found = json.loads(error.read())
        return found

    def close(self) -> None:
        """Take the namespace away."""
        for pod in self.pods():
            self.call("PATCH", self.pod(pod), {"metadata": {"finalizers": None}}, "application/merge-patch+json")
            self.call("DELETE", self.pod(pod), {"gracePeriodSeconds": 0})
        self.call("DELETE", f"/api/v1/namespaces/{self.namespace}")

    def jobs(self) -> str:
        """Where Jobs are."""
        return f"/apis/batch/v1/namespaces/{self.namespace}/jobs"

    def pod(self, pod: Raw) -> str:
        """Where a pod is."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}"

    def pods(self) -> list[Raw]:
        """All pods."""
        return list(self.call("GET", f"/api/v1/namespaces/{self.namespace}/pods")["items"])

    def create(self, job: Raw) -> None:
        """Make the Job."""
        self.name = job["metadata"]["name"]
        made = self.call("POST", self.jobs(), job)
        assert made["kind"] == "Job", made["message"]

    def step(self, step: Raw) -> None:
        """Let one thing happen."""
        merge = "application/merge-patch+json"
        match step["do"]:
            case "wait":
                time.sleep(step["seconds"])
            case "patch":
                answer = self.call("PATCH", f"{self.jobs()}/{self.name}", step["body"], merge)
                assert answer["kind"] == "Job", answer["message"]
            case "delete-job":
                self.call("DELETE", f"{self.jobs()}/{self.name}", {"propagationPolicy": "Background"})
            case "delete-pods":
                for pod in self.pods():
                    self.call("DELETE", self.pod(pod))
            case "create-pod":
                pod = {"metadata": {"name": "job-lonely", "labels": step["labels"]}, "spec": LONELY}
                self.call("POST", f"/api/v1/namespaces/{self.namespace}/pods", pod)
            case "unlabel-pods":
                for pod in chosen(self.pods(), step):
                    self.call("PATCH", self.pod(pod), {"metadata": {"labels": UNLABELLED}}, merge)
            case "pods":
                for pod in chosen(self.pods(), step):
                    status = pod_status(pod, step, datetime.now(UTC))  # noqa: TID251 - the real cluster lives by it
                    self.call("PATCH", self.pod(pod) + "/status", {"status": status}, merge)
            case "gone":
                for pod in self.pods():
                    if "deletionTimestamp" in pod["metadata"]:
                        status = pod_status(pod, {"phase": "Failed"}, datetime.now(UTC))  # noqa: TID251
                        self.call("PATCH", self.pod(pod) + "/status", {"status": status}, merge)
                        self.call("DELETE", self.pod(pod), {"gracePeriodSeconds": 0})

    def settle(self, seconds: float) -> None:
        """Let everything come to rest."""
        time.sleep(seconds)

    def seen(self) -> tuple[Raw | None, list[Raw], list[Raw]]:
        """The Job if it is there, its pods, and all events about it."""
        job = self.call("GET", f"{self.jobs()}/{self.name}")
        events = self.call("GET", f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
        about = [e for e in events if e["regarding"]["kind"] == "Job"]
        return (job if job["kind"] == "Job" else None), self.pods(), about


def chosen(pods: list[Raw], step: Raw) -> list[Raw]:
    """The live pods that a step is about: those of some indexes, the first few, or all."""
    index = "batch.kubernetes.io/job-completion-index"
    alive = [
        pod
        for pod in pods
        if pod["status"].get("phase") not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]
    ]
    if "indexes" in step:
        return [pod for pod in alive if int(pod["metadata"]["annotations"][index]) in step["indexes"]]
    return sorted(alive, key=lambda pod: str(pod["metadata"]["name"]))[: step.get("first")]
