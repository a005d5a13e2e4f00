"""Every claim of the source documents is shown by tests that exist, or promised by a part that is named."""

import pytest

from tests.naming import is_test
from tests.rules.test_rules import RULES
from tools import checklist
from tools.checklist import Claim

CLAIMS = [claim for section in checklist.sections() for claim in section.claims]
RULE_IDS = {rule.id for rule in RULES}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.number)
def test_a_claim_is_shown_or_promised(claim: Claim) -> None:
    assert claim.claim
    assert claim.tests or claim.rules or claim.part, "no row is left without a test or a part"
    assert set(claim.rules) <= RULE_IDS, "a rule is named whose snippets are tested"
    for name in claim.tests:
        assert is_test(name), f"there is no test {name}"
    assert not claim.part or (claim.part in checklist.parts() and claim.rest)


def test_nothing_of_the_list_is_missing() -> None:
    numbers = [claim.number for claim in CLAIMS]
    assert numbers[:61] == [str(number) for number in range(1, 62)]
    assert numbers[61:] == [f"G{number}" for number in range(1, len(numbers) - 60)]


def test_a_test_that_does_not_exist_is_noticed() -> None:
    assert not is_test("tests/docs/test_checklist.py::test_that_nobody_wrote")
    assert not is_test("tests/docs/test_nowhere.py::test_a")
    assert is_test("tests/docs/test_checklist.py::test_nothing_of_the_list_is_missing")
