"""Whether a job that may begin anew has a place where its checkpoints outlive its pods."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.loose import integer_at, object_at, objects_at, text_at
from trainplane.api.meta import Raw
from trainplane.api.problem import Path, Problem
from trainplane.api.roles import Role
from trainplane.trainjob import pair_rules
from trainplane.trainjob.misplaced import JOBS, POD
from trainplane.trainjob.plan import Plan
from trainplane.trainjob.validate import POLICY

FAILURE: Path = (*JOBS[:-1], "failurePolicy", "maxRestarts")
ELASTIC: Path = (*POLICY, "torch", "elasticPolicy")
GOES_WITH_THE_POD = frozenset(
    ("emptyDir", "ephemeral", "configMap", "secret", "projected", "downwardAPI", "image", "gitRepo")
)
"""The kinds of volumes in which nothing that a trainer writes outlives its pod."""
OF_THE_KERNEL = ("/dev", "/proc", "/sys")
_PLACE = re.compile(r"TRAINPLANE_OUTPUT|/workspace/output|\b(?:s3|gs|gcs|az|abfss?|wasbs?|hdfs|oci|nfs|hf)://")
"""Words of a command that name a place outside the pod: the folder that Trainplane keeps, or a store of objects."""


def begins_anew(runtime: Mapping[str, Any]) -> tuple[Path, str] | None:
    """Where a runtime says that its jobs restart or change their size, and in which words; None where it does not."""
    if restarts := integer_at(runtime, *FAILURE):
        return FAILURE, f"the job may be restarted {restarts} time{'s' * (restarts != 1)}"
    low, high = integer_at(runtime, *ELASTIC, "minNodes"), integer_at(runtime, *ELASTIC, "maxNodes")
    if low is not None and high is not None and low < high:
        return ELASTIC, f"the workers begin anew whenever the job grows or shrinks between {low} and {high} nodes"
    if restarts := integer_at(runtime, *ELASTIC, "maxRestarts"):
        return (*ELASTIC, "maxRestarts"), f"the workers may be restarted {restarts} time{'s' * (restarts != 1)}"
    return None


def checkpoints(plan: Plan) -> Iterator[Problem]:
    """A warning where a job begins anew and its trainer can write nowhere that is still there then."""
    said = begins_anew(plan.raw_runtime)
    roles = [role for role in (plan.roles.trainer, plan.roles.launcher) if role and role.container]
    if (
        said is None
        or not roles
        or any(_is_kept(plan.jobset, plan.replicated_jobs[role.index], role) for role in roles)
    ):
        return
    path, why = said
    what = f"{why}, and the trainer has no place that outlives its pods"
    todo = "mount a claim where checkpoints are written, or have the program write them to $TRAINPLANE_OUTPUT"
    yield Problem(pair_rules.NO_CHECKPOINTS, path, what, todo)


def _is_kept(jobset: Raw, job: Raw, role: Role) -> bool:
    """Whether the role's container mounts something that stays, or names a place that does."""
    kept = {text_at(volume, "name") for _, volume in objects_at(job, *POD, "volumes") if _stays(volume)}
    for _, policy in objects_at(jobset, "spec", "volumeClaimPolicies"):
        kept |= {text_at(claim, "metadata", "name") for _, claim in objects_at(policy, "templates")}
    container = object_at(job, *POD, "containers", role.container.index if role.container else 0)
    for _, mount in objects_at(container, "volumeMounts"):
        if text_at(mount, "name") in kept and mount.get("readOnly") is not True:
            return True
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    words += [variable.get("value") or "" for _, variable in objects_at(container, "env")]
    return any(_PLACE.search(str(word)) for word in words)


def _stays(volume: Mapping[str, Any]) -> bool:
    folder = text_at(volume, "hostPath", "path")
    if folder.startswith(OF_THE_KERNEL):
        return False
    return bool(volume.keys() - {"name"} - GOES_WITH_THE_POD)
