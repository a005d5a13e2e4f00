"""Documents in, Problems out: text, dialect, schema, structure, and documents among each other, in one pass. Pure."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Any, NamedTuple

from msgspec.structs import replace

from trainplane.api import rules
from trainplane.api.check import ENOUGH, check
from trainplane.api.dialects import Converted, to_hub
from trainplane.api.documents import Document, Parsed, parse
from trainplane.api.kinds import DIALECT_KINDS, HUB, KINDS, Kind, kind_of
from trainplane.api.loose import object_at, text_at
from trainplane.api.meta import Raw
from trainplane.api.problem import Located, Path, Problem, Rule, Severity, did_you_mean
from trainplane.api.schema import openapi
from trainplane.jobset import rules as of_jobset
from trainplane.trainjob import advise, validate
from trainplane.trainjob import rules as of_trainjob
from trainplane.trainjob import runtime_rules as of_runtime

RUNTIME_KINDS = ("ClusterTrainingRuntime", "TrainingRuntime")

_SCHEMA = tuple(f"TP{number:03}" for number in range(10, 30))
_EXPLAINS_LAW: tuple[Rule, ...] = (
    of_runtime.TWO_POLICIES,
    of_runtime.TWO_GANGS,
    of_runtime.BOUNDS_UPSIDE_DOWN,
    of_runtime.OUTSIDE_BOUNDS,
    of_runtime.ONE_BOUND,
)
"""What a law of the schema says of the object, these say of the very field: the law need not be heard as well."""
_EXPLAINS_AROUND: tuple[Rule, ...] = (of_runtime.POD_IN_JOBSET, of_runtime.POD_IN_JOB)
"""A pod in the wrong place makes every field of it unknown, and others missing: one message is enough."""

_AT_MANY_DEPTHS = ("kind", "name", "metadata", "spec", "template")


class Findings(NamedTuple):
    """Everything there is to say about some files, in the order of files, lines and columns."""

    located: tuple[Located, ...]
    files: int
    documents: int

    def how_many(self, severity: Severity) -> int:
        """How many there are of a severity."""
        return sum(found.severity is severity for found in self.located)

    @property
    def refused(self) -> bool:
        """Whether there is an error."""
        return any(found.severity is Severity.ERROR for found in self.located)


class Read(NamedTuple):
    """A document, what it is in the hub's words, and its kind where that is known."""

    document: Document
    converted: Converted
    kind: Kind | None

    @property
    def hub(self) -> Raw:
        """The document in the hub's words."""
        return self.converted.raw

    def locate(self, problem: Problem) -> Located:
        """A problem of the hub's document, at the place the author wrote."""
        return self.document.locate(replace(problem, path=self.converted.origin(problem.path)))


class Member(NamedTuple):
    """A TrainJob or runtime among the others: the number of its file, and whether it has no errors of its own."""

    number: int
    read: Read
    sound: bool

    def locate(self, problem: Problem) -> tuple[int, Located]:
        """A problem of this document, with the number of its file."""
        return self.number, self.read.locate(problem)


def lint(sources: Iterable[tuple[str, bytes | str]]) -> Findings:
    """Check texts, each with the name of its file; whatever the texts are, this never fails."""
    located: list[tuple[int, Located]] = []
    family: list[Member] = []
    files = documents = 0
    for file, data in sources:
        parsed = parse(data, file)
        documents += len(parsed.documents)
        lost = list(_indentation_lost(parsed, data))
        located += [(files, each.located) for each in lost]
        located += [(files, found) for found in parsed.problems if not any(each.holds(found.line) for each in lost)]
        for document in parsed.documents:
            if lost and any(each.holds(document.position().line) for each in lost):
                continue
            read = understand(document)
            found = list(judge(read))
            located += [(files, each) for each in found]
            if read.kind is not None and read.kind.api_version == HUB:
                family.append(Member(files, read, all(each.severity is not Severity.ERROR for each in found)))
        files += 1
    located += _between(family)
    return Findings(_ordered(located), files, documents)


def _ordered(located: Iterable[tuple[int, Located]]) -> tuple[Located, ...]:
    def key(found: tuple[int, Located]) -> tuple[Any, ...]:
        number, at = found
        return (number, at.line, at.column, at.problem.rule.id, at.problem.what)

    seen: dict[tuple[Any, ...], Located] = {}
    for found in sorted(located, key=key):
        seen.setdefault(key(found), found[1])
    return tuple(seen.values())


def understand(document: Document) -> Read:
    """A document in the hub's words, and its kind."""
    converted = to_hub(document.value)
    version, kind = converted.raw.get("apiVersion"), converted.raw.get("kind")
    known = kind_of(version, kind) if isinstance(version, str) and isinstance(kind, str) else None
    return Read(document, converted, None if converted.refused else known)


def judge(read: Read) -> Iterator[Located]:
    """What there is to say about a document by itself."""
    notes = list(read.converted.notes)
    if read.kind is None:
        yield from map(read.document.locate, notes)
        yield from map(read.document.locate, _stranger(read.document.value) if not notes else ())
        return
    shape = list(check(read.hub, openapi(read.kind.type)))
    misplaced = [problem for problem in shape if problem.rule is rules.MISPLACED and len(problem.path) <= 1]
    if misplaced:
        # The whole document is out of joint: what would be said of its parts is noise.
        yield from map(read.locate, misplaced)
        yield from (read.document.locate(note) for note in notes if note.rule is rules.DIALECT)
        return
    structure = list(islice(_structure(read.hub, read.kind), ENOUGH))
    yield from map(read.document.locate, notes)
    yield from map(read.locate, structure)
    yield from (read.locate(problem) for problem in shape if not _explained(problem, structure))


def _structure(hub: Mapping[str, Any], kind: Kind) -> Iterator[Problem]:
    # A TrainJob is the most frequent guest, and needs neither of these.
    if kind.kind == "JobSet" or kind.kind in RUNTIME_KINDS:
        from trainplane.jobset import validate as jobset
        from trainplane.trainjob import pods
    if kind.kind == "Role":
        from trainplane.trainjob import access
    if kind.api_version == HUB and kind.kind in RUNTIME_KINDS:
        yield from validate.runtime(hub)
        yield from advise.runtime(hub)
        path: Path = ("spec", "template", "spec")
        yield from jobset.template(object_at(hub, *path), at=path)
        yield from pods.runtime(hub)
    elif kind.api_version == HUB:
        yield from validate.trainjob(hub)
        yield from advise.trainjob(hub)
        if object_at(hub, "spec", "trainer"):
            from trainplane.trainjob import container

            yield from container.trainjob(hub)
    elif kind.kind == "JobSet":
        yield from jobset.jobset(hub)
    elif kind.kind == "Role":
        yield from access.role(hub)


def _explained(problem: Problem, structure: list[Problem]) -> bool:
    """Whether a rule of structure has said in better words what the schema says here."""
    if problem.rule.id not in _SCHEMA:
        return False
    for other in structure:
        if other.severity is not Severity.ERROR:
            continue
        around = other.path[:-1] if other.rule in _EXPLAINS_AROUND else other.path
        if problem.path[: len(around)] == around and (around != other.path or _same_place(problem, other)):
            return True
        if problem.rule is rules.LAW and other.rule in _EXPLAINS_LAW and problem.path == other.path[:-1]:
            return True
        if problem.rule is rules.LAW and other.rule is of_jobset.ORDERED_TWICE and problem.path == other.path[:-3]:
            return True
    return False


def _same_place(problem: Problem, other: Problem) -> bool:
    # A job without a template lacks it at the job itself.
    return problem.path == other.path or other.rule in (of_runtime.NAME_ONLY, of_runtime.POLICY_NAME)


def _stranger(value: Mapping[str, Any]) -> Iterator[Problem]:
    """An object whose kind we do not know: nothing to say, unless it is nearly one that we do."""
    version, kind = text_at(value, "apiVersion"), text_at(value, "kind")
    missing = [word for word, given in (("apiVersion", version), ("kind", kind)) if not given]
    if missing:
        todo = f"begin with {_likely(value)}"
        yield Problem(
            rules.MISSING_FIELD, (missing[0],), f"the document does not say its {' and '.join(missing)}", todo
        )
        return
    for known in (*KINDS, *DIALECT_KINDS):
        if known.kind == kind and known.group == version.rpartition("/")[0]:
            what = f"there is no {kind} in {version}"
            yield Problem(rules.UNKNOWN_VERSION, ("apiVersion",), what, f"did you mean {known.api_version}?")
            return
        if known.api_version == version and known.kind.casefold() == kind.casefold():
            what = f"there is no kind {kind} in {version}"
            yield Problem(rules.UNKNOWN_KIND, ("kind",), what, f"did you mean {known.kind}?")
            return


def _likely(value: Mapping[str, Any]) -> str:
    """What a document without apiVersion or kind most probably is."""
    spec = object_at(value, "spec")
    kind = "TrainJob" if "runtimeRef" in spec else "TrainingRuntime" if {"mlPolicy", "template"} & set(spec) else ""
    if kind:
        return f"apiVersion: {HUB} and kind: {kind}"
    return "apiVersion and kind: they say what the document is"


class _Lost(NamedTuple):
    """The lines of a document that has lost its indentation, and where that shows first."""

    first: int
    last: int
    located: Located

    def holds(self, line: int) -> bool:
        return self.first <= line < self.last


def _indentation_lost(parsed: Parsed, data: bytes | str) -> Iterator[_Lost]:
    """Documents whose fields all stand at one depth, so that words collide that every manifest has at several."""
    twice = [found for found in parsed.problems if found.problem.rule is rules.DUPLICATE_KEY]
    if len(twice) < 2:
        return
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    breaks = [number for number, line in enumerate(text.splitlines(), start=1) if line.startswith("---")]
    for first, last in pairwise([0, *breaks, sys.maxsize]):
        inside = [found for found in twice if first <= found.line < last]
        depths = Counter(found.problem.path[:-1] for found in inside if found.problem.path[-1] in _AT_MANY_DEPTHS)
        # With apiVersion twice it is two documents without a --- between them.
        if max(depths.values(), default=0) > 1 and not any(found.problem.path[-1] == "apiVersion" for found in inside):
            yield _Lost(first, last, _say_lost(inside))


def _say_lost(twice: list[Located]) -> Located:
    words = list(dict.fromkeys(str(found.problem.path[-1]) for found in twice))
    what = f"{' and '.join(words[:2])} are written again at the same depth: the indentation is lost"
    todo = "copy the text with its indentation, or indent every field under the one it belongs to"
    path = twice[0].problem.path[:-1]
    return replace(twice[0], problem=Problem(of_runtime.INDENTATION_LOST, path, what, todo))


def _between(family: list[Member]) -> Iterator[tuple[int, Located]]:
    """What TrainJobs and runtimes of the same files say of each other, and what only rendering them shows."""
    by_name: dict[str, list[Member]] = {}
    for member in family:
        if member.read.hub["kind"] in RUNTIME_KINDS:
            by_name.setdefault(text_at(member.read.hub, "metadata", "name"), []).append(member)
            if member.sound and object_at(member.read.hub, "spec", "podGroupPolicy"):
                from trainplane.trainjob import pairs

                yield from map(member.locate, pairs.gangs(member.read.hub))
    used: set[str] = set()
    for member in family:
        if member.read.hub["kind"] == "TrainJob":
            used.add(text_at(member.read.hub, "spec", "runtimeRef", "name"))
            yield from _reference(member, by_name)
    for member in (each for name, members in by_name.items() if name not in used for each in members):
        if member.sound:
            from trainplane.trainjob import pairs

            yield from map(member.locate, pairs.alone(member.read.hub))


def _reference(member: Member, by_name: Mapping[str, list[Member]]) -> Iterator[tuple[int, Located]]:
    path: Path = ("spec", "runtimeRef")
    job = member.read.hub
    reference = object_at(job, *path)
    name, kind = text_at(reference, "name"), text_at(reference, "kind") or "ClusterTrainingRuntime"
    if not name or kind not in RUNTIME_KINDS:
        return
    namesakes = by_name.get(name, [])
    of_kind = [each for each in namesakes if each.read.hub["kind"] == kind]
    reached = [each for each in of_kind if kind == "ClusterTrainingRuntime" or _one_namespace(job, each.read.hub)]
    if reached:
        # Where two groups have the name, the group that the author's reference names goes first.
        group = text_at(member.read.document.value, *path, "apiGroup") or "trainer.kubeflow.org"
        yield from _pair(member, min(reached, key=lambda each: each.read.converted.source_group != group))
    elif of_kind:
        other = text_at(of_kind[0].read.hub, "metadata", "namespace")
        what = f"the TrainingRuntime {name} lives in the namespace {other}, the TrainJob does not"
        todo = "move one of them, or make the runtime a ClusterTrainingRuntime"
        yield member.locate(Problem(of_trainjob.RUNTIME_OTHER_NAMESPACE, (*path, "name"), what, todo))
    elif namesakes:
        other = str(namesakes[0].read.hub["kind"])
        what = f"{name} is a {other} in these files, and a {kind} is looked for"
        yield member.locate(Problem(of_trainjob.RUNTIME_OTHER_KIND, path, what, f"write kind: {other}"))
    else:
        yield member.locate(_not_given(name, kind, path=(*path, "name"), known=by_name))


def _pair(job: Member, runtime: Member) -> Iterator[tuple[int, Located]]:
    """What a TrainJob and its runtime say of each other; only what is sound in itself can be rendered."""
    if not (job.sound and runtime.sound and text_at(job.read.hub, "metadata", "name")):
        yield from map(job.locate, validate.pair(job.read.hub, runtime.read.hub))
        yield from map(job.locate, advise.pair(job.read.hub, runtime.read.hub))
        return
    from trainplane.trainjob import pairs

    for problem in pairs.pair(job.read.hub, runtime.read.hub):
        yield (runtime if pairs.is_runtimes(problem) else job).locate(problem)


def _not_given(name: str, kind: str, *, path: Path, known: Iterable[str]) -> Problem:
    # Among very many runtimes a near name is chance.
    names = list(filter(None, known))
    near = did_you_mean(name, names, cutoff=0.85) if 0 < len(names) < 100 else ""
    if near:
        what = f"there is no runtime {name} in these files, but one called {near}"
        return Problem(of_trainjob.RUNTIME_NEARLY, path, what, f"did you mean {near}?")
    what = f"the {kind} {name} is not among these files, so nothing was checked against it"
    return Problem(of_trainjob.RUNTIME_NOT_GIVEN, path, what, "to check both together, give its file as well")


def _one_namespace(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> bool:
    """Whether both may lie in one namespace; what names none is put where it is needed."""
    ours, theirs = text_at(job, "metadata", "namespace"), text_at(runtime, "metadata", "namespace")
    return not ours or not theirs or ours == theirs
