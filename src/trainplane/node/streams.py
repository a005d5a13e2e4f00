"""Streams of the pods on this machine's nodes: their logs, commands in them, their processes and their ports."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from trainplane.api.core import DEFAULT_CONTAINER, FAILED, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.cluster.client import Channel, Client, Log
from trainplane.cluster.errors import BadRequest, InternalError, NotFound
from trainplane.node.agent import Agent
from trainplane.node.downward import containers
from trainplane.node.handlers import why
from trainplane.node.home import log_name
from trainplane.node.living import Living
from trainplane.node.pipes import open_ends
from trainplane.node.runner import NotStarted
from trainplane.node.sessions import AttachChannel, ExecChannel, PortChannel
from trainplane.node.status import STATUSES
from trainplane.node.worker import Worker


class NodeStreams:
    """What flows to and from pods; several nodes of one machine share it."""

    def __init__(self, client: Client, agents: Callable[[], Iterable[Agent]]) -> None:
        self._client = client
        self._agents = agents

    async def log(self, pod: Ref, log: Log) -> AsyncIterator[bytes]:
        """A container's output; raises BadRequest where it has none, and says why."""
        raw = await self._client.get(pod)
        container = _container(raw, log.container)
        agent = self._agent(raw)
        if agent is None:
            return
        life = _life(raw, container, previous=log.previous)
        try:
            async for data in agent.home.logs.read(log_name(raw), container, life, log):
                yield data
        except FileNotFoundError:
            raise NotFound(
                f'the log of the container "{container}" in pod "{pod.name}" is no longer kept', details={}
            ) from None

    async def exec(
        self, pod: Ref, command: Sequence[str], *, container: str = "", stdin: bool = False, tty: bool = False
    ) -> Channel:
        """Run a command in a container."""
        agent, _, living = await self._living(pod, container, verb="exec into")
        ends = open_ends(stdin=stdin, terminal=tty)
        env = {"TERM": "xterm"} if tty else None
        try:
            started = await agent.home.runner.exec(living.started, command, ends.stdio, env=env)
        except NotStarted as error:
            ends.give_up()
            raise InternalError(f"error executing command in container: {error.message}") from error
        except BaseException:
            ends.give_up()
            raise
        ends.started()
        return ExecChannel(agent.home.runner, started, ends)

    async def attach(self, pod: Ref, *, container: str = "", stdin: bool = False, tty: bool = False) -> Channel:
        """Join a container's process; whether it has input and a terminal was settled when it started."""
        agent, _, living = await self._living(pod, container, verb="attach to")
        if tty and living.ends.terminal is None:
            raise BadRequest("the container has no terminal; set tty in its spec, or attach without one")
        if stdin and living.ends.feed is None:
            raise BadRequest("the container takes no input; set stdin in its spec, or attach without it")
        return AttachChannel(living, agent.home.runner, feeds=stdin)

    async def port_forward(self, pod: Ref, port: int) -> Channel:
        """Reach a port of a pod."""
        raw = await self._client.get(pod)
        agent = self._agent(raw)
        worker = agent.worker(pod) if agent else None
        if agent is None or worker is None or not worker.scene.addresses:
            phase = look(raw, "status", "phase")
            raise BadRequest(f"unable to forward port because pod is not running. Current status={phase}")
        try:
            return PortChannel(await agent.home.runner.dial(worker.box, port))
        except OSError as error:
            raise InternalError(f"failed to connect to port {port} of pod {pod.name}: {why(error)}") from error

    def _agent(self, raw: Raw) -> Agent | None:
        node = raw["spec"].get("nodeName")
        return next((agent for agent in self._agents() if agent.home.node == node), None)

    async def _living(self, pod: Ref, container: str, *, verb: str) -> tuple[Agent, Worker, Living]:
        raw = await self._client.get(pod)
        phase = look(raw, "status", "phase")
        if phase in (SUCCEEDED, FAILED):
            raise BadRequest(f"cannot {verb} a container in a completed pod; current phase is {phase}")
        name, agent = _container(raw, container), self._agent(raw)
        if agent is None:
            raise BadRequest(f"pod {pod.name} does not have a host assigned")
        worker = agent.worker(pod)
        living = worker.living.get(name) if worker else None
        if worker is None or living is None:
            raise BadRequest(f'container not found ("{name}")')
        return agent, worker, living


def _container(pod: Raw, asked: str) -> str:
    """The container that is meant; raises BadRequest where that cannot be told."""
    names = [each["name"] for each in containers(pod)]
    own, name = [each["name"] for each in pod["spec"]["containers"]], pod["metadata"]["name"]
    if asked:
        if asked not in names:
            raise BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    default = look(pod, "metadata", "annotations", DEFAULT_CONTAINER)
    if len(own) == 1 or default in names:
        return str(default) if default in names else str(own[0])
    raise BadRequest(f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]")


def _life(pod: Raw, container: str, *, previous: bool) -> int:
    """Which life of a container is meant; raises BadRequest where it has none."""
    statuses = [
        each for key in STATUSES.values() for each in look(pod, "status", key) or () if each["name"] == container
    ]
    name = pod["metadata"]["name"]
    if not statuses:
        raise BadRequest(f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating')
    status = statuses[0]
    restarts, state = int(status.get("restartCount") or 0), status.get("state") or {}
    waits, had = bool(state.get("waiting")), bool(look(status, "lastState", "terminated"))
    if previous:
        if not had:
            raise BadRequest(f'previous terminated container "{container}" in pod "{name}" not found')
        return restarts if waits else restarts - 1
    if waits and not had:
        reason = state["waiting"].get("reason") or "ContainerCreating"
        raise BadRequest(f'container "{container}" in pod "{name}" is waiting to start: {reason}')
    return restarts
