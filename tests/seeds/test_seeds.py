"""Every block of the source documents is accepted, or refused with a position and a remedy."""

import re

import pytest

from tests.places import ROOT, need_shared
from tests.places import shared as find_shared
from tools import coverage
from tools.coverage import Block
from trainplane.api.problem import Severity
from trainplane.lint import lint

FOLDER = find_shared()
BLOCKS: list[Block] = [b for path in coverage.documents(FOLDER) for b in coverage.blocks(path)] if FOLDER else []
YAML_BLOCKS = [block for block in BLOCKS if block.language == "yaml"]

ACCEPTED = {
    "000": "all",
    "001": {108, 163},
    "002": set(),
    "003": {96},
    "004": "all",
}
"""The blocks that are accepted as they stand, warnings or not; all others have a fault that an author must mend."""


def of(block: Block) -> str:
    return f"{block.document}-line{block.line}"


def test_the_documents_are_here() -> None:
    folder = need_shared("seeds")
    assert len(list(folder.glob("*.txt"))) == 5
    assert len(YAML_BLOCKS) == 47


@pytest.mark.parametrize("block", YAML_BLOCKS, ids=of)
def test_a_block_is_accepted_or_refused_with_a_position_and_a_remedy(block: Block) -> None:
    verdict = coverage.judge(block)
    wanted = ACCEPTED[block.document]
    assert (not verdict.errors) == (wanted == "all" or block.line in wanted), "\n".join(map(str, verdict.located))
    for found in (*verdict.errors, *verdict.warnings):
        assert found.problem.todo, str(found)
        if found.problem.rule.id != "TP048":
            assert block.line <= verdict.line(found) < block.line + len(block.lines), str(found)


@pytest.mark.parametrize("block", YAML_BLOCKS, ids=of)
def test_every_fault_of_a_block_is_said_once(block: Block) -> None:
    places = [(found.line, found.column) for found in coverage.judge(block).errors]
    assert len(places) == len(set(places))
    assert len(places) <= 3


@pytest.mark.parametrize("block", YAML_BLOCKS, ids=of)
def test_a_block_has_examples_of_our_own(block: Block) -> None:
    row = coverage.ROWS[block.document][block.line]
    assert row.examples
    for name in row.examples:
        assert (coverage.EXAMPLES / name).is_file(), name
    verdict = coverage.judge(block)
    meant = lint([(row.examples[0], (coverage.EXAMPLES / row.examples[0]).read_bytes())])
    assert not meant.refused, "the first example is the block as it was meant"
    if verdict.errors:
        assert any(name.startswith("mistakes/") for name in row.examples), "a refused block has a mistake of its own"


def test_every_row_is_about_a_block() -> None:
    need_shared("seeds")
    rows = {(document, line) for document, lines in coverage.ROWS.items() for line in lines}
    assert rows == {(block.document, block.line) for block in YAML_BLOCKS}
    assert set(coverage.COMMANDS) == {block.line for block in BLOCKS if block.language != "yaml"}


def test_the_page_is_current_and_has_no_empty_cell() -> None:
    text = coverage.render(need_shared())
    assert coverage.PATH.read_text(encoding="utf-8") == text, "run `python -m tools.coverage`"
    for row in re.findall(r"^\| [0-9].*$", text, re.MULTILINE):
        assert all(cell.strip() for cell in row.strip("|").replace("\\|", "").split("|")), row


RESTORED_WITH_FAULTS = {
    "s003-trainjob-v2": "TP021",
    "s003-trainjob-v2alpha1": "TP100",
    "s003-trainjob-as-v1alpha1": "TP021",
}
"""With indentation restored and nothing else, these still have the fault their author left in them."""


@pytest.mark.parametrize(
    "case",
    sorted(path.parent.name for path in (FOLDER or ROOT).glob("conformance/seeds/*/input.yaml")),
)
def test_blocks_with_their_indentation_restored_are_accepted(case: str) -> None:
    path = need_shared("conformance/seeds") / case / "input.yaml"
    findings = lint([(case, path.read_bytes())])
    errors = [found.problem.rule.id for found in findings.located if found.severity is Severity.ERROR]
    assert errors == ([RESTORED_WITH_FAULTS[case]] if case in RESTORED_WITH_FAULTS else [])
