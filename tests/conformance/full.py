"""Recorded cases played on the whole embedded cluster: its API, every controller, and virtual time in place of a wait.

What is gathered after each step has the form of the recordings, `full-expected.yaml`: Services, Jobs and pods too.
"""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.conformance.recordings import documents, is_snapshot, leaves, load, said, scrubbed
from trainplane.api.kinds import KINDS, kind_of
from trainplane.cluster.api import Api
from trainplane.cluster.bodies import Body
from trainplane.cluster.errors import ApiError
from trainplane.cluster.ground import Call
from trainplane.cluster.options import DeleteOptions, Options
from trainplane.control import virtual
from trainplane.reconcile.view import Ref
from trainplane.simulate import world

Raw = dict[str, Any]
SETTLE = 3.0
"""Seconds after each step in which everything comes to rest."""
LABEL = "jobset.sigs.k8s.io/"
RECORDED = (
    *(("jobset.x-k8s.io", "JobSet"), ("scheduling.x-k8s.io", "PodGroup"), ("scheduling.volcano.sh", "PodGroup")),
    *(("", "ConfigMap"), ("", "Secret"), ("", "Service"), ("batch", "Job"), ("", "PersistentVolumeClaim")),
)
VOLCANO = "VolcanoPodGroup"
NODE = "nowhere"
"""The node that pods are bound to: nobody is there to end them."""
SELECTED = {
    "rjob": LABEL + "replicatedjob-name",
    "job": "batch.kubernetes.io/job-name",
    "index": "batch.kubernetes.io/job-completion-index",
}
"""By which labels a step selects pods."""
STRICT = Options(field_validation="Strict", field_manager="replay")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Player:
    """One case as it is played."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self.inputs: dict[tuple[str, str], str] = {}
        self.settle = SETTLE
        self.refused: dict[str, set[str]] = {}
        self.warned: set[str] = set()

    async def create(self, doc: Raw) -> None:
        """Send a document as a strict client does; a refusal is noted."""
        row = kind_of(doc.get("apiVersion", ""), doc.get("kind", ""))
        name = doc.get("metadata", {}).get("name")
        key = f"create {doc.get('kind', '')}/{name}"
        if row is None:
            self.refused[f"refused {key}"] = set()
            return
        namespace = self.namespace if row.namespaced else ""
        sent = {**doc, "metadata": {**doc.get("metadata", {}), **({"namespace": namespace} if namespace else {})}}
        if row.kind != "TrainJob":
            sent.pop("status", None)
        try:
            answer = await self.api.writes.create(Call(row, namespace, "", options=STRICT), Body(sent))
        except ApiError as error:
            self.refused[f"refused {key}"] = fields(error)
            return
        if answer.warnings:
            self.warned.add(f"Warning on {row.kind}/{name}")
        metadata = json.loads(answer.encoded)["metadata"] if answer.encoded else answer.object["metadata"]
        self.inputs[row.kind, metadata["name"]] = metadata["resourceVersion"]

    async def step(self, step: Raw) -> None:
        """Carry out a step."""
        match step["do"]:
            case "wait":
                await asyncio.sleep(step["seconds"])
            case "create":
                await self.create(step["object"])
            case "pods":
                await self.move(step)
            case "bind":
                for pod in await self.chosen(step):
                    await self.api.bind(Ref.of(pod), NODE)
            case "delpods":
                # By force: at once, as when somebody vouches that the containers are gone.
                grace = 0 if step.get("force") else None
                for pod in await self.chosen(step):
                    call = self.call({"kind": "Pod", "name": pod["metadata"]["name"]})
                    await self.api.deletion.delete(call, DeleteOptions(grace=grace))
            case "patch":
                call = self.call(step, step.get("subresource", ""))
                form = {"merge": "application/merge-patch+json", "json": "application/json-patch+json"}
                try:
                    answer = await self.api.writes.patch(call, form[step.get("type", "merge")], Body(step["body"]))
                except ApiError as error:
                    self.refused[f"refused patch {step['kind']}/{step['name']}"] = fields(error)
                else:
                    if answer.warnings:
                        self.warned.add(f"Warning on {step['kind']}/{step['name']}")
            case "delete":
                options = DeleteOptions(propagation=step.get("propagation", "Background"))
                with suppress(ApiError):
                    await self.api.deletion.delete(self.call(step), options)
            case other:
                raise ValueError(f"unknown step {other!r}")

    def call(self, step: Raw, subresource: str = "") -> Call:
        """A call about the object that a step names."""
        group = {VOLCANO: "scheduling.volcano.sh", "PodGroup": "scheduling.x-k8s.io"}.get(step["kind"])
        kind = step["kind"].removeprefix("Volcano")
        row = next(row for row in KINDS if row.kind == kind and group in (None, row.group))
        return Call(row, self.namespace if row.namespaced else "", step["name"], subresource, options=STRICT)

    async def all(self, group: str, kind: str) -> list[Raw]:
        """All objects of a kind."""
        row = next(row for row in KINDS if (row.group, row.kind) == (group, kind))
        return list((await self.api.list(row, namespace=self.namespace)).items)

    async def chosen(self, step: Raw) -> list[Raw]:
        """The pods that a step means, the oldest first; only those that live, unless it says `any`."""
        found = [
            pod
            for pod in await self.all("", "Pod")
            if all(
                str(step[word]) == (pod["metadata"].get("labels") or {}).get(key)
                for word, key in SELECTED.items()
                if word in step
            )
            and (step.get("any") or not is_over(pod))
        ]
        found.sort(key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["spec"].get("hostname") or ""))
        return found[: step.get("count")]

    async def move(self, step: Raw) -> None:
        """Put the pods that a step means into a phase, as a kubelet would."""
        for pod in await self.chosen(step):
            await self.api.set_status(Ref.of(pod), {**pod["status"], **moved(pod, step)})

    async def seen(self) -> dict[str, Any]:
        """The leaves of what there is, when everything has come to rest."""
        await asyncio.sleep(self.settle)
        out: dict[str, Any] = {}
        for group, kind in RECORDED:
            for raw in await self.all(group, kind):
                name, version = raw["metadata"]["name"], raw["metadata"]["resourceVersion"]
                if name != "kube-root-ca.crt" and self.inputs.get((kind, name)) != version and not is_snapshot(raw):
                    out.update(object_leaves(raw))
        for raw in await self.all("trainer.kubeflow.org", "TrainJob"):
            out.update(said(raw["metadata"]["name"], masked(scrubbed(trainjob(raw)))))
        out.update(pod_leaves([pod_line(raw) for raw in await self.all("", "Pod")]))
        for event in await self.all("events.k8s.io", "Event"):
            about = event["regarding"]
            if about.get("kind") in ("TrainJob", "JobSet"):
                out[f"Event {about['kind']}/{about['name']}: {event['type']} {event['reason']}"] = True
        return {**out, **dict.fromkeys(self.warned, True)}


def is_over(pod: Raw) -> bool:
    """Whether a pod has ended or is on its way out."""
    return pod["status"]["phase"] in ("Failed", "Succeeded") or bool(pod["metadata"].get("deletionTimestamp"))


def moved(pod: Raw, step: Raw) -> Raw:
    """What a kubelet says of a pod in a phase: `exit` is the code of its containers, `restarts` how often they were."""
    # Long ago, so that nobody waits before a failed pod is replaced.
    then, phase = "2025-01-01T00:00:0", step["phase"]
    ready = str(phase == "Running" and step.get("ready", True))
    conditions = [{"type": "Ready", "status": ready}, *step.get("conditions", ())]
    status: Raw = {
        "phase": phase,
        "conditions": [{**one, "lastTransitionTime": then + "0Z"} for one in conditions],
        # Where a pod has a node that is not there, its start says how long it is waited for.
        **({} if pod["spec"].get("nodeName") else {"startTime": then + "0Z"}),
    }
    if phase == "Running" and "restarts" not in step:
        return status
    code = step.get("exit", int(phase == "Failed"))
    end = {"terminated": {"exitCode": code, "finishedAt": then + "1Z"}}
    state = {"running": {"startedAt": then + "0Z"}} if phase in ("Running", "Pending") else end
    rest = {"imageID": "x", "ready": False, "restartCount": step.get("restarts", 0), "state": state}
    status["containerStatuses"] = [
        {"name": one["name"], "image": one["image"], **rest} for one in pod["spec"]["containers"]
    ]
    return status


def fields(error: ApiError) -> set[str]:
    """The fields that a refusal names."""
    causes = (error.status().get("details") or {}).get("causes") or ()
    return {str(cause.get("field", "")).split("[")[0] for cause in causes} - {"<nil>", ""}


def trainjob(raw: Raw) -> Raw:
    """A TrainJob as recordings have it."""
    metadata = raw["metadata"]
    return {
        "labels": metadata.get("labels", {}),
        "annotations": metadata.get("annotations", {}),
        "finalizers": metadata.get("finalizers", []),
        "spec": raw["spec"],
        "status": raw.get("status") or "<absent>",
        **({"deletionTimestamp": "<set>"} if metadata.get("deletionTimestamp") else {}),
    }


def object_leaves(raw: Raw) -> Iterator[tuple[str, Any]]:
    """The leaves of an object, under its name."""
    body = {key: item for key, item in raw.items() if not key.startswith("x-") and key not in ("apiVersion", "kind")}
    if raw["kind"] == "Secret":
        body["data"] = {key: secret_word(value) for key, value in (raw.get("data") or {}).items()}
    body = masked(scrubbed({**body, "metadata": {k: v for k, v in raw["metadata"].items() if k != "namespace"}}))
    if raw["kind"] == "Service" and body["spec"].get("clusterIP") != "None":
        body["spec"] = {key: item for key, item in body["spec"].items() if not key.startswith("clusterIP")}
    for path, item in leaves(body):
        since = "<time>" if path == "metadata.deletionTimestamp" else item
        yield f"{raw['kind']}/{raw['metadata']['name']}: {path}", since


def secret_word(value: str) -> str:
    """What kind of thing a Secret holds, and how much of it; values that the recordings have are such words already."""
    if value.startswith("<"):
        return value
    raw = base64.b64decode(value)
    text = raw.decode("utf8", "replace")
    if text.startswith("-----BEGIN"):
        word = "PEM " + text.split("-----")[1].removeprefix("BEGIN ")
    else:
        word = text.split()[0] if text.startswith(("ecdsa-", "ssh-")) else "bytes"
    return f"<{word}/{len(raw)}>"


def masked(value: Any) -> Any:
    """The value with its uids out of sight."""
    return json.loads(_UID.sub("<uid>", json.dumps(value)))


def pod_line(raw: Raw) -> Raw:
    """A pod as recordings have it."""
    labels = raw["metadata"].get("labels") or {}
    return {
        "hostname": raw["spec"].get("hostname"),
        "subdomain": raw["spec"].get("subdomain"),
        "phase": (raw.get("status") or {}).get("phase"),
        "rjob": labels.get(LABEL + "replicatedjob-name"),
        "restart": labels.get(LABEL + "restart-attempt"),
        "deleting": bool(raw["metadata"].get("deletionTimestamp")),
    }


def pod_leaves(pods: Iterable[Raw]) -> Iterator[tuple[str, Any]]:
    """The leaves of pods, which have no names that stay."""
    for place, pod in enumerate(sorted(pods, key=lambda one: json.dumps(one, sort_keys=True))):
        for path, item in leaves(pod):
            yield f"Pod/{place}: {path}", item


def recorded(case: Path, tag: str) -> dict[str, Any]:
    """The leaves of a recording."""
    state = load(case / f"full-expected{tag}.yaml") or {}
    out: dict[str, Any] = {}
    for raw in state.get("objects", []):
        if raw["kind"] != "TrainingRuntime" and not is_snapshot(raw):
            out.update(object_leaves(raw))
    for job in state.get("trainJobs", []):
        body = {key: item for key, item in job.items() if key != "name" and not key.startswith("x-")}
        out.update(said(job["name"], body))
    out.update(pod_leaves(state.get("pods", [])))
    for event in state.get("events", []):
        out[f"Event {event['kind']}/{event['name']}: {event['type']} {event['reason']}"] = True
    return {**out, **{f"Warning on {one['kind']}/{one['name']}": True for one in state.get("warnings", [])}}


def refusals(case: Path, tag: str) -> dict[str, set[str]]:
    """What was refused in a recording, and at which fields."""
    return {
        f"refused {one['operation']} {one['kind']}/{one['name']}": {
            str(cause.get("field", "")).split("[")[0] for cause in one.get("causes", [])
        }
        - {"<nil>", ""}
        for one in load(case / f"full-rejected{tag}.yaml") or []
    }


async def play(case: Path) -> AsyncIterator[tuple[str, dict[str, Any], dict[str, set[str]]]]:
    """After the documents and after each step: its tag, the leaves of what there is, and what was refused."""
    namespace = re.sub(r"[^a-z0-9-]", "-", case.name.lower())[:60].strip("-")
    async with stage(namespace) as player:
        for doc in documents(case):
            await player.create(doc)
        yield "", await player.seen(), player.refused
        for number, step in enumerate(load(case / "steps.yaml") or [], 1):
            player.refused, player.warned = {}, set()
            await player.step(step)
            yield f"-step-{number}-{step.get('tag', step['do'])}", await player.seen(), player.refused


@asynccontextmanager
async def stage(namespace: str, gates: Iterable[str] = ()) -> AsyncIterator[Player]:
    """A cluster without nodes and with everybody at work, and a namespace in it."""
    async with world(nodes=0, gates=frozenset(gates)) as made, made.controlled():
        await made.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        yield Player(made.api, namespace)


def differences(case: Path) -> list[tuple[str, str, Any, Any]]:
    """(tag, path, theirs, ours) wherever this case comes out otherwise here."""

    async def main() -> list[tuple[str, str, Any, Any]]:
        found = []
        async for tag, ours, refused in play(case):
            theirs, there = recorded(case, tag), refusals(case, tag)
            for path in sorted(set(theirs) | set(ours)):
                a, b = theirs.get(path, "<none>"), ours.get(path, "<none>")
                if a not in (b, "<script>"):
                    found.append((tag, path, a, b))
            for key in sorted(set(there) | set(refused)):
                if key not in there or key not in refused:
                    found.append((tag, key, key in there, sorted(refused.get(key, ())) or False))
                else:
                    found += [(tag, f"{key} at {one}", True, False) for one in sorted(there[key] - refused[key])]
        return found

    return virtual.run(main())
