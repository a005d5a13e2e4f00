"""A cluster for the time of one piece of work: started in this process where none runs, and stopped with it."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from trainplane.cli.certifying import certifying
from trainplane.cli.importing import importing
from trainplane.cli.keeper import Record, write_record
from trainplane.cli.server import Server, Session, answering
from trainplane.cli.starting import prepare, refusing
from trainplane.cluster.collector import rarely
from trainplane.cluster.folder import Folder
from trainplane.control import clock

if TYPE_CHECKING:
    from trainplane.cli.clusters import Cluster
    from trainplane.embed import Config, Running
    from trainplane.node.images import ImageMapping

TERMINATED = 143
Work = Callable[[Session], Awaitable[int]]
Greeting = Callable[["Running"], None]


@rarely()
def work_alone(
    server: Server, work: Work, *, images: "tuple[ImageMapping, ...]", greet: Greeting, nodes: int = 1
) -> int:
    """Start the server's cluster, greet, do the work at it, and stop it; raises Refused.

    It has the one node that `up` has unless it is told otherwise: a pod's logs are there as long as its node is.
    """
    cluster = server.cluster
    if cluster is None:
        raise ValueError("only a cluster of this machine can be started")
    prepare(cluster)
    runner = cluster.folder / "node" / "namespaced"
    if sys.platform == "linux":
        from trainplane.node.namespaced.client import start_ahead

        start_ahead(runner)
    with refusing(cluster), certifying(cluster, in_pods=True):
        # Now, and not before there is a second process, which would have it too.
        held = Folder(cluster.store, now=clock.seconds)
        if sys.platform == "linux":
            from trainplane.node.namespaced.early import begin

            # On the other processors, while this one loads all the rest.
            begin(runner)
        with importing():
            from trainplane.embed import Config
            from trainplane.node.machine import Settings

    # A job that power was lost under has to be run again, whatever was noted of it.
    machine = Settings(nodes, images=images)
    config = Config(cluster.folder, name=cluster.name, machine=machine, waits=True, durable=False)
    with answering(), refusing(cluster), held:
        try:
            return asyncio.run(_worked(server, cluster, config, held=held, work=work, greet=greet))
        except asyncio.CancelledError:
            raise click.exceptions.Exit(TERMINATED) from None


async def _worked(
    server: Server, cluster: "Cluster", config: "Config", *, held: Folder, work: Work, greet: Greeting
) -> int:
    from trainplane.cli.door import open_door
    from trainplane.cluster.inside import Inside
    from trainplane.cluster.kubeconfig import load
    from trainplane.embed import running

    task = asyncio.current_task()

    def end() -> None:
        """Whoever ends this process ends the cluster in it, which takes its pods along."""
        if task:
            task.cancel()

    for word in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(word, end)
    async with running(config, held=held) as serving:
        greet(serving)
        if serving.nodes is None:
            raise ValueError("a cluster for a piece of work has nodes")
        client = Inside(serving.api, serving.nodes.streams, target=load([serving.kubeconfig]))
        async with open_door(cluster, serving.api):
            write_record(cluster, Record(os.getpid(), serving.server, for_one_job=True))
            try:
                return await work(Session(server, client, server.namespace or client.target.namespace))
            finally:
                # While the data is still ours: after that the record may be another's.
                cluster.record.unlink(missing_ok=True)
                # The process ends with this: nobody needs to look through all that is left for garbage.
                gc.freeze()
