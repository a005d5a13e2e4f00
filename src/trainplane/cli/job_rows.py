"""Rows about TrainJobs: those that are there, those that wait and why, and those that have ended."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.quantity import QuantityError, parse
from trainplane.api.raw import look
from trainplane.api.trainjob_status import STATES
from trainplane.cli.outlook import Outlook
from trainplane.cli.tables import Column, Table
from trainplane.cluster.ages import UNKNOWN, age, duration, parse_time

NAMESPACE = Column("NAMESPACE")
JOB_COLUMNS = (
    Column("NAME", name=True),
    Column("STATE"),
    Column("NODES"),
    Column("RUNTIME"),
    Column("QUEUE"),
    Column("STARTS"),
    Column("AGE"),
    Column("RESTARTS", wide=True),
    Column("REASON", wide=True),
    Column("MESSAGE", wide=True, prose=True),
)
HISTORY_COLUMNS = (
    Column("NAME", name=True),
    Column("OUTCOME"),
    Column("NODES"),
    Column("RUNTIME"),
    Column("WAITED"),
    Column("RAN"),
    Column("USED"),
    Column("ENDED"),
    Column("SUBMITTER", wide=True),
    Column("RESTARTS", wide=True),
    Column("REASON", wide=True),
    Column("MESSAGE", wide=True, prose=True),
)
_ORDER = ("Running", "Starting", "Pending", "Created", "Suspended", "Complete", "Failed")
"""What goes on comes first, then what waits, then what is over."""
_LAST = max(map(_ORDER.index, STATES)) + 1
HOUR = 3600
_UNITS = {"cpu": "CPU", "nvidia.com/gpu": "GPU", "amd.com/gpu": "GPU"}


def state_of(job: Raw) -> str:
    """Where a job stands: as its summary says, or its conditions and counts where another Trainer writes none."""
    said = look(job, "status", "summary", "state")
    if said:
        return str(said)
    true = {one.get("type") for one in look(job, "status", "conditions") or () if one.get("status") == "True"}
    found = next((type_ for type_ in ("Complete", "Failed", "Suspended") if type_ in true), "")
    return found or _counted_state(look(job, "status", "jobsStatus") or ())


def _counted_state(counts: Sequence[Raw]) -> str:
    """Where a job stands by the counts of its stages; the trainer's is called node or launcher, or comes last."""
    trainer = next((one for one in counts if one.get("name") in ("node", "launcher")), counts[-1] if counts else {})
    if trainer.get("ready") or trainer.get("succeeded"):
        return "Running"
    return "Starting" if any(one.get("active") for one in counts) else "Created"


def is_over(job: Raw) -> bool:
    """Whether a job has ended."""
    return state_of(job) in ("Complete", "Failed")


def is_waiting(job: Raw) -> bool:
    """Whether a job is to run and does not."""
    return state_of(job) in ("Created", "Pending", "Starting")


def in_order(jobs: Iterable[Raw], outlook: Outlook) -> list[Raw]:
    """Jobs that run, those that wait in the order of their turn, those that are over; the newest ones first."""

    def place(job: Raw) -> tuple[Any, ...]:
        state, metadata = state_of(job), job["metadata"]
        key = (str(metadata.get("namespace", "")), str(metadata["name"]))
        turn = outlook.turns.get(key)
        born = parse_time(metadata.get("creationTimestamp") or "")
        newest = -born.timestamp() if born else 0
        rank = _ORDER.index(state) if state in _ORDER else _LAST
        return rank, turn is None, turn or ("", 0, 0), newest, key

    return sorted(jobs, key=place)


def job_table(jobs: Sequence[Raw], outlook: Outlook, now: datetime, *, namespaces: bool = False) -> Table:
    """Jobs, with their place in line and their expected start where they wait."""
    rows = [
        [
            *([str(job["metadata"].get("namespace", ""))] if namespaces else ()),
            str(job["metadata"]["name"]),
            _progress(job),
            nodes_of(job),
            str(look(job, "spec", "runtimeRef", "name") or ""),
            outlook.queue(job) if not is_over(job) else "",
            outlook.starts_in(job) if is_waiting(job) else "",
            age(job["metadata"].get("creationTimestamp"), now),
            str(look(job, "status", "summary", "restarts") or 0),
            str(look(job, "status", "summary", "reason") or ""),
            message_of(job),
        ]
        for job in in_order(jobs, outlook)
    ]
    return Table(_with_namespace(JOB_COLUMNS, namespaces=namespaces), rows)


def nodes_of(job: Raw) -> str:
    """How many nodes a job has, or asks for."""
    places = (("spec", "trainer", "numNodes"), ("status", "nodes"), ("status", "summary", "nodes"))
    found = next((number for place in places if (number := look(job, *place))), None)
    return str(found) if found is not None else ""


def message_of(job: Raw) -> str:
    """The sentence that a job says of itself."""
    said = look(job, "status", "summary", "message")
    if said:
        return str(said)
    true = [one for one in look(job, "status", "conditions") or () if one.get("status") == "True"]
    return str(true[-1].get("message") or "") if true else ""


def _progress(job: Raw) -> str:
    state, percent = state_of(job), look(job, "status", "trainerStatus", "progressPercentage")
    return f"{state},{percent}%" if state == "Running" and percent is not None else state


def history_table(records: Iterable[Raw], now: datetime, *, namespaces: bool = False) -> Table:
    """Jobs that have ended, the last one first."""
    rows = []
    for record in sorted(records, key=lambda raw: str(look(raw, "spec", "completionTime")), reverse=True):
        spec = record["spec"]
        rows.append(
            [
                *([str(record["metadata"].get("namespace", ""))] if namespaces else ()),
                str(look(spec, "trainJob", "name")),
                str(spec.get("outcome", "")),
                str(spec.get("nodes") or ""),
                str(look(spec, "runtime", "name") or ""),
                _seconds(spec.get("waitSeconds")),
                _seconds(spec.get("runSeconds")),
                hours(spec.get("resourceSeconds") or {}),
                age(spec.get("completionTime"), now),
                str(spec.get("submitter") or ""),
                str(spec.get("restarts") or 0),
                str(spec.get("reason") or ""),
                str(spec.get("message") or ""),
            ]
        )
    return Table(_with_namespace(HISTORY_COLUMNS, namespaces=namespaces), rows)


def _seconds(seconds: int | None) -> str:
    return "" if seconds is None else duration(seconds)


def hours(resource_seconds: Mapping[str, Any]) -> str:
    """What was held, in hours of the scarcest sort first: `16GPU-h,64CPU-h`; memory is left to `-o yaml`."""
    words = []
    for name in sorted(resource_seconds, key=lambda name: (name == "cpu", name)):
        if name in ("memory", "ephemeral-storage", "pods"):
            continue
        try:
            amount = parse(resource_seconds[name]).nano / 10**9 / HOUR
        except QuantityError:
            continue
        words.append(f"{figure(amount)}{_UNITS.get(name, name)}-h")
    return ",".join(words)


def figure(amount: float) -> str:
    """A number with as many digits as tell something: <0.0001, 0.02, 1.5, 36."""
    if 0 < amount < 0.0001:
        return "<0.0001"
    if amount >= 10:
        return f"{amount:.0f}"
    return f"{amount:.1f}".removesuffix(".0") if amount >= 1 else f"{amount:.2g}"


def when(text: object, now: datetime) -> str:
    """A time in full and how long ago: `2026-01-31T12:00:00Z (5m ago)`; "" where there is none."""
    ago = age(text, now) if text else UNKNOWN
    return f"{text} ({ago} ago)" if text and ago != UNKNOWN else ""


def _with_namespace(columns: Sequence[Column], *, namespaces: bool) -> tuple[Column, ...]:
    return (NAMESPACE, *columns) if namespaces else tuple(columns)
