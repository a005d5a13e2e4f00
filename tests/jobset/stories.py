"""Stories of JobSets: a JobSet, what happens to its pods and to itself, and what there is to see after each step.

The stories lie in `tests/golden/jobset`; their `out.yaml` is what JobSet 0.12 and the Job controller of Kubernetes 1.36
made of them on a real cluster, without nodes: steps put pods into phases.
"""

from pathlib import Path
from typing import Any, Protocol

import yaml

from tests.job.stories import title
from tests.places import ROOT

Raw = dict[str, Any]
STORIES = sorted(path.parent for path in (ROOT / "tests/golden/jobset").glob("*/in.yaml"))
SETTLE = 3
"""Seconds after each step in which everything comes to rest."""
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
COUNTS = ("active", "ready", "succeeded", "failed")


class Stage(Protocol):
    """Where a story is played: the real cluster, or our controllers among plain objects."""

    def create(self, raw: Raw) -> None:
        """Make the JobSet."""

    def step(self, step: Raw) -> None:
        """Let one thing happen."""

    def settle(self, seconds: float) -> None:
        """Let everything come to rest, and this much time pass."""

    def jobset(self) -> Raw | None:
        """The JobSet, if it is there."""

    def all(self, kind: str) -> list[Raw]:
        """All objects of a kind."""

    def told(self) -> list[Raw]:
        """All events about the JobSet."""


def read(story: Path) -> Raw:
    """A story."""
    found: Raw = yaml.load((story / "in.yaml").read_text(), Loader=yaml.CSafeLoader)
    return found


def play(story: Raw, stage: Stage) -> list[Raw]:
    """What there is to see after the JobSet was made and after each step."""
    stage.create(story["jobset"])
    stage.settle(SETTLE)
    known: set[str] = set()
    scenes = [scene("created", stage, known)]
    for step in story["steps"]:
        stage.step(step)
        stage.settle(SETTLE)
        scenes.append(scene(title(step), stage, known))
    return scenes


def scene(what: str, stage: Stage, known: set[str]) -> Raw:
    """What there is to see now, without what differs from run to run."""
    raw = stage.jobset()
    # From an old view the real one makes a Job twice now and then, and is refused: that differs from run to run.
    events = [event for event in stage.told() if not event["note"].endswith("already exists")]
    now = {f"{event['type']} | {event['reason']} | {event['note']}" for event in events}
    new = sorted(now - known)
    known |= now
    return {
        "after": what,
        "status": timeless(raw.get("status") or {}) if raw else "no JobSet",
        "jobs": sorted(map(glimpse, stage.all("Job"))),
        "services": sorted(one["metadata"]["name"] for one in stage.all("Service")),
        "claims": sorted(one["metadata"]["name"] for one in stage.all("PersistentVolumeClaim")),
        "events": new,
    }


def glimpse(job: Raw) -> str:
    """A Job in a line: its name, its run, and how it is."""
    status = job.get("status") or {}
    said = [one["type"] for one in status.get("conditions") or () if one["status"] == "True"]
    words = [f"{status[count]} {count}" for count in COUNTS if status.get(count)]
    if job["spec"].get("suspend"):
        words.append("suspended")
    if "deletionTimestamp" in job["metadata"]:
        words.append("going")
    words += [one for one in ("Complete", "Failed") if one in said]
    selector = job["spec"]["template"]["spec"].get("nodeSelector") or {}
    words += [f"on {key}={value}" for key, value in sorted(selector.items())]
    sizes = f"{job['spec']['parallelism']}/{job['spec'].get('completions')}"
    return f"{job['metadata']['name']} run {job['metadata']['labels'][ATTEMPT]} of {sizes}: {', '.join(words) or 'new'}"


def timeless(value: Any) -> Any:
    """A value without its times."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in sorted(value.items()) if key != "lastTransitionTime"}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def show(scenes: list[Raw]) -> str:
    """Scenes as YAML."""
    text: str = yaml.safe_dump(scenes, sort_keys=False, width=110)
    return text
