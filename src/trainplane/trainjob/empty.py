"""What says nothing in a template: typed clients leave it out, and so does a JobSet that is made from one."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.meta import Raw

WORDS = frozenset({"labels", "annotations", "nodeSelector", "matchLabels", "limits", "requests", "overhead"})
"""Maps whose keys are the author's own words; an empty one is none."""
NEEDED = frozenset({"containers", "replicatedJobs", "sources"})
"""Lists that must be there, so that an empty one is refused and not overlooked."""
SILENT: Mapping[str, Any] = {
    **dict.fromkeys(("hostIPC", "hostNetwork", "hostPID", "readOnly", "stdin", "stdinOnce", "tty"), False),
    **dict.fromkeys(("dnsPolicy", "hostname", "imagePullPolicy", "nodeName", "priorityClassName", "restartPolicy"), ""),
    **dict.fromkeys(("schedulerName", "serviceAccountName", "subPath", "subdomain", "value", "workingDir"), ""),
    **dict.fromkeys(("terminationMessagePath", "terminationMessagePolicy"), ""),
}
"""Fields with a value that means as much as none."""
ALWAYS: Mapping[str, Raw] = {
    "resourceFieldRef": {"divisor": "0"},
    "volumeClaimTemplate": {"metadata": {}},
}
"""What typed clients write into an object, whether the author did or not."""


def told(template: Raw, silent: Mapping[str, Any] = SILENT) -> Raw:
    """A part of a template without what says nothing, and with what is always said.

    A patch may silence what a template says, so in one nothing is `silent` but an empty list or map.
    """
    out: Raw = {}
    for field, value in template.items():
        if is_nothing(field, value, silent):
            continue
        if isinstance(value, dict):
            out[field] = value if field in WORDS else {**ALWAYS.get(field, {}), **told(value, silent)}
        elif isinstance(value, list):
            out[field] = [told(item, silent) if isinstance(item, dict) else item for item in value]
        else:
            out[field] = value
    return out


def is_nothing(field: str, value: Any, silent: Mapping[str, Any]) -> bool:
    """Whether a field with this value says no more than if it were not there."""
    if value == [] or (value == {} and field in WORDS):
        return field not in NEEDED
    return value is None or (field in silent and bool(value == silent[field]))


def spelled(variable: Mapping[str, Any]) -> Raw:
    """A TrainJob's variable as containers get it: with a value, be it empty, or with a source and no value."""
    source = variable.get("valueFrom")
    if source is None:
        value = variable.get("value")
        return {"name": variable.get("name", ""), "value": "" if value is None else value}
    if source.get("resourceFieldRef"):
        source = {**source, "resourceFieldRef": {"containerName": "", "divisor": "0", **source["resourceFieldRef"]}}
    return {**{field: item for field, item in variable.items() if field != "value"}, "valueFrom": source}
