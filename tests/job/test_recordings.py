"""Every recorded Job yields the recorded pods, and says what the real one said, step by step."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.recordings import CASES, load, scrubbed
from tests.job.world import World
from trainplane.reconcile.view import Ref

Raw = dict[str, Any]
UID = "00000000-0000-0000-0000-000000000001"
RJOB = "jobset.sigs.k8s.io/replicatedjob-name"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"

REFUSED_PODS = (
    *("164-patch-pod-fields", "174-patch-two-managers", "225-gang-cosched-overhead-literal"),
    *("n31-torch-image-space",),
)
"""Cases whose pods the server refused, for a ServiceAccount that is not there or an overhead without a class."""
OTHERS_DECIDE = ("n22-meta-exclusive-topology", "n51-live-failure-ttl")
"""Cases in which JobSet refuses some of the pods, or makes the Job again within a step."""


def states(case: Path) -> Iterator[tuple[str, Raw, Raw]]:
    """What is done and what was recorded after it, in order."""
    yield "documents", {}, load(case / "full-expected.yaml") or {}
    for n, step in enumerate(load(case / "steps.yaml") or [], 1):
        tag = step.get("tag", step["do"])
        yield tag, step, load(case / f"full-expected-step-{n}-{tag}.yaml") or {}


def jobs(state: Raw) -> dict[str, Raw]:
    """The Jobs of a state, each under a name that a restart changes."""
    found = [known(raw) for raw in state.get("objects", []) if raw["kind"] == "Job"]
    return {f"{raw['metadata']['name']} {raw['metadata'].get('labels', {}).get(ATTEMPT)}": raw for raw in found}


def known(raw: Raw) -> Raw:
    """An object with a uid where the recording has left it out."""
    there: Raw = json.loads(json.dumps(raw).replace("<uid>", UID))
    return there


def begin(recorded: Raw, *, takes_pods: bool) -> World:
    """A world with the Job as it was made."""
    world = World(takes_pods=takes_pods)
    # The recordings leave out the owner's uid, and a Job does the same whoever owns it.
    kept = {key: item for key, item in recorded["metadata"].items() if key != "ownerReferences"}
    metadata = {**kept, "uid": UID, "creationTimestamp": "2026-01-02T03:04:05Z"}
    world.put({**recorded, "metadata": metadata, "status": {}})
    world.job = Ref.of(recorded)
    return world


def differences(case: Path) -> Iterator[str]:
    """Where a case comes out otherwise here; a Job's spec is what the real JobSet controller made it at each step."""
    worlds: dict[str, World] = {}
    for tag, step, state in states(case):
        recorded = jobs(state)
        if step.get("do") == "delete":
            # What is there afterwards was made anew.
            worlds = {}
        for name, theirs in recorded.items():
            world = worlds[name] = worlds.get(name) or begin(theirs, takes_pods=case.name not in REFUSED_PODS)
            world.put({**world.objects[world.job], "spec": theirs["spec"]})
            if step.get("do") == "pods" and step.get("rjob") in (None, theirs["metadata"]["labels"].get(RJOB)):
                world.step(step)
            elif step.get("do") == "wait":
                world.settle(step["seconds"])
            world.settle(3)
            ours = scrubbed(world.objects[world.job]["status"])
            for condition in ours.get("conditions", ()):
                condition.pop("lastProbeTime", None)
            if ours != theirs.get("status", {}):
                yield f"{tag} {name}: theirs {theirs.get('status')}, ours {ours}"
        here = sorted(str(seen(pod)) for name in recorded for pod in worlds[name].pods())
        there = sorted(map(str, state.get("pods", [])))
        if here != there:
            yield f"{tag} pods: theirs {there}, ours {here}"


def seen(pod: Raw) -> Raw:
    """A pod as the recordings show it."""
    labels = pod["metadata"]["labels"]
    return {
        "deleting": "deletionTimestamp" in pod["metadata"],
        "hostname": pod["spec"].get("hostname"),
        "phase": pod["status"]["phase"],
        "restart": labels.get(ATTEMPT),
        "rjob": labels.get(RJOB),
        "subdomain": pod["spec"].get("subdomain"),
    }


WITH_JOBS = [
    case for case in CASES if case.name not in OTHERS_DECIDE and any(jobs(state) for _, _, state in states(case))
]


@pytest.mark.parametrize("case", WITH_JOBS, ids=lambda path: path.name)
def test_recording(case: Path) -> None:
    assert list(differences(case)) == []
