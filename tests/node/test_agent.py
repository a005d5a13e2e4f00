"""Pods on a node, with real processes: what a user sees of them, from the first event to what is left on the disk."""

import asyncio
import base64
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.node.nodes import NAMESPACE, Nodes, container, phase, played, pod, ref, serving, states
from tests.patience import PATIENCE
from trainplane.api.kinds import KINDS
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.node.images import ImageMapping

NODE = next(kind for kind in KINDS if kind.kind == "Node")


def of(kind: str, name: str, **fields: Any) -> Raw:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **fields}


def reasons(events: list[tuple[str, str]]) -> list[str]:
    return [reason for reason, _ in events]


def test_a_pod_runs_to_its_end_and_leaves_its_output(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        kept = "echo kept > mine; echo shared > $TRAINPLANE_OUTPUT/ours"
        script = f"echo hello; echo oops >&2; {kept}; echo bye > /dev/termination-log"
        await made.create(pod(containers=[container(script=script)]))
        ended = await made.ended()
        assert phase(ended) == "Succeeded"
        state = states(ended)["c"]["terminated"]
        assert (state["exitCode"], state["reason"], state["message"]) == (0, "Completed", "bye\n")
        assert await made.log() == "hello\noops\n"
        assert reasons(await made.events()) == ["ImageOnHost", "Created", "Started"]
        left = made.folder / "jobs" / NAMESPACE / "p"
        assert (left / "output" / "ours").read_text() == "shared\n"
        assert (left / "pods" / "p" / "mine").read_text() == "kept\n"
        assert not list((made.folder / "node" / "pods").iterdir())

    played(tmp_path, play, runner=runner)


@pytest.mark.parametrize(
    ("spec", "code", "reason", "words"),
    [
        pytest.param(container(script="exit 3"), 3, "Error", "", id="it fails"),
        pytest.param(container(script="kill -KILL $$$$"), 137, "Error", "", id="it is killed"),
        pytest.param(
            container(script="echo why; exit 1", terminationMessagePolicy="FallbackToLogsOnError"),
            1,
            "Error",
            "why\n",
            id="its last lines say why",
        ),
        pytest.param(
            container(command=["no-such-program"]),
            128,
            "StartError",
            'exec: "no-such-program": executable file not found in $PATH',
            id="there is no such program",
        ),
    ],
)
def test_a_pod_that_fails_says_how(tmp_path: Path, spec: Raw, code: int, reason: str, words: str) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[spec]))
        ended = await made.ended()
        state = states(ended)["c"]["terminated"]
        assert phase(ended) == "Failed"
        assert (state["exitCode"], state["reason"], state.get("message", "")) == (code, reason, words)

    played(tmp_path, play)


def test_memory_beyond_the_limit_is_said_to_be_that(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        hungry = [sys.executable, "-c", "x = b'x' * (300 << 20); import time; time.sleep(600)"]
        await made.create(pod(containers=[container(command=hungry, resources={"limits": {"memory": "64Mi"}})]))
        state = states(await made.ended())["c"]["terminated"]
        assert (state["exitCode"], state["reason"]) == (137, "OOMKilled")

    played(tmp_path, play, runner=runner)


def test_init_containers_come_first_and_sidecars_stay(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        init = [
            container("first", "echo first >> $TRAINPLANE_OUTPUT/order"),
            container(
                "beside",
                "echo beside >> $TRAINPLANE_OUTPUT/order; trap 'exit 5' TERM; sleep 600 & wait",
                restartPolicy="Always",
            ),
            container("last", "sleep 0.2; echo last >> $TRAINPLANE_OUTPUT/order"),
        ]
        await made.create(
            pod(initContainers=init, containers=[container(script="echo main >> $TRAINPLANE_OUTPUT/order")])
        )
        ended = await made.ended()
        order = (made.folder / "jobs" / NAMESPACE / "p" / "output" / "order").read_text().split()
        assert order == ["first", "beside", "last", "main"]
        assert phase(ended) == "Succeeded"
        assert states(ended)["beside"]["terminated"]["exitCode"] == 5

    played(tmp_path, play, runner=runner)


def test_a_container_that_keeps_failing_waits_longer_and_longer(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(restartPolicy="Always", containers=[container(script="echo again; exit 1")]))
        waiting = await made.until("p", lambda pod: "CrashLoopBackOff" in str(states(pod)))
        assert phase(waiting) == "Running"
        assert (
            "BackOff",
            f"Back-off restarting failed container c in pod p_ns({waiting['metadata']['uid']})",
        ) in await made.events()
        later = await made.until("p", lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] >= 3)
        assert later["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1
        assert await made.log(previous=True) == "again\n"
        await made.api.delete(ref("p"))
        await made.gone()

    played(tmp_path, play, runner=runner)


def test_on_failure_tries_until_it_works(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        script = "if [ -e $TRAINPLANE_OUTPUT/once ]; then exit 0; fi; touch $TRAINPLANE_OUTPUT/once; exit 9"
        await made.create(pod(restartPolicy="OnFailure", containers=[container(script=script)]))
        ended = await made.ended()
        status = ended["status"]["containerStatuses"][0]
        assert (phase(ended), status["restartCount"]) == ("Succeeded", 1)
        assert status["lastState"]["terminated"]["exitCode"] == 9

    played(tmp_path, play)


def test_deleting_asks_runs_the_hook_and_waits(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        script = "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done"
        hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook > $TRAINPLANE_OUTPUT/hook"]}}}
        await made.create(pod(containers=[container(script=script, lifecycle=hook)]))
        running = await made.until("p", lambda pod: phase(pod) == "Running")
        log = made.folder / "node" / "logs" / f"{NAMESPACE}_p_{running['metadata']['uid']}" / "c" / "0.log"
        await made.until("p", lambda _: " up\n" in log.read_text())
        await made.api.delete(ref("p"))
        await made.gone()
        assert (made.folder / "jobs" / NAMESPACE / "p" / "output" / "hook").exists()
        assert [line.split(" ", 3)[3] for line in log.read_text().splitlines()] == ["up", "asked"]
        assert ("Killing", "Stopping container c") in await made.events()

    played(tmp_path, play, runner=runner)


def test_who_does_not_listen_is_killed_when_the_grace_is_over(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        script = "trap '' TERM; echo $$$$ > $TRAINPLANE_OUTPUT/pid; while :; do sleep 0.05; done"
        await made.create(pod(terminationGracePeriodSeconds=1, containers=[container(script=script)]))
        file = made.folder / "jobs" / NAMESPACE / "p" / "output" / "pid"
        await made.until("p", lambda pod: phase(pod) == "Running" and file.exists() and file.read_text())
        await made.api.delete(ref("p"))
        await made.gone()
        with pytest.raises(ProcessLookupError):
            os.kill(int(file.read_text()), 0)

    played(tmp_path, play)


def test_a_pod_whose_object_is_gone_ends(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[container(script="echo $$$$ > $TRAINPLANE_OUTPUT/pid; exec sleep 600")]))
        file = made.folder / "jobs" / NAMESPACE / "p" / "output" / "pid"
        await made.until("p", lambda pod: phase(pod) == "Running" and file.exists() and file.read_text())
        await made.api.delete(ref("p"), grace=0)
        async with asyncio.timeout(PATIENCE):
            while Path(f"/proc/{file.read_text().strip()}").exists():
                await asyncio.sleep(0.02)

    played(tmp_path, play)


def test_variables_and_volumes_come_from_objects(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await made.create(of("ConfigMap", "cfg", data={"lr": "0.1"}))
        await made.create(of("Secret", "sec", data={"key": base64.b64encode(b"s3cret").decode()}))
        await made.create(
            of(
                "PersistentVolumeClaim",
                "data",
                spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            )
        )
        volumes = [
            {"name": "cfg", "configMap": {"name": "cfg"}},
            {"name": "sec", "secret": {"secretName": "sec", "defaultMode": 0o400}},
            {"name": "me", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "mem", "emptyDir": {"medium": "Memory"}},
        ]
        mounts = [{"name": name, "mountPath": f"/v/{name}"} for name in ("cfg", "sec", "me", "data", "mem")]
        script = "cat /v/cfg/lr /v/sec/key /v/me/name; echo; echo $IP $LR; echo d > /v/data/d; echo m > /v/mem/m"
        env = [
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "LR", "valueFrom": {"configMapKeyRef": {"name": "cfg", "key": "lr"}}},
        ]
        await made.create(pod(volumes=volumes, containers=[container(script=script, env=env, volumeMounts=mounts)]))
        ended = await made.ended()
        assert phase(ended) == "Succeeded"
        assert await made.log() == f"0.1s3cretp\n{ended['status']['podIP']} 0.1\n"
        claim = await made.api.get(Ref("", "PersistentVolumeClaim", NAMESPACE, "data"))
        folder = made.folder / "volumes" / NAMESPACE / f"data-{claim['metadata']['uid']}"
        assert (folder / "d").read_text() == "d\n"

    played(tmp_path, play, runner=runner)


def test_what_is_missing_is_waited_for(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "key"}}}]
        await made.create(pod("a", containers=[container(script="echo $A", env=env)]))
        await made.create(
            pod(
                "b",
                volumes=[{"name": "v", "configMap": {"name": "cfg"}}],
                containers=[container(script="cat /v/x", volumeMounts=[{"name": "v", "mountPath": "/v"}])],
            )
        )
        waiting = await made.until("a", lambda pod: "CreateContainerConfigError" in str(states(pod)))
        assert states(waiting)["c"]["waiting"]["message"] == 'secret "sec" not found'
        await made.until("b", lambda pod: states(pod).get("c", {}).get("waiting"))
        events = await made.events()
        assert ("Failed", 'Error: secret "sec" not found') in events
        assert ("FailedMount", 'MountVolume.SetUp failed for volume "v" : configmap "cfg" not found') in events
        await made.create(of("Secret", "sec", data={"key": base64.b64encode(b"yes").decode()}))
        await made.create(of("ConfigMap", "cfg", data={"x": "here"}))
        assert phase(await made.ended("a")) == phase(await made.ended("b")) == "Succeeded"
        assert (await made.log("a"), await made.log("b")) == ("yes\n", "here\n")

    played(tmp_path, play, runner=runner)


def test_probes_make_ready_and_end_what_is_not_alive(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        quick = {"periodSeconds": 1, "timeoutSeconds": 60}
        file = "$TRAINPLANE_OUTPUT"
        probes = {
            "startupProbe": {
                "exec": {"command": ["sh", "-c", f"test -e {file}/started"]},
                **quick,
                "failureThreshold": 300,
            },
            "readinessProbe": {"exec": {"command": ["sh", "-c", f"test -e {file}/ready"]}, **quick},
            "livenessProbe": {
                "exec": {"command": ["sh", "-c", f"echo sick; test ! -e {file}/sick"]},
                **quick,
                "failureThreshold": 1,
            },
        }
        spec = container(script=f"rm -f {file}/sick; exec sleep 600", **probes)
        await made.create(pod(restartPolicy="Always", terminationGracePeriodSeconds=1, containers=[spec]))
        output = made.folder / "jobs" / NAMESPACE / "p" / "output"
        first = await made.until("p", lambda pod: phase(pod) == "Running")
        assert not first["status"]["containerStatuses"][0]["started"]
        (output / "started").touch()
        second = await made.until("p", lambda pod: pod["status"]["containerStatuses"][0]["started"])
        assert not second["status"]["containerStatuses"][0]["ready"]
        (output / "ready").touch()
        await made.until("p", lambda pod: pod["status"]["containerStatuses"][0]["ready"])
        (output / "sick").touch()
        again = await made.until("p", lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] == 1)
        assert again["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 143
        events = await made.events()
        assert ("Unhealthy", "Liveness probe failed: sick") in [(reason, note.strip()) for reason, note in events]
        assert ("Killing", "Container c failed liveness probe, will be restarted") in events

    played(tmp_path, play)


@pytest.mark.parametrize("handler", [{"httpGet": {"path": "/", "port": "web"}}, {"tcpSocket": {"port": 8080}}])
def test_probes_reach_ports(tmp_path: Path, runner: str, handler: Raw) -> None:
    async def play(made: Nodes) -> None:
        serve = (
            "import http.server as h, os;"
            "h.HTTPServer((os.environ['IP'], int(os.environ['PORT'])), h.SimpleHTTPRequestHandler).serve_forever()"
        )
        spec = container(
            command=[sys.executable, "-c", serve],
            env=[
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "PORT", "value": "8080"},
            ],
            ports=[{"name": "web", "containerPort": 8080}],
            readinessProbe={**handler, "periodSeconds": 1},
        )
        await made.create(pod(containers=[spec]))
        await made.until("p", lambda pod: pod.get("status", {}).get("containerStatuses", [{}])[0].get("ready"))

    played(tmp_path, play, runner=runner)


def test_a_deadline_ends_a_pod(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        await made.create(
            pod(
                activeDeadlineSeconds=1,
                terminationGracePeriodSeconds=1,
                containers=[container(script="exec sleep 600")],
            )
        )
        ended = await made.ended()
        assert (ended["status"]["phase"], ended["status"]["reason"]) == ("Failed", "DeadlineExceeded")

    played(tmp_path, play)


def test_nodes_say_what_they_have_and_cannot_do(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        found = [await made.api.get(Ref("", "Node", "", name)) for name in ("node-0", "node-1")]
        for node in found:
            said = {each["type"]: each for each in node["status"]["conditions"]}
            assert said["Ready"]["status"] == "True"
            assert said["NetworkIsolation"]["status"] == "False"
            assert "user namespaces" in said["NetworkIsolation"]["message"]
        lease = await made.api.get(Ref("coordination.k8s.io", "Lease", "kube-node-lease", "node-1"))
        assert lease["spec"]["holderIdentity"] == "node-1"
        memory = int(found[0]["status"]["capacity"]["memory"].removesuffix("Ki"))
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
        assert abs(memory - whole // 2) < 8

    played(tmp_path, play, count=2)


def test_pods_end_with_their_nodes_and_that_is_said(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        async with serving(made.api, tmp_path / "other", prefix="other-", runner=runner) as first:
            trap = "trap 'echo asked > $TRAINPLANE_OUTPUT/asked; exit 0' TERM"
            script = f"{trap}; touch $TRAINPLANE_OUTPUT/up; sleep 600 & wait"
            await made.create(pod(node="other-0", containers=[container(script=script)]))
            output = tmp_path / "other" / "jobs" / NAMESPACE / "p" / "output"
            await first.until("p", lambda pod: phase(pod) == "Running" and (output / "up").exists())
        ended = await made.pod()
        assert (phase(ended), ended["status"]["reason"]) == ("Failed", "Terminated")
        target = next(each for each in ended["status"]["conditions"] if each["type"] == "DisruptionTarget")
        assert target["reason"] == "TerminationByKubelet"
        assert (output / "asked").exists()

    played(tmp_path, play)


def test_what_others_wrote_into_the_status_stays(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        script = "until test -e $TRAINPLANE_OUTPUT/go-on; do sleep 0.05; done"
        await made.create(pod(containers=[container(script=script)]))
        await made.until("p", lambda pod: phase(pod) == "Running")
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        await made.api.patch(ref("p"), Patch.strategic({"status": {"conditions": [condition]}}), subresource="status")
        (made.folder / "jobs" / NAMESPACE / "p" / "output" / "go-on").touch()
        ended = await made.ended()
        assert "DisruptionTarget" in [each["type"] for each in ended["status"]["conditions"]]

    played(tmp_path, play)


def test_killing_a_container_from_outside_is_seen(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[container(script="echo $$$$ > $TRAINPLANE_OUTPUT/pid; exec sleep 600")]))
        file = made.folder / "jobs" / NAMESPACE / "p" / "output" / "pid"
        await made.until("p", lambda pod: phase(pod) == "Running" and file.exists() and file.read_text())
        os.kill(int(file.read_text()), signal.SIGKILL)
        assert states(await made.ended())["c"]["terminated"]["exitCode"] == 137

    played(tmp_path, play)


def test_an_image_that_is_mapped_is_no_surprise(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[container(script="true")]))
        await made.ended()
        assert ("Pulled", 'Container image "example.test/c:1" already present on machine') in await made.events()

    played(tmp_path, play, images=(ImageMapping("example.test/*"),))


def test_without_a_command_it_is_said_what_is_missing(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[container(command=None)]))
        waiting = await made.until("p", lambda pod: "CreateContainerError" in str(states(pod)))
        assert "set the container's command" in states(waiting)["c"]["waiting"]["message"]

    played(tmp_path, play)


def test_what_a_pod_asks_for_and_does_not_get_is_said(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        limited = container(script="true", resources={"limits": {"cpu": "1"}}, securityContext={"runAsUser": 5})
        await made.create(pod(containers=[limited]))
        await made.ended()
        said = [note.partition(":")[0] for reason, note in await made.events() if reason == "NotHonoured"]
        assert sorted(said) == ["CPULimits", "RunAsUser"]

    played(tmp_path, play)


def test_volumes_follow_what_they_are_made_of_and_tokens_stay(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        await made.create(of("ConfigMap", "cfg", data={"x": "old"}))
        sources = [{"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "cfg"}}]
        script = "cat /v/x; echo; readlink /v/..data; until grep -q new /v/x; do sleep 0.05; done; cat /v/x /v/token"
        await made.create(
            pod(
                volumes=[{"name": "v", "projected": {"sources": sources}}],
                containers=[container(script=script, volumeMounts=[{"name": "v", "mountPath": "/v"}])],
            )
        )
        await made.until("p", lambda pod: phase(pod) == "Running")
        await asyncio.sleep(0.3)
        folder = next((made.folder / "node" / "pods").iterdir()) / "volumes" / "v"
        first = (folder / "..data").readlink()
        await asyncio.sleep(0.3)
        assert (folder / "..data").readlink() == first
        patch = Patch.merge({"data": {"x": "new"}})
        await made.api.patch(Ref("", "ConfigMap", NAMESPACE, "cfg"), patch)
        await made.ended()
        assert (await made.log()).splitlines()[-1] == "newtoken of ns/default for p"

    played(tmp_path, play, refresh=0.1)


def test_nodes_that_are_no_more_go(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        for count in (3, 1):
            async with serving(made.api, tmp_path / "other", prefix="m-", count=count):
                found = (await made.api.list(NODE)).items
                assert sorted(node["metadata"]["name"] for node in found) == [f"m-{i}" for i in range(count)] + [
                    "node-0"
                ]

    played(tmp_path, play)


def test_a_volume_that_outgrows_its_limit_costs_the_pod_its_place(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        script = "head -c 300000 /dev/zero > /v/x; exec sleep 600"
        await made.create(
            pod(
                terminationGracePeriodSeconds=1,
                volumes=[{"name": "v", "emptyDir": {"sizeLimit": "100Ki"}}],
                containers=[container(script=script, volumeMounts=[{"name": "v", "mountPath": "/v"}])],
            )
        )
        ended = await made.ended()
        assert (ended["status"]["reason"], ended["status"]["message"]) == (
            "Evicted",
            'Usage of EmptyDir volume "v" exceeds the limit "100Ki".',
        )

    played(tmp_path, play)


def test_a_pod_that_does_not_fit_is_rejected(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[container(script="true", resources={"requests": {"cpu": "1000"}})]))
        ended = await made.ended()
        assert ended["status"]["reason"] == "OutOfcpu"
        assert ended["status"]["message"].startswith("Pod was rejected: Node didn't have enough resource: cpu")

    played(tmp_path, play)


def test_a_pod_that_no_node_can_run_is_refused_by_name(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[container(script="true")], os={"name": "windows"}))
        ended = await made.ended()
        assert (ended["status"]["phase"], ended["status"]["reason"]) == ("Failed", "PodOSNotSupported")
        assert "the pod is for windows" in ended["status"]["message"]

    played(tmp_path, play)


def test_a_container_with_more_on_disk_than_it_may_have_ends(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        limited = container(
            script="head -c 300000 /dev/zero | tr '\\0' x; exec sleep 1000",
            resources={"limits": {"ephemeral-storage": "100Ki"}},
        )
        await made.create(pod(containers=[limited], terminationGracePeriodSeconds=1))
        ended = await made.ended()
        assert ended["status"]["reason"] == "Evicted"
        assert 'exceeded its local ephemeral storage limit "100Ki"' in ended["status"]["message"]

    played(tmp_path, play)


def test_a_path_that_leads_up_again_is_where_it_leads_in_the_container(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        spec = container(
            script="echo kept > /data/x; ls /data; echo why > /dev/word",
            volumeMounts=[{"name": "v", "mountPath": "/etc/../../../data"}],
            terminationMessagePath="/etc/../../dev/word",
        )
        await made.create(pod(volumes=[{"name": "v", "emptyDir": {}}], containers=[spec]))
        ended = await made.ended()
        assert await made.log() == "x\n"
        assert states(ended)["c"]["terminated"]["message"] == "why\n"

    played(tmp_path, play, runner="namespaced")
