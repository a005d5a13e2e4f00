"""`trainplane lint`: what is wrong with documents, where, and what to do."""

import os
import stat
import sys
from collections.abc import Iterator
from typing import Any

import click

from trainplane.api.documents import MAX_BYTES
from trainplane.api.problem import Located, Severity
from trainplane.api.sentences import counted
from trainplane.lint import Findings
from trainplane.lint import lint as lint_texts

SUFFIXES = (".yaml", ".yml", ".json")
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_DASH = "-"


class UnusableError(click.ClickException):
    """What was named cannot be read."""

    exit_code = 2


@click.command(no_args_is_help=True)
@click.argument("files", metavar="FILE|DIR|-...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="The format.")
@click.option("-q", "--quiet", is_flag=True, help="Say only errors.")
@click.option("--fix", "mend", is_flag=True, help="Mend in the files what can be mended safely, and show the changes.")
@click.option("--dry-run", is_flag=True, help="With --fix: only show the changes; the exit code is 1 if there are any.")
@click.pass_context
def lint(ctx: click.Context, files: tuple[str, ...], output: str, quiet: bool, mend: bool, dry_run: bool) -> None:
    """Check documents and say what is wrong, where, and what to do.

    FILE is YAML or JSON with one document or several; a folder stands for all its *.yaml, *.yml and *.json files, in
    all depths; - reads the standard input. TrainJobs are checked against the runtimes they name, where these are given.

    Errors refuse, warnings and information do not: the exit code is 1 only where there is an error, and 2 where a file
    cannot be read. `trainplane help ID` explains what an id means.

    With --fix, faults whose remedy is certain are mended in the files: misspelt fields, missing labels, wrong quotes
    and indentation, pods one level too high. Comments and layout stay, and a change that does not leave less to say is
    not made. What is said then is about the mended files.

    \b
    trainplane lint runtime.yaml jobs/
    trainplane lint --fix --dry-run runtimes/
    kubectl get trainjobs -A -o yaml | trainplane lint -
    """
    if dry_run and not mend:
        raise click.UsageError("--dry-run goes with --fix: lint alone changes nothing")
    if mend and _DASH in files and not dry_run:
        raise click.UsageError("the standard input cannot be mended in place; add --dry-run to see the changes")
    unreadable: list[UnusableError] = []
    changed: list[str] = []
    sources = _readable(files, unreadable)
    if mend:
        from trainplane.cli.mending import mended

        sources = mended(sources, changed, show=output == "text", write=not dry_run)
    findings = lint_texts(sources)
    if unreadable and not findings.files:
        raise unreadable[0]
    if quiet:
        errors = tuple(found for found in findings.located if found.severity is Severity.ERROR)
        findings = Findings(errors, findings.files, findings.documents)
    if output == "json":
        import json

        click.echo(json.dumps(as_json(findings), indent=2, ensure_ascii=False))
    else:
        # click takes the colours off where nobody would see them.
        click.echo("\n".join(as_text(findings)), color=False if "NO_COLOR" in os.environ else None)
    for error in unreadable:
        error.show()
    ctx.exit(2 if unreadable else 1 if findings.refused or (dry_run and changed) else 0)


def _readable(files: tuple[str, ...], unreadable: list[UnusableError]) -> Iterator[tuple[str, bytes]]:
    """The files that can be read, with their bytes; the others are noted, and keep nobody from the rest."""
    for file in expanded(files):
        try:
            yield file, read(file)
        except UnusableError as error:
            unreadable.append(error)


def read(file: str) -> bytes:
    """The bytes of a file or of the standard input, and no more than are ever looked at."""
    try:
        if file == _DASH:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        # A pipe or a device under a manifest's name would keep us waiting for ever.
        if not stat.S_ISREG(os.stat(file).st_mode) and not file.startswith(("/dev/", "/proc/")):
            raise UnusableError(f"{file}: not a regular file; send it to the standard input, which is called -")
        with open(file, "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnusableError(f"{file}: {error.strerror or error}") from None


def as_text(findings: Findings) -> Iterator[str]:
    """The lines of the report: each problem with its remedy below it, and a summary."""
    for found in findings.located:
        yield from told(found)
    yield summary(findings)


def told(found: Located) -> Iterator[str]:
    """The lines of one problem: where and what, and below it what to do."""
    problem = found.problem
    word = click.style(str(found.severity), fg=_COLOURS[found.severity], bold=True)
    where = f" {problem.field}" if problem.path else ""
    yield f"{found.file}:{found.line}:{found.column}: {word} {problem.rule.id}{where}: {_printable(problem.what)}"
    if problem.todo:
        yield f"    {_printable(problem.todo)}"


def summary(findings: Findings) -> str:
    """How much there was of everything, and what to do next."""
    counts = (
        counted(findings.how_many(Severity.ERROR), "error"),
        counted(findings.how_many(Severity.WARNING), "warning"),
        counted(findings.how_many(Severity.INFO), "note"),
    )
    line = f"{counted(findings.files, 'file')}, {counted(findings.documents, 'document')}: {', '.join(counts)}"
    worst = sorted(findings.located, key=lambda found: list(Severity).index(found.severity))
    return f"{line}; `trainplane help {worst[0].problem.rule.id}` explains" if worst else line


def as_json(findings: Findings) -> dict[str, Any]:
    """The report as an object, with the same keys at all times."""
    return {
        "problems": [problem_json(found) for found in findings.located],
        "files": findings.files,
        "documents": findings.documents,
        "errors": findings.how_many(Severity.ERROR),
        "warnings": findings.how_many(Severity.WARNING),
        "notes": findings.how_many(Severity.INFO),
    }


def problem_json(found: Located) -> dict[str, Any]:
    problem = found.problem
    return {
        "id": problem.rule.id,
        "severity": str(problem.severity),
        "file": found.file,
        "line": found.line,
        "column": found.column,
        "field": problem.field,
        "what": problem.what,
        "todo": problem.todo,
    }


def expanded(files: tuple[str, ...]) -> Iterator[str]:
    """The files, and those of the folders, each once and in an order that does not change."""
    seen: set[str] = set()
    for file in files:
        for each in _walk(file) if file != _DASH and os.path.isdir(file) else (file,):
            if each not in seen:
                seen.add(each)
                yield each


def _walk(folder: str) -> Iterator[str]:
    found: list[str] = []

    def refuse(error: OSError) -> None:
        raise UnusableError(f"{error.filename}: {error.strerror or error}")

    # Links to folders are not followed, so that no loop of them can be walked.
    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(place, name) for name in names if name.endswith(SUFFIXES)]
    if not found:
        raise UnusableError(f"{folder}: no {', '.join(f'*{suffix}' for suffix in SUFFIXES)} file in this folder")
    yield from sorted(found)


def _printable(text: str) -> str:
    """The text on one line: names and values in it come from the document, and may hold anything."""
    return "".join(char if char.isprintable() else "?" for char in text)
