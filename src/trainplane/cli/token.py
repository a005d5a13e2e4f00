"""`trainplane token`: who else may ask a cluster, and by which token."""

import re
from datetime import timedelta

import click

from trainplane.cli.clusters import Cluster, Refused, count, of_cluster
from trainplane.cluster.tokens import Tokens

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _life(ctx: click.Context, parameter: click.Parameter, value: str | None) -> timedelta | None:  # noqa: ARG001
    """A length of time on the command line: 90m, 24h, 7d, 1h30m."""
    if value is None:
        return None
    parts = re.findall(r"(\d{1,6})([smhd])", value)
    if not parts or "".join(map("".join, parts)) != value:
        raise click.BadParameter(f"{value!r} is not a length of time; write it as 90m, 24h, 7d or 1h30m")
    life = sum((timedelta(**{_UNITS[unit]: int(number)}) for number, unit in parts), timedelta())
    if not life:
        raise click.BadParameter("a token that never holds is of no use; give it some time")
    return life


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of people and programs.

    A token says who asks; what they may do is for Roles and bindings to say. All three work while the cluster runs,
    from the next request on.
    """


@token.command(no_args_is_help=True)
@click.argument("user")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group the user is in; repeat for more.")
@click.option("--ttl", metavar="TIME", callback=_life, help="How long it holds: 90m, 24h, 7d; for ever by default.")
@click.option("-o", "--output", type=click.Choice(["token", "kubeconfig"]), default="token", help="What to print.")
@of_cluster
def create(cluster: Cluster, user: str, groups: tuple[str, ...], ttl: timedelta | None, output: str) -> None:
    """Make a token for USER and print it; it is shown this once only.

    Three groups have rights in all namespaces from the start: trainplane.dev:viewers see TrainJobs and what they
    become, trainplane.dev:users also make and delete them, and trainplane.dev:admins also change what is shared. With
    -o kubeconfig a whole kubeconfig is printed, ready to be handed over.

    \b
    trainplane token create alice --group trainplane.dev:users --ttl 7d
    trainplane token create ci --group trainplane.dev:viewers -o kubeconfig > ci.kubeconfig
    trainplane kubectl create rolebinding bob --clusterrole trainplane.dev:user --user bob -n research
    """
    from trainplane.control import clock

    for word in (user, *groups):
        if not word.strip() or not word.isprintable():
            raise click.UsageError(f"{word!r} is no name; give a user and groups as RBAC is to name them")
    text, made = _tokens(cluster).create(user, groups=groups, now=clock.now(), life=ttl)
    click.echo(_kubeconfig(cluster, user, text) if output == "kubeconfig" else text, nl=output != "kubeconfig")
    until = f"until {made.expires:%Y-%m-%d %H:%M} UTC" if made.expires else "for ever"
    click.echo(f"{made.id} holds {until}; take it back with: {cluster.command(f'token revoke {made.id}')}", err=True)


@token.command("list")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="The format.")
@of_cluster
def list_(cluster: Cluster, output: str) -> None:
    """List the tokens: whose they are and until when, not their secrets."""
    from trainplane.control import clock

    found, now = _tokens(cluster).list(), clock.now()
    if output == "json":
        import json

        rows = [
            {
                "id": each.id,
                "user": each.user,
                "groups": list(each.groups),
                "created": each.created.isoformat(),
                "expires": each.expires.isoformat() if each.expires else None,
                "valid": each.valid(now),
            }
            for each in found
        ]
        click.echo(json.dumps(rows, indent=2))
    elif not found:
        click.echo(f"cluster {cluster.name} has no tokens; make one with: {cluster.command('token create USER')}")
    else:
        width = max(4, *(len(each.user) for each in found))
        click.echo(f"{'ID':<16}  {'USER':<{width}}  {'CREATED':<16}  {'EXPIRES':<16}  GROUPS")
        for each in found:
            ends = f"{each.expires:%Y-%m-%d %H:%M}" if each.expires else "never"
            ends = ends if each.valid(now) else "expired"
            groups = ",".join(each.groups) or "-"
            click.echo(f"{each.id:<16}  {each.user:<{width}}  {each.created:%Y-%m-%d %H:%M}  {ends:<16}  {groups}")


@token.command(no_args_is_help=True)
@click.argument("which", metavar="ID|USER")
@of_cluster
def revoke(cluster: Cluster, which: str) -> None:
    """Revoke the token of an id, or all tokens of a user."""
    gone = _tokens(cluster).revoke(which)
    if not gone:
        raise Refused(f"there is no token {which!r}, nor one of such a user; see: {cluster.command('token list')}")
    click.echo(f"revoked {count(len(gone), 'token')} of {', '.join(sorted({each.user for each in gone}))}")


def _tokens(cluster: Cluster) -> Tokens:
    return Tokens(cluster.must_exist().pki)


def _kubeconfig(cluster: Cluster, user: str, text: str) -> str:
    import yaml

    from trainplane.cluster.kubeconfig import kubeconfig, load

    way_in = load([cluster.kubeconfig])
    whole = kubeconfig(cluster.name, server=way_in.server, authority=way_in.authority, token=text)
    whole["users"][0]["name"] = whole["contexts"][0]["context"]["user"] = user
    return yaml.safe_dump(whole, sort_keys=False)
