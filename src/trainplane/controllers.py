"""Who decides in a cluster of our own: the rooms' controllers, and the admission that keeps their objects in order."""

from functools import partial

from msgspec.structs import replace

from trainplane.api.jobset import JOB_KEY
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.admission import Admission, Table
from trainplane.cluster.store import Store
from trainplane.gang.controller import controller as scheduler
from trainplane.job.orphans import ORPHANS
from trainplane.job.reconcile import JOB
from trainplane.jobset import admission as jobset_admission
from trainplane.jobset import placement
from trainplane.jobset.placement import PLACEMENT
from trainplane.jobset.reconcile import controller as jobset
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.view import View
from trainplane.trainjob import admission as trainjob_admission
from trainplane.trainjob.plans import Plans
from trainplane.trainjob.reconcile import controller as trainjob
from trainplane.upkeep.history import HISTORY, KEPT, history
from trainplane.upkeep.table import UPKEEP
from trainplane.why.why import READS, why

RESTART_JOB = "RestartJob"
ELASTIC_JOBSET = "ElasticJobSet"
GATES = (RESTART_JOB, ELASTIC_JOBSET)
"""What upstream's JobSet does only when asked to, by the names of its feature gates."""


def admission(store: Store, gates: frozenset[str] = frozenset(), *, plans: Plans | None = None) -> Table:
    """What admits objects to a store, by resource; `plans` are the controllers', where those are near."""
    see = partial(neighbours, store=store)
    trainer = Admission(trainjob_admission.default, partial(trainjob_admission.validate, plans=plans))
    validate = partial(
        jobset_admission.validate, restart_job=RESTART_JOB in gates, elastic_jobset=ELASTIC_JOBSET in gates
    )
    return {
        "trainjobs.trainer.kubeflow.org": trainer,
        "trainingruntimes.trainer.kubeflow.org": trainer,
        "clustertrainingruntimes.trainer.kubeflow.org": trainer,
        "jobsets.jobset.x-k8s.io": Admission(jobset_admission.default, validate),
        "pods": Admission(partial(placement.admit_default, see=see), partial(placement.admit_validate, see=see)),
    }


def neighbours(pod: Raw, *, store: Store) -> View:
    """The other pods of a pod's Job, and the nodes they are on."""
    key, namespace = look(pod, "metadata", "labels", JOB_KEY), pod["metadata"].get("namespace", "")
    pods = [stored.object for stored in store.list("pods", namespace=namespace).items]
    mine = [raw for raw in pods if look(raw, "metadata", "labels", JOB_KEY) == key]
    names = {name for raw in mine if (name := look(raw, "spec", "nodeName"))}
    nodes = [stored.object for stored in store.list("nodes").items if stored.key.name in names]
    return View([*mine, *nodes])


def controllers(
    gates: frozenset[str] = frozenset(), *, records: int = KEPT, plans: Plans | None = None
) -> tuple[Controller, ...]:
    """Everybody who decides, but for the nodes; `records` is how many are kept of jobs that have ended."""
    elastic = ELASTIC_JOBSET in gates
    told = trainjob(elastic_jobset=elastic, why=why, plans=plans)
    return (
        replace(told, reads=tuple(dict.fromkeys((*told.reads, *READS)))),
        jobset(restart_job=RESTART_JOB in gates, elastic_jobset=elastic),
        PLACEMENT,
        JOB,
        ORPHANS,
        scheduler(),
        *(history(keep=records) if one is HISTORY else one for one in UPKEEP),
    )
