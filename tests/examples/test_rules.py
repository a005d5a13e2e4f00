"""Every rule of structure is shown by an example, and what it shows as right is right."""

import pytest
import yaml

from tests.examples.test_examples import FILES, expected
from trainplane.api.problem import Rule, Severity
from trainplane.jobset import rules as of_jobsets
from trainplane.trainjob import rules as of_trainjobs
from trainplane.trainjob import runtime_rules as of_runtimes

RULES = [
    rule
    for module in (of_runtimes, of_trainjobs, of_jobsets)
    for rule in vars(module).values()
    if isinstance(rule, Rule)
]
ONLY_IN_TESTS = {"TP153", "TP155", "TP156", "TP163"}
"""Too rare, or too plain, to spend an example on."""


def test_every_rule_that_says_something_is_wrong_has_an_example() -> None:
    shown = {rule for path in FILES for rule in expected(path)}
    loud = {rule.id for rule in RULES if rule.severity is not Severity.INFO}
    assert loud - shown == ONLY_IN_TESTS


def test_ids_are_in_order_and_used_once() -> None:
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_snippets_are_yaml(rule: Rule) -> None:
    for snippet in (rule.bad, rule.good):
        for part in snippet.split("\n...\n"):
            yaml.safe_load(part)
    assert bool(rule.bad) == bool(rule.good)
