"""`trainplane help`: what a rule, a verb or a topic means."""

from importlib import import_module
from pkgutil import iter_modules

import click

import trainplane
from trainplane.api.problem import Rule
from trainplane.cli.group import load, refuse
from trainplane.cli.main import VERBS

TOPICS: dict[str, tuple[str, str]] = {
    "rules": ("every rule, by id", ""),
    "exit-codes": (
        "what the command's exit code says",
        """\
  0    done; lint found no errors, though it may have warned
  1    a document has errors, or what was asked of a cluster cannot be done as it is
  2    the command was called wrongly, or an input could not be read
  70   an internal error: please report it
  74   the output could not be written
  124  `wait` ran out of time
  130  interrupted
  141  whoever read the output left""",
    ),
    "environment": (
        "the variables that the command reads",
        """\
  KUBECONFIG        where your own kubeconfig is: for `kubeconfig --merge`, and for verbs about jobs where there is no
                    cluster of `up`; ~/.kube/config by default
  NO_COLOR          set to anything: no colours
  TRAINPLANE_DEBUG  set to anything: an internal error shows its traceback
  XDG_STATE_HOME    clusters live in its folder trainplane; ~/.local/state by default""",
    ),
    "completion": (
        "how the shell completes verbs and options",
        """\
  bash   eval "$(_TRAINPLANE_COMPLETE=bash_source trainplane)"
  zsh    eval "$(_TRAINPLANE_COMPLETE=zsh_source trainplane)"
  fish   _TRAINPLANE_COMPLETE=fish_source trainplane | source

Put the line for your shell into its start-up file.""",
    ),
}
"""Topic → its title and its text; `rules` is written from the rules themselves."""


def rule_modules() -> list[str]:
    """Where rules live: with the words, or with the room whose law they are, in modules called `rules` or `*_rules`."""
    return [
        f"{floor.name}.{module.name}"
        for floor in iter_modules(trainplane.__path__, "trainplane.")
        if floor.ispkg
        for module in iter_modules(import_module(floor.name).__path__)
        if module.name == "rules" or module.name.endswith("_rules")
    ]


def rules() -> dict[str, Rule]:
    """Every rule, by id, in the order of ids."""
    found = [
        value for name in rule_modules() for value in vars(import_module(name)).values() if isinstance(value, Rule)
    ]
    return {rule.id: rule for rule in sorted(found, key=lambda rule: rule.id)}


def explain(rule: Rule) -> str:
    """A rule in full: what it says, why, and an example where it has one."""
    parts = [f"{rule.id} ({rule.severity}): {rule.title}", click.wrap_text(rule.why, width=88)]
    for word, example in (("Not so:", rule.bad), ("So:", rule.good)):
        if example:
            lines = "\n".join(f"    {line}".rstrip() for line in example.strip("\n").splitlines())
            parts.append(f"{word}\n\n{lines}")
    return "\n\n".join(parts)


@click.command("help")
@click.argument("topic", required=False)
@click.pass_context
def help(ctx: click.Context, topic: str | None) -> None:  # noqa: A001 - the verb's name
    """Explain a rule, a verb or a topic.

    TOPIC is the id of a rule (TP001), a verb (lint), or one of the topics that plain `trainplane help` lists.
    """
    if topic is None:
        print(_contents())
    elif topic in VERBS:
        verb = load(topic)
        print(verb.get_help(click.Context(verb, info_name=topic, parent=ctx.parent)))
    elif topic == "rules":
        print("\n".join(f"{rule.id}  {rule.severity:<7}  {rule.title}" for rule in rules().values()))
    elif topic in TOPICS:
        print(TOPICS[topic][1])
    else:
        known = rules()
        if topic.upper() not in known:
            refuse(topic, "topic or rule", [*VERBS, *TOPICS, *known])
        print(explain(known[topic.upper()]))


def _contents() -> str:
    width = max(map(len, (*VERBS, *TOPICS))) + 2
    return "\n".join(
        [
            "Verbs (`trainplane help VERB`):",
            *(f"  {verb:<{width}}{summary}" for verb, summary in VERBS.items()),
            "",
            "Topics (`trainplane help TOPIC`):",
            *(f"  {topic:<{width}}{title}" for topic, (title, _) in TOPICS.items()),
            "",
            "Rules: `trainplane help TP001` explains the rule that lint named.",
        ]
    )
