"""`trainplane diff-runtime`: what another runtime would change for the TrainJobs that use one."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import click

from trainplane.api.loose import text_at
from trainplane.api.problem import Located, Path
from trainplane.cli.inputs import Inputs, Rendered, built_in, load, render, told_once
from trainplane.cli.lint import UnusableError, problem_json
from trainplane.lint import Read
from trainplane.trainjob.fields import Spot, leaves, roots

NAMES = 4
"""How many TrainJobs are named where many have the same change."""


@dataclass(frozen=True, slots=True)
class Change:
    """One leaf that becomes another; the TrainJob's own name reads <job>, so that equal changes are equal."""

    kind: str
    field: str
    old: str
    new: str


@dataclass(slots=True)
class Comparison:
    """What the new runtime means for every TrainJob that was looked at."""

    unchanged: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    already: list[str] = field(default_factory=list)
    """Refused with the old runtime, too: no fault of the new one."""
    others: list[str] = field(default_factory=list)
    """On neither runtime."""
    changes: dict[Change, list[str]] = field(default_factory=dict)
    reasons: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    """Rule, what is wrong and what to do → whom it refuses."""
    problems: list[Located] = field(default_factory=list)


@click.command(name="diff-runtime", no_args_is_help=True)
@click.argument("old", metavar="OLD", type=click.Path(allow_dash=True))
@click.argument("new", metavar="NEW", type=click.Path(allow_dash=True))
@click.option(
    "--jobs",
    "jobs",
    metavar="FILE|DIR|-",
    multiple=True,
    required=True,
    type=click.Path(allow_dash=True),
    help="The TrainJobs to render with both; those on another runtime are left out.",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="The format.")
@click.pass_context
def diff_runtime(ctx: click.Context, old: str, new: str, *, jobs: tuple[str, ...], output: str) -> None:
    """Say which TrainJobs another runtime would change, and how, and which it would refuse.

    OLD and NEW are files with one runtime each, or names of built-in runtimes. Every TrainJob in --jobs that names one
    of the two is rendered with both. The exit code is 1 where the new runtime would refuse a TrainJob that the old one
    takes. TrainJobs that run already keep the runtime they started with.

    \b
    trainplane diff-runtime torch-2.7.yaml torch-2.8.yaml --jobs jobs/
    """
    before, after = one_runtime(old), one_runtime(new)
    inputs = load(jobs)
    if not inputs.jobs and not inputs.problems:
        raise UnusableError(f"{', '.join(jobs)}: no TrainJob in there")
    found = compare(inputs, before, after)
    color = False if "NO_COLOR" in os.environ else None
    if output == "json":
        click.echo(json.dumps(as_json(found), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(as_text(found, before, after)), color=color)
    for line in told_once(inputs.problems):
        click.echo(line, err=True, color=color)
    ctx.exit(1 if found.refused or inputs.problems else 0)


def one_runtime(name: str) -> Read:
    """The runtime of a file, or the built-in one of that name."""
    for each in built_in():
        if text_at(each.hub, "metadata", "name") == name and not os.path.exists(name):
            return each
    inputs = load([name])
    if len(inputs.runtimes) != 1:
        raise UnusableError(f"{name}: {len(inputs.runtimes) or 'no'} runtimes in there, and one is needed")
    return inputs.runtimes[0]


def compare(inputs: Inputs, before: Read, after: Read) -> Comparison:
    """Every TrainJob rendered with both runtimes."""
    found = Comparison()
    names = {text_at(each.hub, "metadata", "name") for each in (before, after)}
    for job in inputs.jobs:
        if text_at(job.hub, "spec", "runtimeRef", "name") not in names:
            found.others.append(Rendered(job).name)
            continue
        old, new = render(job, before), render(job, after)
        if old.plan is None:
            found.already.append(old.name)
        elif new.plan is None:
            found.refused.append(old.name)
            found.problems += new.errors
            for problem in {error.problem for error in new.errors}:
                reason = (problem.rule.id, _nameless(problem.what, old), _nameless(problem.todo, old))
                found.reasons.setdefault(reason, []).append(old.name)
        else:
            changes = set(differences(old, new))
            (found.changed if changes else found.unchanged).append(old.name)
            for change in changes:
                found.changes.setdefault(change, []).append(old.name)
    return found


def differences(old: Rendered, new: Rendered) -> Iterator[Change]:
    """The leaves that are not the same."""
    was, now = _leaves(old), _leaves(new)
    for path in dict.fromkeys((*was, *now)):
        before, after = was.get(path), now.get(path)
        values = [_nameless(_value(each), old) for each in (before, after)]
        spot = after or before
        if spot and values[0] != values[1]:
            yield Change(str(path[0]), spot.field, *values)


def _leaves(result: Rendered) -> dict[Path, Spot]:
    objects = result.plan.objects if result.plan else ()
    return {leaf.path: leaf for spot in roots(objects) for leaf in leaves(spot)}


def _value(spot: Spot | None) -> str:
    return "nothing" if spot is None else json.dumps(spot.value, ensure_ascii=False)


def _nameless(text: str, result: Rendered) -> str:
    return text.replace(text_at(result.job.hub, "metadata", "name"), "<job>")


def as_text(found: Comparison, before: Read, after: Read) -> Iterator[str]:
    """The counts first, then every change and every reason with whom it concerns."""
    names = [text_at(each.hub, "metadata", "name") for each in (before, after)]
    if names[0] == names[1]:
        names = [f"{name} of {each.document.file}" for name, each in zip(names, (before, after), strict=True)]
    looked_at = len(found.unchanged) + len(found.changed) + len(found.refused)
    yield click.style(f"{names[0]} → {names[1]}: {looked_at} TrainJobs rendered with both", bold=True)
    refused = f"{len(found.refused)} would be refused"
    yield f"  {len(found.unchanged)} unchanged, {len(found.changed)} changed, " + (
        click.style(refused, fg="red", bold=True) if found.refused else refused
    )
    if found.already:
        yield f"  {len(found.already)} refused by the old runtime already: {_some(found.already)}"
    if found.others:
        yield f"  {len(found.others)} left out, on another runtime: {_some(found.others)}"
    for title, lines in (("Changed", _changes(found)), ("Refused", _reasons(found))):
        told = list(lines)
        if told:
            yield from ("", click.style(title, bold=True), *told)
    yield ""
    yield "TrainJobs that run already keep the runtime they started with."


def _changes(found: Comparison) -> Iterator[str]:
    for change, jobs in sorted(found.changes.items(), key=lambda each: (-len(each[1]), each[0].kind, each[0].field)):
        yield f"  {change.kind} {change.field}: {change.old} → {change.new} ({_some(jobs)})"


def _reasons(found: Comparison) -> Iterator[str]:
    for (rule, what, todo), jobs in sorted(found.reasons.items(), key=lambda each: (-len(each[1]), each[0])):
        yield f"  {rule} {what} ({_some(jobs)})"
        if todo:
            yield f"      {todo}"


def _some(jobs: list[str]) -> str:
    more = f" and {len(jobs) - NAMES} more" if len(jobs) > NAMES else ""
    return f"{len(jobs)}: {', '.join(sorted(jobs)[:NAMES])}{more}"


def as_json(found: Comparison) -> dict[str, Any]:
    """The comparison as an object, with the same keys at all times."""
    return {
        "unchanged": sorted(found.unchanged),
        "changed": sorted(found.changed),
        "refused": sorted(found.refused),
        "refusedAlready": sorted(found.already),
        "leftOut": sorted(found.others),
        "changes": [
            {"kind": c.kind, "field": c.field, "old": c.old, "new": c.new, "jobs": sorted(jobs)}
            for c, jobs in sorted(found.changes.items(), key=lambda each: (each[0].kind, each[0].field, each[0].old))
        ],
        "problems": [problem_json(problem) for problem in dict.fromkeys(found.problems)],
    }
