"""Rows about events: what happened to jobs and to what was made for them, the latest last."""

from collections.abc import Iterable
from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cli.tables import Column, Table
from trainplane.cluster.ages import age
from trainplane.reconcile.view import View
from trainplane.why.scene import seen

COLUMNS = (
    Column("SEEN"),
    Column("TYPE"),
    Column("REASON"),
    Column("OBJECT"),
    Column("MESSAGE", prose=True),
    Column("COUNT", wide=True),
    Column("BY", wide=True),
)


def event_table(events: Iterable[Raw], now: datetime, *, namespaces: bool = False) -> Table:
    """Events, the latest last, as in a log."""
    rows = []
    for event in in_time(events):
        about = event.get("regarding") or {}
        rows.append(
            [
                *([str(event["metadata"].get("namespace", ""))] if namespaces else ()),
                age(seen(event) or event["metadata"].get("creationTimestamp"), now),
                str(event.get("type", "")),
                str(event.get("reason", "")),
                f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}",
                str(event.get("note", "")),
                str(look(event, "series", "count") or event.get("deprecatedCount") or 1),
                str(event.get("reportingController") or look(event, "deprecatedSource", "component") or ""),
            ]
        )
    return Table((Column("NAMESPACE"), *COLUMNS) if namespaces else COLUMNS, rows)


def in_time(events: Iterable[Raw]) -> list[Raw]:
    """Events in the order in which they were last seen."""
    return sorted(events, key=lambda event: (last_seen(event), str(event["metadata"]["name"])))


def last_seen(event: Raw) -> str:
    """When an event was last seen; times of the API sort as text once all have a fraction of a second."""
    whole, _, fraction = (
        (seen(event) or str(event["metadata"].get("creationTimestamp") or "")).rstrip("Z").partition(".")
    )
    return f"{whole}.{fraction:0<6}"


def family(job: Raw, view: View) -> set[str]:
    """The uids of a job and of everything that was made for it, as far as it is still there."""
    found = {str(job["metadata"]["uid"])}
    new = list(found)
    while new:
        new = [str(raw["metadata"]["uid"]) for uid in new for raw in view.owned_by(uid)]
        new = [uid for uid in new if uid not in found]
        found.update(new)
    return found


def about(events: Iterable[Raw], job: Raw, view: View) -> list[Raw]:
    """The events about a job and what was made for it; what is gone by now is known by the names of its objects."""
    uids, metadata = family(job, view), job["metadata"]
    name, space, born = str(metadata["name"]), metadata.get("namespace"), str(metadata.get("creationTimestamp") or "")
    return [
        event
        for event in events
        if event["metadata"].get("namespace") == space
        and (
            look(event, "regarding", "uid") in uids
            or (last_seen(event)[:19] >= born[:19] and _gone_child(event.get("regarding") or {}, name, view))
        )
    ]


def _gone_child(about: Raw, name: str, view: View) -> bool:
    """Whether an object that is gone had a name such as a job's pods have: `digits-node-0-1-abcde`."""
    kind, child = about.get("kind"), str(about.get("name", ""))
    if kind not in ("Pod", "Job") or not child.startswith(f"{name}-"):
        return False
    stages = child.removeprefix(f"{name}-").split("-")
    others = [str(raw["metadata"]["name"]) for raw in view.all("trainer.kubeflow.org", "TrainJob")]
    longer = any(len(other) > len(name) and child.startswith(f"{other}-") for other in others)
    return not longer and any(part.isdecimal() for part in stages)
