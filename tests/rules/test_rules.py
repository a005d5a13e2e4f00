"""Every rule is heard where its bad snippet is linted, and not where its good one is."""

import pytest

from tests.naming import is_test
from tests.rules.placing import document
from trainplane.api import rules as words
from trainplane.api.problem import Rule, Severity
from trainplane.cli.help import rules
from trainplane.jobset import rules as of_jobsets
from trainplane.lint import lint
from trainplane.trainjob import framework_rules, pair_rules, plan_rules, pod_rules, runtime_rules
from trainplane.trainjob import rules as of_trainjobs

ELSEWHERE = {
    "TP001": "tests/cli/test_lint.py::test_a_binary_file_is_a_problem_not_a_crash",
    "TP002": "tests/api/test_bad_input.py::test_small_but_evil",
    "TP129": "tests/trainjob/test_torch.py::test_env_injection_into_nowhere_is_refused_with_the_nearest_name",
    "TP210": "tests/cli/test_render.py::test_a_runtime_that_is_not_there_is_refused_with_a_way_out",
    "TP211": "tests/trainjob/test_admission.py::TestUpdates::test_a_job_of_a_fixed_size_keeps_it",
    "TP212": "tests/trainjob/test_admission.py::TestUpdates::test_j12_patches_change_only_while_suspended",
    "TP213": "tests/trainjob/test_admission.py::test_rules_of_upstream",
    "TP214": "tests/trainjob/test_admission.py::TestUpdates::test_what_the_pods_are_made_from_cannot_change",
    "TP215": "tests/trainjob/test_admission.py::TestUpdates"
    "::test_affinity_that_the_jobset_would_refuse_for_ever_is_refused_here",
}
"""Rules that no text of a few lines can break: bytes, sizes, and what a cluster alone knows. Their tests are there."""
MODULES = (words, of_jobsets, of_trainjobs, framework_rules, pair_rules, plan_rules, pod_rules, runtime_rules)
"""Where the rules are that lint knows; those of other modules are about what a cluster takes, and tested there."""

RULES = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, Rule) and value.id not in ELSEWHERE
]


def heard(snippet: str, rule: Rule) -> set[str]:
    """The ids that lint says of a snippet in its documents."""
    return {found.problem.rule.id for found in lint([("-", document(snippet, rule.id))]).located}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_what_is_shown_as_wrong_is_found(rule: Rule) -> None:
    assert rule.bad, "a rule shows what it is about"
    assert rule.id in heard(rule.bad, rule), document(rule.bad, rule.id)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_what_is_shown_as_right_is_right(rule: Rule) -> None:
    assert rule.good, "a rule shows the way out"
    findings = lint([("-", document(rule.good, rule.id))])
    assert rule.id not in {found.problem.rule.id for found in findings.located}
    errors = [str(found) for found in findings.located if found.severity is Severity.ERROR]
    assert errors == []


@pytest.mark.parametrize(("rule", "test"), ELSEWHERE.items())
def test_rules_without_a_snippet_are_shown_elsewhere(rule: str, test: str) -> None:
    assert rule in rules()
    assert is_test(test)


def test_there_are_rules_enough() -> None:
    assert len(RULES) > 120
