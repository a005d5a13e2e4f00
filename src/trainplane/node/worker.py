"""Worker: one pod on its node, from first to last: it looks, does what is decided, and says how it went."""

import asyncio
import logging
import shutil
from contextlib import suppress
from functools import partial
from typing import assert_never

from msgspec.structs import replace

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.failure import judge
from trainplane.api.meta import Raw
from trainplane.api.times import stamp
from trainplane.cluster.client import Patch
from trainplane.cluster.errors import ApiError, Conflict, NotFound
from trainplane.node import ending, images, launch
from trainplane.node.devices import NoDevice
from trainplane.node.downward import container_of, containers
from trainplane.node.environment import CONFIG_ERROR, ConfigError
from trainplane.node.home import Home, box_of, log_name, with_policy
from trainplane.node.honour import not_honoured
from trainplane.node.launch import Furnished, NotMounted
from trainplane.node.lifecycle import Clear, Forget, Prepare, Said, Start, StartOver, Step, Stop, decide
from trainplane.node.living import Living
from trainplane.node.pipes import open_ends
from trainplane.node.probes import Sort, Tally
from trainplane.node.restarts import is_ephemeral, next_back_off
from trainplane.node.runner import CREATE_ERROR, START_ERROR, Box, NotStarted
from trainplane.node.seen import KILLED, Doom, Life, Scene, Seen, remembered
from trainplane.node.status import changes, current, with_addresses
from trainplane.reconcile.view import View

REJECTED = "UnexpectedAdmissionError"
RESTARTING_ALL = "RestartingAllContainers"
START_FAILED = 128

_log = logging.getLogger(__name__)


class Worker:
    """Looks after one pod."""

    def __init__(self, pod: Raw, home: Home) -> None:
        self.pod = pod
        self.scene: Scene = replace(remembered(pod), host=home.address)
        self.living: dict[str, Living] = {}
        self.box: Box = box_of(pod, home)
        self.is_gone = False
        """Whether the API has the object no more."""
        self._home = home
        self._made: Furnished | None = None
        self._view = View()
        self._wake = asyncio.Event()
        self._told: set[tuple[str, str, int]] = set()
        self._written: Raw | None = None
        self._tasks: asyncio.TaskGroup

    @property
    def uid(self) -> str:
        """The pod's."""
        return str(self.pod["metadata"]["uid"])

    def see(self, pod: Raw) -> None:
        """The pod has changed."""
        self.pod = pod
        self._wake.set()

    def lose(self) -> None:
        """The pod is no more, and whatever runs of it must end."""
        self.is_gone = True
        metadata = {**self.pod["metadata"], "deletionGracePeriodSeconds": 0}
        metadata.setdefault("deletionTimestamp", stamp(self._home.clock.now()))
        self.see({**self.pod, "metadata": metadata})

    def end(self, doom: Doom) -> None:
        """The pod must end, for a reason that is not its own."""
        self.scene = replace(self.scene, doom=self.scene.doom or doom)
        self._wake.set()

    async def run(self) -> None:
        """Look after the pod until it is over and nothing of it is left."""
        async with asyncio.TaskGroup() as self._tasks:
            if launch.is_refreshed(self.pod):
                refreshing = self._tasks.create_task(self._refresh(), name=f"refresh {self.box.pod.name}")
            else:
                refreshing = None
            try:
                while await self._turn():
                    pass
            finally:
                if refreshing:
                    refreshing.cancel()
                for living in self.living.values():
                    living.let_go()
                    self._home.logs.close(living.writer)

    async def _turn(self) -> bool:
        """Look once and do what is to be done; False at the end."""
        self._wake.clear()
        home = self._home
        turn = decide(current(self.pod, self._written), self.scene, home.clock.now(), pace=home.pace)
        self.scene = turn.scene
        self._say_once(turn.said)
        steps = [step for step in turn.steps if not isinstance(step, Forget)]
        for step in steps:
            await self._do(step)
        if steps:
            # What was done shows at the next look; what lies between two looks nobody needs to know.
            return True
        is_told = await self._write(turn.status)
        over = turn.status["phase"] in (SUCCEEDED, FAILED) and self.scene.cleared and is_told
        if Forget() in turn.steps:
            await self._forget()
        if over:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(turn.again.total_seconds() if turn.again is not None else None):
                await self._wake.wait()
        return True

    async def _do(self, step: Step) -> None:
        match step:
            case Prepare():
                await self._prepare()
            case Start(container):
                await self._start(container)
            case Stop(container, grace, why):
                self._stop(container, grace=grace, why=why)
            case StartOver():
                self._start_over()
            case Clear():
                await self._clear()
            case Forget():
                pass
            case other:
                assert_never(other)

    async def _prepare(self) -> None:
        """Make the volumes and the box."""
        home, now = self._home, self._home.clock.now()
        try:
            for container in containers(self.pod):
                home.devices.take(self.uid, container["name"], launch.gpus_of(container))
            self._view = await launch.look_up(self.pod, home)
            self.box = with_policy(self.box, self._view, pod=self.pod)
            self._made = await launch.furnish(self.pod, home, self._view, box=self.box)
            abilities, host_users = home.runner.abilities, self.box.host_users
            self._say_once(tuple(not_honoured(self.pod, abilities, host_users=host_users)))
            self.box.folder.mkdir(parents=True, exist_ok=True)
            addresses = await home.runner.make(self.box)
        except NoDevice as error:
            message = f"Pod was rejected: Allocate failed due to {error}, which is unexpected"
            self.scene = replace(self.scene, doom=Doom(REJECTED, message, now))
            return
        except NotMounted as error:
            self._say("Warning", "FailedMount", str(error))
        except NotStarted as error:
            self._say("Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {error.message}")
        except (ApiError, OSError) as error:
            self._say("Warning", "FailedMount", f"the volumes cannot be made: {error}")
        else:
            self.scene = replace(self.scene, addresses=addresses, tried=None)
            return
        self.scene = replace(self.scene, tried=now)

    async def _start(self, name: str) -> None:
        """Start a container, for the first time or again."""
        home, seen = self._home, self.scene.of(name)
        container, made = container_of(self.pod, name) or {}, self._made
        if made is None:
            raise RuntimeError("a container was started before its volumes were made")
        try:
            pod = with_addresses(self.pod, self.scene)
            if seen.tried or seen.life:
                self._view = await launch.look_up(pod, home)
            program, where = launch.program(pod, container, home, view=self._view, made=made)
            if target := container.get("targetContainerName"):
                program = replace(program, beside=self._beside(target))
        except (ConfigError, NotStarted, NoDevice, ApiError, OSError) as error:
            reason = error.reason if isinstance(error, NotStarted) else CONFIG_ERROR
            self._fail_to_start(name, reason, str(error))
            return
        self._tell_image(container, where)
        life = seen.restarts + 1 if seen.life or seen.last else 0
        ends = open_ends(stdin=bool(container.get("stdin")), terminal=bool(container.get("tty")))
        writer = home.logs.writer(log_name(self.pod), name, life)
        try:
            started = await home.runner.start(self.box, program, ends.stdio)
        except NotStarted as error:
            ends.give_up()
            writer.write("stderr", f"trainplane: {error.message}\n".encode())
            home.logs.close(writer)
            if error.reason == START_ERROR:
                self._say("Normal", "Created", f"Created container: {name}")
                self._say("Warning", "Failed", f"Error: {error.message}")
                now = home.clock.now()
                failed = Life(now, ended=now, code=START_FAILED, reason=START_ERROR, message=error.message)
                self.scene = replace(self.scene, blame=judge(START_FAILED, (), started=False))
                self._begin(name, failed, life, image_id=where.id)
            else:
                self._fail_to_start(name, error.reason, error.message)
            return
        ends.started()
        self._begin(name, Life(started.at, id=started.id), life, image_id=where.id)
        living = self.living[name] = Living(
            container,
            started,
            ends,
            number=life,
            writer=writer,
            runner=home.runner,
            box=self.box,
            address=self.scene.addresses[0],
            tell=partial(home.say, self.pod),
        )
        self._say("Normal", "Created", f"Created container: {name}")
        self._say("Normal", "Started", f"Started container {name}")
        self._tasks.create_task(self._follow(living), name=f"{self.box.pod.name}/{name}")
        living.nurse(self._tasks, seen=lambda: self.scene.of(name), learn=partial(self._learn, name))

    def _beside(self, target: str) -> str:
        """The process of a container, for one that is to see what runs in it."""
        if living := self.living.get(target):
            return living.started.id
        raise NotStarted(CREATE_ERROR, f"the container {target} does not run, and its processes cannot be shared")

    def _begin(self, name: str, life: Life, number: int, *, image_id: str) -> None:
        """A new life of a container."""
        seen, now = self.scene.of(name), self._home.clock.now()
        again = seen.life is not None
        new = Seen(
            life,
            last=seen.life or seen.last,
            restarts=number,
            back_off=next_back_off(seen, now, pace=self._home.pace) if again else seen.back_off,
            image_id=image_id,
        )
        self.scene = self.scene.with_container(name, new)

    def _fail_to_start(self, name: str, reason: str, message: str) -> None:
        seen = replace(self.scene.of(name), waiting=(reason, message), tried=self._home.clock.now())
        self.scene = self.scene.with_container(name, seen)
        self._say("Warning", "Failed", f"Error: {message}")

    async def _follow(self, living: Living) -> None:
        """Wait for a container's end and see to what it leaves."""
        name, home = living.container["name"], self._home
        exit_ = await living.over()
        home.logs.close(living.writer)
        if living.writer.failure:
            self._say("Warning", "LogLost", living.writer.failure)
        self.living.pop(name, None)
        seen = self.scene.of(name)
        if seen.life is None:
            return
        life = seen.life.with_exit(exit_)
        if not exit_.lost:
            message = ending.last_words(self.pod, living, life, home=home, view=self._view)
            life = replace(life, message=message)
        if life.code and not seen.stopping and not exit_.lost and not is_ephemeral(self.pod, living.container):
            blame = ending.judged(self.pod, living, exit_, code=life.code, home=home, view=self._view)
            self.scene = replace(self.scene, blame=blame)
        ended = replace(seen, life=life, ready=False, started=False, stopping=False, unhealthy="")
        self.scene = self.scene.with_container(name, ended)
        self._wake.set()

    def _stop(self, name: str, *, grace: float, why: str) -> None:
        seen = self.scene.of(name)
        self.scene = self.scene.with_container(name, replace(seen, stopping=True))
        if self.scene.asked is None:
            self.scene = replace(self.scene, asked=self._home.clock.now())
        self._say("Normal", "Killing", why)
        if living := self.living.get(name):
            living.stop(self._tasks, grace=grace)

    def _learn(self, name: str, sort: Sort, tally: Tally, fatal: bool) -> None:
        """A probe has found something out."""
        seen = self.scene.of(name)
        if not seen.is_running:
            return
        new = seen
        if sort is Sort.READINESS:
            new = replace(new, ready=tally.result)
        elif sort is Sort.STARTUP and tally.result:
            new = replace(new, started=True)
        if fatal:
            new = replace(new, unhealthy=str(sort))
        if new != seen:
            self.scene = self.scene.with_container(name, new)
            self._wake.set()

    def _start_over(self) -> None:
        """Let every container begin anew; what it was becomes its last life."""
        fresh = {}
        for name, seen in self.scene.containers.items():
            life = seen.life
            if life is not None:
                life = replace(life, reason=RESTARTING_ALL, code=KILLED)
            fresh[name] = Seen(None, life or seen.last, seen.restarts, back_off=seen.back_off, image_id=seen.image_id)
        self.scene = replace(self.scene, containers=fresh, initialized=False)

    async def _clear(self) -> None:
        """Let nothing of the pod be left on the node but what is kept."""
        home = self._home
        try:
            await home.runner.remove(self.box)
        except (NotStarted, OSError) as error:
            self._say("Warning", "FailedKillPod", f"what the pod had cannot be removed: {error}")
        home.devices.give_back(self.uid)
        await asyncio.to_thread(shutil.rmtree, home.folders.pod(self.uid), ignore_errors=True)
        self.scene = replace(self.scene, cleared=True)

    async def _write(self, status: Raw) -> bool:
        """Write what has changed of the status; False where that did not succeed, and is tried again."""
        changed = changes(self._written if self._written is not None else self.pod.get("status") or {}, status)
        if self.is_gone or not changed:
            return True
        try:
            after = await self._home.client.patch(
                self.box.pod, Patch.strategic({"status": changed}), uid=self.uid, subresource="status"
            )
        except (NotFound, Conflict):
            self.lose()
            return True
        except (ApiError, OSError) as error:
            # Said again at the next look, which must come.
            _log.warning("the status of the pod %s cannot be written, trying again: %s", self.box.pod.name, error)
            asyncio.get_running_loop().call_later(1.0, self._wake.set)
            return False
        self._written = status
        self.pod = {**self.pod, "status": after.get("status") or {}}
        return True

    async def _forget(self) -> None:
        if not self.is_gone:
            with suppress(NotFound, Conflict):
                await self._home.client.delete(self.box.pod, uid=self.uid, grace=0)

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(self._home.refresh)
            if self._made and not self.scene.cleared:
                with suppress(ApiError, OSError):
                    await launch.refresh(with_addresses(self.pod, self.scene), self._home, self._made)

    def _tell_image(self, container: Raw, where: images.Place) -> None:
        image = container.get("image") or ""
        if where.is_image:
            return
        if where.is_mapped:
            self._say("Normal", "Pulled", f'Container image "{image}" already present on machine')
        else:
            self._say_once((Said("Warning", images.ON_HOST, images.warning(image)),))

    def _say(self, type_: str, reason: str, note: str) -> None:
        self._home.say(self.pod, Said(type_, reason, note))

    def _say_once(self, said: tuple[Said, ...]) -> None:
        """Tell of what lasts once for each life of the containers, however often it is looked at."""
        lives = sum(seen.restarts for seen in self.scene.containers.values())
        for each in said:
            key = (each.reason, each.note, lives if each.reason != images.ON_HOST else 0)
            if key not in self._told:
                self._told.add(key)
                self._home.say(self.pod, each)
