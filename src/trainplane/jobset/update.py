"""What may change in a JobSet that exists: little, and most of that only while it is suspended."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.problem import Path, Problem
from trainplane.api.raw import look, put
from trainplane.jobset import change_rules as rules
from trainplane.jobset.fields import finished, is_suspended, replicated_jobs

JOBS: Path = ("spec", "replicatedJobs")
SIZES = ("parallelism", "completions")
POD: Path = ("template", "spec", "template")
CHANGEABLE: tuple[Path, ...] = (
    (*POD, "metadata", "labels"),
    (*POD, "metadata", "annotations"),
    (*POD, "spec", "nodeSelector"),
    (*POD, "spec", "tolerations"),
    (*POD, "spec", "schedulingGates"),
)
"""What the pods of a suspended JobSet may be given."""
FIXED: tuple[Path, ...] = (
    ("spec", "network"),
    ("spec", "successPolicy"),
    ("spec", "failurePolicy"),
    ("spec", "startupPolicy"),
    ("spec", "volumeClaimPolicies"),
)
NOTHING_IF_EMPTY = ("metadata", "labels", "annotations", "nodeSelector", "resources", "limits", "requests")
FIXED_WHERE_GIVEN = "it cannot be added, removed or changed once the JobSet is created"
A_NEW_ONE = "make a new JobSet"


def changes(new: Raw, old: Raw, *, elastic_jobset: bool) -> Iterator[Problem]:
    """Everything that may not change and does."""
    for path in FIXED:
        if look(new, *path) != look(old, *path):
            yield Problem(rules.FIXED, path, FIXED_WHERE_GIVEN, A_NEW_ONE)
    if look(new, "spec", "managedBy") != look(old, "spec", "managedBy"):
        what = "the controller of a JobSet cannot change: two would have worked on it"
        yield Problem(rules.FIXED, ("spec", "managedBy"), what, A_NEW_ONE)
    yield from changed_jobs(new, old, elastic_jobset=elastic_jobset)


def changed_jobs(new: Raw, old: Raw, *, elastic_jobset: bool) -> Iterator[Problem]:
    """The replicated jobs that differ in more than they may."""
    before, after = replicated_jobs(old), replicated_jobs(new)
    if elastic_jobset:
        yield from wrong_sizes(new, old)
        after = unresized(after, before)
    if is_suspended(old) or is_suspended(new):
        after = [changed_back(one, *before[place : place + 1]) for place, one in enumerate(after)]
    if without_empty(after) != without_empty(before):
        where, may = first_change(after, before)
        what = f"{where} cannot change once the JobSet is created"
        todo = "set spec.suspend to true first" if may else A_NEW_ONE
        yield Problem(rules.FIXED, JOBS, what, todo)


def without_empty(value: Any) -> Any:
    """The value without empty lists and maps, which say as much as none; an empty object may well say something."""
    if isinstance(value, Mapping):
        kept = {key: without_empty(item) for key, item in value.items()}
        return {
            key: item
            for key, item in kept.items()
            if item is not None and item != [] and (item != {} or key not in NOTHING_IF_EMPTY)
        }
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def changed_back(one: Raw, *same: Raw) -> Raw:
    """A replicated job with what may change while suspended as it was before, where it was there before."""
    for before in same:
        for path in CHANGEABLE:
            if look(one, *path) != look(before, *path):
                one = put(one, path, look(before, *path))
    return one


def first_change(after: list[Raw], before: list[Raw]) -> tuple[str, bool]:
    """Where the replicated jobs first differ, and whether that may change while the JobSet is suspended."""
    if [one["name"] for one in after] != [one["name"] for one in before]:
        return "the replicated jobs, their names and their order", False
    for one, other in zip(after, before, strict=True):
        for path in CHANGEABLE:
            if look(one, *path) != look(other, *path):
                return f"{'.'.join(map(str, path))} of {one['name']}", True
        if where := difference(without_empty(one), without_empty(other)):
            return f"{where} of {one['name']}", False
    return "a replicated job", False


def difference(new: Any, old: Any) -> str:
    """The way to the first value that differs."""
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        for key in [*new, *(key for key in old if key not in new)]:
            if new.get(key) != old.get(key):
                rest = difference(new.get(key), old.get(key))
                return f"{key}.{rest}" if rest else str(key)
    return ""


def unresized(after: list[Raw], before: list[Raw]) -> list[Raw]:
    """The replicated jobs with the sizes they had, where only those that count their pods may take another."""
    old = {one["name"]: one for one in before}

    def back(one: Raw) -> Raw:
        was = old.get(one["name"])
        if was is None or look(was, "template", "spec", "completionMode") != "Indexed":
            return one
        for size in SIZES:
            one = put(one, ("template", "spec", size), look(was, "template", "spec", size))
        return one

    return [back(one) for one in after]


def wrong_sizes(new: Raw, old: Raw) -> Iterator[Problem]:
    """The new sizes that no Job can take."""
    was = {one["name"]: one for one in replicated_jobs(old)}
    for place, one in enumerate(replicated_jobs(new)):
        before = was.get(one["name"])
        if before is None or look(before, "template", "spec", "completionMode") != "Indexed":
            continue
        sizes = [look(one, "template", "spec", size) for size in SIZES]
        if sizes == [look(before, "template", "spec", size) for size in SIZES]:
            continue
        path = (*JOBS, place, "template", "spec")
        if end := finished(old.get("status")):
            yield Problem(rules.SIZE, path, f"the JobSet is {end} and has no Jobs to resize", A_NEW_ONE)
            continue
        for size, number in zip(SIZES, sizes, strict=True):
            if number is not None and number < 1:
                yield Problem(rules.SIZE, (*path, size), f"{size} is {number}", "write at least 1")
        if sizes[0] != sizes[1]:
            what = f"parallelism is {sizes[0]} and completions is {sizes[1]}"
            yield Problem(rules.SIZE, (*path, "completions"), what, "write the same number for both")
