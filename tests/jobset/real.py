"""The real cluster as a stage for JobSets: its controllers run, and this stands in for the kubelet."""

from datetime import UTC, datetime

from tests.job.bodies import pod_status
from tests.job.real import RealStage, chosen
from tests.jobset.stories import Raw

PATHS = {"Job": "/apis/batch/v1", "Service": "/api/v1", "PersistentVolumeClaim": "/api/v1"}
MERGE = "application/merge-patch+json"
LABEL = "jobset.sigs.k8s.io/jobset-name"


class RealJobSets(RealStage):
    """A namespace of its own in a real cluster with JobSet."""

    def jobsets(self) -> str:
        """Where JobSets are."""
        return f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{self.namespace}/jobsets"

    def create(self, raw: Raw) -> None:
        """Make the JobSet."""
        self.name = raw["metadata"]["name"]
        made = self.call("POST", self.jobsets(), raw)
        assert made["kind"] == "JobSet", made["message"]

    def step(self, step: Raw) -> None:
        """Let one thing happen."""
        match step["do"]:
            case "patch":
                answer = self.call("PATCH", f"{self.jobsets()}/{self.name}", step["body"], MERGE)
                assert answer["kind"] == "JobSet", answer["message"]
            case "delete":
                path = {"Service": "/api/v1", "Job": "/apis/batch/v1"}[step["kind"]]
                where = f"{path}/namespaces/{self.namespace}/{step['kind'].lower()}s/{step['name']}"
                self.call("DELETE", where, {"propagationPolicy": "Background"})
            case "pods":
                for pod in of_job(chosen(self.pods(), step), step):
                    status = pod_status(pod, step, datetime.now(UTC))  # noqa: TID251 - the real cluster lives by it
                    self.call("PATCH", self.pod(pod) + "/status", {"status": status}, MERGE)
            case _:
                super().step(step)

    def jobset(self) -> Raw | None:
        """The JobSet, if it is there."""
        found = self.call("GET", f"{self.jobsets()}/{self.name}")
        return found if found["kind"] == "JobSet" else None

    def all(self, kind: str) -> list[Raw]:
        """All objects of a kind."""
        return list(self.call("GET", f"{PATHS[kind]}/namespaces/{self.namespace}/{kind.lower()}s")["items"])

    def told(self) -> list[Raw]:
        """All events about the JobSet."""
        events = self.call("GET", f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
        return [event for event in events if event["regarding"]["kind"] == "JobSet"]


def of_job(pods: list[Raw], step: Raw) -> list[Raw]:
    """The pods of the Job that a step names, or all."""
    wanted = step.get("job")
    return [pod for pod in pods if wanted in (None, pod["metadata"]["labels"]["batch.kubernetes.io/job-name"])]
