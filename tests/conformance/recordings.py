"""Recorded cases: what they hold, and how what came of a case here is compared with them, leaf by leaf."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.world import Denied, World
from trainplane.api.problem import Problem, show

HERE = Path(__file__).parent
CASES = sorted(path.parent for folder in ("trainer", "neighbours") for path in (HERE / folder).glob("*/input.yaml"))
DIFFERENCES = HERE / "differences.yaml"
LOADER = yaml.CSafeLoader
STAMPS = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink", "generateName"}
TIMES = {"lastTransitionTime", "lastProbeTime", "lastUpdateTime", "startTime", "completionTime"}
RECORDED = ("JobSet", "PodGroup", "ConfigMap", "Secret")

Raw = dict[str, Any]


def load(path: Path) -> Any:
    """A YAML file, or None."""
    return yaml.load(path.read_text(), Loader=LOADER) if path.exists() else None


def documents(case: Path) -> list[Raw]:
    """The documents of a case."""
    return [doc for doc in yaml.load_all((case / "input.yaml").read_text(), Loader=LOADER) if doc]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with its path; elements of lists in which all have a name go by it."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        named = all(isinstance(item, dict) and "name" in item for item in value)
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}[{item['name'] if named else i}]")
    else:
        yield path, value


def scrubbed(value: Any, path: str = "") -> Any:
    """The value without what differs from run to run."""
    if isinstance(value, dict):
        return {
            key: "<time>"
            if (key == "time" and "runtimePatches" in path) or key == "lastUpdatedTime"
            else scrubbed(item, f"{path}.{key}")
            for key, item in value.items()
            if not (path.endswith("metadata") and key in STAMPS)
            and key not in TIMES
            and not (key == "uid" and "ownerReferences" in path)
        }
    if isinstance(value, list):
        return [scrubbed(item, path) for item in value]
    return value


def recorded(case: Path, tag: str) -> dict[str, Any]:
    """The leaves of a recording: what the Trainer itself made, and what the TrainJob said."""
    expected = load(case / f"expected{tag}.yaml") or {}
    out: dict[str, Any] = {}
    for obj in expected.get("objects", []):
        if obj["kind"] in RECORDED and not is_snapshot(obj):
            body = {
                key: item
                for key, item in obj.items()
                if not key.startswith("x-") and key not in ("apiVersion", "kind", "status")
            }
            body["metadata"] = {key: item for key, item in obj["metadata"].items() if key != "namespace"}
            out.update((f"{obj['kind']}/{obj['metadata']['name']}: {path}", item) for path, item in leaves(body))
    for job in expected.get("trainJobs", []):
        out.update(
            said(job["name"], {key: item for key, item in job.items() if key != "name" and not key.startswith("x-")})
        )
    out.update(
        (f"Event {e['kind']}/{e['name']}: {e['type']} {e['reason']}", True)
        for e in expected.get("events", [])
        if e["kind"] == "TrainJob"
    )
    out.update((f"Warning on {w['kind']}/{w['name']}", True) for w in expected.get("warnings", []))
    return out


def said(name: str, body: Raw) -> dict[str, Any]:
    """What a TrainJob says of itself, without the wording of messages and without our own summary."""
    if isinstance(body.get("status"), dict):
        body = {**body, "status": {key: item for key, item in body["status"].items() if key != "summary"} or "<absent>"}
    return {f"TrainJob/{name}: {path}": item for path, item in leaves(body) if not path.endswith(".message")}


def here(world: World, inputs: set[str]) -> dict[str, Any]:
    """The leaves of what is in the world now."""
    out: dict[str, Any] = {}
    for obj in world.objects.values():
        name = obj["metadata"]["name"]
        if obj["kind"] == "TrainJob":
            metadata = obj["metadata"]
            body = {
                "labels": metadata.get("labels", {}),
                "annotations": metadata.get("annotations", {}),
                "finalizers": metadata.get("finalizers", []),
                "spec": obj["spec"],
                "status": obj.get("status") or "<absent>",
                **({"deletionTimestamp": "<set>"} if metadata.get("deletionTimestamp") else {}),
            }
            out.update(said(name, scrubbed(body)))
        elif obj["kind"] in RECORDED and not is_snapshot(obj) and f"{obj['kind']}/{name}" not in inputs:
            body = scrubbed({key: item for key, item in obj.items() if key not in ("apiVersion", "kind", "status")})
            body["metadata"] = {key: item for key, item in body["metadata"].items() if key != "namespace"}
            if obj["kind"] == "Secret":
                body.pop("data", None)
            out.update((f"{obj['kind']}/{name}: {path}", item) for path, item in leaves(body))
    out.update((f"Event {kind}/{name}: {type_} {reason}", True) for kind, name, type_, reason in world.events)
    return out


def is_snapshot(obj: Raw) -> bool:
    """Whether this is a runtime snapshot: how one is kept is each implementation's own business."""
    return bool(obj["kind"] == "ConfigMap" and obj["metadata"]["name"].endswith("-runtime-snapshot"))


def refusals(case: Path, tag: str) -> dict[str, set[str]]:
    """What was refused in a recording, and at which fields."""
    out = {}
    for refusal in load(case / f"rejected{tag}.yaml") or []:
        fields = {str(cause.get("field", "")).split("[")[0] for cause in refusal.get("causes", [])} - {"<nil>", ""}
        out[f"refused {refusal['operation']} {refusal['kind']}/{refusal['name']}"] = fields
    return out


def refused(what: str, kind: str, name: Any, problems: list[Problem]) -> dict[str, set[str]]:
    """What was refused here, and at which fields."""
    return {f"refused {what} {kind}/{name}": {show(p.path).split("[")[0] for p in problems}}


def play(case: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, set[str]]]]:
    """Run a case; after the documents and after each step: its tag, the leaves, the refusals."""
    world = World(re.sub(r"[^a-z0-9-]", "-", case.name.lower())[:60].strip("-"))
    denied: dict[str, set[str]] = {}
    inputs: set[str] = set()
    for doc in documents(case):
        inputs |= attempt(world, "create", doc, denied)
    world.settle()
    yield "", {**here(world, inputs), **warned(world)}, denied
    for n, step in enumerate(load(case / "steps.yaml") or [], 1):
        denied = {}
        world.warned = set()
        try:
            world.step(step)
        except Denied as error:
            target = step.get("object") or {"kind": step["kind"], "metadata": {"name": step["name"]}}
            denied = refused(step["do"], target["kind"], target["metadata"]["name"], error.problems)
        world.settle()
        yield f"-step-{n}-{step.get('tag', step['do'])}", {**here(world, inputs), **warned(world)}, denied


def attempt(world: World, what: str, doc: Raw, denied: dict[str, set[str]]) -> set[str]:
    """Create a document; what it is called, if it was taken and is no TrainJob."""
    name = doc.get("metadata", {}).get("name")
    try:
        world.create(doc)
    except Denied as error:
        denied |= refused(what, doc.get("kind", ""), name, error.problems)
        return set()
    return set() if doc["kind"] == "TrainJob" else {f"{doc['kind']}/{name}"}


def warned(world: World) -> dict[str, Any]:
    """The warnings that reached the client since the last look."""
    return {f"Warning on {kind}/{name}": True for kind, name in world.warned}


def like(text: str, pattern: str) -> bool:
    """Glob with * alone: brackets are part of a path."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def row_for(rows: Iterable[Raw], case: Path, *, path: str, theirs: Any) -> int | None:
    """The first row of a table that speaks of a difference; one about what is `more` here, where theirs is none."""
    nothing = theirs is False or theirs == "<none>"
    for i, row in enumerate(rows):
        if like(case.name, row["case"]) and like(path, row["path"]) and (nothing or not row.get("more")):
            return i
    return None


def differences(case: Path) -> Iterator[tuple[str, str, Any, Any]]:
    """(tag, path, theirs, ours) wherever this case comes out otherwise here."""
    for tag, ours, denied in play(case):
        theirs = recorded(case, tag)
        for path in sorted(set(theirs) | set(ours)):
            a, b = theirs.get(path, "<none>"), ours.get(path, "<none>")
            if a != b and a != "<script>" and not (path.startswith("Secret/") and ": data" in path):
                yield tag, path, a, b
        there = refusals(case, tag)
        for key in sorted(set(there) | set(denied)):
            if key not in there or key not in denied:
                yield tag, key, key in there, sorted(denied.get(key, ())) or False
            else:
                for field in sorted(there[key] - denied[key]):
                    yield tag, f"{key} at {field}", True, sorted(denied[key])
