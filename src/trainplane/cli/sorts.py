"""The sorts of objects that `get` and `describe` know: their words, their kinds, what their tables are made from."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

import click

from trainplane.api.history import GROUP as HISTORY_GROUP
from trainplane.api.history import KIND as HISTORY_KIND
from trainplane.api.kinds import KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.api.problem import did_you_mean
from trainplane.cli import job_rows, rows
from trainplane.cli.outlook import READS, outlook
from trainplane.cli.tables import Table
from trainplane.reconcile.view import View

TRAINER = "trainer.kubeflow.org"
TRAINJOB = (TRAINER, "TrainJob")
RUNTIMES = ((TRAINER, "ClusterTrainingRuntime"), (TRAINER, "TrainingRuntime"))
QUEUE = ("scheduling.volcano.sh", "Queue")


class World(NamedTuple):
    """What a table is made from: the objects it is about, and all that is known besides."""

    about: Sequence[Raw]
    objects: Sequence[Raw]
    now: datetime
    namespaces: bool
    hidden: tuple[str, ...] = ()
    """The plurals of kinds that the caller may not list in all namespaces."""


class Sort(NamedTuple):
    """One sort of objects."""

    word: str
    names: tuple[str, ...]
    """Other words for it; kubectl's among them."""
    kinds: tuple[tuple[str, str], ...]
    reads: tuple[tuple[str, str], ...]
    """What its table is made from besides, of all namespaces."""
    table: Callable[[World], Table]
    next: str
    """What to do where there are none."""


def _jobs(world: World) -> Table:
    found = outlook(world.objects, world.now, hidden=world.hidden)
    return job_rows.job_table(world.about, found, world.now, namespaces=world.namespaces)


def _runtimes(world: World) -> Table:
    return rows.runtime_table(world.about, View(world.objects), world.now, namespaces=world.namespaces)


def _nodes(world: World) -> Table:
    return rows.node_table(world.about, View(world.objects), world.now)


def _queues(world: World) -> Table:
    found = outlook(world.objects, world.now, hidden=world.hidden)
    return rows.queue_table(world.about, View(world.objects), found, world.now)


def _pods(world: World) -> Table:
    return rows.pod_table(world.about, world.now, namespaces=world.namespaces)


NO_NODES = "nodes of `up` come with it: {up}; elsewhere whoever runs the cluster adds them"
SORTS = (
    Sort(
        "jobs",
        ("job", "trainjobs", "trainjob", "tj"),
        (TRAINJOB,),
        READS,
        _jobs,
        "send one with: {send}; those that have ended and are gone: {history}",
    ),
    Sort(
        "runtimes",
        ("runtime", "trainingruntimes", "trainingruntime", "clustertrainingruntimes", "tr", "ctr"),
        RUNTIMES,
        (TRAINJOB,),
        _runtimes,
        "apply one, or start a cluster with `trainplane up`, which brings some",
    ),
    Sort(
        "nodes",
        ("node", "no"),
        (("", "Node"),),
        (("", "Pod"),),
        _nodes,
        NO_NODES,
    ),
    Sort("queues", ("queue", "q"), (QUEUE,), READS, _queues, ""),
    Sort("pods", ("pod", "po"), (("", "Pod"),), (), _pods, "jobs make them; see what jobs wait for: {why}"),
)

_ROWS: dict[tuple[str, str], Kind] = {}
for _row in KINDS:
    _ROWS.setdefault((_row.group, _row.kind), _row)
WORDS = {name: sort for sort in SORTS for name in (sort.word, *sort.names)}


def kind_row(group: str, kind: str) -> Kind:
    """The row of a kind."""
    return _ROWS[group, kind]


def sort_of(word: str) -> Sort:
    """The sort that a word of the command line names; refuses others with the nearest one."""
    found = WORDS.get(word.casefold())
    if found is None:
        near = did_you_mean(word, WORDS)
        words = ", ".join(sort.word for sort in SORTS)
        todo = f"did you mean {near!r}?" if near else f"use one of {words}; of one job: trainplane get jobs {word}"
        raise click.UsageError(f"there is no sort of object {word!r}; {todo}")
    return found


RECORD = (HISTORY_GROUP, HISTORY_KIND)
