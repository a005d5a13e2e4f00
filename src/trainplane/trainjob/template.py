"""The first step, the runtime's JobSet template; and the step that gives the JobSet its name and owner."""

from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.trainer import API_VERSION
from trainplane.trainjob.empty import told
from trainplane.trainjob.plan import Plan, Source


def template(plan: Plan) -> Plan:
    """The runtime's template is the JobSet to begin with: its spec whole, its labels and annotations."""
    written: Raw = (plan.raw_runtime.get("spec") or {}).get("template") or {}
    plan = plan.but(jobset={**plan.jobset, "spec": {}})
    for field, value in told(written.get("spec") or {}).items():
        plan = plan.with_value(("spec", field), value, source=Source("runtime", ("spec", "template", "spec", field)))
    for what in ("labels", "annotations"):
        for key, value in ((written.get("metadata") or {}).get(what) or {}).items():
            plan = plan.with_value(
                ("metadata", what, key), value, source=Source("runtime", ("spec", "template", "metadata", what, key))
            )
    return plan


def identity(plan: Plan) -> Plan:
    """The JobSet has the TrainJob's name, is owned by it, and is suspended with it."""
    if plan.namespace:
        plan = plan.with_value(
            ("metadata", "namespace"), plan.namespace, source=Source("job", ("metadata", "namespace"))
        )
    if owner := owner_reference(plan):
        plan = plan.with_value(("metadata", "ownerReferences"), [owner])
    suspend: Any = plan.raw_job["spec"].get("suspend")
    if suspend is not None:
        plan = plan.with_value(("spec", "suspend"), suspend, source=Source("job", ("spec", "suspend")))
    return plan


def owner_reference(plan: Plan) -> Raw | None:
    """The TrainJob as an owner; None before the API server has given it a uid."""
    uid = plan.raw_job["metadata"].get("uid")
    if not uid:
        return None
    return {
        "apiVersion": API_VERSION,
        "kind": "TrainJob",
        "name": plan.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def companion(plan: Plan, *, api_version: str, kind: str, name: str, **body: Any) -> Raw:
    """An object beside the JobSet: in the TrainJob's namespace and owned by it."""
    metadata: Raw = {"name": name}
    if plan.namespace:
        metadata["namespace"] = plan.namespace
    if owner := owner_reference(plan):
        metadata["ownerReferences"] = [owner]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
