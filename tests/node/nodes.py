"""Nodes for tests: agents over an Api in memory, with real processes."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE, STORY
from trainplane.api.kinds import KINDS, kind_of
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.api import Api
from trainplane.cluster.client import Log
from trainplane.cluster.errors import NotFound
from trainplane.cluster.log import Forgetful
from trainplane.cluster.store import Store
from trainplane.control import clock
from trainplane.controllers import admission
from trainplane.furniture import companions
from trainplane.node import machine
from trainplane.node.lifecycle import Said
from trainplane.node.machine import Settings
from trainplane.node.restarts import Pace

NAMESPACE = "ns"
QUICK = Pace(first=0.2, most=0.8)


class Nodes:
    """An Api and the nodes that run its pods."""

    def __init__(self, api: Api, running: machine.Nodes, folder: Path) -> None:
        self.api = api
        self.running = running
        self.folder = folder

    async def create(self, raw: Raw) -> Raw:
        """Make an object."""
        return await self.api.create(raw)

    async def pod(self, name: str = "p") -> Raw:
        """The pod as the API has it."""
        return await self.api.get(ref(name))

    async def until(self, name: str, holds: Callable[[Raw], Any], *, within: float = PATIENCE) -> Raw:
        """The pod as soon as something holds of it."""
        end = time.monotonic() + within
        while True:
            try:
                pod = await self.pod(name)
            except NotFound:
                pod = {}
            if holds(pod):
                return pod
            if time.monotonic() > end:
                raise AssertionError(f"the pod {name} did not come to that: {pod.get('status')}\n{await self.events()}")
            await asyncio.sleep(0.02)

    async def ended(self, name: str = "p") -> Raw:
        """The pod as soon as it is over."""
        return await self.until(name, lambda pod: phase(pod) in ("Succeeded", "Failed"))

    async def gone(self, name: str = "p") -> None:
        """Wait until the pod is no more."""
        await self.until(name, lambda pod: not pod)

    async def log(self, name: str = "p", **said: Any) -> str:
        """What a container said."""
        parts = [part async for part in self.running.streams.log(ref(name), Log(**said))]
        return b"".join(parts).decode()

    async def events(self) -> list[tuple[str, str]]:
        """Reason and note of each event, in order."""
        row = kind_of("events.k8s.io/v1", "Event") or KINDS[0]
        # An agent tells in the order in which things were said: with our own last word comes all that was before it.
        last = [(f"Last-{time.monotonic_ns()}", agent.home.node) for agent in self.running.agents]
        for agent, (reason, note) in zip(self.running.agents, last, strict=True):
            agent.home.say(pod("nobody"), Said("Normal", reason, note))
        async with asyncio.timeout(PATIENCE):
            while True:
                found = sorted((await self.api.list(row)).items, key=lambda each: str(each["metadata"]["name"]))
                heard = [(each["reason"], each["note"]) for each in found]
                if all(each in heard for each in last):
                    return [each for each in heard if not each[0].startswith("Last-")]
                await asyncio.sleep(0.02)


def played(folder: Path, play: Callable[[Nodes], Coroutine[Any, Any, None]], **settings: Any) -> None:
    """Let something happen on nodes, to its end."""

    async def all_of_it() -> None:
        async with asyncio.timeout(STORY), nodes(folder, **settings) as made:
            await play(made)

    asyncio.run(all_of_it())


@asynccontextmanager
async def nodes(folder: Path, *, count: int = 1, **settings: Any) -> AsyncIterator[Nodes]:
    """Nodes with plain processes, while the context lasts."""
    store = Store(Forgetful(), now=clock.seconds)
    async with asyncio.TaskGroup() as house:
        house.create_task(store.run())
        api = Api(
            store,
            kinds=KINDS,
            admission=admission(store),
            now=clock.now,
            companions=lambda _: companions("certificate"),
        )
        for name in (NAMESPACE, "kube-node-lease", "default"):
            await api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        try:
            async with serving(api, folder, count=count, **settings) as made:
                yield made
        finally:
            store.close()


@asynccontextmanager
async def serving(api: Api, folder: Path, *, count: int = 1, **settings: Any) -> AsyncIterator[Nodes]:
    """Nodes over an Api that is there."""

    async def token(namespace: str, account: str, spec: Raw) -> str:
        return f"token of {namespace}/{account} for {spec['boundObjectRef']['name']}"

    wanted = Settings(count, **{"runner": "process", "pace": QUICK, **settings})
    made = machine.Nodes(wanted, api, clock, folder=folder)
    async with made.running(await machine.choose(wanted, folder), token=token, api=("127.0.0.1", 6443)):
        for agent in made.agents:
            await agent.settled()
        yield Nodes(api, made, folder)


def ref(name: str) -> Ref:
    """A pod."""
    return Ref("", "Pod", NAMESPACE, name)


def pod(name: str = "p", *, node: str = "node-0", **spec: Any) -> Raw:
    """A pod on a node, with one container unless others are given."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"nodeName": node, "restartPolicy": "Never", **spec},
    }


def container(name: str = "c", script: str = "", **fields: Any) -> Raw:
    """A container that runs a script of the shell."""
    command = ["sh", "-c", script] if script else None
    said = {"name": name, "image": "example.test/c:1", "command": command, **fields}
    return {key: value for key, value in said.items() if value is not None}


def phase(pod: Raw) -> str:
    """A pod's phase."""
    return str((pod.get("status") or {}).get("phase", ""))


def states(pod: Raw) -> dict[str, Raw]:
    """The state of each container."""
    status = pod.get("status") or {}
    found = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return {each["name"]: each["state"] for each in found}
