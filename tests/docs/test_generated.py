"""Generated documents are what the code says, and nothing of the command line is missing from them."""

from pathlib import Path

import click
import pytest

from tools import cli_reference, differences, furniture, jobset_checklist, rules_reference, why_reference
from tools.generated import stale
from trainplane.cli.group import load
from trainplane.cli.help import rules
from trainplane.cli.main import VERBS


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (furniture.PATH, furniture.render),
        (cli_reference.PATH, cli_reference.render),
        (rules_reference.PATH, rules_reference.render),
        (why_reference.PATH, why_reference.render),
        (differences.PATH, differences.render),
        (jobset_checklist.PATH, jobset_checklist.render),
    ],
    ids=["furniture", "cli", "rules", "why", "differences", "jobset"],
)
def test_the_committed_file_is_current(path: Path, text: object) -> None:
    assert callable(text)
    assert not stale(path, text()), f"{path.name} is not what the code says; run `make docs`"


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_documented_and_says_what_it_does(verb: str) -> None:
    reference = cli_reference.PATH.read_text(encoding="utf-8")
    command = load(verb)
    below = command.commands.values() if isinstance(command, click.Group) else ()
    for option in (parameter for each in (command, *below) for parameter in each.params):
        if isinstance(option, click.Option):
            assert option.help, f"trainplane {verb} {option.opts[0]} has no help"
            for flag in (*option.opts, *option.secondary_opts):
                assert flag in reference


def test_every_rule_has_a_title_and_a_reason() -> None:
    for rule in rules().values():
        assert rule.title, rule.id
        assert not rule.title.endswith("."), rule.id
        assert len(rule.why) > 40, rule.id
