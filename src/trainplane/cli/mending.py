"""`trainplane lint --fix`: files mended in place, and the changes shown."""

import os
from collections.abc import Iterable, Iterator
from difflib import unified_diff

import click

from trainplane.cli.lint import UnusableError
from trainplane.fix.fix import fix

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def mended(
    sources: Iterable[tuple[str, bytes]], changed: list[str], *, show: bool, write: bool
) -> Iterator[tuple[str, bytes]]:
    """The files with what could be mended; changes are shown and written as they come, and the files noted."""
    for file, data in sources:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            yield file, data
            continue
        fixed = fix(text, file)
        if fixed.text == text:
            yield file, data
            continue
        changed.append(file)
        if show:
            click.echo("".join(difference(text, fixed.text, file)), color=False if "NO_COLOR" in os.environ else None)
        new = fixed.text.encode("utf-8")
        if write:
            replace(file, new)
        yield file, new


def difference(old: str, new: str, file: str) -> Iterator[str]:
    """The change of a file, as diff shows it."""
    lines = unified_diff(old.splitlines(True), new.splitlines(True), fromfile=file, tofile=f"{file} (mended)")
    for line in lines:
        shown = line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n"
        colour = None if line.startswith(("+++", "---")) else _COLOURS.get(line[:1])
        yield click.style(shown, fg=colour) if colour else shown


def replace(file: str, data: bytes) -> None:
    """Write a file as a whole or not at all, with the rights that it has."""
    # A link keeps pointing to its file, which is the one that is written.
    target = os.path.realpath(file)
    beside = f"{target}.mended"
    try:
        mode = os.stat(target).st_mode
        with open(beside, "xb") as stream:
            stream.write(data)
        os.chmod(beside, mode & 0o7777)
        os.replace(beside, target)
    except OSError as error:
        raise UnusableError(f"{file}: cannot be mended: {error.strerror or error}") from None
