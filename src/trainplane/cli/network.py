"""`trainplane doctor network`: pods on several nodes that look up, call and measure each other."""

import asyncio
import contextlib
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainplane.cli.clusters import Refused
from trainplane.cli.output import output_option
from trainplane.cli.server import Server, Session, of_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainplane.api.meta import Raw
    from trainplane.sdk.network import Asked, Findings, Link

PROBE = Path(__file__).parents[1] / "probe"
STARTING = 30.0
"""Seconds, beside those that pods wait for each other, that they may take to be placed and started."""
JOINING = 10
"""How many seconds nodes may take to join."""
SIMULATED = "simulate.trainplane.dev/node"
"""The label of nodes on which nothing runs."""
_NO_TORCH = "; name an image that has torch with --image"


@click.command()
@of_server(everywhere=False)
@click.option("--nodes", type=click.IntRange(2, 64), default=2, show_default=True, help="How many nodes take part.")
@click.option("--image", default="", help="An image with Python; with --collective, one with torch too.")
@click.option("--gpus", type=click.IntRange(0), default=0, metavar="N", help="GPUs for each pod, for NCCL.")
@click.option("--ssh", is_flag=True, help="Log in to each other over ssh too, as MPI does.")
@click.option("--collective", is_flag=True, help="Measure an all-reduce too: with NCCL on GPUs, else with gloo.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.05, 60),
    default=0.5,
    show_default=True,
    help="How long each pair is measured, each way.",
)
@click.option("--wait", type=click.FloatRange(1, 600), default=60.0, show_default=True, help="Patience, in seconds.")
@output_option("json")
def network(server: Server, *, output: str | None, **said: object) -> int:
    """Have pods on several nodes look up, call and measure each other, and name the odd one.

    A pod is started on each of so many nodes, of a cluster of `up` or any other that has JobSet. Each looks up the
    names of all others, connects to them, and measures how much it can send them, one pair at a time. All of it is
    removed at the end. The exit code is 1 where a link is broken, or a node is four times as slow as the others.

    \b
    trainplane doctor network --nodes 4
    trainplane doctor network --nodes 2 --collective --gpus 1 --image pytorch/pytorch
    """
    from trainplane.sdk.network import Asked

    async def work(session: Session) -> int:
        given = {key: value for key, value in said.items() if value}
        name = f"doctor-network-{secrets.token_hex(2)}"
        asked = Asked(name=name, namespace=session.home, **given)  # type: ignore[arg-type]
        await _enough_nodes(session, asked)
        findings, pods = await _measured(session, asked)
        _show(findings, pods, output)
        return 0 if findings.healthy else 1

    return server.ask(work)


async def _enough_nodes(session: Session, asked: "Asked") -> None:
    """Refuse at once what would wait for ever; whoever may not list nodes finds out by waiting."""
    from trainplane.api.kinds import KINDS
    from trainplane.api.raw import look
    from trainplane.cluster.errors import Forbidden

    kind = next(row for row in KINDS if row.kind == "Node")
    # Of a cluster that was just started, the last nodes may be a moment behind.
    for again in reversed(range(JOINING)):
        try:
            nodes = (await session.client.list(kind)).items
        except Forbidden:
            return
        if any(SIMULATED in (look(node, "metadata", "labels") or {}) for node in nodes):
            real = f"start one with nodes that run pods: trainplane up --nodes {asked.nodes} --name other"
            raise Refused(f"the nodes of this cluster are simulated and have no network; {real}")
        ready = [node for node in nodes if _takes_pods(node)]
        if len(ready) >= asked.nodes or not again:
            break
        await asyncio.sleep(1)
    if len(ready) < asked.nodes:
        there = f"the cluster has {len(ready)} {'node that takes' if len(ready) == 1 else 'nodes that take'} pods"
        more = session.server.cluster.command(f"up --nodes {asked.nodes}") if session.server.cluster else ""
        todo = f"start it again with: {more}" if more else "ask for fewer with --nodes"
        raise Refused(f"{there}, and {asked.nodes} are asked for; {todo}")


def _takes_pods(node: "Raw") -> bool:
    from trainplane.api.conditions import is_true

    return not (node.get("spec") or {}).get("unschedulable") and is_true(node.get("status") or {}, "Ready")


async def _measured(session: Session, asked: "Asked") -> "tuple[Findings, dict[int, Raw]]":
    """Start the pods, wait for what they find, and remove them whatever happens."""
    from trainplane.api.ref import Ref
    from trainplane.cluster.errors import NotFound
    from trainplane.sdk.logs import Wanted, place, so_far
    from trainplane.sdk.network import judge, read

    ref = Ref("jobset.x-k8s.io", "JobSet", asked.namespace, asked.name)
    try:
        await _start(session, asked)
        pods = await _ended(session, asked)
        lines = [line async for line in so_far(session.client, session.client.streams, ref, Wanted())]
        told = [found for line in lines if (found := read(line.text))]
        by_rank = {place(pod): pod for pod in pods}
        return judge(asked, told), by_rank
    finally:
        with contextlib.suppress(NotFound):
            await session.client.delete(ref, propagation="Background")


async def _start(session: Session, asked: "Asked") -> None:
    """Make the JobSet and what it needs, and tie both together, so that they go when it goes."""
    from trainplane.api.ref import Ref
    from trainplane.cluster.client import Patch
    from trainplane.cluster.errors import AlreadyExists
    from trainplane.sdk.network import jobset, keys
    from trainplane.sdk.source import configmap, pack

    archive = await asyncio.to_thread(pack, PROBE)
    code = configmap(archive, namespace=asked.namespace)
    with contextlib.suppress(AlreadyExists):
        await session.client.create(code)
    made = await session.client.create(jobset(asked, archive))
    owner = {**{key: made[key] for key in ("apiVersion", "kind")}, "name": asked.name, "uid": made["metadata"]["uid"]}
    tie = {"metadata": {"ownerReferences": [owner]}}
    await session.client.patch(Ref.of(code), Patch.strategic(tie))
    if asked.ssh:
        secret = keys(asked)
        await session.client.create({**secret, "metadata": {**secret["metadata"], **tie["metadata"]}})
    click.echo(f"{asked.nodes} pods of {asked.name} measure the network between them", err=True)


async def _ended(session: Session, asked: "Asked") -> "Sequence[Raw]":
    """The pods, once all have ended or time is up."""
    from trainplane.api.jobset import JOBSET_NAME
    from trainplane.api.raw import look
    from trainplane.sdk.logs import POD

    measuring = 2 * asked.nodes * (asked.seconds + 0.5) + 150 * asked.collective + 20 * asked.nodes * asked.ssh
    until = time.monotonic() + STARTING + 2 * asked.wait + measuring
    while True:
        pods = (await session.client.list(POD, namespace=asked.namespace, labels=f"{JOBSET_NAME}={asked.name}")).items
        phases = [look(pod, "status", "phase") for pod in pods]
        over = len(pods) == asked.nodes and all(phase in ("Succeeded", "Failed") for phase in phases)
        if over or time.monotonic() > until:
            return pods
        await asyncio.sleep(0.3)


def _show(findings: "Findings", pods: "dict[int, Raw]", output: str | None) -> None:
    from trainplane.api.raw import look

    places = {rank: str(look(pods.get(rank) or {}, "spec", "nodeName") or "") for rank in range(findings.nodes)}
    if output == "json":
        import json

        click.echo(json.dumps(_value(findings, places), indent=2))
        return
    from trainplane.cli.tables import Column, Table, say, show

    links = {(link.origin, link.target): link for link in findings.links}
    ranks = range(findings.nodes)
    rows = [
        [str(rank), places[rank] or "-", *("" if rank == other else _cell(links.get((rank, other))) for other in ranks)]
        for rank in ranks
    ]
    say("MB/s from the row to the column")
    show(Table([Column("#"), Column("NODE"), *(Column(str(rank)) for rank in ranks)], rows), wide=True)
    for line in _sentences(findings, pods, places):
        say(line)


def _cell(link: "Link | None") -> str:
    if link is None:
        return "?"
    if link.error:
        return link.error.partition(":")[0]
    return f"{(link.rate or 0) / 1e6:,.0f}"


def _sentences(findings: "Findings", pods: "dict[int, Raw]", places: dict[int, str]) -> list[str]:
    def name(rank: int) -> str:
        return f"#{rank} ({places[rank]})" if places[rank] else f"#{rank}"

    said = [f"{name(rank)} said nothing: {_why(pods.get(rank))}" for rank in findings.silent]
    broken = [link for link in findings.links if link.error]
    said += [f"{name(link.origin)} → {name(link.target)}: {link.error}" for link in broken[:10]]
    said += [f"… and {len(broken) - 10} more broken links"] if len(broken) > 10 else []
    if findings.collective:
        found = findings.collective
        said.append(
            f"all-reduce: {found['error']}{_NO_TORCH if 'torch' in found['error'] else ''}"
            if "error" in found
            else f"all-reduce with {found['backend']}: {found['rate'] / 1e6:,.0f} MB/s"
        )
    logged_in = [link.ssh for link in findings.links if link.ssh]
    said += [f"ssh: {len(logged_in)} logins, {max(logged_in):.2f} s at most"] if logged_in else []
    said += [f"the odd one is {name(rank)}: {why}" for rank, why in findings.odd.items()]
    said += [f"all {findings.nodes} nodes reach each other"] if findings.healthy else []
    return said


def _why(pod: "Raw | None") -> str:
    """Why a pod has told nothing, as far as its status says."""
    from trainplane.api.raw import look

    if pod is None:
        return "it has no pod"
    status = pod.get("status") or {}
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False":
            return str(each.get("message") or "it has no node")
    for each in status.get("containerStatuses") or ():
        for state in ("waiting", "terminated"):
            if found := look(each, "state", state):
                return f"{found.get('reason') or state}: {found.get('message') or 'see its logs'}"
    return f"its pod is {status.get('phase') or 'not known'}"


def _value(findings: "Findings", places: dict[int, str]) -> "Raw":
    return {
        "healthy": findings.healthy,
        "nodes": [{"rank": rank, "node": place} for rank, place in places.items()],
        "links": [
            {
                "from": link.origin,
                "to": link.target,
                "dnsSeconds": link.dns,
                "connectSeconds": link.tcp,
                "bytesPerSecond": link.rate,
                "sshSeconds": link.ssh,
                "error": link.error or None,
            }
            for link in findings.links
        ],
        "silent": list(findings.silent),
        "odd": [{"rank": rank, "why": why} for rank, why in findings.odd.items()],
        "collective": dict(findings.collective) or None,
    }
