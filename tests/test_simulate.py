"""What would become of a queue: the same answer each time, in any process."""

import asyncio
import os
import random
import re
import subprocess
import sys
import uuid
from datetime import timedelta

from tests.rehearsals import trainjob
from trainplane.control import virtual
from trainplane.node.simulated import Size
from trainplane.simulate import Fate, ended, fate, first_starts, kind, simulate, uid_of, world

RUN = """
import asyncio
from tests.rehearsals import trainjob
from trainplane.control import virtual
from trainplane.simulate import ended, kind, world

async def main():
    async with world(nodes=3, seed=7) as made, made.controlled():
        for number in range(6):
            await made.api.create(trainjob(f"job-{number}", seconds="20", cpu="5", exit_code=str(number % 2)))
        await ended(made.api, 6)
        for group, name in (("", "Pod"), ("batch", "Job"), ("trainer.kubeflow.org", "TrainJob")):
            for raw in (await made.api.list(kind(group, name))).items:
                print(name, raw["metadata"]["name"], raw["metadata"]["uid"], raw["metadata"]["resourceVersion"])

virtual.run(main())
"""


def test_a_queue_is_told_with_waits_and_ends() -> None:
    jobs = [trainjob(f"job-{number}", seconds="60", cpu="8") for number in range(3)]
    outcome = simulate(jobs, nodes=2, size=Size(cpu="8"))
    assert outcome.states == {"Complete": 3}
    assert timedelta(minutes=3) <= outcome.took < timedelta(minutes=3, seconds=5)
    waits = sorted(fate.waited or timedelta() for fate in outcome.fates)
    assert [round(wait.total_seconds() / 60) for wait in waits] == [0, 1, 2]


def test_what_a_simulation_does_not_keep_changes_nothing_in_it() -> None:
    jobs = [trainjob(f"job-{number}", seconds="60", cpu="8", exit_code=str(number % 2)) for number in range(4)]

    async def kept() -> list[Fate]:
        async with world(nodes=2, size=Size(cpu="8")) as made, made.controlled():
            for raw in jobs:
                await made.api.create(raw)
            await ended(made.api, len(jobs))
            starts = first_starts((await made.api.list(kind("", "Pod"))).items)
            return [fate(raw, starts) for raw in (await made.api.list(kind("trainer.kubeflow.org", "TrainJob"))).items]

    outcome = simulate(jobs, nodes=2, size=Size(cpu="8"))
    assert outcome.states == {"Complete": 2, "Failed": 2}
    assert list(outcome.fates) == virtual.run(kept())


def test_what_does_not_end_in_time_is_told_too() -> None:
    outcome = simulate([trainjob("long", seconds="forever")], nodes=2, within=timedelta(hours=1))
    assert outcome.states == {"Unfinished": 1}
    assert outcome.took == timedelta(hours=1)


def test_a_job_that_waits_its_turn_is_looked_at_no_more_than_it_has_to() -> None:
    """What a controller wrote itself is no news to it, and endpoints wait for pods."""
    jobs = 12

    async def main() -> dict[str, int]:
        async with world(nodes=2, size=Size(cpu="8")) as made, made.controlled() as loop:
            for number in range(jobs):
                await made.api.create(trainjob(f"job-{number}", seconds="60", cpu="8"))
            await ended(made.api, jobs)
            await asyncio.sleep(5)
            counts = re.findall(r'reconcile_seconds_count{controller="(.*?)"} (\d+)', loop.metrics.text())
            return {name: int(count) for name, count in counts}

    looks = virtual.run(main())
    most = {"trainjob": 5, "jobset": 4, "job": 4, "endpoint-slices": 2, "endpoints": 2}
    assert {name: looks[name] for name in most if looks[name] > jobs * most[name]} == {}


def test_a_uid_is_that_of_a_random_uuid() -> None:
    chance = random.Random(0)
    for bits in (0, 2**128 - 1, *(chance.getrandbits(128) for _ in range(200))):
        assert uid_of(bits) == str(uuid.UUID(int=bits, version=4))


def test_the_same_seed_is_the_same_run_in_another_process() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", RUN],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
