"""The group of all verbs, each imported when it is used."""

from typing import cast

import click

from trainplane.cli.main import VERBS, load


class Verbs(click.Group):
    """A click group that imports a verb's module only to run it or to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The verb's command, or None for an unknown word."""
        return cast(click.Command, load(cmd_name)) if cmd_name in VERBS else None


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trainplane", message="trainplane %(version)s")
def command() -> None:
    """Distributed training on one machine or on Kubernetes, with every field explained."""
