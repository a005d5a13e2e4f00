"""What a node does next for a pod, and what it says of it: tables of scenes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from trainplane.api.meta import Raw
from trainplane.node.lifecycle import (
    LAST_GRACE,
    Clear,
    Forget,
    Prepare,
    Start,
    StartOver,
    Step,
    Stop,
    Turn,
    decide,
)
from trainplane.node.restarts import Pace, back_off_left, next_back_off
from trainplane.node.runner import Exit
from trainplane.node.seen import BackOff, Life, Scene, Seen, remembered, termination_message

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
AGO = NOW - timedelta(seconds=5)
UP = Scene(addresses=("10.1.1.1",), host="10.244.0.1")
RUNS = Seen(Life(AGO, id="1"))


def done(code: int = 0, *, seconds_ago: float = 1, **said: Any) -> Seen:
    life = Life(
        AGO, id="1", ended=NOW - timedelta(seconds=seconds_ago), code=code, reason="Error" if code else "Completed"
    )
    return Seen(life, **said)


def pod(*containers: Raw, init: tuple[Raw, ...] = (), status: Raw | None = None, **spec: Any) -> Raw:
    metadata: Raw = {"name": "p", "namespace": "ns", "uid": "u", "generation": 3}
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if key in spec:
            metadata[key] = spec.pop(key)
    every = {"containers": list(containers or (C,)), "restartPolicy": "Never", **spec}
    if init:
        every["initContainers"] = list(init)
    return {"metadata": metadata, "spec": every, "status": status or {}}


def named(name: str, **fields: Any) -> Raw:
    return {"name": name, "image": "i", **fields}


PROBE = {"exec": {"command": ["true"]}}
C, D, I1, I2 = named("c"), named("d"), named("i1"), named("i2")
SIDECAR, SIDECAR2 = named("s", restartPolicy="Always"), named("s2", restartPolicy="Always")
GOING = {"deletionTimestamp": "2026-01-31T12:00:30Z", "deletionGracePeriodSeconds": 30}


def scene(base: Scene = UP, **containers: Seen) -> Scene:
    return replace(base, containers=containers)


INITIALIZED = replace(UP, initialized=True)


@pytest.mark.parametrize(
    ("pod", "scene", "steps", "phase"),
    [
        pytest.param(pod(), Scene(), (Prepare(),), "Pending", id="first come volumes and a place"),
        pytest.param(pod(), Scene(tried=AGO), (Prepare(),), "Pending", id="what could not be made is tried again"),
        pytest.param(pod(), Scene(tried=NOW), (), "Pending", id="but not at once"),
        pytest.param(pod(C, D), UP, (Start("c"), Start("d")), "Pending", id="containers start together"),
        pytest.param(pod(C, D), scene(c=RUNS), (Start("d"),), "Pending", id="until all have started it is pending"),
        pytest.param(pod(), scene(c=RUNS), (), "Running", id="it runs"),
        pytest.param(pod(C, D), scene(c=RUNS, d=done(1)), (), "Running", id="it runs as long as one does"),
        pytest.param(pod(), scene(c=done()), (Clear(),), "Succeeded", id="it has succeeded"),
        pytest.param(pod(C, D), scene(c=done(), d=done(3)), (Clear(),), "Failed", id="one that fails fails it"),
        pytest.param(pod(), replace(scene(c=done()), cleared=True), (), "Succeeded", id="nothing is left to do"),
        pytest.param(pod(init=(I1, I2)), UP, (Start("i1"),), "Pending", id="init containers come first"),
        pytest.param(pod(init=(I1, I2)), scene(i1=RUNS), (), "Pending", id="one at a time"),
        pytest.param(pod(init=(I1, I2)), scene(i1=done()), (Start("i2"),), "Pending", id="then the next"),
        pytest.param(pod(init=(I1,)), scene(i1=done()), (Start("c"),), "Pending", id="then the others"),
        pytest.param(pod(init=(I1,)), scene(i1=done(1)), (Clear(),), "Failed", id="one that fails ends it all"),
        pytest.param(
            pod(init=(I1,), restartPolicy="OnFailure"),
            scene(i1=done(1)),
            (Start("i1"),),
            "Pending",
            id="unless it may try again",
        ),
        pytest.param(
            pod(init=(I1,), restartPolicy="Always"),
            scene(i1=done(1)),
            (Start("i1"),),
            "Pending",
            id="in a pod that always restarts it may",
        ),
        pytest.param(
            pod(init=(I1,), restartPolicy="Always"),
            scene(i1=done()),
            (Start("c"),),
            "Pending",
            id="but only until it has succeeded",
        ),
        pytest.param(pod(init=(SIDECAR,)), UP, (Start("s"),), "Pending", id="a sidecar starts"),
        pytest.param(pod(init=(SIDECAR,)), scene(s=RUNS), (Start("c"),), "Pending", id="and stays beside the others"),
        pytest.param(
            pod(init=({**SIDECAR, "startupProbe": PROBE},)), scene(s=RUNS), (), "Pending", id="its probe is waited for"
        ),
        pytest.param(
            pod(init=({**SIDECAR, "startupProbe": PROBE},)),
            scene(s=replace(RUNS, started=True)),
            (Start("c"),),
            "Pending",
            id="until it has succeeded",
        ),
        pytest.param(
            pod(init=(SIDECAR,)), scene(INITIALIZED, s=done(1), c=RUNS), (Start("s"),), "Running", id="it is restarted"
        ),
        pytest.param(
            pod(init=(SIDECAR, SIDECAR2)),
            scene(INITIALIZED, s=RUNS, s2=RUNS, c=done()),
            (Stop("s2", 30.0, "Stopping container s2"),),
            "Running",
            id="sidecars end after the others, the last first",
        ),
        pytest.param(
            pod(init=(SIDECAR,)),
            scene(INITIALIZED, s=done(7), c=done()),
            (Clear(),),
            "Succeeded",
            id="and do not count",
        ),
        pytest.param(
            pod(init=(I1,)), scene(INITIALIZED, i1=done(), c=RUNS), (), "Running", id="init containers run once"
        ),
        pytest.param(pod(restartPolicy="Always"), scene(c=done()), (Start("c"),), "Running", id="Always restarts"),
        pytest.param(pod(restartPolicy="OnFailure"), scene(c=done()), (Clear(),), "Succeeded", id="OnFailure does not"),
        pytest.param(
            pod(restartPolicy="OnFailure"), scene(c=done(1)), (Start("c"),), "Running", id="but after failure"
        ),
        pytest.param(
            pod(restartPolicy="Always"),
            scene(c=done(1, back_off=BackOff(10, AGO))),
            (),
            "Running",
            id="a container that ended twice waits",
        ),
        pytest.param(
            pod(restartPolicy="Always"),
            scene(c=done(1, seconds_ago=10, back_off=BackOff(10, AGO))),
            (Start("c"),),
            "Running",
            id="for ten seconds",
        ),
        pytest.param(
            pod(restartPolicy="Always"),
            scene(c=done(1, back_off=BackOff(300, NOW - timedelta(seconds=602)))),
            (Start("c"),),
            "Running",
            id="unless it had run well for long",
        ),
        pytest.param(
            pod(
                named(
                    "c",
                    restartPolicy="Never",
                    restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
                )
            ),
            scene(c=done(42)),
            (Start("c"),),
            "Running",
            id="a rule of its own",
        ),
        pytest.param(
            pod(
                named(
                    "c",
                    restartPolicyRules=[
                        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
                    ],
                ),
                D,
            ),
            scene(c=done(42), d=RUNS),
            (Stop("d", 0.0, "Stopping container d"),),
            "Running",
            id="all are to start over: the others end",
        ),
        pytest.param(
            pod(
                named(
                    "c",
                    restartPolicyRules=[
                        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
                    ],
                ),
                D,
            ),
            scene(c=done(42), d=done(137)),
            (StartOver(),),
            "Running",
            id="and then they do",
        ),
        pytest.param(
            pod(**GOING),
            scene(c=RUNS),
            (Stop("c", 30.0, "Stopping container c"),),
            "Running",
            id="one that is deleted ends",
        ),
        pytest.param(pod(**GOING), scene(c=replace(RUNS, stopping=True)), (), "Running", id="it is asked once"),
        pytest.param(
            pod(init=(SIDECAR,), **GOING),
            scene(replace(INITIALIZED, asked=NOW - timedelta(seconds=29)), s=RUNS, c=done()),
            (Stop("s", LAST_GRACE, "Stopping container s"),),
            "Running",
            id="sidecars get what is left of the grace",
        ),
        pytest.param(pod(**GOING), scene(c=done(143)), (Clear(),), "Failed", id="then it is cleared"),
        pytest.param(
            pod(**GOING), replace(scene(c=done(143)), cleared=True), (Forget(),), "Failed", id="and then forgotten"
        ),
        pytest.param(
            pod(restartPolicy="Always", **GOING), scene(c=done()), (Clear(),), "Succeeded", id="never restarted"
        ),
        pytest.param(pod(**GOING), Scene(), (Clear(),), "Failed", id="one that never began"),
        pytest.param(
            pod(activeDeadlineSeconds=60, status={"startTime": "2026-01-31T11:59:00Z"}),
            scene(c=RUNS),
            (Stop("c", 30.0, "Stopping container c"),),
            "Running",
            id="its time is over",
        ),
        pytest.param(
            pod(named("c", livenessProbe={"terminationGracePeriodSeconds": 3}), restartPolicy="Always"),
            scene(c=replace(RUNS, unhealthy="liveness")),
            (Stop("c", 3.0, "Container c failed liveness probe, will be restarted"),),
            "Running",
            id="one that is not alive ends, with the probe's own grace",
        ),
        pytest.param(
            pod(status={"phase": "Failed", "reason": "Evicted"}),
            scene(c=RUNS),
            (Stop("c", 30.0, "Stopping container c"),),
            "Failed",
            id="a phase that is over stays",
        ),
        pytest.param(
            pod(),
            scene(c=Seen(waiting=("CreateContainerConfigError", "no"), tried=NOW)),
            (),
            "Pending",
            id="what could not start waits",
        ),
        pytest.param(
            pod(),
            scene(c=Seen(waiting=("CreateContainerConfigError", "no"), tried=AGO)),
            (Start("c"),),
            "Pending",
            id="and is tried again",
        ),
    ],
)
def test_what_happens_next(pod: Raw, scene: Scene, steps: tuple[Step, ...], phase: str) -> None:
    turn = decide(pod, scene, NOW)
    assert (turn.steps, turn.status["phase"]) == (steps, phase)


def condition(turn: Turn, kind: str) -> tuple[str, str, str]:
    found = next(each for each in turn.status["conditions"] if each["type"] == kind)
    return found["status"], found.get("reason", ""), found.get("message", "")


@pytest.mark.parametrize(
    ("pod", "scene", "kind", "said"),
    [
        pytest.param(pod(), Scene(), "PodReadyToStartContainers", ("False", "", ""), id="no place yet"),
        pytest.param(pod(), UP, "PodReadyToStartContainers", ("True", "", ""), id="a place"),
        pytest.param(
            pod(C, D),
            scene(c=RUNS),
            "Ready",
            ("False", "ContainersNotReady", "containers with unready status: [d]"),
            id="unready",
        ),
        pytest.param(pod(), scene(c=RUNS), "Ready", ("True", "", ""), id="ready"),
        pytest.param(
            pod(named("c", readinessProbe=PROBE)),
            scene(c=RUNS),
            "Ready",
            ("False", "ContainersNotReady", "containers with unready status: [c]"),
            id="not before its probe",
        ),
        pytest.param(
            pod(named("c", readinessProbe=PROBE)),
            scene(c=replace(RUNS, ready=True)),
            "Ready",
            ("True", "", ""),
            id="but then",
        ),
        pytest.param(
            pod(init=(I1, I2)),
            scene(i1=done()),
            "Initialized",
            ("False", "ContainersNotInitialized", "containers with incomplete status: [i2]"),
            id="not initialized",
        ),
        pytest.param(pod(), scene(c=done()), "Initialized", ("True", "PodCompleted", ""), id="complete"),
        pytest.param(
            pod(), scene(c=done()), "Ready", ("False", "PodCompleted", ""), id="a pod that is done is not ready"
        ),
        pytest.param(pod(), scene(c=done(1)), "ContainersReady", ("False", "PodFailed", ""), id="nor one that failed"),
        pytest.param(
            pod(readinessGates=[{"conditionType": "x/y"}]),
            scene(c=RUNS),
            "Ready",
            ("False", "ReadinessGatesNotReady", 'corresponding condition of pod readiness gate "x/y" does not exist.'),
            id="a gate",
        ),
    ],
)
def test_conditions(pod: Raw, scene: Scene, kind: str, said: tuple[str, str, str]) -> None:
    assert condition(decide(pod, scene, NOW), kind) == said


def state(turn: Turn, name: str = "c") -> Raw:
    status = turn.status
    return next(
        each
        for key in ("initContainerStatuses", "containerStatuses")
        for each in status.get(key) or ()
        if each["name"] == name
    )


def test_a_container_in_back_off_says_so_and_shows_its_last_end() -> None:
    turn = decide(pod(restartPolicy="Always"), scene(c=done(1, restarts=4, back_off=BackOff(160, AGO))), NOW)
    found = state(turn)
    message = "back-off 2m40s restarting failed container=c pod=p_ns(u)"
    assert found["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    assert found["lastState"]["terminated"]["exitCode"] == 1
    assert found["restartCount"] == 4
    assert [(each.reason, each.note) for each in turn.said] == [
        ("BackOff", "Back-off restarting failed container c in pod p_ns(u)")
    ]
    assert turn.again == timedelta(seconds=159)


def test_containers_that_wait_say_for_what() -> None:
    assert state(decide(pod(), UP, NOW))["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert state(decide(pod(init=(I1,)), UP, NOW))["state"] == {"waiting": {"reason": "PodInitializing"}}
    waits = scene(c=Seen(waiting=("CreateContainerConfigError", 'secret "x" not found'), tried=NOW))
    assert state(decide(pod(), waits, NOW))["state"]["waiting"]["message"] == 'secret "x" not found'


def test_a_deadline_fails_the_pod_and_says_why() -> None:
    late = pod(activeDeadlineSeconds=60, status={"startTime": "2026-01-31T11:59:00Z"})
    turn = decide(late, scene(c=RUNS), NOW)
    assert turn.scene.doom is not None
    ended = decide(late, replace(turn.scene, containers={"c": done(143)}), NOW)
    assert (ended.status["phase"], ended.status["reason"]) == ("Failed", "DeadlineExceeded")
    soon = pod(activeDeadlineSeconds=60, status={"startTime": "2026-01-31T11:59:30Z"})
    assert decide(soon, scene(c=RUNS), NOW).again == timedelta(seconds=30)


def test_what_others_wrote_stays_and_times_change_only_with_the_status() -> None:
    before = decide(pod(), scene(c=RUNS), NOW).status
    foreign = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    status = {**before, "conditions": [*before["conditions"], foreign]}
    later = decide(pod(status=status), scene(c=RUNS), NOW + timedelta(hours=1)).status
    assert later["conditions"] == [foreign, *before["conditions"]]
    assert [each["type"] for each in before["conditions"]] == [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert {each["observedGeneration"] for each in before["conditions"]} == {3}
    assert later["observedGeneration"] == 3


@pytest.mark.parametrize(
    ("exit_", "code", "reason"),
    [
        pytest.param(Exit(NOW), 0, "Completed", id="good"),
        pytest.param(Exit(NOW, code=3), 3, "Error", id="bad"),
        pytest.param(Exit(NOW, signal=15), 143, "Error", id="a signal"),
        pytest.param(Exit(NOW, signal=9, oom=True), 137, "OOMKilled", id="out of memory"),
        pytest.param(Exit(NOW, code=1, oom=True), 1, "Error", id="only a child was killed, and it went on"),
        pytest.param(Exit(NOW, code=137, oom=True), 137, "OOMKilled", id="killed, and its shell says so"),
    ],
)
def test_how_a_life_ends(exit_: Exit, code: int, reason: str) -> None:
    life = Life(AGO).with_exit(exit_)
    assert (life.code, life.reason) == (code, reason)


@pytest.mark.parametrize(
    ("policy", "code", "written", "log", "message"),
    [
        pytest.param("File", 1, "word", "log", "word", id="its own word"),
        pytest.param("File", 1, "", "log", "", id="no word"),
        pytest.param("FallbackToLogsOnError", 1, "", "a\nb\n", "a\nb\n", id="its last lines"),
        pytest.param("FallbackToLogsOnError", 0, "", "a\n", "", id="not after success"),
        pytest.param("FallbackToLogsOnError", 1, "", "x\n" * 100, "x\n" * 80, id="eighty of them"),
        pytest.param("File", 1, "w" * 5000, "", "w" * 4096, id="four thousand letters at most"),
    ],
)
def test_termination_message(policy: str, code: int, written: str, log: str, message: str) -> None:
    container = {"terminationMessagePolicy": policy}
    assert termination_message(container, Life(AGO, ended=NOW, code=code), written=written, log=log) == message


def test_what_ran_before_the_agent_ended_is_lost_and_counted() -> None:
    status = decide(pod(restartPolicy="Always"), scene(c=replace(RUNS, restarts=2)), NOW).status
    again = remembered(pod(restartPolicy="Always", status=status))
    life = again.of("c").life
    assert life is not None
    assert (life.code, life.reason, again.of("c").restarts) == (137, "ContainerStatusUnknown", 2)
    assert decide(pod(status=status), again, NOW).status["phase"] == "Failed"


def test_a_pod_that_is_deleted_before_it_began_says_so_of_its_containers() -> None:
    turn = decide(pod(**GOING), replace(Scene(), cleared=True), NOW)
    ended = state(turn)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "ContainerStatusUnknown")


def test_how_long_a_container_that_ends_at_once_waits_each_time() -> None:
    """The first restart comes at once; a day later the waits are as long as they get."""
    seen, now, waits = Seen(Life(NOW, ended=NOW, code=1)), NOW, list[float]()
    for _ in range(9):
        before = now
        while back_off_left(seen, now, pace=Pace()):
            now += timedelta(seconds=1)
        waits.append((now - before).total_seconds())
        seen = Seen(Life(now, ended=now, code=1), back_off=next_back_off(seen, now, pace=Pace()))
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300, 300]
