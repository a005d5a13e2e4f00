"""Stories of Jobs: a Job, what happens to it step by step, and what there is to see after each.

The stories lie in `tests/golden/job`, and their `out.yaml` is what the Job controller of Kubernetes 1.36 made of them.
"""

import re
from pathlib import Path
from typing import Any, Protocol

import yaml

from tests.places import ROOT

Raw = dict[str, Any]
STORIES = sorted(path.parent for path in (ROOT / "tests/golden/job").glob("*/in.yaml"))
SETTLE = 3
"""Seconds after each step in which everything comes to rest; the real controller gathers changes for one of them."""
TIMES = ("startTime", "completionTime", "lastTransitionTime", "lastProbeTime")
PREFIX = "batch.kubernetes.io/"
TRACKED = PREFIX + "job-tracking"


class Stage(Protocol):
    """Where a story is played: the real cluster, or our own controller among plain objects."""

    def create(self, job: Raw) -> None:
        """Make the Job."""

    def step(self, step: Raw) -> None:
        """Let one thing happen."""

    def settle(self, seconds: float) -> None:
        """Let everything come to rest, and this much time pass."""

    def seen(self) -> tuple[Raw | None, list[Raw], list[Raw]]:
        """The Job if it is there, its pods, and all events about it."""


def read(story: Path) -> Raw:
    """A story."""
    told: Raw = yaml.load((story / "in.yaml").read_text(), Loader=yaml.CSafeLoader)
    return told


def play(story: Raw, stage: Stage) -> list[Raw]:
    """What there is to see after the Job was made and after each step."""
    stage.create(story["job"])
    stage.settle(SETTLE)
    known: set[tuple[str, ...]] = set()
    full = story["job"]["metadata"]["name"] != "job"
    scenes = [scene("created", stage, known, full=full)]
    for step in story["steps"]:
        stage.step(step)
        stage.settle(SETTLE)
        scenes.append(scene(title(step), stage, known, full=full))
    return scenes


def title(step: Raw) -> str:
    """A step in a line."""
    details = ", ".join(f"{key} {value}" for key, value in step.items() if key != "do")
    return f"{step['do']}: {details}" if details else str(step["do"])


def scene(what: str, stage: Stage, known: set[tuple[str, ...]], *, full: bool) -> Raw:
    """What there is to see now, without names and times that differ from run to run."""
    job, pods, events = stage.seen()
    now = {(str(e["type"]), str(e["reason"]), masked(str(e["note"]))) for e in events}
    new = sorted(" | ".join(event) for event in now - known)
    known |= now
    return {
        "after": what,
        "status": timeless(job.get("status") or {}) if job else "no Job",
        "pods": sorted((glimpse(pod, full=full) for pod in pods), key=yaml.safe_dump),
        "events": new,
    }


def glimpse(pod: Raw, *, full: bool) -> Raw:
    """One pod, as far as the Job controller has made it; everything of it, or what tells it from its siblings."""
    metadata, annotations = pod["metadata"], pod["metadata"].get("annotations") or {}
    seen: Raw = {
        "name": masked(metadata["name"]),
        "phase": (pod.get("status") or {}).get("phase", "Pending"),
        "deleting": "deletionTimestamp" in metadata,
        "tracked": TRACKED in (metadata.get("finalizers") or ()),
    }
    counts = {k.removeprefix(PREFIX): v for k, v in sorted(annotations.items()) if k.endswith("failure-count")}
    if counts:
        seen["annotations"] = counts
    if full:
        spec = pod["spec"]
        seen["labels"] = {k: v for k, v in sorted(metadata["labels"].items()) if not k.endswith("controller-uid")}
        seen["annotations"] = dict(sorted(annotations.items()))
        seen["generateName"] = metadata.get("generateName")
        seen["owners"] = [{k: v for k, v in o.items() if k != "uid"} for o in metadata["ownerReferences"]]
        seen |= {key: spec[key] for key in ("hostname", "subdomain", "restartPolicy") if key in spec}
        seen["env"] = [
            {"container": c["name"], "env": timeless(c.get("env", []))}
            for c in (*spec.get("initContainers", ()), *spec["containers"])
        ]
    return seen


def masked(text: str) -> str:
    """A text without the five letters that end the name of a pod, and with one namespace for all."""
    text = re.sub(r"[-a-z0-9]+/(?=job-)", "ns/", text)
    return re.sub(
        r"((?:job|a-job[-a-z0-9]*?|b{20,})(?:-\d+)?)-?[bcdfghjklmnpqrstvwxz2456789]{5}(?![-\w])", r"\1-*", text
    )


def timeless(value: Any) -> Any:
    """A value in which it is seen that there is a time, and not which; and whose are the uids."""
    if isinstance(value, dict):
        kept = {k: "<time>" if k in TIMES else timeless(v) for k, v in value.items() if k != "apiVersion"}
        kept |= {k: masked(v) for k, v in kept.items() if k == "message"}
        if "uncountedTerminatedPods" in kept:
            kept["uncountedTerminatedPods"] = {k: len(v) for k, v in kept["uncountedTerminatedPods"].items()}
        return dict(sorted(kept.items()))
    if isinstance(value, list):
        return [timeless(item) for item in value]
    return value


def show(scenes: list[Raw]) -> str:
    """Scenes as YAML."""
    text: str = yaml.safe_dump(scenes, sort_keys=False, width=110)
    return text
