"""What pods that are gone have written, as the nodes of a cluster on this machine keep it."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from trainplane.api.meta import Raw
from trainplane.api.times import moment
from trainplane.node.logs import Logs
from trainplane.sdk.logs import Line, Wanted, line_of

_POD = re.compile(r"(?P<step>.+)-(?P<replica>\d+)-(?P<index>\d+)-[a-z0-9]{5}")
"""What follows a job's name in those of its pods."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A pod that is gone: its folder, and who it was."""

    folder: str
    who: Line


def gone(logs: Path, job: Raw, *, steps: Collection[str], there: Collection[str]) -> Iterator[Kept]:
    """The pods of a job's steps of which something is kept, other than those whose uids are still there."""
    namespace, name = job["metadata"]["namespace"], job["metadata"]["name"]
    start = f"{namespace}_{name}-"
    for folder in sorted(path.name for path in logs.glob(f"{start}*")):
        pod, _, uid = folder.removeprefix(f"{namespace}_").rpartition("_")
        said = _POD.fullmatch(pod.removeprefix(f"{name}-"))
        if said and said["step"] in steps and uid not in there:
            # As with those that are there: the place in the Job, or the Job's where it has one pod.
            index = int(said["index"]) or int(said["replica"])
            yield Kept(folder, Line(step=said["step"], index=index, text="", pod=pod))


async def lines_of(logs: Path, pod: Kept, job: Raw, wanted: Wanted) -> list[Line]:
    """The lines of a pod that are wanted; none where it is one of an earlier job of the same name."""
    kept, found = Logs(logs), []
    containers = sorted(path.name for path in (logs / pod.folder).iterdir() if path.is_dir())
    for container in containers:
        who = replace(pod.who, container=container if len(containers) > 1 else "")
        for life in kept.lives(pod.folder, container)[-1:]:
            log = replace(wanted.log, container=container, follow=False, timestamps=True)
            said = b"".join([piece async for piece in kept.read(pod.folder, container, life, log)])
            found += [line_of(who, raw, stamped=True) for raw in said.split(b"\n") if raw]
    made = moment(job["metadata"]["creationTimestamp"])
    if found and moment(found[0].time) < made:
        return []
    return [line for line in found if wanted.of_line(line)]
