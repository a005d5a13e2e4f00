"""Stage: a node that only plays, for laws and goldens of a pod's life."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from trainplane.api.times import stamp
from trainplane.node.lifecycle import Clear, Forget, Prepare, Start, StartOver, Step, Stop, Turn, decide
from trainplane.node.restarts import Pace, next_back_off
from trainplane.node.runner import Exit
from trainplane.node.seen import Life, Scene, Seen

Raw = dict[str, Any]
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
TURNS = 400
OVER = ("Succeeded", "Failed")


@dataclass
class Stage:
    """A node that only plays: containers run for as long, and end as well, as their script says."""

    pod: Raw
    script: dict[str, list[tuple[int, int]]]
    """Seconds and exit code of each life of a container; the last one is played again and again."""
    pace: Pace = field(default_factory=Pace)
    turns: list[tuple[datetime, Turn]] = field(default_factory=list)
    now: datetime = NOW
    scene: Scene = field(default_factory=Scene)
    ends: dict[str, tuple[datetime, Exit]] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    is_forgotten: bool = False

    def play(self, *, delete_after: int | None, turns: int = TURNS) -> None:
        """Look until the pod is over, or so often; it is deleted before the turn of that number."""
        for turn_number in range(turns):
            if turn_number == delete_after:
                self.pod["metadata"] |= {"deletionTimestamp": stamp(self.now), "deletionGracePeriodSeconds": 2}
            turn = decide(self.pod, self.scene, self.now, pace=self.pace)
            self.scene = turn.scene
            self.turns.append((self.now, turn))
            for step in turn.steps:
                self.do(step)
            if turn.steps and not self.is_forgotten:
                continue
            self.pod["status"] = turn.status
            self.phases.append(turn.status["phase"])
            if self.is_forgotten or (turn.status["phase"] in OVER and self.scene.cleared):
                return
            due = [time for time, _ in self.ends.values()]
            if turn.again is not None:
                due.append(self.now + turn.again)
            assert due or (delete_after is not None and turn_number < delete_after), f"stuck: {turn.status}"
            if due:
                self.advance(min(due))

    def advance(self, to: datetime) -> None:
        self.now = max(self.now, to)
        for name, (time, exit_) in list(self.ends.items()):
            if time <= self.now:
                seen = self.scene.of(name)
                assert seen.life
                del self.ends[name]
                ended = replace(seen, life=seen.life.with_exit(replace(exit_, at=time)), stopping=False)
                self.scene = self.scene.with_container(name, ended)

    def do(self, step: Step) -> None:
        match step:
            case Prepare():
                self.scene = replace(self.scene, addresses=("10.0.0.2",))
            case Start(name):
                self.start(name)
            case Stop(name, grace, _):
                self.scene = self.scene.with_container(name, replace(self.scene.of(name), stopping=True))
                self.scene = replace(self.scene, asked=self.scene.asked or self.now)
                end = min(self.ends[name][0], self.now + timedelta(seconds=grace))
                self.ends[name] = (end, Exit(end, signal=15))
            case Clear():
                assert not self.ends, "cleared while something runs"
                self.scene = replace(self.scene, cleared=True)
            case Forget():
                assert self.scene.cleared
                self.is_forgotten = True
            case StartOver():
                raise AssertionError("no container has such a rule")

    def start(self, name: str) -> None:
        seen = self.scene.of(name)
        assert not seen.is_running, f"{name} is started twice"
        assert not self.pod["metadata"].get("deletionTimestamp"), f"{name} is started in a pod that goes"
        self.may_start(name)
        lives = self.starts.count(name)
        seconds, code = self.script[name][min(lives, len(self.script[name]) - 1)]
        self.starts.append(name)
        end = self.now + timedelta(seconds=seconds)
        self.ends[name] = (end, Exit(end, code=code))
        back_off = next_back_off(seen, self.now, pace=self.pace) if seen.life else None
        new = Seen(Life(self.now), last=seen.life, restarts=lives, back_off=back_off)
        self.scene = self.scene.with_container(name, new)

    def may_start(self, name: str) -> None:
        """Whatever comes before a container has been done, or goes on beside it."""
        if self.scene.initialized:
            return
        for container in self.pod["spec"].get("initContainers") or ():
            if container["name"] == name:
                return
            seen = self.scene.of(container["name"])
            if container.get("restartPolicy") == "Always":
                assert seen.life, f"{name} came before the sidecar {container['name']}"
            else:
                done = seen.life is not None and seen.life.ended is not None and not seen.life.code
                assert done, f"{name} came before {container['name']}"
