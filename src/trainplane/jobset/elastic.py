"""Elastic JobSets: Jobs that run take the size that their template has now."""

from collections.abc import Iterator

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.children import Children
from trainplane.jobset.fields import replicated_jobs, uid_of
from trainplane.jobset.status import of
from trainplane.reconcile.decision import Patch
from trainplane.reconcile.view import Ref


def resized(jobset: Raw, children: Children) -> Iterator[Patch]:
    """The Jobs whose size differs from the template's, where that names one size for both fields."""
    for one in replicated_jobs(jobset):
        wanted = look(one, "template", "spec", "parallelism")
        if wanted is None or wanted != look(one, "template", "spec", "completions"):
            continue
        for job in of(one["name"], children.active):
            if (job["spec"].get("parallelism"), job["spec"].get("completions")) != (wanted, wanted):
                yield Patch(Ref.of(job), {"spec": {"parallelism": wanted, "completions": wanted}}, uid_of(job))
