"""What the real JobSet controller made of JobSets, recorded; and how what is made here is held against it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.recordings import leaves, load
from trainplane.reconcile.view import Ref

Raw = dict[str, Any]

HERE = Path(__file__).parent.parent / "conformance" / "trainer"
STATES = sorted(HERE.glob("*/full-expected*.yaml"))
"""Everything recorded with JobSet 0.12 and the Job controller of Kubernetes 1.36 running, after documents and steps."""
FIRST = [state for state in STATES if state.name == "full-expected.yaml"]
"""The states after the documents alone."""
UID = "<uid>"
"""What stands in a recording for every uid."""
WHEN = "2026-01-02T03:04:05Z"

SERVER = {
    r"spec\.backoffLimit": 6,
    r"spec\.manualSelector": False,
    r"spec\.(parallelism|completions)": 1,
    r"spec\.podReplacementPolicy": "TerminatingOrFailed",
    r"spec\.selector\.matchLabels\.batch\.kubernetes\.io/controller-uid": UID,
    r"spec\.template\.metadata\.labels\.(batch\.kubernetes\.io/)?controller-uid": UID,
    r"spec\.template\.spec\.dnsPolicy": "ClusterFirst",
    r"spec\.template\.spec\.schedulerName": "default-scheduler",
    r"spec\.template\.spec\.securityContext": {},
    # The old name of serviceAccountName, with the same value.
    r"spec\.template\.spec\.serviceAccount": ...,
    r"spec\.template\.spec\.terminationGracePeriodSeconds": 30,
    r".*ontainers\[[^]]*\]\.imagePullPolicy": ...,
    r".*ontainers\[[^]]*\]\.terminationMessagePath": "/dev/termination-log",
    r".*ontainers\[[^]]*\]\.terminationMessagePolicy": "File",
    r".*ontainers\[[^]]*\]\.resources": {},
    r".*ontainers\[[^]]*\]\.ports\[[^]]*\]\.protocol": "TCP",
    r".*\.fieldRef\.apiVersion": "v1",
    r".*\.resourceFieldRef\.divisor": "0",
    r".*Probe\.(timeoutSeconds|successThreshold)": 1,
    r".*Probe\.periodSeconds": 10,
    r".*Probe\.failureThreshold": 3,
    r".*\.defaultMode": 420,
    r".*volumes\[[^]]*\]\.hostPath\.type": "",
    # A request that only a limit speaks of is the limit's: the API server copies it.
    r".*\.resources\.requests\..*": ...,
    r"spec\.(clusterIPs\[0\]|sessionAffinity)": "None",
    r"spec\.internalTrafficPolicy": "Cluster",
    r"spec\.ipFamilies\[0\]": "IPv4",
    r"spec\.ipFamilyPolicy": "SingleStack",
    r"spec\.type": "ClusterIP",
}
"""What the API server adds to Jobs and Services: where, and which value; ... where the value depends on others."""


def objects(state: Path) -> list[Raw]:
    """The objects of a recorded state, with the uids and times that were left out."""
    found = []
    for raw in (load(state) or {}).get("objects", []):
        metadata = {**raw["metadata"], "uid": uid(raw["kind"], raw["metadata"]["name"])}
        if owners := metadata.get("ownerReferences"):
            metadata["ownerReferences"] = [{**one, "uid": uid(one["kind"], one["name"])} for one in owners]
        status = raw.get("status") or {}
        if conditions := status.get("conditions"):
            status = {**status, "conditions": [{**one, "lastTransitionTime": WHEN} for one in conditions]}
        body = {key: item for key, item in raw.items() if not key.startswith("x-")}
        found.append({**body, "metadata": metadata, **({"status": status} if status else {})})
    return found


def events(state: Path) -> set[str]:
    """The reasons of the events about JobSets."""
    return {event["reason"] for event in (load(state) or {}).get("events", []) if event["kind"] == "JobSet"}


def uid(kind: str, name: str) -> str:
    """JobSets have the uid that their Jobs are recorded to carry; the others one of their own."""
    return UID if kind == "JobSet" else f"{kind}/{name}"


def differences(theirs: Raw, ours: Raw) -> Iterator[str]:
    """Where an object that we make differs from the recorded one, what the API server adds aside."""
    there, here = dict(substance(theirs)), dict(substance(ours))
    name = theirs["metadata"]["name"]
    for path in sorted(set(there) | set(here)):
        a, b = there.get(path), here.get(path)
        if a == b or (path not in here and is_added(path, a, name)):
            continue
        if path not in there and b in ({}, [], None, ""):
            continue
        yield f"{theirs['kind']}/{name} {path}: theirs {a!r}, ours {b!r}"


def substance(raw: Raw) -> Iterator[tuple[str, Any]]:
    """The leaves of an object that its author decides."""
    metadata = {key: item for key, item in raw["metadata"].items() if key not in ("uid", "creationTimestamp")}
    owners = [{key: item for key, item in one.items() if key != "uid"} for one in metadata.get("ownerReferences", ())]
    return leaves({"metadata": {**metadata, "ownerReferences": owners}, "spec": raw.get("spec") or {}})


def is_added(path: str, value: Any, name: str) -> bool:
    """Whether the API server put this there."""
    if re.fullmatch(r"spec\.template\.metadata\.labels\.(batch\.kubernetes\.io/)?job-name", path):
        return bool(value == name)
    return any(re.fullmatch(pattern, path) and added in (value, ...) for pattern, added in SERVER.items())


def children(all_objects: list[Raw], kind: str) -> dict[Ref, Raw]:
    """The Jobs or Services that a JobSet controls."""
    return {
        Ref.of(raw): raw
        for raw in all_objects
        if raw["kind"] == kind and any(one["kind"] == "JobSet" for one in raw["metadata"].get("ownerReferences", ()))
    }
