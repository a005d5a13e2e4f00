"""What an API server demands of a Job's status, and of every change of it."""

from collections.abc import Iterator
from typing import Any

from trainplane.job import indexes

Raw = dict[str, Any]
TARGETS = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}


def unlawful(new: Raw, old: Raw) -> Iterator[str]:
    """Why a server would refuse the status."""
    said = {c["type"] for c in new.get("conditions", ()) if c["status"] == "True"}
    before = {c["type"] for c in old.get("conditions", ()) if c["status"] == "True"}
    ends = said & set(TARGETS)
    if new.get("ready", 0) > new.get("active", 0):
        yield "more pods are ready than active"
    if ends and (new.get("active") or new.get("terminating") or new.get("uncountedTerminatedPods")):
        yield "a finished Job has pods that are not"
    if ends and not new.get("startTime"):
        yield "a finished Job never began"
    if len(ends) > 1 or {"SuccessCriteriaMet", "FailureTarget"} <= said:
        yield "a Job both succeeds and fails"
    for end in ends:
        if TARGETS[end] not in said:
            yield f"{end} was not announced"
    if ("Complete" in said) != ("completionTime" in new):
        yield "a Job has a completionTime when it is complete, and only then"
    if "completionTime" in new and new["completionTime"] < new["startTime"]:
        yield "a Job ended before it began"
    for type_ in (before & {"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"}) - said:
        yield f"{type_} was taken back"
    if new.get("failed", 0) < old.get("failed", 0):
        yield "failures were taken back"
    listed = new.get("uncountedTerminatedPods") or {}
    if set(listed.get("succeeded", ())) & set(listed.get("failed", ())):
        yield "a pod has both succeeded and failed"
    done, failed = (indexes.parse(new.get(key, "")) for key in ("completedIndexes", "failedIndexes"))
    if done & failed:
        yield "an index has both succeeded and failed"
