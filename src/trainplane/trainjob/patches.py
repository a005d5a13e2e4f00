"""spec.runtimePatches onto the template: each manager's patch in order, by strategic merge."""

from collections.abc import Iterator
from typing import Any

from trainplane.api.jobset import JobSetSpec
from trainplane.api.merge import strategic_merge
from trainplane.api.meta import Raw
from trainplane.api.problem import Path
from trainplane.api.schema import openapi
from trainplane.trainjob.blame import difference
from trainplane.trainjob.empty import told
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.tree import at, element_keys, positions

PATCHES = ("spec", "runtimePatches")
TEMPLATE = ("trainingRuntimeSpec", "template")
MERGED = "as the strategic merge of this patch left it"


def patches(plan: Plan) -> Plan:
    """Each patch changes the template that the patches before it left; replicated jobs keep their order."""
    for index in range(count(plan)):
        plan = patched(plan, index)
    return plan


def count(plan: Plan) -> int:
    """How many patches the TrainJob has."""
    return len(at(plan.raw_job, PATCHES) or ())


def patched(plan: Plan, index: int) -> Plan:
    """One manager's patch: labels and annotations of the JobSet, and its spec."""
    patch, source = at(plan.raw_job, (*PATCHES, index)), Source("job", (*PATCHES, index, *TEMPLATE))
    metadata = at(patch, (*TEMPLATE, "metadata")) or {}
    for what in ("labels", "annotations"):
        for key, value in (metadata.get(what) or {}).items():
            plan = plan.with_value(
                ("metadata", what, key),
                value,
                source=Source(source.document, (*source.path, "metadata", what, key)),
            )
    spec = at(patch, (*TEMPLATE, "spec"))
    if not spec:
        return plan
    merged: Raw = strategic_merge(plan.jobset["spec"], told(spec, {}), openapi(JobSetSpec))
    merged = in_order(plan.jobset["spec"], merged)
    return plan.with_value(
        ("spec",), merged, source=Source(source.document, (*source.path, "spec"), MERGED)
    ).with_reads(word_for_word(plan, merged, spec, Source(source.document, (*source.path, "spec"))))


def in_order(before: Any, after: Any, field: str | int = "") -> Any:
    """The merged value with everything that was there in its old place, and what is new behind it.

    A strategic merge puts what is new in front. But roles know jobs by their places, `kubectl logs` takes the first
    container, and a variable can refer only to those that stand before it.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return {key: in_order(before[key], item, key) if key in before else item for key, item in after.items()}
    if not isinstance(before, list) or not isinstance(after, list):
        return after
    old, new = (dict(zip(element_keys(items, field), items, strict=True)) for items in (before, after))
    if not all(isinstance(key, str) for key in (*old, *new)):
        return after
    kept = [in_order(item, new[key]) for key, item in old.items() if key in new]
    return [*kept, *(item for key, item in new.items() if key not in old)]


def word_for_word(plan: Plan, merged: Raw, patch: Raw, source: Source) -> Iterator[tuple[Path, Source]]:
    """What of the merged spec stands in the patch itself; the rest the merge moved or joined."""
    for path, value, _ in difference(plan.jobset["spec"], merged, ()):
        there = positions(patch, path)
        if len(there) == len(path) and at(patch, there) == value:
            yield ("spec", *path), Source(source.document, (*source.path, *path))
