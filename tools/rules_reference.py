"""docs/rules.md, from the rules."""

from tools import ROOT
from tools.generated import NOTICE, main
from trainplane.api.problem import Rule
from trainplane.cli.help import rules

PATH = ROOT / "docs" / "rules.md"

INTRODUCTION = """\
What `trainplane lint` can find. An id keeps its meaning for ever; `trainplane help TP001` shows a rule in the terminal.
Errors refuse a document; warnings and information never do.
"""


def render() -> str:
    """Every rule: a table of all, then each in full."""
    known = list(rules().values())
    rows = [f"| [{rule.id}](#{rule.id.lower()}) | {rule.severity} | {rule.title} |" for rule in known]
    parts = [
        NOTICE,
        "# Rules",
        INTRODUCTION,
        "\n".join(["| Id | Severity | What is wrong |", "| --- | --- | --- |", *rows]),
        *(_section(rule) for rule in known),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _section(rule: Rule) -> str:
    parts = [f"## {rule.id}", f"**{rule.title}** ({rule.severity})", rule.why]
    for word, example in (("Not so:", rule.bad), ("So:", rule.good)):
        if example:
            fence = example.strip("\n")
            # Marked, because tests hold every unmarked YAML block to be a document that lints clean.
            parts += [word, f"```yaml example\n{fence}\n```"]
    return "\n\n".join(parts)


if __name__ == "__main__":
    main(PATH, render)
