"""What is refused of a podFailurePolicy and of a successPolicy."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.loose import integer_at, object_at, objects_at, text_at
from trainplane.api.problem import Path, Problem, did_you_mean
from trainplane.api.raw import look
from trainplane.api.selectors import label_key_fault
from trainplane.job import indexes, rules
from trainplane.job.policy import COUNT, FAIL_INDEX, FAIL_JOB, IGNORE

ACTIONS = (COUNT, FAIL_INDEX, FAIL_JOB, IGNORE)
MOST_RULES = 20
MOST_CODES = 255
LONGEST = 65_536
FAILURES: Path = ("spec", "podFailurePolicy", "rules")
SUCCESSES: Path = ("spec", "successPolicy", "rules")


def failure(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """The rules by which pods fail."""
    found = look(spec, "podFailurePolicy", "rules")
    if isinstance(found, list) and len(found) > MOST_RULES:
        yield Problem(rules.FAILURE_POLICY, FAILURES, f"{len(found)} rules are too many", f"keep {MOST_RULES} at most")
        return
    for path, rule in objects_at(spec, "podFailurePolicy", "rules"):
        at = ("spec", *path)
        yield from _action(rule, spec, at)
        codes, conditions = rule.get("onExitCodes") is not None, bool(rule.get("onPodConditions"))
        if codes == conditions:
            what = "a rule looks for exit codes or for conditions, and this one for " + ("both" if codes else "neither")
            todo = "make two rules of it" if codes else "write onExitCodes or onPodConditions"
            yield Problem(rules.FAILURE_POLICY, at, what, todo)
        if codes:
            yield from _exit_codes(object_at(rule, "onExitCodes"), spec, (*at, "onExitCodes"))
        yield from _conditions(rule, at)


def _action(rule: Mapping[str, Any], spec: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    action, path = text_at(rule, "action"), (*at, "action")
    if action not in ACTIONS:
        near = did_you_mean(action, ACTIONS)
        todo = f"did you mean {near}?" if near else f"use {', '.join(ACTIONS)}"
        yield Problem(rules.FAILURE_POLICY, path, f"{action!r} is no action", todo)
    elif action == FAIL_INDEX and spec.get("backoffLimitPerIndex") is None:
        what = "FailIndex fails one index, and without backoffLimitPerIndex indexes do not fail on their own"
        yield Problem(rules.FAILURE_POLICY, path, what, "write backoffLimitPerIndex, or use FailJob")


def _exit_codes(wanted: Mapping[str, Any], spec: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    operator, name = text_at(wanted, "operator"), text_at(wanted, "containerName")
    if operator not in ("In", "NotIn"):
        yield Problem(rules.FAILURE_POLICY, (*at, "operator"), f"{operator!r} is no operator", "use In or NotIn")
    if name:
        pod = object_at(spec, "template", "spec")
        known = {text_at(one, "name") for key in ("containers", "initContainers") for _, one in objects_at(pod, key)}
        if name not in known:
            near = did_you_mean(name, sorted(known))
            todo = f"did you mean {near}?" if near else f"use one of {', '.join(sorted(known))}"
            path = (*at, "containerName")
            yield Problem(rules.FAILURE_POLICY, path, f"the template has no container {name}", todo)
    listed = wanted.get("values")
    values = [value for value in listed if isinstance(value, int)] if isinstance(listed, list) else []
    path = (*at, "values")
    if not values:
        yield Problem(rules.FAILURE_POLICY, path, "no exit code is listed", "list at least one")
    elif len(values) > MOST_CODES:
        yield Problem(
            rules.FAILURE_POLICY, path, f"{len(values)} exit codes are too many", f"list {MOST_CODES} at most"
        )
    elif values != sorted(values):
        yield Problem(rules.FAILURE_POLICY, path, "the exit codes are out of order", "list the lowest first")
    else:
        for i, value in enumerate(values):
            if value == 0 and operator == "In":
                what = "0 is the exit code of a container that has not failed"
                yield Problem(rules.FAILURE_POLICY, (*path, i), what, "remove it")
            elif i and values[i - 1] == value:
                yield Problem(rules.FAILURE_POLICY, (*path, i), f"{value} is listed twice", "remove one of them")


def _conditions(rule: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    listed = list(objects_at(rule, "onPodConditions"))
    if len(listed) > MOST_RULES:
        path = (*at, "onPodConditions")
        yield Problem(rules.FAILURE_POLICY, path, f"{len(listed)} are too many", f"keep {MOST_RULES} at most")
        return
    for path, pattern in listed:
        type_, status = text_at(pattern, "type"), text_at(pattern, "status")
        if fault := label_key_fault(type_):
            where = (*at, *path, "type")
            yield Problem(rules.FAILURE_POLICY, where, f"the type {type_!r} {fault}", "write such as DisruptionTarget")
        if status not in ("True", "False", "Unknown"):
            where = (*at, *path, "status")
            yield Problem(rules.FAILURE_POLICY, where, f"{status!r} is no status", "use True, False or Unknown")


def success(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """The rules by which a Job succeeds early."""
    if spec.get("successPolicy") is None or spec.get("completionMode") != "Indexed":
        return
    found = list(objects_at(spec, "successPolicy", "rules"))
    if not found:
        what = "a success policy without rules is never met"
        yield Problem(rules.SUCCESS_POLICY, SUCCESSES, what, "write a rule, or remove successPolicy")
    if len(found) > MOST_RULES:
        yield Problem(rules.SUCCESS_POLICY, SUCCESSES, f"{len(found)} rules are too many", f"keep {MOST_RULES} at most")
        return
    for path, rule in found:
        yield from _success_rule(rule, integer_at(spec, "completions"), ("spec", *path))


def _success_rule(rule: Mapping[str, Any], completions: int | None, at: Path) -> Iterator[Problem]:
    listed, count = rule.get("succeededIndexes"), integer_at(rule, "succeededCount")
    if listed is None and count is None:
        what = "the rule asks for nothing"
        yield Problem(rules.SUCCESS_POLICY, at, what, "write succeededIndexes, succeededCount, or both")
    size: int | None = None
    if isinstance(listed, str):
        path = (*at, "succeededIndexes")
        try:
            size, last = _measured(listed)
        except indexes.Malformed as fault:
            yield Problem(rules.SUCCESS_POLICY, path, str(fault), "write such as 0,2-4")
        else:
            if completions is not None and last >= completions:
                what = f"there is no index {last}: the last is {completions - 1}"
                yield Problem(rules.SUCCESS_POLICY, path, what, "list indexes below completions")
    if count is None:
        return
    path = (*at, "succeededCount")
    if count < 0:
        yield Problem(rules.SUCCESS_POLICY, path, f"{count} is negative", "write 1 or more")
    for limit, of_what in ((completions, "completions"), (size, "indexes listed")):
        if limit is not None and count > limit:
            what = f"{count} is more than the {limit} {of_what}"
            yield Problem(rules.SUCCESS_POLICY, path, what, f"write at most {limit}")


def _measured(listed: str) -> tuple[int, int]:
    """How many indexes a text lists, and the last of them; raises Malformed."""
    if len(listed) > LONGEST:
        raise indexes.Malformed(f"the list has {len(listed)} characters, and {LONGEST} are allowed")
    ranges = list(indexes.intervals(listed))
    return sum(last - first + 1 for first, last in ranges), max((last for _, last in ranges), default=-1)
