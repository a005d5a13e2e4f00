"""What the API server refuses in a Job's podFailurePolicy and successPolicy."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, duplicate, invalid, not_supported, required, too_long, too_many, unlawful
from trainplane.cluster.names import key_faults

ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
MOST_RULES = 20
MOST_CODES = 255
LONGEST_LIST = 65_536
"""Bytes of a list of indexes."""


class Unreadable(ValueError):
    """A text that is no list of indexes, and why."""


def failure_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with the rules by which pods fail."""
    at = "spec.podFailurePolicy.rules"
    rules = look(spec, "podFailurePolicy", "rules") or ()
    if len(rules) > MOST_RULES:
        yield too_many(at, len(rules), MOST_RULES)
        return
    for index, rule in enumerate(rules):
        yield from _rule_causes(rule, spec, f"{at}[{index}]")


def _rule_causes(rule: Mapping[str, Any], spec: Mapping[str, Any], at: str) -> Iterator[Cause]:
    action, codes, conditions = rule.get("action"), rule.get("onExitCodes"), rule.get("onPodConditions")
    if not action:
        words = " ".join(f'"{each}"' for each in ACTIONS)
        yield required(f"{at}.action", f"valid values: [{words}]")
    elif action not in ACTIONS:
        yield not_supported(f"{at}.action", action, ACTIONS)
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set")
    if codes is not None:
        yield from _code_causes(codes, spec, f"{at}.onExitCodes")
    yield from _condition_causes(conditions or (), f"{at}.onPodConditions")
    if codes is not None and conditions:
        yield unlawful(at, "specifying both OnExitCodes and OnPodConditions is not supported")
    elif codes is None and not conditions:
        yield unlawful(at, "specifying one of OnExitCodes and OnPodConditions is required")


def _code_causes(codes: Mapping[str, Any], spec: Mapping[str, Any], at: str) -> Iterator[Cause]:
    operator, name, values = codes.get("operator"), codes.get("containerName"), codes.get("values") or []
    if not operator:
        yield required(f"{at}.operator", 'valid values: ["In" "NotIn"]')
    elif operator not in ("In", "NotIn"):
        yield not_supported(f"{at}.operator", operator, ("In", "NotIn"))
    if name is not None:
        pod = look(spec, "template", "spec") or {}
        known = [each.get("name") for kind in ("containers", "initContainers") for each in pod.get(kind) or ()]
        if name not in known:
            words = "must be one of the container or initContainer names in the pod template"
            yield invalid(f"{at}.containerName", name, words)
    if not values:
        yield invalid(f"{at}.values", codes.get("values"), "at least one value is required")
    elif len(values) > MOST_CODES:
        yield too_many(f"{at}.values", len(values), MOST_CODES)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{at}.values[{index}]", value, "must not be 0 for the In operator")
        if value in values[:index]:
            yield duplicate(f"{at}.values[{index}]", value)
    if values != sorted(values):
        yield invalid(f"{at}.values", values, "must be ordered")


def _condition_causes(conditions: Any, at: str) -> Iterator[Cause]:
    if len(conditions) > MOST_RULES:
        yield too_many(at, len(conditions), MOST_RULES)
        return
    for index, pattern in enumerate(conditions):
        for fault in key_faults(pattern.get("type") or ""):
            yield invalid(f"{at}[{index}].type", pattern.get("type") or "", fault)
        status = pattern.get("status")
        if not status:
            yield required(f"{at}[{index}].status", 'valid values: ["False" "True" "Unknown"]')
        elif status not in ("True", "False", "Unknown"):
            yield not_supported(f"{at}[{index}].status", status, ("False", "True", "Unknown"))


def success_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with the rules by which a Job with indexes succeeds early."""
    if spec.get("successPolicy") is None:
        return
    at, rules = "spec.successPolicy.rules", look(spec, "successPolicy", "rules") or ()
    if not rules:
        yield required(at, "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > MOST_RULES:
        yield too_many(at, len(rules), MOST_RULES)
        return
    for index, rule in enumerate(rules):
        yield from _success_rule_causes(rule, spec.get("completions"), f"{at}[{index}]")


def _success_rule_causes(rule: Mapping[str, Any], completions: int | None, at: str) -> Iterator[Cause]:
    text, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if text is None and count is None:
        yield required(at, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if text is not None:
        if len(text) > LONGEST_LIST:
            yield too_long(f"{at}.succeededIndexes", LONGEST_LIST)
        try:
            total = listed(text, completions or 0)
        except Unreadable as fault:
            yield invalid(f"{at}.succeededIndexes", text, f"error parsing succeededIndexes: {fault}")
    if count is None:
        return
    where = f"{at}.succeededCount"
    if count < 0:
        yield invalid(where, count, "must be greater than or equal to 0")
    if completions is not None and count > completions:
        words = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid(where, count, words)
    if text is not None and count > total:
        of_what = "the number of indexes in the specified succeededIndexes field"
        yield invalid(where, count, f"must be less than or equal to {total} ({of_what})")


def listed(text: str, completions: int) -> int:
    """How many indexes a text lists; raises Unreadable."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        words = part.split("-")
        if len(words) > 2:
            rule = "the requirement that an index interval can have at most two parts separated by '-'"
            raise Unreadable(f'the fragment "{part}" violates {rule}')
        first = _number(words[0], completions)
        if first <= last:
            raise Unreadable(f"non-increasing order, previous: {last}, current: {first}")
        end = _number(words[1], completions) if len(words) == 2 else first
        if len(words) == 2 and end <= first:
            raise Unreadable(f"non-increasing order, previous: {first}, current: {end}")
        total, last = total + end - first + 1, end
    return total


def _number(word: str, completions: int) -> int:
    if not word.isascii() or not word.isdigit():
        raise Unreadable(f'cannot convert string to integer for index: "{word}"')
    if int(word) >= completions:
        raise Unreadable(f'too large index: "{word}"')
    return int(word)
