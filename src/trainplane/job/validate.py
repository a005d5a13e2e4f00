"""What is refused of a Job, beyond its schema."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.batch import CONTROLLER_UID
from trainplane.api.loose import integer_at, object_at, text_at
from trainplane.api.problem import Path, Problem
from trainplane.api.raw import look
from trainplane.api.selectors import SelectorError, from_label_selector
from trainplane.job import changes, policies, rules

MOST_PARALLEL = 100_000
MANY = 100_000
MOST_OF_MANY = 10_000
"""Beyond MANY completions, with limits per index, no more than this may fail or run at a time."""
SPEC: Path = ("spec",)
NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MANAGER = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[-A-Za-z0-9._~%!$&'()*+,;=:@/]+"
)


def validate(new: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> Iterator[Problem]:
    """Everything for which a defaulted Job is refused, as it is made or as `old` is changed to it."""
    spec = object_at(new, "spec")
    yield from _numbers(spec)
    yield from _words(spec)
    yield from _indexed(spec) if spec.get("completionMode") == "Indexed" else _without_indexes(spec)
    yield from _restart_policy(spec)
    yield from policies.failure(spec)
    yield from policies.success(spec)
    yield from _selector(new, spec)
    if old is None:
        yield from _name(new, spec)
    else:
        yield from changes.changed(new, old)


def _numbers(spec: Mapping[str, Any]) -> Iterator[Problem]:
    for field in NUMBERS:
        value = integer_at(spec, field)
        if value is not None and value < 0:
            yield Problem(rules.COUNT, (*SPEC, field), f"{value} is negative", "write 0 or more")


def _words(spec: Mapping[str, Any]) -> Iterator[Problem]:
    mode, replacement = text_at(spec, "completionMode"), text_at(spec, "podReplacementPolicy")
    if mode not in ("", "NonIndexed", "Indexed"):
        yield Problem(rules.WORD, (*SPEC, "completionMode"), f"{mode!r} is no mode", "use NonIndexed or Indexed")
    if replacement not in ("", "Failed", "TerminatingOrFailed"):
        path = (*SPEC, "podReplacementPolicy")
        yield Problem(rules.WORD, path, f"{replacement!r} is no policy", "use TerminatingOrFailed or Failed")
    elif replacement == "TerminatingOrFailed" and spec.get("podFailurePolicy") is not None:
        what = "beside a podFailurePolicy a pod is replaced only when it has failed"
        yield Problem(rules.WORD, (*SPEC, "podReplacementPolicy"), what, "write Failed, or leave it out")
    manager = text_at(spec, "managedBy")
    if manager and (len(manager) > 63 or not _MANAGER.fullmatch(manager)):
        what = f"{manager!r} is not a domain, a slash and a name of at most 63 characters"
        yield Problem(rules.WORD, (*SPEC, "managedBy"), what, "write it as example.com/controller")


def _indexed(spec: Mapping[str, Any]) -> Iterator[Problem]:
    completions, parallelism = integer_at(spec, "completions"), integer_at(spec, "parallelism") or 0
    most, per_index = integer_at(spec, "maxFailedIndexes"), integer_at(spec, "backoffLimitPerIndex")
    at_most: Path = (*SPEC, "maxFailedIndexes")
    if completions is None:
        what = "an Indexed Job has as many indexes as completions says, and it says nothing"
        yield Problem(rules.NEEDS_INDEXES, (*SPEC, "completions"), what, "write completions")
    if parallelism > MOST_PARALLEL:
        yield _above((*SPEC, "parallelism"), parallelism, MOST_PARALLEL)
    if most is not None and per_index is None:
        what = "maxFailedIndexes counts indexes that have failed, and without a limit per index none ever does"
        yield Problem(rules.NEEDS_INDEXES, (*SPEC, "backoffLimitPerIndex"), what, "write backoffLimitPerIndex")
    if completions is None or per_index is None:
        return
    if most is not None and most > completions:
        yield Problem(rules.COUNT, at_most, f"{most} is more than completions", f"write at most {completions}")
    if completions > MANY:
        if most is None:
            what = f"with more than {MANY} completions it must be said how many may fail"
            yield Problem(rules.COUNT, at_most, what, f"write a number up to {MOST_OF_MANY}")
        elif most > MOST_OF_MANY:
            yield _above(at_most, most, MOST_OF_MANY)
        if parallelism > MOST_OF_MANY:
            yield _above((*SPEC, "parallelism"), parallelism, MOST_OF_MANY)


def _above(path: Path, value: int, limit: int) -> Problem:
    return Problem(rules.COUNT, path, f"{value} is more than a Job with indexes may have", f"write at most {limit}")


def _without_indexes(spec: Mapping[str, Any]) -> Iterator[Problem]:
    for field in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
        if spec.get(field) is not None:
            what = "only the pods of an Indexed Job have indexes"
            yield Problem(rules.NEEDS_INDEXES, (*SPEC, field), what, "set completionMode to Indexed, or remove it")


def _restart_policy(spec: Mapping[str, Any]) -> Iterator[Problem]:
    path: Path = (*SPEC, "template", "spec", "restartPolicy")
    policy = text_at(spec, "template", "spec", "restartPolicy") or "Always"
    if policy not in ("Never", "OnFailure"):
        what = f"pods of a Job cannot restart {policy}: they must come to an end"
        yield Problem(rules.RESTART_POLICY, path, what, "write Never or OnFailure")
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        what = "a container that restarts in place never shows podFailurePolicy its exit code"
        yield Problem(rules.RESTART_POLICY, path, what, "write Never, or remove podFailurePolicy")
    if not look(spec, "template", "spec", "containers"):
        where: Path = (*SPEC, "template", "spec", "containers")
        yield Problem(rules.COUNT, where, "a pod without containers has nothing to do", "write at least one container")


def _selector(job: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Problem]:
    selector, uid = spec.get("selector"), text_at(job, "metadata", "uid")
    if (selector is None and not spec.get("manualSelector")) or not isinstance(selector or {}, Mapping):
        return
    if selector is None:
        what = "manualSelector says that there is a selector, and there is none"
        yield Problem(rules.SELECTOR, (*SPEC, "selector"), what, "write one, or remove manualSelector")
    elif not spec.get("manualSelector") and uid and selector != {"matchLabels": {CONTROLLER_UID: uid}}:
        what = "a Job is given its selector, and this one is not it"
        todo = "remove the selector, or set manualSelector to true if it is meant"
        yield Problem(rules.SELECTOR, (*SPEC, "selector"), what, todo)
    labels = object_at(spec, "template", "metadata", "labels")
    try:
        found = selector is not None and from_label_selector(selector).matches(labels)
    except SelectorError as error:
        yield Problem(rules.SELECTOR, (*SPEC, "selector", *error.path), error.what, error.todo)
        return
    if not found:
        path: Path = (*SPEC, "template", "metadata", "labels")
        yield Problem(rules.SELECTOR, path, "pods with these labels are not found by the selector", "add its labels")


def _name(job: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Problem]:
    name, completions = text_at(job, "metadata", "name"), integer_at(spec, "completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        hostname = f"{name}-{completions - 1}"
        if not _LABEL.fullmatch(hostname):
            what = f"{hostname}, the hostname of the last pod, is no host's name"
            todo = "use at most 63 lower-case letters, digits and dashes, the index included"
            yield Problem(rules.NAME, ("metadata", "name"), what, todo)
    if len(name) > 63 and not spec.get("manualSelector"):
        what = f"the Job's name has {len(name)} characters and is a label of its pods, which has 63 at most"
        yield Problem(rules.NAME, (*SPEC, "template", "labels"), what, "shorten the name of the Job")
