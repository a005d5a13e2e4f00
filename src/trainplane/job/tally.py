"""Tally: the pods of a Job sorted by how they are, and counted once each.

A finished pod keeps its tracking finalizer, and so cannot vanish, until the status *as read back* accounts for it. So
no order of stale views, refused writes and restarts can count a pod twice or lose it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from trainplane.api.batch import (
    COMPLETION_INDEX,
    FAILURE_TARGET,
    INDEX_FAILURE_COUNT,
    INDEX_IGNORED_FAILURE_COUNT,
    SUCCESS_CRITERIA_MET,
    TRACKING_FINALIZER,
)
from trainplane.api.meta import Raw
from trainplane.job import indexes
from trainplane.job.policy import COUNT, FAIL_INDEX, IGNORE, Match, judged
from trainplane.job.status import target

MOST_UNCOUNTED = 500
"""How many finished pods a status may list before their finalizers must go."""
TERMINAL = ("Succeeded", "Failed")
REMOVED = "trainplane.dev/removed-by-job"
"""An annotation of pods that the Job itself sends away, because it is suspended or wants fewer: they did not fail."""


def phase(pod: Raw) -> str:
    """The phase of a pod; one that nobody has looked at is Pending."""
    return str((pod.get("status") or {}).get("phase") or "Pending")


def is_deleting(pod: Raw) -> bool:
    """Whether the pod is on its way out."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_tracked(pod: Raw) -> bool:
    """Whether the pod still waits to be accounted for."""
    return TRACKING_FINALIZER in (pod["metadata"].get("finalizers") or ())


def is_ready(pod: Raw) -> bool:
    """Whether the pod's Ready condition is True."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def is_removed(pod: Raw) -> bool:
    """Whether the Job itself has sent the pod away."""
    return REMOVED in (pod["metadata"].get("annotations") or {})


def index_of(pod: Raw) -> int | None:
    """The pod's completion index; None where it has none, or one that is no number."""
    text = str((pod["metadata"].get("annotations") or {}).get(COMPLETION_INDEX, ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def failures_before(pod: Raw) -> tuple[int, int]:
    """How often the pod's index had failed before it, counted and ignored."""
    annotations = pod["metadata"].get("annotations") or {}
    counts = (str(annotations.get(key, "0")) for key in (INDEX_FAILURE_COUNT, INDEX_IGNORED_FAILURE_COUNT))
    counted, ignored = (int(text) if text.isdigit() else 0 for text in counts)
    return counted, ignored


def uid(pod: Raw) -> str:
    """The pod's uid."""
    return str(pod["metadata"].get("uid", ""))


@dataclass(frozen=True)
class Tally:
    """What one look at a Job and its pods finds."""

    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    pods: tuple[Raw, ...]
    waits: bool = False
    """Whether the Job has failed, and its other pods are given a moment to end by themselves: they count as before."""

    @property
    def target(self) -> str:
        """What the Job has been found to come to, where its pods go for it."""
        return "" if self.waits else target(self.status)

    @property
    def indexed(self) -> bool:
        """Whether each pod has a completion index."""
        return self.spec.get("completionMode") == "Indexed"

    @property
    def per_index(self) -> bool:
        """Whether each index has a backoff limit of its own."""
        return self.spec.get("backoffLimitPerIndex") is not None

    @property
    def replaces_failed_only(self) -> bool:
        """Whether a pod on its way out is replaced, and counted, only when it has ended."""
        return self.spec.get("podReplacementPolicy") == "Failed" or self.spec.get("podFailurePolicy") is not None

    @cached_property
    def active(self) -> tuple[Raw, ...]:
        """Pods that are neither finished nor on their way out."""
        return tuple(pod for pod in self._unfinished if not is_deleting(pod) and not is_removed(pod))

    @cached_property
    def terminating(self) -> tuple[Raw, ...]:
        """Pods that are on their way out and have not ended."""
        return tuple(pod for pod in self._unfinished if is_deleting(pod) or is_removed(pod))

    @cached_property
    def leaving(self) -> tuple[Raw, ...]:
        """Pods that the Job has sent away and that are yet to be deleted: nobody counts them, so they cannot stay."""
        return tuple(pod for pod in self._unfinished if is_removed(pod) and not is_deleting(pod))

    @cached_property
    def _unfinished(self) -> tuple[Raw, ...]:
        return tuple(pod for pod in self.pods if phase(pod) not in TERMINAL)

    def is_failed(self, pod: Raw) -> bool:
        """Whether the pod counts as failed: it has, or it is on its way out and is not waited for."""
        if phase(pod) == "Failed":
            return True
        return is_deleting(pod) and phase(pod) != "Succeeded" and not self.replaces_failed_only

    def is_valid(self, pod: Raw) -> bool:
        """Whether the pod is one of those that the Job asks for, by its index."""
        if not self.indexed:
            return True
        index = index_of(pod)
        return index is not None and index < self.spec["completions"]

    def judged(self, pod: Raw) -> Match:
        """What the pod does to the Job, if it has failed."""
        return judged(self.spec.get("podFailurePolicy"), pod)

    @cached_property
    def uncounted(self) -> Mapping[str, frozenset[str]]:
        """The uids that the status lists as finished and not yet counted."""
        listed = self.status.get("uncountedTerminatedPods") or {}
        return {key: frozenset(listed.get(key) or ()) for key in ("succeeded", "failed")}

    @cached_property
    def tracked(self) -> tuple[Raw, ...]:
        """Pods that wait to be accounted for."""
        return tuple(pod for pod in self.pods if is_tracked(pod))

    @cached_property
    def completed(self) -> frozenset[int]:
        """The indexes that have succeeded; what was done beyond the present size is forgotten."""
        if not self.indexed:
            return frozenset()
        before = indexes.parse(self.status.get("completedIndexes") or "", below=self.spec["completions"])
        return before | {index for pod in self.new_succeeded if (index := index_of(pod)) is not None}

    @cached_property
    def new_succeeded(self) -> tuple[Raw, ...]:
        """Pods that have succeeded since the status was written."""
        known = self.uncounted["succeeded"] | self.uncounted["failed"]
        return tuple(
            pod for pod in self.tracked if phase(pod) == "Succeeded" and uid(pod) not in known and self.is_valid(pod)
        )

    @cached_property
    def new_failed(self) -> tuple[Raw, ...]:
        """Pods that have failed since the status was written, without those that a rule ignores."""
        if self.target == SUCCESS_CRITERIA_MET:
            # The Job has what it wanted; what it stops now has not failed.
            return ()
        return tuple(
            pod
            for pod in self.tracked
            if self.is_failed(pod)
            and uid(pod) not in self.uncounted["failed"]
            and self.is_valid(pod)
            and self.judged(pod).action != IGNORE
        )

    @cached_property
    def succeeded(self) -> int:
        """All successes."""
        if self.indexed:
            return len(self.completed)
        return int(self.status.get("succeeded") or 0) + len(self.uncounted["succeeded"]) + len(self.new_succeeded)

    @cached_property
    def failed(self) -> int:
        """All failures."""
        return int(self.status.get("failed") or 0) + len(self.uncounted["failed"]) + len(self.new_failed)

    @cached_property
    def failed_indexes(self) -> frozenset[int]:
        """The indexes that have failed for good."""
        if not self.per_index:
            return frozenset()
        before = indexes.parse(self.status.get("failedIndexes") or "", below=self.spec["completions"])
        if self.target:
            # The pods that go now are stopped by the Job, and say nothing of their indexes.
            return before
        return before | {
            index for pod in self.tracked if (index := index_of(pod)) is not None and self._ends_its_index(pod)
        }

    def _ends_its_index(self, pod: Raw) -> bool:
        if not self.is_failed(pod) or not self.is_valid(pod):
            return False
        action = self.judged(pod).action
        limit: int = self.spec["backoffLimitPerIndex"]
        return action == FAIL_INDEX or (action == COUNT and failures_before(pod)[0] >= limit)

    @cached_property
    def last_failed(self) -> Mapping[int, Raw]:
        """For each index that waits for a replacement the pod that failed last; it is kept to pass on its counts."""
        if not self.per_index:
            return {}
        busy = {index_of(pod) for pod in self.active} | self.completed | self.failed_indexes
        found: dict[int, Raw] = {}
        for pod in sorted(self.tracked, key=lambda pod: sum(failures_before(pod))):
            index = index_of(pod)
            if index is not None and index not in busy and self.is_failed(pod) and self.is_valid(pod):
                found[index] = pod
        return found

    def is_held(self, pod: Raw) -> bool:
        """Whether a failed pod must stay until its replacement carries on its counts."""
        index = index_of(pod)
        return index is not None and uid(pod) == uid(self.last_failed.get(index, {"metadata": {}})) != ""

    def listed(self, ending: str, *, most: int | None = MOST_UNCOUNTED) -> dict[str, list[str]]:
        """The uids to list as finished and not yet counted, now that the Job has this target, or none."""
        here = {uid(pod) for pod in self.tracked}
        found = {key: sorted(uids & here) for key, uids in self.uncounted.items()}
        room = None if most is None else max(0, most - sum(map(len, found.values())))
        new = [("failed", uid(pod)) for pod in self.newly_failed_under(ending)]
        if not self.indexed:
            new += [("succeeded", uid(pod)) for pod in self.new_succeeded]
        for key, one in new[:room]:
            found[key].append(one)
        return {key: uids for key, uids in found.items() if uids}

    def settled(self) -> dict[str, int]:
        """The counters with those listed whose finalizer is gone; they are counted now and listed no more."""
        here = {uid(pod) for pod in self.tracked}
        return {key: int(self.status.get(key) or 0) + len(uids - here) for key, uids in self.uncounted.items()}

    def newly_failed_under(self, ending: str) -> Iterator[Raw]:
        """Pods to be listed as failed: when a Job fails, those that have not ended fail with it."""
        new = {uid(pod) for pod in self.new_failed}
        for pod in self.tracked:
            ended_by_job = (
                ending == FAILURE_TARGET
                and phase(pod) != "Succeeded"
                and uid(pod) not in self.uncounted["failed"]
                and self.is_valid(pod)
                and self.judged(pod).action != IGNORE
            )
            if ended_by_job or (uid(pod) in new and (ending != "" or not self.is_held(pod))):
                yield pod

    def released(self) -> Iterator[Raw]:
        """Pods that the status, as it was read, accounts for: their finalizers may go."""
        ending = self.target
        done = indexes.parse(self.status.get("completedIndexes") or "") if self.indexed else frozenset()
        listed = self.uncounted["succeeded"] | self.uncounted["failed"]
        for pod in self.tracked:
            if uid(pod) in listed or (not self.is_valid(pod) and (phase(pod) in TERMINAL or ending)):
                yield pod
            elif phase(pod) == "Succeeded":
                if index_of(pod) in done:
                    yield pod
            elif ending == SUCCESS_CRITERIA_MET or self._is_ignored(pod, ending):
                yield pod

    def _is_ignored(self, pod: Raw, ending: str) -> bool:
        """Whether a rule says that the pod's failure counts for nothing, and nothing else waits for the pod."""
        failed = bool(ending) or self.is_failed(pod)
        return failed and self.judged(pod).action == IGNORE and not self.is_held(pod)
