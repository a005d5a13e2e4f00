"""Who decides in a cluster of our own: the rooms' controllers, and the admission that keeps their objects in order."""

from dataclasses import replace
from functools import partial

from trainplane.cluster.admission import Admission, Table
from trainplane.gang.schedule import controller as scheduler
from trainplane.job.orphans import ORPHANS
from trainplane.job.reconcile import JOB
from trainplane.jobset import admission as jobset_admission
from trainplane.jobset.placement import PLACEMENT
from trainplane.jobset.reconcile import controller as jobset
from trainplane.reconcile.controller import Controller
from trainplane.trainjob import admission as trainjob_admission
from trainplane.trainjob.reconcile import controller as trainjob
from trainplane.upkeep.table import UPKEEP
from trainplane.why.why import READS, why

RESTART_JOB = "RestartJob"
ELASTIC_JOBSET = "ElasticJobSet"
GATES = (RESTART_JOB, ELASTIC_JOBSET)
"""What upstream's JobSet does only when asked to, by the names of its feature gates."""


def admission(gates: frozenset[str] = frozenset()) -> Table:
    """What admits objects, by resource."""
    trainer = Admission(trainjob_admission.default, trainjob_admission.validate)
    validate = partial(
        jobset_admission.validate, restart_job=RESTART_JOB in gates, elastic_jobset=ELASTIC_JOBSET in gates
    )
    return {
        "trainjobs.trainer.kubeflow.org": trainer,
        "trainingruntimes.trainer.kubeflow.org": trainer,
        "clustertrainingruntimes.trainer.kubeflow.org": trainer,
        "jobsets.jobset.x-k8s.io": Admission(jobset_admission.default, validate),
    }


def controllers(gates: frozenset[str] = frozenset()) -> tuple[Controller, ...]:
    """Everybody who decides, but for the nodes."""
    elastic = ELASTIC_JOBSET in gates
    told = trainjob(elastic_jobset=elastic, why=why)
    return (
        replace(told, reads=tuple(dict.fromkeys((*told.reads, *READS)))),
        jobset(restart_job=RESTART_JOB in gates, elastic_jobset=elastic),
        PLACEMENT,
        JOB,
        ORPHANS,
        scheduler(),
        *UPKEEP,
    )
