"""The group of all verbs, each imported when it is used; and the one place that turns failures into exit codes."""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn, cast

import click

from trainplane import __version__
from trainplane.cli.main import VERBS

INTERRUPTED = 130
READER_GONE = 141
IO_ERROR = 74
INTERNAL_ERROR = 70


def load(verb: str) -> click.Command:
    """The click command of a verb. What was loaded stays, so from here on the collector looks only at what is new."""
    name = verb.replace("-", "_")
    found = cast(click.Command, getattr(import_module(f"trainplane.cli.{name}"), name))
    gc.freeze()
    gc.enable()
    return found


class Verbs(click.Group):
    """A click group that imports a verb's module only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The verb's command, or None for an unknown word."""
        return load(cmd_name) if cmd_name in VERBS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the verbs from the table, so that help imports none of them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was asked for; an unknown word gets the nearest verb as an answer."""
        if args[0] not in VERBS and not args[0].startswith("-") and not ctx.resilient_parsing:
            refuse(args[0], "verb", VERBS)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; when the reader of our output has gone, leave as quietly as other commands do."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise click.exceptions.Exit(READER_GONE) from None


def refuse(word: str, noun: str, known: Sequence[str] | dict[str, str]) -> NoReturn:
    """Refuse an unknown word of the command line, naming the nearest known one."""
    from trainplane.api.problem import did_you_mean

    near = did_you_mean(word, known)
    few = [*known][:12]
    hint = f"did you mean {near!r}?" if near else f"use one of {', '.join(few)}{', …' if len(known) > len(few) else ''}"
    raise click.UsageError(f"there is no {noun} {word!r}; {hint}")


@click.command(cls=Verbs, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="trainplane", message="%(prog)s %(version)s")
def command() -> None:
    """Distributed training on one machine or on Kubernetes, with every field explained."""


def run(args: Sequence[str]) -> int:
    """Run the command line and return its exit code; whatever goes wrong, nobody sees a traceback unasked."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape, not a crash.
        cast(Any, stream).reconfigure(errors="backslashreplace")
    try:
        try:
            # Outside standalone mode click hands `ctx.exit(n)` back as n.
            code = command.main(list(args), prog_name="trainplane", standalone_mode=False)
        finally:
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return READER_GONE
    except OSError as error:
        _drop_output()
        where = f"{error.filename}: " if error.filename else ""
        return _last_words(error, f"{where}{error.strerror or error}", IO_ERROR)
    except Exception as error:  # noqa: BLE001 - the last resort
        kind = type(error).__name__
        sentence = " ".join(str(error).split())[:200]
        report = "please report it, with what TRAINPLANE_DEBUG=1 shows"
        return _last_words(error, f"internal error: {kind}: {sentence}; {report}", INTERNAL_ERROR)
    return code if isinstance(code, int) else 0


def _drop_output() -> None:
    """Send nowhere what is still buffered, or the interpreter would fail to write it once more on its way out."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _last_words(error: Exception, line: str, code: int) -> int:
    if os.environ.get("TRAINPLANE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    sys.stderr.write(f"trainplane: {line}\n")
    return code
