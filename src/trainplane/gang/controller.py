"""The scheduler as a Controller with one key: whatever changes, the whole cluster is looked at."""

from trainplane.api.ref import Ref
from trainplane.gang.fit import COSCHEDULING, VOLCANO
from trainplane.gang.schedule import Scheduler
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import Decision

KEY = Ref("", "Namespace", "", "kube-system")
"""The one object that stands for the whole cluster."""
PAUSE = 0.02
"""Seconds between two looks: pods come and go in numbers."""
SETTLE = 0.005
"""Seconds that the first of them waits: the pods of a small job, which come one by one, are placed at one look."""


def controller(scheduler: Scheduler | None = None) -> Controller:
    """The scheduler as a Controller with one key: whatever changes, the whole cluster is looked at."""
    decides = scheduler or Scheduler()
    watched = (
        ("", "Pod"),
        ("", "Node"),
        ("", "PersistentVolumeClaim"),
        (COSCHEDULING, "PodGroup"),
        (VOLCANO, "PodGroup"),
        (VOLCANO, "Queue"),
        ("scheduling.k8s.io", "PriorityClass"),
    )
    return Controller(
        name="scheduler",
        group=KEY.group,
        kind=KEY.kind,
        reconcile=lambda raw, view, now: decides.schedule(view, now) if Ref.of(raw) == KEY else Decision(),
        watches=tuple((kind, lambda _raw, _view: (KEY,)) for kind in watched),
        pause=PAUSE,
        settle=SETTLE,
    )
