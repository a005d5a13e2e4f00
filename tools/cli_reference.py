"""docs/reference/cli.md, from the click commands."""

import click

from tools import ROOT
from tools.generated import NOTICE, main
from trainplane.cli.group import command, load
from trainplane.cli.main import VERBS

PATH = ROOT / "docs" / "reference" / "cli.md"


def render() -> str:
    """The reference of the command line, a section per verb."""
    parts = [
        NOTICE,
        "# The command line",
        "Every verb has `-h` and `--help`. Exit codes: `trainplane help exit-codes`.",
        "| Verb | What it does |\n| --- | --- |\n"
        + "\n".join(f"| [`{verb}`](#trainplane-{verb}) | {summary} |" for verb, summary in VERBS.items()),
        "## trainplane",
        _options(command),
    ]
    for verb in VERBS:
        parts += _section(verb, load(verb))
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _section(verb: str, verb_command: click.Command, mark: str = "##") -> list[str]:
    """What a verb says of itself, and below it the same of each verb it has."""
    context = click.Context(verb_command, info_name=f"trainplane {verb}")
    usage = " ".join([context.command_path, *verb_command.collect_usage_pieces(context)])
    parts = [f"{mark} trainplane {verb}", f"```text\n{usage}\n```", _prose(verb_command), _options(verb_command)]
    if isinstance(verb_command, click.Group):
        for name, below in verb_command.commands.items():
            parts += _section(f"{verb} {name}", below, f"{mark}#")
    return parts


def _prose(of: click.Command) -> str:
    """The command's own text; what click prints line by line (after a \\b) becomes a block."""
    parts = []
    for paragraph in (of.help or "").split("\n\n"):
        text = paragraph.strip("\n")
        parts.append(f"```text\n{text[2:]}\n```" if text.startswith("\b\n") else text)
    return "\n\n".join(parts)


def _options(of: click.Command) -> str:
    context = click.Context(of)
    # Not the help option, which every verb has, and which click remembers as it was first asked for.
    rows = [record for parameter in of.params if (record := parameter.get_help_record(context))]
    if not rows:
        return ""
    lines = [f"| `{flags.replace('|', ' or ')}` | {text} |" for flags, text in rows]
    return "\n".join(["| Option | What it does |", "| --- | --- |", *lines])


if __name__ == "__main__":
    main(PATH, render)
