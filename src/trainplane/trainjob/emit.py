"""The last step: amounts in their canonical form, and empty parts written as the API has them."""

from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.problem import Path
from trainplane.api.quantity import canonical
from trainplane.trainjob.plan import POD, Plan
from trainplane.trainjob.tree import at, put

VOLUMES: Path = (*POD, "spec", "volumes")
CLAIMED: Path = ("ephemeral", "volumeClaimTemplate", "spec", "resources")


def shape(plan: Plan) -> Plan:
    """Write amounts canonically and name the empty parts, as typed clients do, so that comparing finds no noise."""
    jobs = [shaped(job) for job in plan.replicated_jobs]
    return plan if jobs == plan.replicated_jobs else plan.with_value(("spec", "replicatedJobs"), jobs)


def shaped(job: Raw) -> Raw:
    """One replicated job in that form."""
    for path in (("template", "metadata"), (*POD, "metadata")):
        if at(job, path) is None:
            job = put(job, path, {})
    for kind in ("containers", "initContainers"):
        for i, container in enumerate(at(job, (*POD, "spec", kind)) or ()):
            tidy = amounts(container.get("resources") or {})
            if tidy != container.get("resources"):
                job = put(job, (*POD, "spec", kind, i, "resources"), tidy)
    claims = ((*VOLUMES, i, *CLAIMED) for i, _ in enumerate(at(job, VOLUMES) or ()))
    for place in ((*POD, "spec", "resources"), *claims):
        written = at(job, place)
        job = put(job, place, amounts(written)) if isinstance(written, dict) else job
    return job


def amounts(resources: Raw) -> Raw:
    """Resource requirements with every amount in canonical form; an amount that is none is kept as it is."""
    out: dict[str, Any] = dict(resources)
    for what in ("limits", "requests"):
        if isinstance(out.get(what), dict):
            out[what] = {name: canonical(amount) for name, amount in out[what].items()}
    return out
