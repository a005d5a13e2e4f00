"""Jobs as the API keeps and refuses them, for tests that have no server."""

from typing import Any

from trainplane.api.kinds import KINDS
from trainplane.cluster.defaults import defaulted
from trainplane.cluster.strategy import prepared, read_back
from trainplane.cluster.validation import kind_causes

Raw = dict[str, Any]
JOB = next(row for row in KINDS if (row.group, row.kind) == ("batch", "Job"))


def stored(raw: Raw, old: Raw | None = None) -> Raw:
    """A Job as it would be stored; one that is new and has a uid gets its selector."""
    filled = defaulted(raw, JOB)
    if old is not None or not raw["metadata"].get("uid"):
        return filled
    made = read_back(prepared(filled, JOB, place=lambda most: most - 1), JOB)
    return {name: item for name, item in made.items() if name != "status"}


def refusals(raw: Raw, old: Raw | None = None) -> list[str]:
    """Every cause for which a Job is refused."""
    return [str(cause) for cause in kind_causes(JOB, raw, old)]
