"""Plan: what a TrainJob will become, as one frozen value that steps return a new version of."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.problem import Path, Problem
from trainplane.api.roles import Roles
from trainplane.api.trainer import TrainingRuntimeSpec, TrainJob
from trainplane.trainjob.tree import at, key_of, keyed, put, upsert

POD = ("template", "spec", "template")
"""From a replicated job to its pod template."""


class Source(msgspec.Struct, frozen=True):
    """Where a value was read: a document of the input, and the path in it."""

    document: str
    """`job` or `runtime`; "" when a step worked the value out by itself."""
    path: Path = ()
    note: str = ""
    """How it was worked out, such as `2 nodes × 4 processes`; "" where the value stands there word for word."""


class Size(msgspec.Struct, frozen=True):
    """How large the training is: what every framework, gang and explanation counts with."""

    nodes: int = 1
    procs: str = "1"
    """Processes on each node: a number, or `auto` where torchrun counts the GPUs itself."""
    procs_known: int = 1
    """The same as a number: with `auto`, the GPUs each node asks for."""
    min_nodes: int | None = None
    max_nodes: int | None = None

    @property
    def world(self) -> int:
        """Processes in all."""
        return self.nodes * self.procs_known


class Plan(msgspec.Struct, frozen=True):
    """Everything one TrainJob becomes. Steps take a Plan and return another; nobody changes one."""

    raw_job: Raw
    raw_runtime: Raw
    job: TrainJob
    runtime: TrainingRuntimeSpec
    roles: Roles
    jobset: Raw
    companions: tuple[Raw, ...] = ()
    """The objects beside the JobSet."""
    size: Size = Size()
    overheads: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    """What each RuntimeClass adds to a pod, by name, as far as it is known."""
    kinds: frozenset[str] = frozenset()
    """Kinds beyond our own that the cluster serves, as `Kind.group`."""
    reads: tuple[tuple[Path, Source], ...] | None = None
    """Where the step under way read what it wrote, by path into `objects`; None where nobody asks, for that takes a
    third of the time."""
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """The TrainJob's name, which is the JobSet's too."""
        return str(self.raw_job["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The TrainJob's namespace."""
        return str(self.raw_job["metadata"].get("namespace", ""))

    @property
    def subdomain(self) -> str:
        """The name of the headless Service that the pods' names end with."""
        network = self.jobset["spec"].get("network") or {}
        return str(network.get("subdomain") or self.name)

    @property
    def replicated_jobs(self) -> list[Raw]:
        """The JobSet's replicated jobs as they stand now."""
        jobs: list[Raw] = self.jobset["spec"].get("replicatedJobs") or []
        return jobs

    @property
    def objects(self) -> tuple[Raw, ...]:
        """The JobSet and its companions."""
        return (self.jobset, *self.companions)

    def host(self, job: int, pod: int = 0) -> str:
        """The DNS name of a pod of replicated job number `job`."""
        return f"{self.name}-{self.replicated_jobs[job]['name']}-0-{pod}.{self.subdomain}"

    def container(self, job: int, name: str) -> Raw | None:
        """The container of that name in replicated job number `job`, init containers not counted."""
        for container in at(self.replicated_jobs[job], (*POD, "spec", "containers")) or ():
            if container.get("name") == name:
                return dict(container)
        return None

    def but(self, **changes: Any) -> "Plan":
        """This Plan with some of its parts changed."""
        # msgspec's replace is several times as fast as that of dataclasses, and rendering spends much of its time here.
        return msgspec.structs.replace(self, **changes)

    def with_value(self, path: Path, value: Any, *, source: Source | None = None, of: Path = ()) -> "Plan":
        """This Plan with one value of the JobSet set; `of` is the part of it that the source is about."""
        jobset = put(self.jobset, path, value)
        return self.but(jobset=jobset, reads=self._read(jobset, (*path, *of), source))

    def with_pod(self, job: int, path: Path, value: Any, *, source: Source | None = None, of: Path = ()) -> "Plan":
        """This Plan with one value of a replicated job's pod template set; `of` as in `with_value`."""
        return self.with_value(("spec", "replicatedJobs", job, *POD, *path), value, source=source, of=of)

    def without(self, job: int, path: Path, field: str) -> "Plan":
        """This Plan without one field of an object in a replicated job's pod template."""
        there = at(self.replicated_jobs[job], (*POD, *path))
        return self.with_pod(job, path, {key: item for key, item in there.items() if key != field})

    def with_items(
        self, job: int, path: Path, items: Iterable[Mapping[str, Any]], *, source: Source | None = None, of: Path = ()
    ) -> "Plan":
        """This Plan with items of a keyed list of the pod template replaced where the key is there, else appended.

        `of` is the part of an item that the source is about, where it is not about all of it.
        """
        here = ("spec", "replicatedJobs", job, *POD, *path)
        plan, key = self, key_of(path[-1])
        for item in items:
            merged, index = upsert(at(plan.jobset, here) or [], item, key=key)
            jobset = put(plan.jobset, here, merged)
            plan = plan.but(jobset=jobset, reads=plan._read(jobset, (*here, index, *of), source))
        return plan

    def with_env(
        self,
        job: int,
        container: str,
        env: Iterable[Mapping[str, Any]],
        *,
        source: Source | None = None,
        of: Path = (),
    ) -> "Plan":
        """This Plan with environment variables set in a container of replicated job number `job`."""
        return self.with_items(job, (*self._container(job, container), "env"), env, source=source, of=of)

    def with_port(self, job: int, container: str, port: int) -> "Plan":
        """This Plan with a container port declared, unless it is already."""
        here = (*self._container(job, container), "ports")
        ports: list[Raw] = at(self.replicated_jobs[job], (*POD, *here)) or []
        if any(p.get("containerPort") == port and p.get("protocol", "TCP") == "TCP" for p in ports):
            return self
        return self.with_items(job, here, [{"containerPort": port, "protocol": "TCP"}])

    def with_volume(self, job: int, volume: Mapping[str, Any]) -> "Plan":
        """This Plan with a volume in the pods of replicated job number `job`."""
        return self.with_items(job, ("spec", "volumes"), [volume])

    def with_mount(self, job: int, container: str, mount: Mapping[str, Any]) -> "Plan":
        """This Plan with a volume mounted in a container."""
        return self.with_items(job, (*self._container(job, container), "volumeMounts"), [mount])

    def with_metadata(self, job: int, what: str, values: Mapping[str, str], *, source: Source | None = None) -> "Plan":
        """This Plan with `labels` or `annotations` on the pods of replicated job number `job`."""
        plan = self
        for key, value in values.items():
            plan = plan.with_pod(job, ("metadata", what, key), value, source=source)
        return plan

    def with_companion(self, raw: Raw, *, source: Source | None = None) -> "Plan":
        """This Plan with one more object beside the JobSet."""
        return self.but(companions=(*self.companions, raw), reads=self._read(raw, (), source))

    def with_reads(self, reads: Iterable[tuple[Path, Source]]) -> "Plan":
        """This Plan with where further values of the JobSet were read, by keyed path."""
        if self.reads is None:
            return self
        head = (self.jobset["kind"], self.name)
        return self.but(reads=(*self.reads, *(((*head, *path), source) for path, source in reads)))

    def with_size(self, **sizes: Any) -> "Plan":
        """This Plan with other counts."""
        return self.but(size=msgspec.structs.replace(self.size, **sizes))

    def with_problem(self, *problems: Problem) -> "Plan":
        """This Plan with something more to tell."""
        return self.but(problems=(*self.problems, *problems))

    def _container(self, job: int, name: str) -> Path:
        for kind in ("containers", "initContainers"):
            containers = at(self.replicated_jobs[job], (*POD, "spec", kind)) or []
            for i, container in enumerate(containers):
                if container.get("name") == name:
                    return ("spec", kind, i)
        raise LookupError(f"replicated job {job} has no container {name!r}")

    def _read(self, raw: Raw, path: Path, source: Source | None) -> tuple[tuple[Path, Source], ...] | None:
        if source is None or self.reads is None:
            return self.reads
        return (*self.reads, ((raw["kind"], raw["metadata"]["name"], *keyed(raw, path)), source))
