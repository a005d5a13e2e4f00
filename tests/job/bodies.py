"""Jobs and pods for tests, as an API server would hold them."""

from datetime import datetime
from typing import Any

Raw = dict[str, Any]
LONELY = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.local/train:1"}]}
"""The spec of a pod that nobody controls."""
UNLABELLED = {"batch.kubernetes.io/controller-uid": None}
"""The label taken away by which a Job finds its pods, as a merge patch has it."""


def stamp(when: datetime) -> str:
    """A time as the API writes it."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_status(pod: Raw, step: Raw, now: datetime) -> Raw:
    """What a kubelet says of a pod that a step puts into a phase."""
    phase, at = step["phase"], stamp(now)
    ready = "True" if phase == "Running" else "False"
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": at}]
    if "condition" in step:
        conditions.append({"type": step["condition"], "status": "True", "lastTransitionTime": at})
    if phase == "Running":
        state: Raw = {"running": {"startedAt": at}}
    else:
        code = step.get("exitCode", 1) if phase == "Failed" else 0
        state = {"terminated": {"exitCode": code, "startedAt": at, "finishedAt": at}}
    statuses = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "x",
            "ready": phase == "Running",
            "restartCount": step.get("restarts", 0),
            "state": state,
        }
        for container in pod["spec"]["containers"]
    ]
    return {"phase": phase, "startTime": at, "conditions": conditions, "containerStatuses": statuses}
