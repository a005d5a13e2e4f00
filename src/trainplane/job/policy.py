"""podFailurePolicy and successPolicy: what a failed pod does to its Job, and which indexes are enough."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trainplane.api.meta import Raw
from trainplane.job import indexes

COUNT = "Count"
FAIL_INDEX = "FailIndex"
FAIL_JOB = "FailJob"
IGNORE = "Ignore"


class Match(NamedTuple):
    """What the first rule that speaks of a failed pod does, and why it does; Count where none does."""

    action: str
    message: str = ""


NO_MATCH = Match(COUNT)


def judged(policy: Mapping[str, Any] | None, pod: Raw) -> Match:
    """What a failed pod does to its Job."""
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        action = str(rule["action"])
        where = f"matching {action} rule at index {number}"
        name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
        if on_exit := rule.get("onExitCodes"):
            if (found := _exit_code(on_exit, pod)) is not None:
                return Match(action, f"Container {found[0]} for pod {name} failed with exit code {found[1]} {where}")
        elif (condition := _condition(rule.get("onPodConditions") or (), pod)) is not None:
            return Match(action, f"Pod {name} has condition {condition} {where}")
    return NO_MATCH


def _exit_code(wanted: Mapping[str, Any], pod: Raw) -> tuple[str, int] | None:
    """The container and its exit code by which the pod is meant; those that ended well are never meant."""
    status = pod.get("status") or {}
    for container in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        if wanted.get("containerName") not in (None, container["name"]):
            continue
        terminated = (container.get("state") or {}).get("terminated")
        code = int(terminated.get("exitCode") or 0) if terminated else 0
        if code and (code in wanted["values"]) == (wanted["operator"] == "In"):
            return str(container["name"]), code
    return None


def _condition(patterns: Iterable[Mapping[str, Any]], pod: Raw) -> str | None:
    """The pod's condition that a pattern asks for."""
    wanted = {(pattern["type"], pattern.get("status", "True")) for pattern in patterns}
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if (condition["type"], condition["status"]) in wanted:
            return str(condition["type"])
    return None


def enough(policy: Mapping[str, Any] | None, completed: frozenset[int]) -> str:
    """Why the indexes that have succeeded are enough, or ""."""
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        done, needed = len(completed), rule.get("succeededCount")
        if (listed := rule.get("succeededIndexes")) is not None:
            done, size = _among(listed, completed)
            # A list of no index is met by nothing.
            needed = (size or None) if needed is None else needed
        if needed is not None and done >= needed:
            return f"Matched rules at index {number}"
    return ""


def _among(listed: str, completed: frozenset[int]) -> tuple[int, int]:
    """How many of the listed indexes have succeeded, and how many are listed."""
    done = size = 0
    for first, last in _ranges(listed):
        size += last - first + 1
        done += sum(1 for index in completed if first <= index <= last)
    return done, size


def _ranges(listed: str) -> Iterator[tuple[int, int]]:
    return indexes.intervals(listed)
