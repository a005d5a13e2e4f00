"""Simulated nodes: pods do what their annotations say, and a node that is lost falls silent."""

from typing import Any

import pytest

from tests.rehearsals import Rehearsal, pod, rehearse, runtime, trainjob
from trainplane.api.raw import look
from trainplane.node.simulated import Size

Raw = dict[str, Any]


def condition(raw: Raw, type_: str) -> str:
    """The status of a condition."""
    return next((one["status"] for one in raw["status"].get("conditions") or () if one["type"] == type_), "")


def end(raw: Raw, index: int = 0) -> Raw:
    """How a container ended."""
    found: Raw = raw["status"]["containerStatuses"][index]["state"]["terminated"]
    return found


def test_nodes_have_what_they_are_given_and_say_that_they_are_well() -> None:
    async def story(stage: Rehearsal) -> None:
        nodes = await stage.all("Node")
        assert [raw["metadata"]["name"] for raw in nodes] == ["node-0", "node-1", "node-2"]
        for raw in nodes:
            assert raw["status"]["allocatable"] | {"cpu": "64", "nvidia.com/gpu": "8"} == raw["status"]["allocatable"]
            assert condition(raw, "Ready") == "True"
        await stage.wait(3600)
        assert {condition(raw, "Ready") for raw in await stage.all("Node")} == {"True"}, "and go on saying so"
        beats = sum(
            n
            for (who, verb, _), n in stage.loop.metrics.writes.items().items()
            if (who, verb) == ("simulated-nodes", "patch")
        )
        assert beats <= 3 * 12, "heartbeats are seldom"

    rehearse(story, nodes=3, size=Size(cpu="64", gpus=8))


def test_a_pod_runs_as_long_as_it_says_and_succeeds() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(pod("p", seconds="60", start_seconds="5"))
        await stage.wait(1)
        early = await stage.get("Pod", "p")
        assert early["status"]["phase"] == "Pending"
        assert look(early, "status", "containerStatuses", 0, "state", "waiting", "reason") == "ContainerCreating"
        await stage.wait(10)
        now = await stage.get("Pod", "p")
        assert (now["status"]["phase"], condition(now, "Ready")) == ("Running", "True")
        assert now["status"]["podIP"]
        assert now["status"]["hostIP"]
        await stage.wait(60)
        late = await stage.get("Pod", "p")
        assert (late["status"]["phase"], condition(late, "Ready")) == ("Succeeded", "False")
        assert (end(late)["exitCode"], end(late)["reason"]) == (0, "Completed")
        times = (end(late)["startedAt"], end(late)["finishedAt"])
        assert times == ("2026-01-01T00:00:06Z", "2026-01-01T00:01:06Z")

    rehearse(story)


def test_a_pod_of_no_length_is_written_once() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(pod("p", seconds="0"))
        await stage.wait(1)
        assert (await stage.get("Pod", "p"))["status"]["phase"] == "Succeeded"
        assert stage.loop.metrics.writes.value("simulated-pods", "setstatus", "Pod") == 1

    rehearse(story)


def test_a_pod_fails_as_it_is_told() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(pod("code", seconds="0", exit_code="3", message="out of data"))
        await stage.api.create(pod("memory", seconds="0", reason="OOMKilled"))
        await stage.wait(1)
        code, memory = await stage.get("Pod", "code"), await stage.get("Pod", "memory")
        assert (code["status"]["phase"], end(code)["exitCode"], end(code)["message"]) == ("Failed", 3, "out of data")
        assert (memory["status"]["phase"], end(memory)["exitCode"], end(memory)["reason"]) == (
            "Failed",
            137,
            "OOMKilled",
        )

    rehearse(story)


def test_a_container_that_may_is_started_again_and_ever_later() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(pod("p", restart="OnFailure", seconds="0", fail_attempts="1,2,3"))
        await stage.wait(5)
        early = (await stage.get("Pod", "p"))["status"]["containerStatuses"][0]
        assert (early["restartCount"], early["state"]["waiting"]["reason"]) == (2, "CrashLoopBackOff")
        await stage.wait(30)
        late = await stage.get("Pod", "p")
        assert (late["status"]["phase"], late["status"]["containerStatuses"][0]["restartCount"]) == ("Succeeded", 3)

    rehearse(story)


def test_init_containers_come_first_and_sidecars_run_beside() -> None:
    inits = (
        {"name": "fetch", "image": "i"},
        {"name": "log", "image": "i", "restartPolicy": "Always"},
        {"name": "warm", "image": "i"},
    )

    async def story(stage: Rehearsal) -> None:
        await stage.api.create(pod("p", inits=inits, seconds="20", init_seconds="10"))
        await stage.wait(5)
        first = await stage.get("Pod", "p")
        assert first["status"]["phase"] == "Pending"
        assert [next(iter(one["state"])) for one in first["status"]["initContainerStatuses"]] == [
            "running",
            "waiting",
            "waiting",
        ]
        await stage.wait(10)
        second = await stage.get("Pod", "p")
        assert [next(iter(one["state"])) for one in second["status"]["initContainerStatuses"]] == [
            "terminated",
            "running",
            "running",
        ]
        await stage.wait(10)
        third = await stage.get("Pod", "p")
        assert (third["status"]["phase"], condition(third, "Initialized")) == ("Running", "True")
        await stage.wait(20)
        last = await stage.get("Pod", "p")
        assert last["status"]["phase"] == "Succeeded"
        assert {next(iter(one["state"])) for one in last["status"]["initContainerStatuses"]} == {"terminated"}

    rehearse(story)


def test_a_pod_without_its_image_waits_and_says_so() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(trainjob("digits", image_pull_failure="true"))
        await stage.wait(60)
        job = await stage.get("TrainJob", "digits")
        assert "image" in job["status"]["summary"]["message"]
        assert "trainer" in job["status"]["summary"]["message"]

    rehearse(story)


def test_annotations_that_cannot_be_read_are_all_named_with_what_to_write() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(pod("p", seconds="soon", exit_code="1000", colour="red"))
        await stage.wait(1)
        (status,) = (await stage.get("Pod", "p"))["status"]["containerStatuses"]
        assert status["state"]["waiting"]["reason"] == "CreateContainerConfigError"
        message = status["state"]["waiting"]["message"]
        assert "simulate.trainplane.dev/seconds: 'soon' cannot be read; write a number of seconds" in message
        assert "simulate.trainplane.dev/exit-code: '1000' cannot be read; write a number between 0 and 255" in message
        assert "simulate.trainplane.dev/colour: there is no such annotation; there are seconds," in message

    rehearse(story)


@pytest.mark.parametrize(("takes", "gone_after", "code"), [("0", 1, 143), ("10", 12, 143), ("100", 32, 137)])
def test_a_deleted_pod_stops_in_its_time_or_is_killed(takes: str, gone_after: int, code: int) -> None:
    async def story(stage: Rehearsal) -> None:
        made = pod("p", seconds="forever", stop_seconds=takes)
        made["metadata"]["finalizers"] = ["example.com/wait"]
        await stage.api.create(made)
        await stage.wait(5)
        await stage.delete(await stage.get("Pod", "p"))
        if gone_after > 1:
            await stage.wait(gone_after - 5)
            assert (await stage.get("Pod", "p"))["status"]["phase"] == "Running"
            await stage.wait(5)
        else:
            await stage.wait(1)
        stopped = await stage.get("Pod", "p")
        assert (stopped["status"]["phase"], end(stopped)["exitCode"]) == ("Failed", code)
        assert stopped["metadata"]["deletionGracePeriodSeconds"] == 0, "nobody waits for it any more"

    rehearse(story)


def test_a_lost_node_is_found_out_and_its_pods_are_replaced_elsewhere() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(runtime("patient"))
        await stage.api.create(trainjob("digits", runtime="patient", nodes=1, seconds="900"))
        await stage.wait(10)
        (first,) = await stage.all("Pod")
        home = first["spec"]["nodeName"]
        await stage.annotate(await stage.get("Node", home), lost="true")
        await stage.wait(20)
        assert condition(await stage.get("Node", home), "Ready") == "True", "nobody knows yet"
        await stage.wait(40)
        assert condition(await stage.get("Node", home), "Ready") == "Unknown"
        await stage.wait(400)
        places = {raw["metadata"]["name"]: raw for raw in await stage.all("Pod")}
        assert places[first["metadata"]["name"]]["metadata"]["deletionTimestamp"], "its pods are told to go"
        others = [raw for name, raw in places.items() if name != first["metadata"]["name"]]
        assert others
        assert all(raw["spec"]["nodeName"] != home for raw in others)
        await stage.annotate(await stage.get("Node", home), lost=None)
        await stage.wait(30)
        assert condition(await stage.get("Node", home), "Ready") == "True"
        assert first["metadata"]["name"] not in {raw["metadata"]["name"] for raw in await stage.all("Pod")}
        await stage.wait(1200)
        assert await stage.states() == {"Complete": 1}

    rehearse(story)


def test_a_rank_that_fails_once_is_tried_again() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(runtime("patient"))
        await stage.api.create(trainjob("digits", runtime="patient", seconds="10", fail_ranks="1", fail_attempts="1"))
        await stage.wait(300)
        restarts = [raw["status"]["containerStatuses"][0]["restartCount"] for raw in await stage.all("Pod")]
        assert restarts == [0, 1]
        assert await stage.states() == {"Complete": 1}

    rehearse(story)


def test_every_attempt_that_fails_uses_up_a_restart() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(runtime("once", restart="Never", backoff=0, restarts=1))
        for name, attempts in (("well", "1"), ("ill", "1,2")):
            await stage.api.create(trainjob(name, runtime="once", seconds="10", fail_attempts=attempts))
        await stage.wait(300)
        assert await stage.states() == {"Complete": 1, "Failed": 1}
        restarts = {raw["metadata"]["name"]: raw["status"]["restarts"] for raw in await stage.all("JobSet")}
        assert restarts == {"well": 1, "ill": 1}

    rehearse(story)
