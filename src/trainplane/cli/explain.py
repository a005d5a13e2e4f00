"""`trainplane explain`: what TrainJobs become, and where every field comes from."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from trainplane.api.problem import Located, Path, Severity, show
from trainplane.cli.inputs import Rendered, given, load, named, objects_of, source_name, told_once, value_at
from trainplane.cli.inputs import render as render_job
from trainplane.cli.lint import UnusableError, problem_json
from trainplane.cli.render import complain
from trainplane.trainjob.blame import Mark
from trainplane.trainjob.explain import (
    Arithmetic,
    amounts,
    arithmetic,
    in_creation_order,
    replaced,
    short,
    without_effect,
)
from trainplane.trainjob.fields import NotOne, Spot, find, leaves, reached, roots, spots, written
from trainplane.trainjob.pair_rules import WITHOUT_EFFECT
from trainplane.trainjob.pipeline import STEPS
from trainplane.trainjob.plan import Source

COUNTED = (("PET_NPROC_PER_NODE",), ("OMPI_MCA_orte_set_default_slots",), ("I_MPI_PERHOST",), ("DMLC_NUM_WORKER",))
"""The variables that tell a framework how many processes there are."""
SHOWN = 60
"""How much of a value is shown in one line."""
_SENTENCES = {step.__name__: (step.__doc__ or "").strip().partition("\n")[0] for step in STEPS}


@click.command(no_args_is_help=True)
@given
@click.option("--field", "field", metavar="PATH", help="Say where this field's value comes from, step by step.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="The format.")
@click.pass_context
def explain(
    ctx: click.Context,
    files: tuple[str, ...],
    filenames: tuple[str, ...],
    *,
    runtime_dirs: tuple[str, ...],
    field: str | None,
    output: str,
) -> None:
    """Say what TrainJobs become and why: the arithmetic, the surprises, the objects, or one field's history.

    First the numbers: nodes, processes, resources, gangs, and the order of stages. Then what may surprise: warnings,
    what was inferred, values that took the place of others, settings without effect. Then the objects in short.

    --field names a field of the rendered objects and prints its history: each step that set it, from which line of
    which document, and what it replaced. Elements go by their name or number, and the end of a path is enough where
    only one field ends so: env[PET_NNODES], or spec.replicatedJobs[node]…containers[0].image. A field of the TrainJob
    or its runtime, such as spec.trainer.numNodes, is answered with the fields that it reaches.

    \b
    trainplane explain -f job.yaml
    trainplane explain -f job.yaml --field 'env[PET_NNODES]'
    """
    inputs = load((*filenames, *files), runtime_dirs=runtime_dirs)
    results = [render_job(job, named(inputs, job), blame=True) for job in inputs.jobs]
    good = [result for result in results if result.plan]
    if field is not None:
        text, answer = _history(good, field)
    else:
        text = "\n\n".join("\n".join(story(result)) for result in good)
        answer = {"jobs": [story_json(result) for result in good]}
    if output == "json":
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    elif text:
        click.echo(text, color=False if "NO_COLOR" in os.environ else None)
    ctx.exit(complain(inputs, results))


def _history(good: list[Rendered], field: str) -> tuple[str, dict[str, Any]]:
    """The history of a rendered field, or what a field of a document reaches, for every TrainJob that has it."""
    told: list[str] = []
    fields: list[dict[str, Any]] = []
    reaches: list[dict[str, Any]] = []
    refusal = ""
    for result in good:
        try:
            spot = find(result.plan.objects if result.plan else (), field)
        except NotOne as error:
            found = list(reach(result, field))
            reaches += found
            told += ["\n".join(_reach_told(each)) for each in found]
            refusal = str(error)
        else:
            told.append("\n".join(history(result, spot)))
            fields += history_json(result, spot)
    if refusal and not told:
        raise UnusableError(refusal)
    return "\n\n".join(told), {"fields": fields, "reaches": reaches}


def reach(result: Rendered, field: str) -> Iterator[dict[str, Any]]:
    """What a field of the TrainJob or its runtime becomes, with the same keys at all times."""
    if result.plan is None:
        return
    every = [leaf for root in roots(result.plan.objects) for leaf in leaves(root)]
    for document, raw in (("job", result.plan.raw_job), ("runtime", result.plan.raw_runtime)):
        path = written(raw, field)
        place = result.place(Source(document, path)) if path else None
        if path and place:
            here = set(reached(result.plan, result.chains, document, path))
            yield {
                "job": result.name,
                "document": document,
                "field": place[3],
                "file": place[0],
                "line": place[1],
                "column": place[2],
                "fields": [
                    {"object": f"{leaf.path[0]}/{leaf.path[1]}", "field": leaf.field, "value": leaf.value}
                    for leaf in every
                    if leaf.path in here
                ],
            }


def _reach_told(each: dict[str, Any]) -> Iterator[str]:
    place = f"{each['file']}:{each['line']}:{each['column']}"
    yield click.style(f"{each['field']} at {place} reaches" + ("" if each["fields"] else " nothing"), bold=True)
    for leaf in each["fields"]:
        yield f"  {leaf['field']} = {_value(leaf['value'])} in the {leaf['object'].replace('/', ' ', 1)}"


def story(result: Rendered) -> Iterator[str]:
    """The whole answer for one TrainJob: numbers, surprises, objects."""
    if result.plan is None or result.runtime is None:
        return
    yield click.style(f"TrainJob {result.name} on {source_name(result.runtime)}", bold=True)
    yield ""
    sums = arithmetic(result.plan)
    yield f"  size       {_size(sums)}"
    for what, mark in counted(result):
        yield f"             {what}: {_why(result, mark)}"
    yield from numbers(sums)
    lines = list(surprises(result))
    yield ""
    yield click.style("What may surprise" if lines else "Nothing surprising", bold=True)
    yield from (f"  {line}" for line in lines)
    yield ""
    yield click.style("Objects", bold=True)
    for raw in in_creation_order(result.plan.objects):
        yield from (f"  {line}" for line in short(raw))
    yield ""
    yield "next: trainplane explain --field PATH tells where a field comes from; trainplane render prints everything"


def _size(sums: Arithmetic) -> str:
    auto = "" if sums.procs == str(sums.processes) else f" ({sums.procs})"
    return f"{_count(sums.nodes, 'node')} × {_count(sums.processes, 'process')}{auto} = world size {sums.world}"


def counted(result: Rendered) -> Iterator[tuple[str, Mark]]:
    """Where the two factors of the world size were read."""
    trainer = result.plan.roles.trainer if result.plan else None
    for path, marks in result.chains.items():
        if trainer and path[-1] == "parallelism" and path[4:5] == (trainer.name,):
            yield "nodes", marks[-1]
        elif path[-2:-1] in COUNTED and path[-1] == "value":
            yield "processes", marks[-1]


def numbers(sums: Arithmetic) -> Iterator[str]:
    """What the size asks for, and in which order it starts, in words."""
    if sums.bounds:
        yield f"             elastic: {sums.bounds[0]} to {sums.bounds[1]} nodes"
    for part in sums.parts:
        role = f", the {part.role}" if part.role.replace(" ", "-") not in ("", part.name) else ""
        yield f"  pods       {part.pods} × {part.name}{role}: each asks for {amounts(part.asks)}"
    yield f"  together   {amounts(sums.total)}"
    for gang in sums.gangs:
        yield f"  gang       {gang.name}: {_count(gang.pods, 'pod')} placed together or not at all"
    if not sums.gangs:
        yield "  gang       none: pods are placed one by one"
    steps = []
    for stage in sums.stages:
        waits = " and ".join(f"{name} is {status}" for name, status in stage.waits)
        steps.append(" + ".join(stage.jobs) + (f" (when {waits})" if waits else ""))
    yield f"  order      {', then '.join(steps) or 'nothing starts'}"


def surprises(result: Rendered) -> Iterator[str]:
    """Warnings and what was inferred, values that took the place of others, settings without effect."""
    yield from told_once(warnings(result))
    for each in replaced(result.chains):
        yield f"{_field(result, each.path)}: {_value(each.old)} → {_value(each.new)}"
        yield f"    {_where(result, each.after)}; it was from {_where(result, each.before)}"
    told = {found.problem.path for found in result.problems if found.problem.rule in WITHOUT_EFFECT}
    for path in idle(result):
        if path in told:
            continue  # said above, with the reason
        file, line, column = _position(result, path)
        yield f"{file}:{line}:{column}: {show(path)} changes nothing: without it the objects are the same"


def warnings(result: Rendered) -> tuple[Located, ...]:
    """What is no reason to refuse and still worth knowing."""
    return tuple(dict.fromkeys(found for found in result.problems if found.severity is not Severity.ERROR))


def idle(result: Rendered) -> list[Path]:
    """The settings of the TrainJob that change nothing."""
    runtime = result.runtime
    return [] if runtime is None else list(without_effect(result.job.hub, lambda job: objects_of(job, runtime)))


def history(result: Rendered, spot: Spot) -> Iterator[str]:
    """The chain of every leaf of a field."""
    for number, leaf in enumerate(leaves(spot)):
        marks = result.chains[leaf.path]
        if number:
            yield ""
        head = f"{leaf.field} = {_value(leaf.value, whole=True)}"
        yield click.style(f"{head} in the {leaf.path[0]} {leaf.path[1]}", bold=True)
        for mark in marks:
            over = f", in place of {_value(mark.replaced)}" if mark.replaced is not None else ""
            yield f"  {mark.step:<13}{_value(mark.value)}{over}"
            yield f"  {'':<13}{_why(result, mark)}"


def _field(result: Rendered, path: Path) -> str:
    """A path into a rendered object as people read it."""
    objects = result.plan.objects if result.plan else ()
    return next((spot.field for spot in spots(objects) if spot.path == path), show(path[2:]))


def _why(result: Rendered, mark: Mark) -> str:
    where = result.place(mark.source)
    note = mark.source.note or ("" if where else _SENTENCES.get(mark.step, ""))
    parts = [] if where is None else [f"{where[0]}:{where[1]}:{where[2]} {where[3]}{_manager(result, mark)}"]
    if where and _defaulted(result, mark):
        parts.append("left out there, and this is the default")
    return ": ".join([*parts, note] if note else parts)


def _manager(result: Rendered, mark: Mark) -> str:
    if mark.source.document != "job" or mark.source.path[:2] != ("spec", "runtimePatches"):
        return ""
    return f" by {value_at(result.job, (*mark.source.path[:3], 'manager'))}"


def _defaulted(result: Rendered, mark: Mark) -> bool:
    document = result.job if mark.source.document == "job" else result.runtime
    return document is not None and not mark.source.note and value_at(document, mark.source.path) is None


def _where(result: Rendered, mark: Mark) -> str:
    where = result.place(mark.source)
    return f"{where[0]}:{where[1]}:{where[2]}" if where else mark.source.note or f"the step {mark.step}"


def _position(result: Rendered, path: Path) -> tuple[str, int, int]:
    document = result.job.document
    where = document.position(result.job.converted.origin(path))
    return document.file, where.line, where.column


def story_json(result: Rendered) -> dict[str, Any]:
    """The whole answer for one TrainJob, with the same keys at all times."""
    if result.plan is None or result.runtime is None:
        return {}
    sums = asdict(arithmetic(result.plan))
    return {
        "name": result.name,
        "runtime": source_name(result.runtime),
        "arithmetic": sums,
        "problems": [problem_json(found) for found in warnings(result)],
        "replaced": [
            {
                "object": f"{each.path[0]}/{each.path[1]}",
                "field": _field(result, each.path),
                "value": each.new,
                "replaced": each.old,
                "step": each.after.step,
            }
            for each in replaced(result.chains)
        ],
        "withoutEffect": [show(path) for path in idle(result)],
        "objects": [
            {"kind": raw["kind"], "name": raw["metadata"]["name"], "summary": list(short(raw))}
            for raw in in_creation_order(result.plan.objects)
        ],
    }


def history_json(result: Rendered, spot: Spot) -> Iterator[dict[str, Any]]:
    """The chain of every leaf of a field, with the same keys at all times."""
    for leaf in leaves(spot):
        marks = result.chains[leaf.path]
        yield {
            "job": result.name,
            "object": f"{leaf.path[0]}/{leaf.path[1]}",
            "field": leaf.field,
            "value": leaf.value,
            "chain": [_mark_json(result, mark) for mark in marks],
        }


def _mark_json(result: Rendered, mark: Mark) -> dict[str, Any]:
    where = result.place(mark.source)
    file, line, column, field = where or (None, None, None, None)
    return {
        "step": mark.step,
        "value": mark.value,
        "replaced": mark.replaced,
        "document": mark.source.document or None,
        "file": file,
        "line": line,
        "column": column,
        "field": field,
        "note": mark.source.note,
    }


def _value(value: Any, *, whole: bool = False) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if whole or len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _count(number: int, noun: str) -> str:
    plural = "processes" if noun == "process" else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
