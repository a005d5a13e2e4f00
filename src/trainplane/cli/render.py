"""`trainplane render`: every object that TrainJobs become."""

import json
import os

import click

from trainplane.api.meta import Raw
from trainplane.cli.inputs import Inputs, Rendered, given, load, named, source_name, told_once
from trainplane.cli.inputs import render as render_job
from trainplane.cli.yaml_out import to_yaml
from trainplane.trainjob.explain import in_creation_order

KEYS_LATER = "Its keys are drawn when Trainplane creates it, and never shown: as it stands here it cannot be applied."
NO_JOBS = "there is no TrainJob in these files; a runtime becomes nothing until a TrainJob names it"


@click.command(no_args_is_help=True)
@given
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="The format.")
@click.pass_context
def render(
    ctx: click.Context, files: tuple[str, ...], filenames: tuple[str, ...], runtime_dirs: tuple[str, ...], output: str
) -> None:
    """Print every object that TrainJobs become.

    FILE is YAML or JSON with TrainJobs, and runtimes where you have them at hand; a folder stands for its files, and -
    for the standard input. The runtime of a TrainJob is looked for in the files, in --runtime-dir, then among the
    built-in ones. Dialects are understood. Nothing depends on the time or the place: the same files print the same.

    A TrainJob that would be refused prints nothing but the reasons, and the exit code is 1. With -o json: a List.

    \b
    trainplane render -f job.yaml
    trainplane render -f jobs/ --runtime-dir runtimes/
    """
    inputs = load((*filenames, *files), runtime_dirs=runtime_dirs)
    results = [render_job(job, named(inputs, job)) for job in inputs.jobs]
    good = [(result, raw) for result in results if result.plan for raw in in_creation_order(result.plan.objects)]
    if output == "json":
        items = [raw for _, raw in good]
        click.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2, ensure_ascii=False))
    else:
        click.echo("---\n".join(as_yaml(result, raw) for result, raw in good), nl=False)
    ctx.exit(complain(inputs, results))


def complain(inputs: Inputs, results: list[Rendered]) -> int:
    """Print every error to the standard error, and answer with the exit code."""
    errors = [*inputs.problems, *(error for result in results for error in result.errors)]
    color = False if "NO_COLOR" in os.environ else None
    for line in told_once(errors):
        click.echo(line, err=True, color=color)
    if not inputs.jobs and not errors:
        raise click.UsageError(NO_JOBS)
    return 1 if errors else 0


def as_yaml(result: Rendered, raw: Raw) -> str:
    """One object under a line that says what it belongs to."""
    runtime = f" on {source_name(result.runtime)}" if result.runtime else ""
    lines = [f"{raw['kind']} of the TrainJob {result.name}{runtime}"]
    if raw["kind"] == "Secret":
        lines.append(KEYS_LATER)
    return "".join(f"# {line}\n" for line in lines) + to_yaml(raw)
