"""Changing jobs: several at once, each told of in a sentence, and no failure of one keeps the others."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import click

from trainplane.cli.clusters import Refused
from trainplane.cli.server import Server, Session, refusal

if TYPE_CHECKING:
    from trainplane.api.meta import Raw

Change = Callable[[Session, "Raw"], Awaitable[str]]
"""Changes a job, and says what was done."""


def change_all(server: Server, names: Sequence[str], change: Change) -> int:
    """Change every job of these names; returns the exit code, which is 1 where one could not be changed."""
    from trainplane.cli.history import recall
    from trainplane.cli.sorts import TRAINJOB, kind_row
    from trainplane.cluster.errors import ApiError

    async def work(session: Session) -> int:
        code = 0
        for name in dict.fromkeys(names):
            try:
                job = await recall(session, kind_row(*TRAINJOB), name)
                click.echo(await change(session, job))
                for warning in session.client.take_warnings():
                    click.echo(f"warning: {warning}", err=True)
            except Refused as error:
                code = _told(error.message)
            except ApiError as error:
                code = _told(f"{name}: {refusal(error, server)}")
        return code

    return server.ask(work)


def _told(sentence: str) -> int:
    click.echo(f"Error: {sentence}", err=True)
    return 1
