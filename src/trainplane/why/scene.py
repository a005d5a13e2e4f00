"""Scene: a TrainJob with all that was made for it, gathered once for everyone who looks for a cause."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.jobset import JOBSET_NAME, REPLICATED_JOB_NAME
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.reconcile.view import Ref, View

PATIENCE = timedelta(seconds=30)
"""How long something may take before its absence is worth a word."""


@dataclass(frozen=True)
class Scene:
    """A TrainJob, the world around it, and the time."""

    job: Raw
    view: View
    now: datetime
    notes: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What one check has worked out and the next will want to know, by name."""

    @property
    def name(self) -> str:
        """The TrainJob's name."""
        return str(self.job["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The TrainJob's namespace."""
        return str(self.job["metadata"].get("namespace", ""))

    @cached_property
    def jobset(self) -> Raw | None:
        """The TrainJob's JobSet."""
        found = self.view.get(Ref("jobset.x-k8s.io", "JobSet", self.namespace, self.name))
        mine = found is not None and any(
            one.get("uid") == uid_of(self.job) for one in found["metadata"].get("ownerReferences") or ()
        )
        return found if mine else None

    @cached_property
    def jobs(self) -> tuple[Raw, ...]:
        """The Jobs of the JobSet that are not on their way out, by name."""
        found = self.view.controlled_by(uid_of(self.jobset)) if self.jobset else ()
        return by_name(raw for raw in found if raw["kind"] == "Job" and not raw["metadata"].get("deletionTimestamp"))

    @cached_property
    def all_pods(self) -> tuple[Raw, ...]:
        """Every pod of the Jobs, by name."""
        return by_name(raw for job in self.jobs for raw in self.view.controlled_by(uid_of(job)) if raw["kind"] == "Pod")

    @cached_property
    def pods(self) -> tuple[Raw, ...]:
        """The pods that have not ended."""
        return tuple(pod for pod in self.all_pods if look(pod, "status", "phase") not in (SUCCEEDED, FAILED))

    @cached_property
    def waiting(self) -> tuple[Raw, ...]:
        """The pods that have no node yet."""
        return tuple(
            pod
            for pod in self.pods
            if not look(pod, "spec", "nodeName") and not pod["metadata"].get("deletionTimestamp")
        )

    @cached_property
    def replicated_jobs(self) -> tuple[Raw, ...]:
        """The replicated jobs of the JobSet, in their order."""
        return tuple(look(self.jobset, "spec", "replicatedJobs") or ())

    @cached_property
    def failed(self) -> Raw | None:
        """The TrainJob's Failed condition, where it is True."""
        return true_condition(self.job, "Failed")

    @property
    def finished(self) -> bool:
        """Whether the TrainJob has ended, either way."""
        return self.failed is not None or true_condition(self.job, "Complete") is not None

    @property
    def suspended(self) -> bool:
        """Whether the TrainJob is not to run for now."""
        return bool(look(self.job, "spec", "suspend"))

    def events(self, raw: Raw, *reasons: str) -> list[Raw]:
        """The warnings about an object that have one of these reasons, the latest last."""
        found = [one for one in self.view.events_about(uid_of(raw)) if one.get("reason") in reasons]
        return sorted(found, key=lambda one: seen(one) or "")

    def older(self, raw: Raw, than: timedelta = PATIENCE) -> bool:
        """Whether an object has been there for longer than it should take to be dealt with."""
        born = time_of(raw["metadata"].get("creationTimestamp"))
        return born is not None and self.now - born > than


def stage_of(raw: Raw) -> str:
    """The replicated job that a Job or pod belongs to."""
    return str(look(raw, "metadata", "labels", REPLICATED_JOB_NAME) or "")


def stage(raw: Raw) -> str:
    """The stage that a Job or pod belongs to, in words."""
    name = stage_of(raw)
    return f"stage {name}" if name else f"the {raw['kind']} {raw['metadata']['name']}"


def jobset_of(raw: Raw) -> str:
    """The JobSet, and so the TrainJob, that a Job or pod belongs to."""
    return str(look(raw, "metadata", "labels", JOBSET_NAME) or "")


def condition(raw: Mapping[str, Any] | None, type_: str) -> Raw | None:
    """An object's condition of this type."""
    return next((one for one in look(raw, "status", "conditions") or () if one.get("type") == type_), None)


def true_condition(raw: Mapping[str, Any] | None, type_: str) -> Raw | None:
    """An object's condition of this type, where it is True."""
    found = condition(raw, type_)
    return found if found is not None and found.get("status") == "True" else None


def containers(pod: Raw) -> Iterator[tuple[Raw, bool]]:
    """The statuses of a pod's containers, and whether each runs before the others."""
    for status in look(pod, "status", "initContainerStatuses") or ():
        yield status, True
    for status in look(pod, "status", "containerStatuses") or ():
        yield status, False


def ended(status: Raw) -> Raw | None:
    """How a container last ended, now or before it was started again."""
    found: Raw | None = look(status, "state", "terminated") or look(status, "lastState", "terminated")
    return found


def by_name(objects: Iterable[Raw]) -> tuple[Raw, ...]:
    """Objects in the order of their names."""
    return tuple(sorted(objects, key=lambda raw: str(raw["metadata"]["name"])))


def uid_of(raw: Raw | None) -> str:
    """The uid of an object."""
    return str(look(raw, "metadata", "uid") or "")


def seen(event: Raw) -> str | None:
    """When an event was last seen."""
    found = look(event, "series", "lastObservedTime") or event.get("eventTime") or event.get("deprecatedLastTimestamp")
    return str(found) if found else None


def began(event: Raw) -> datetime | None:
    """When what an event tells of began: it may have been seen many times since."""
    found = event.get("eventTime") or event.get("deprecatedFirstTimestamp")
    return time_of(found or look(event, "metadata", "creationTimestamp") or seen(event))


def time_of(text: str | None) -> datetime | None:
    """A time of the API, where there is one."""
    return datetime.fromisoformat(text) if text else None
