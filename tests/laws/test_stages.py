"""The gang checker agrees with a scheduler that tries one event after the other, pod by pod, in any order."""

from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from trainplane.trainjob.stages import Starter, deadlocks, stages, starters

NAMES = ("a", "b", "c", "d")
GANGS = ("", "g", "h")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Starter], dict[str, int]]:
    """Up to four jobs that wait for each other anyhow, in up to two gangs of any quorum."""
    names = NAMES[: draw(st.integers(1, 4))]
    jobs = [
        Starter(
            name=name,
            pods=draw(st.integers(0, 3)),
            waits=tuple((other, "Ready") for other in draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))),
            gang=draw(st.sampled_from(GANGS)),
            first_alone=draw(st.booleans()),
        )
        for name in names
    ]
    return jobs, {gang: draw(st.integers(0, 5)) for gang in GANGS if gang}


def tried(jobs: list[Starter], quorum: dict[str, int], dice: Random) -> set[str]:
    """The gangs that are short of pods when nothing can happen any more; every choice is the dice's."""
    made = {job.name: 0 for job in jobs}
    placed = {job.name: 0 for job in jobs}
    begun: set[str] = set()

    def done(name: str) -> bool:
        return any(job.name == name and name in begun and placed[name] == job.pods for job in jobs)

    def here(gang: str) -> int:
        return sum(made[job.name] for job in jobs if job.gang == gang)

    for _ in range(200):
        events: list[tuple[str, Starter]] = []
        for job in jobs:
            if all(done(name) for name, _ in job.waits):
                if job.name not in begun:
                    events.append(("begin", job))
                elif made[job.name] < job.pods and not (job.first_alone and made[job.name] and not placed[job.name]):
                    events.append(("make", job))
            free = not job.gang or here(job.gang) >= quorum[job.gang]
            if placed[job.name] < made[job.name] and free:
                events.append(("place", job))
        if not events:
            break
        what, job = dice.choice(events)
        if what == "begin":
            # An empty job of a gang is only done when the gang as a whole is.
            if job.pods == 0 and job.gang and here(job.gang) < quorum[job.gang]:
                if len(events) == 1 or all(w == "begin" for w, _ in events):
                    break
                continue
            begun.add(job.name)
        else:
            (made if what == "make" else placed)[job.name] += 1
    return {gang for gang in quorum if here(gang) < quorum[gang]}


@given(worlds(), st.integers())
@example(([Starter("a", 1, gang="g"), Starter("b", 2, waits=(("a", "Ready"),), gang="g")], {"g": 3, "h": 0}), 0)
def test_checker_agrees_with_trying(world: tuple[list[Starter], dict[str, int]], seed: int) -> None:
    jobs, quorum = world
    jobs = [job for job in jobs if job.pods or not job.gang]
    assert {found.gang for found in deadlocks(jobs, quorum)} == tried(jobs, quorum, Random(seed))


@given(worlds())
def test_every_deadlock_names_its_cycle(world: tuple[list[Starter], dict[str, int]]) -> None:
    for found in deadlocks(*world):
        assert found.cycle[0] == f"gang {found.gang}"
        assert len(found.cycle) > 1
        assert found.appear < found.needs


@given(worlds())
def test_gangs_of_one_stage_never_deadlock_unless_a_job_can_never_start(
    world: tuple[list[Starter], dict[str, int]],
) -> None:
    jobs = [job for job in world[0] if not job.first_alone]
    alone = {
        found.gang
        for found in deadlocks(
            [Starter(j.name, j.pods, j.waits, gang=j.name) for j in jobs], {job.name: job.pods for job in jobs}
        )
    }
    found = stages(jobs)
    gang = {job.name: str(i) for i, stage in enumerate(found) for job in stage}
    quorum = {str(i): sum(job.pods for job in stage) for i, stage in enumerate(found)}
    staged = deadlocks([Starter(j.name, j.pods, j.waits, gang=gang[j.name]) for j in jobs], quorum)
    assert bool(staged) == bool(alone)


def test_starters_read_a_jobset() -> None:
    spec = {
        "replicatedJobs": [
            {"name": "data", "template": {"spec": {}}},
            {
                "name": "node",
                "replicas": 2,
                "dependsOn": [{"name": "data", "status": "Complete"}],
                "template": {"spec": {"parallelism": 3}},
            },
        ]
    }
    assert starters(spec) == [Starter("data", 1), Starter("node", 6, (("data", "Complete"),))]
    in_order = {**spec, "startupPolicy": {"startupPolicyOrder": "InOrder"}}
    assert starters(in_order)[1].waits == (("data", "Complete"), ("data", "Ready"))
