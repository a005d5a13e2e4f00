"""Mending: golden texts, what is left alone, and that nothing is ever made worse."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Golden
from tests.places import ROOT
from tests.rules.placing import document
from tests.rules.test_rules import RULES
from trainplane.api.documents import parse
from trainplane.api.problem import Severity
from trainplane.fix.fix import HIDING, fix, hides_all
from trainplane.lint import lint

CASES = sorted((ROOT / "tests" / "golden" / "fix").iterdir())
TEXTS = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").rglob("*.yaml"))]
TEXTS += [(case / "in.yaml").read_text(encoding="utf-8") for case in CASES]
SNIPPETS = [document(text, rule.id) for rule in RULES for text in (rule.bad, rule.good)]


def errors(text: str) -> int:
    return lint([("-", text)]).how_many(Severity.ERROR)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, golden: Golden) -> None:
    golden.check(case, fix((case / "in.yaml").read_text(encoding="utf-8")).text)


@pytest.mark.parametrize("text", [*TEXTS, *SNIPPETS], ids=range(len(TEXTS) + len(SNIPPETS)))
def test_what_is_mended_stays_mended_and_is_no_worse(text: str) -> None:
    fixed = fix(text)
    assert fix(fixed.text) == (fixed.text, ())
    assert (fixed.text == text) == (not fixed.mended)
    # A fault that hides others, such as broken indentation, can leave more to say; never one that hides nothing.
    if not any(found.problem.rule in HIDING or hides_all(found) for found in fixed.mended):
        assert errors(fixed.text) <= errors(text)


@pytest.mark.parametrize(
    "name", ["containers-in-jobset", "containers-in-job", "containers-in-replicated-job", "policy-pytorch"]
)
def test_mistakes_with_one_remedy_are_mended_wholly(name: str) -> None:
    text = (ROOT / "examples" / "mistakes" / f"{name}.yaml").read_text(encoding="utf-8")
    assert errors(text)
    assert not errors(fix(text).text)


def test_other_lines_comments_and_line_ends_stay_as_they_are() -> None:
    text = (ROOT / "tests/golden/fix/everything-at-once/in.yaml").read_text(encoding="utf-8")
    for ends in ("\n", "\r\n"):
        new = fix("\ufeff" + text.replace("\n", ends)).text
        assert new.startswith("\ufeff#")
        assert new.count("\n") == new.count(ends)
        lines = [line.strip() for line in new[1:].splitlines()]
        kept = [line.strip() for line in text.splitlines() if "#" in line and "on purpose" not in line]
        assert [line for line in lines if line in kept] == kept


def test_words_that_mean_something_to_a_shell_are_not_touched() -> None:
    text = (ROOT / "tests/golden/fix/everything-at-once/in.yaml").read_text(encoding="utf-8")
    (runtime, _) = parse(fix(text).text).documents
    pod = runtime.value["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"] == ['#!/bin/sh\n  echo "indented"\n\nexec torchrun train.py\n']


def test_what_follows_the_end_of_a_document_does_not_become_part_of_it() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n...\ndata:\n  b: c\n"
    assert fix(text).text == text


def test_json_is_left_to_its_author() -> None:
    text = '{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "Trainjob"}'
    assert fix(text) == (text, ())


@given(text=st.sampled_from(TEXTS), cut=st.integers(0), length=st.integers(0, 40), new=st.text(max_size=6))
def test_any_text_is_answered_and_stays_mended(text: str, cut: int, length: int, new: str) -> None:
    at = cut % len(text)
    once = fix(text[:at] + new + text[at + length :]).text
    assert fix(once).text == once


def test_a_change_that_would_mean_something_else_is_not_made() -> None:
    """Spaces on a line of their own are part of the script, and would become fewer when it is moved."""
    text = (ROOT / "examples" / "mistakes" / "containers-in-jobset.yaml").read_text(encoding="utf-8")
    plain = text.replace(
        'command: ["python", "/robot/grasp.py"]', "command:\n          - |\n            a\n            b"
    )
    odd = plain.replace("            a\n", "            a\n" + " " * 20 + "\n")
    assert not errors(fix(plain).text)
    assert fix(odd).text == odd
