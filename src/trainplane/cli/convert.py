"""`trainplane convert`: documents of any dialect in the hub's words."""

import json
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from trainplane.api.dialects import Converted, to_hub
from trainplane.api.documents import MAX_BYTES, Document, parse
from trainplane.api.problem import Located, Path, Problem, Severity
from trainplane.api.rules import DIALECT, MISSING_FIELD
from trainplane.api.trainer import API_VERSION
from trainplane.cli.yaml_out import to_yaml

WIDTH = 100
"""Where comments wrap."""


class Unreadable(click.ClickException):
    """A file that cannot be read, which is no fault of its text."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one document."""

    document: Document
    converted: Converted
    notes: tuple[Located, ...]

    @property
    def refused(self) -> bool:
        """Whether the document cannot be printed in the hub's words."""
        return any(note.severity is Severity.ERROR for note in self.notes)


@click.command(no_args_is_help=True)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="The format.")
@click.pass_context
def convert(ctx: click.Context, files: tuple[str, ...], output: str) -> None:
    """Print documents of any dialect in the words of trainer.kubeflow.org/v1alpha1.

    FILE is YAML or JSON with one document or several; - reads the standard input. Understood are runtimes of
    ome.io/v1beta1, and runtimes and TrainJobs of kubeflow.org/v2alpha1, trainer.kubeflow.org/v2alpha1 and
    trainer.kubeflow.org/v2. Other kinds pass unchanged.

    What was inferred or moved stands as a comment at its place; your own comments are not kept. Fields keep your
    order, and none is lost: what cannot be said in the hub's words is an error, and its document is not printed.
    With -o json: the objects, each with its notes.

    \b
    trainplane convert runtime.yaml | kubectl apply -f -
    """
    answers: list[Answer] = []
    problems: list[Located] = []
    for file in files:
        parsed = parse(read(file), file)
        problems.extend(parsed.problems)
        answers.extend(answer(document) for document in parsed.documents)
    if output == "json":
        click.echo(json.dumps(_as_json(answers, problems), indent=2, ensure_ascii=False))
    else:
        texts = [as_yaml(each) for each in answers if not each.refused]
        click.echo("---\n".join(texts), nl=False)
        for problem in (*problems, *(note for each in answers if each.refused for note in _errors(each))):
            click.echo(str(problem), err=True)
    failed = any(each.refused for each in answers) or any(p.severity is Severity.ERROR for p in problems)
    ctx.exit(1 if failed else 0)


def read(file: str) -> bytes:
    """The bytes of a file or of the standard input, and no more than are ever read."""
    try:
        if file == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with open(file, "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"{file}: {error.strerror or error}") from None


def answer(document: Document) -> Answer:
    """Convert a document and find the places of what there is to say."""
    converted = to_hub(document.value)
    problems = (*_nameless(document.value), *converted.notes)
    return Answer(document, converted, tuple(document.locate(problem) for problem in problems))


def as_yaml(each: Answer) -> str:
    """The converted document, with a headline and a comment at each place that there is something to say of."""
    raw = each.converted.raw
    comments: dict[Path, list[str]] = {}
    for note in each.notes:
        # The headline says it already.
        if note.problem.rule is not DIALECT:
            place = each.converted.place(note.problem.path)
            comments.setdefault(place, []).extend(_comment(note.problem, depth=len(place)))
    return f"# {_headline(each)}\n{to_yaml(raw, comments)}"


def _headline(each: Answer) -> str:
    author = each.document.value
    metadata = author.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    what = f"{author['kind']} {name}" if isinstance(name, str) and name.isprintable() else author["kind"]
    if not each.converted.changed:
        return f"{what}: unchanged"
    version = author["apiVersion"]
    if version == API_VERSION:
        return f"{what}: in today's words of {API_VERSION}"
    return f"{what}: {version} in the words of {API_VERSION}"


def _comment(problem: Problem, *, depth: int) -> list[str]:
    word = "" if problem.severity is Severity.INFO else f"{problem.severity}: "
    text = f"{word}{problem.what}{f'; {problem.todo}' if problem.todo else ''} ({problem.rule.id})"
    # Names and values in a message come from the document: no line break of theirs may end the comment.
    printable = "".join(char if char.isprintable() else "?" for char in text)
    return textwrap.wrap(printable, width=max(WIDTH - 2 * depth, 60), break_long_words=False, break_on_hyphens=False)


def _nameless(raw: dict[str, Any]) -> Iterator[Problem]:
    for word in ("apiVersion", "kind"):
        if not isinstance(raw.get(word), str):
            yield Problem(MISSING_FIELD, (word,), f"the document has no {word}", "say what it is: apiVersion and kind")


def _errors(each: Answer) -> Iterator[Located]:
    return (note for note in each.notes if note.severity is Severity.ERROR)


def _as_json(answers: list[Answer], problems: list[Located]) -> dict[str, Any]:
    from trainplane.cli.lint import problem_json

    return {
        "documents": [
            {
                "object": None if each.refused else each.converted.raw,
                "changed": each.converted.changed,
                "notes": [problem_json(note) for note in each.notes],
            }
            for each in answers
        ],
        "problems": [problem_json(problem) for problem in problems],
    }
