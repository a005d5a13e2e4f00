"""successPolicy: when a JobSet is complete."""

from collections.abc import Iterable
from datetime import datetime

from trainplane.api import jobset as words
from trainplane.api.jobset import REPLICATED_JOB_NAME
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.fields import label, replicas, replicated_jobs
from trainplane.jobset.status import Outcome

COMPLETED = (words.COMPLETED, "True", "AllJobsCompleted", "jobset completed successfully")
NO_LONGER_RESTARTING = (words.RESTARTING, "False", "JobSetCompleted", "jobset completed successfully")


def targets(jobset: Raw) -> list[str]:
    """The replicated jobs whose success counts, where not all count."""
    return list(look(jobset, "spec", "successPolicy", "targetReplicatedJobs") or ())


def matching(jobset: Raw, succeeded: Iterable[Raw]) -> int:
    """How many Jobs whose success counts have succeeded."""
    named = targets(jobset)
    return sum(not named or label(job, REPLICATED_JOB_NAME) in named for job in succeeded)


def expected(jobset: Raw) -> int:
    """How many of them it takes."""
    if look(jobset, "spec", "successPolicy", "operator") == "Any":
        return 1
    named = targets(jobset)
    return sum(replicas(one) for one in replicated_jobs(jobset) if not named or one["name"] in named)


def is_complete(jobset: Raw, succeeded: tuple[Raw, ...]) -> bool:
    """Whether the JobSet has what it wants; a JobSet of no Jobs never has."""
    return bool(succeeded) and matching(jobset, succeeded) >= expected(jobset)


def complete(said: Outcome, now: datetime) -> Outcome:
    """The status of a JobSet that is complete."""
    return said.having(COMPLETED, now).having(NO_LONGER_RESTARTING, now).saying(terminalState=words.COMPLETED)
