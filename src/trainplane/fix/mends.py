"""What is mended and how: for each rule a function from the page and the problem to a new text and what it means."""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from trainplane.api import rules
from trainplane.api.meta import Raw
from trainplane.api.problem import Path, Problem, Rule, did_you_mean
from trainplane.api.raw import look, put
from trainplane.api.schema import Schema, openapi
from trainplane.fix.page import Page
from trainplane.lint import Read
from trainplane.trainjob import rules as of_trainjob
from trainplane.trainjob import runtime_rules as of_runtime
from trainplane.trainjob.misplaced import JOBS, POD

CERTAIN = 0.8
"""How near a word must be to the one that is meant."""
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
FRAMEWORK = "trainer.kubeflow.org/framework"
FRAMEWORKS = ("torch", "mpi", "jax", "xgboost", "torchtune", "deepspeed", "mlx", "plain")

_MEANT = re.compile(r"did you mean ([^\s?]+)\?")
_STEP = re.compile(rf"{re.escape(ANCESTOR)}: ([a-z-]+)")


class Mend(NamedTuple):
    """A new text, and the value that its document must then have."""

    text: str
    value: Any


def renamed(page: Page, read: Read, problem: Problem) -> Mend | None:
    """A misspelt field under its right name."""
    meant = _MEANT.search(problem.todo)
    old, holder = problem.path[-1], look(read.document.value, *problem.path[:-1])
    if meant is None or not isinstance(old, str) or not isinstance(holder, Mapping) or meant[1] in holder:
        return None
    if problem.rule is rules.UNKNOWN_FIELD and not did_you_mean(old, [meant[1]], cutoff=CERTAIN):
        return None
    place = read.document.position(problem.path)
    line, column = place.line - 1, place.column - 1
    quote = page.lines[line][column : column + 1] if page.lines[line][column : column + 1] in ("'", '"') else ""
    written = f"{quote}{old}{quote}"
    if not page.lines[line].startswith(written, column):
        return None
    text = page.with_word(line, column, old=written, new=f"{quote}{meant[1]}{quote}")
    value = {meant[1] if key == old else key: item for key, item in holder.items()}
    return Mend(text, put(read.document.value, problem.path[:-1], value))


def reworded(page: Page, read: Read, problem: Problem) -> Mend | None:
    """A misspelt word as the right one."""
    meant, old = _MEANT.search(problem.todo), look(read.document.value, *problem.path)
    if meant is None or not isinstance(old, str) or not did_you_mean(old, [meant[1]], cutoff=CERTAIN):
        return None
    found = page.scalar(read.document, problem.path)
    if found is None or found[2].strip("'\"") != old:
        return None
    line, column, written = found
    text = page.with_word(line, column, old=written, new=written.replace(old, meant[1]))
    return Mend(text, put(read.document.value, problem.path, meant[1]))


def retyped(page: Page, read: Read, problem: Problem) -> Mend | None:
    """A value with the quotes that it lacks, or without those that it has too many."""
    found = page.scalar(read.document, problem.path)
    if found is None:
        return None
    line, column, written = found
    bare = written.strip("'\"")
    value: Any = None
    if problem.todo == "remove the quotes" and re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", bare):
        new, value = bare, int(bare)
    elif problem.todo.startswith("quote it: ") and written == bare:
        new, value = f'"{bare}"', bare
    elif problem.todo in ("write true without quotes", "write false without quotes"):
        new, value = problem.todo.split()[1], problem.todo.split()[1] == "true"
    else:
        return None
    return Mend(page.with_word(line, column, old=written, new=new), put(read.document.value, problem.path, value))


def labelled(page: Page, read: Read, problem: Problem) -> Mend | None:
    """A job with the ancestor label of the step that it plays."""
    step = _STEP.search(problem.todo)
    if step is None or problem.path[-1] != "name":
        return None
    return _with_label(page, read, (*problem.path[:-1], "template"), label=(ANCESTOR, step[1]))


def framework(page: Page, read: Read, problem: Problem) -> Mend | None:
    """A runtime with the label of its framework."""
    if problem.path != ("metadata",):
        return reworded(page, read, problem)
    word = problem.todo.rpartition(" ")[2]
    certain = word in FRAMEWORKS and problem.todo.endswith(f": {word}")
    return _with_label(page, read, (), label=(FRAMEWORK, word)) if certain else None


def _with_label(page: Page, read: Read, owner: Path, *, label: tuple[str, str]) -> Mend | None:
    value = put(read.document.value, (*owner, "metadata", "labels", label[0]), label[1], first=False)
    for depth, missing in ((("metadata", "labels"), ()), (("metadata",), ("labels:",)), ((), ("metadata:", "labels:"))):
        holder = look(read.document.value, *owner, *depth)
        if holder is None:
            continue
        if not isinstance(holder, Mapping) or not holder:
            return None
        keys = list(holder)
        # Below a name, which comes first by custom; otherwise before everything else.
        after = "name" if depth == ("metadata",) and "name" in holder else None
        place = page.key(read.document, (*owner, *depth, after or keys[0]))
        if place is None:
            return None
        line, column = place
        words = [*missing, f"{label[0]}: {label[1]}"]
        new = [f"{' ' * (column + 2 * step)}{word}{page.newline}" for step, word in enumerate(words)]
        at = page.end(line, column) if after else line
        return Mend(page.with_lines(at, at, new), value)
    return None


def indented(page: Page, read: Read, problem: Problem) -> Mend | None:
    """Fields that stand beside the empty object they belong to, moved under it."""
    found = re.fullmatch(r"indent (?:it|these lines) under ([A-Za-z]+)", problem.todo)
    path = problem.path[:-1]
    holder = look(read.document.value, *path)
    if found is None or read.kind is None or not isinstance(holder, Mapping) or holder.get(found[1], "") is not None:
        return None
    target = found[1]
    here = _schema(openapi(read.kind.type), path)
    inside = here.get("properties", {}).get(target, {}).get("properties", {})
    keys = [key for key in holder if key in inside and key not in here.get("properties", {})]
    block = page.block(read.document, [(*path, key) for key in (target, *keys)])
    head = page.key(read.document, (*path, target))
    if block is None or head is None or block[0] != head[0] or problem.path[-1] not in keys:
        return None
    first, last, _ = block
    text = page.with_lines(first + 1, last, page.indented(first + 1, last, 2))
    moved = {key: holder[key] for key in keys}
    kept = {key: moved if key == target else item for key, item in holder.items() if key not in keys}
    return Mend(text, put(read.document.value, path, kept))


def _schema(schema: Schema, path: Path) -> Schema:
    for step in path:
        schema = schema.get("items", {}) if isinstance(step, int) else schema.get("properties", {}).get(step, {})
    return schema


def wrapped(page: Page, read: Read, problem: Problem) -> Mend | None:
    """A pod that stands too high, moved down into a replicated job, or into the job that holds it."""
    if read.kind is None:
        return None
    path = problem.path[:-1]
    full: Path = (*JOBS, 0, *POD) if len(path) < len(JOBS) else (*path[: len(JOBS) + 1], *POD)
    missing = full[len(path) :]
    holder = look(read.document.value, *path)
    if full[: len(path)] != path or not isinstance(holder, Mapping) or missing[0] in holder:
        return None
    own, pod = (_schema(openapi(read.kind.type), where).get("properties", {}) for where in (path, full))
    keys = [key for key in holder if key in pod and key not in own]
    block = page.block(read.document, [(*path, key) for key in keys])
    if block is None or "containers" not in keys:
        return None
    first, last, column = block
    head, depth = _heading(missing, column)
    lines = [f"{line}{page.newline}" for line in head]
    text = page.with_lines(first, last, [*lines, *page.indented(first, last, depth - column)])
    new: dict[str, Any] = {key: item for key, item in holder.items() if key not in keys}
    _put_pod(new, missing, {key: holder[key] for key in keys})
    return Mend(text, put(read.document.value, path, new))


def _heading(missing: Path, column: int) -> tuple[list[str], int]:
    """The lines that lead down to the pod, and how far the pod is indented."""
    lines: list[str] = []
    labels = ("template:", "  metadata:", "    labels:", f"      {ANCESTOR}: trainer")
    for before, step in pairwise((None, *missing)):
        if isinstance(step, int):
            # The job that is made here is the trainer, and says so.
            lines.append(f"{' ' * (column - 2)}- name: node")
            lines += [f"{' ' * column}{line}" for line in labels]
            continue
        if not isinstance(before, int):
            lines.append(f"{' ' * column}{step}:")
        column += 2
    return lines, column


def _put_pod(holder: dict[str, Any], missing: Path, pod: Raw) -> None:
    if 0 in missing:
        cut = missing.index(0)
        job: Raw = {"name": "node", "template": {"metadata": {"labels": {ANCESTOR: "trainer"}}}}
        job = put(job, missing[cut + 1 :], pod)
        holder.update(put(holder, missing[:cut], [job]))
    else:
        holder.update(put(holder, missing, pod))


MENDS: Mapping[Rule, Callable[[Page, Read, Problem], Mend | None]] = {
    rules.UNKNOWN_FIELD: renamed,
    of_runtime.POLICY_NAME: renamed,
    rules.NOT_ALLOWED: reworded,
    rules.UNKNOWN_KIND: reworded,
    of_trainjob.REFERENCE_KIND: reworded,
    rules.WRONG_TYPE: retyped,
    rules.MISPLACED: indented,
    of_runtime.POD_IN_JOBSET: wrapped,
    of_runtime.POD_IN_JOB: wrapped,
    rules.FRAMEWORK_LABEL: framework,
    rules.FRAMEWORK_INFERRED: framework,
    rules.TRAINER_INFERRED: labelled,
    rules.INITIALIZER_INFERRED: labelled,
}
"""The rules whose faults can be mended in a document that can be read."""
