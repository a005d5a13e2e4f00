"""What the verbs that render are given: TrainJobs, and for each the runtime it names; and what became of each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files as resources
from typing import Any, TypeVar

import click

from trainplane.api import rules
from trainplane.api.documents import parse
from trainplane.api.kinds import HUB
from trainplane.api.loose import text_at
from trainplane.api.meta import Raw
from trainplane.api.problem import Located, Path, Problem, Severity, did_you_mean, show
from trainplane.cli.lint import expanded, read, told
from trainplane.lint import RUNTIME_KINDS, Read, judge, understand
from trainplane.trainjob import default, pairs, validate
from trainplane.trainjob.blame import Chains
from trainplane.trainjob.pipeline import Refused, build, build_with_blame
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.plan_rules import RUNTIME_MISSING
from trainplane.trainjob.tree import at, positions

BUILT_IN = "built-in/"
"""How the places of built-in runtimes begin."""
WHEN = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of everything that is rendered here: what is printed twice is the same twice."""

Verb = TypeVar("Verb", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Inputs:
    """The documents that were given, in the hub's words."""

    jobs: tuple[Read, ...]
    runtimes: tuple[Read, ...]
    """In the order in which they are looked at; the built-in ones come after them."""
    problems: tuple[Located, ...]
    """What is wrong with texts, and with documents that are nearly TrainJobs or runtimes."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What became of one TrainJob: its Plan, or the problems for which it is refused."""

    job: Read
    runtime: Read | None = None
    plan: Plan | None = None
    chains: Chains = field(default_factory=dict)
    problems: tuple[Located, ...] = ()
    """Everything there is to say of the job and its runtime, whether it refuses or not."""

    @property
    def name(self) -> str:
        """The TrainJob's name, with its namespace where it has one."""
        namespace, name = (text_at(self.job.hub, "metadata", part) for part in ("namespace", "name"))
        return f"{namespace}/{name}" if namespace else name

    @property
    def errors(self) -> tuple[Located, ...]:
        """The problems that refuse it."""
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    def place(self, source: Source) -> tuple[str, int, int, str] | None:
        """File, line, column and field of the author's document where a value was read."""
        document = {"job": self.job, "runtime": self.runtime}.get(source.document)
        if document is None or not source.path:
            return None
        there = positions(document.hub, source.path)
        path = document.converted.origin((*there, *source.path[len(there) :]))
        where = document.document.position(path)
        return document.document.file, where.line, where.column, show(path)


def given(verb: Verb) -> Verb:
    """The options of every verb that reads TrainJobs: `-f FILE…` and `--runtime-dir DIR`."""
    for option in (
        click.option(
            "--runtime-dir",
            "runtime_dirs",
            metavar="DIR",
            multiple=True,
            type=click.Path(),
            help="Look for runtimes here, too.",
        ),
        click.option(
            "-f",
            "--filename",
            "filenames",
            metavar="FILE|DIR|-",
            multiple=True,
            type=click.Path(allow_dash=True),
            help="What to read; the -f may be left out.",
        ),
        click.argument("files", metavar="FILE|DIR|-...", nargs=-1, type=click.Path(allow_dash=True)),
    ):
        verb = option(verb)
    return verb


def load(filenames: Iterable[str], *, runtime_dirs: Iterable[str] = ()) -> Inputs:
    """Read files and folders; of the folders of runtimes, only the runtimes."""
    names = tuple(filenames)
    if not names:
        raise click.UsageError("nothing to read; name files or folders with -f, or - for the standard input")
    documents, problems = _documents(names)
    shelf, more = _documents(tuple(runtime_dirs)) if runtime_dirs else ([], [])
    return Inputs(
        jobs=tuple(each for each in documents if is_kind(each, "TrainJob")),
        runtimes=tuple(each for each in (*documents, *shelf) if is_kind(each, *RUNTIME_KINDS)),
        problems=(*problems, *more),
    )


def _documents(names: tuple[str, ...]) -> tuple[list[Read], list[Located]]:
    documents: list[Read] = []
    problems: list[Located] = []
    for file in expanded(names):
        parsed = parse(read(file), file)
        problems += [found for found in parsed.problems if found.severity is Severity.ERROR]
        for document in parsed.documents:
            each = understand(document)
            documents.append(each)
            if each.kind is None:
                problems += [found for found in judge(each) if found.severity is Severity.ERROR]
    return documents, problems


def is_kind(each: Read, *kinds: str) -> bool:
    """Whether a document is of one of the hub's kinds."""
    return each.kind is not None and each.kind.api_version == HUB and each.kind.kind in kinds


@cache
def built_in() -> tuple[Read, ...]:
    """The runtimes that come with Trainplane."""
    folder = resources("trainplane") / "runtimes"
    texts = sorted((file.name, file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".yaml"))
    return tuple(
        understand(document) for name, data in texts for document in parse(data, f"{BUILT_IN}{name}").documents
    )


def named(inputs: Inputs, job: Read) -> Read | Problem:
    """The runtime that a TrainJob names: in the files, in the folders, then built in; or why there is none."""
    path: Path = ("spec", "runtimeRef")
    name = text_at(job.hub, *path, "name")
    kind = text_at(job.hub, *path, "kind") or "ClusterTrainingRuntime"
    group = text_at(job.hub, *path, "apiGroup") or "trainer.kubeflow.org"
    known = (*inputs.runtimes, *built_in())
    namesakes = [each for each in known if text_at(each.hub, "metadata", "name") == name]
    reached = [each for each in namesakes if is_kind(each, kind) and _reaches(each, job)]
    if reached:
        # Where two groups have the name, the group that the reference names goes first.
        return next((each for each in reached if each.converted.source_group == group), reached[0])
    what = f"there is no {kind} {name} in these files, nor among the built-in"
    if namesakes:
        other = namesakes[0].hub["kind"]
        same = f"{name} is there in another namespace: give both the same"
        return Problem(
            RUNTIME_MISSING, path, what, same if other == kind else f"{name} is a {other}: write kind: {other}"
        )
    near = did_you_mean(name, [text_at(each.hub, "metadata", "name") for each in known])
    todo = "give its file as well, or name its folder with --runtime-dir"
    return Problem(RUNTIME_MISSING, (*path, "name"), what, f"did you mean {near}? Otherwise {todo}" if near else todo)


def _reaches(runtime: Read, job: Read) -> bool:
    """Whether a TrainJob may use the runtime; what names no namespace is put where it is needed."""
    theirs, ours = text_at(runtime.hub, "metadata", "namespace"), text_at(job.hub, "metadata", "namespace")
    return is_kind(runtime, "ClusterTrainingRuntime") or not ours or not theirs or ours == theirs


def render(job: Read, runtime: Read | Problem, *, blame: bool = False) -> Rendered:
    """What one TrainJob becomes on a runtime, or everything for which it is refused."""
    found = [*judge(job), *_nameless(job)]
    if isinstance(runtime, Problem):
        # What is wrong with the reference itself has been said in better words.
        known = any(each.problem.path[:2] == runtime.path[:2] for each in found if each.severity is Severity.ERROR)
        return Rendered(job, problems=tuple(found) if known else (*found, job.locate(runtime)))
    found += judge(runtime)
    result = Rendered(job, runtime, problems=tuple(found))
    if result.errors:
        return result
    on = default.runtime(runtime.hub)
    raw = default.trainjob(job.hub, now=WHEN, on=on)
    pair = list(pairs.settings(raw, on))
    result = replace(result, problems=(*found, *(_located(problem, job, runtime) for problem in pair)))
    if result.errors:
        return result
    try:
        plan, chains = build_with_blame(raw, on) if blame else (build(raw, on), {})
    except Refused as refused:
        return replace(
            result, problems=(*result.problems, *(_located(problem, job, runtime) for problem in refused.problems))
        )
    more = (*plan.problems, *pairs.arguments(plan, job.hub))
    problems = (*result.problems, *(_located(problem, job, runtime) for problem in more))
    return replace(result, plan=plan, chains=chains, problems=problems)


def objects_of(job: Raw, runtime: Read) -> tuple[Raw, ...] | None:
    """The objects of a TrainJob that need not be anybody's document; None where it is refused."""
    on = default.runtime(runtime.hub)
    raw = default.trainjob(job, now=WHEN, on=on)
    if any(problem.severity is Severity.ERROR for problem in validate.pair(raw, on)):
        return None
    try:
        return build(raw, on).objects
    except Refused:
        return None


def _located(problem: Problem, job: Read, runtime: Read) -> Located:
    return (runtime if pairs.is_runtimes(problem) else job).locate(problem)


def _nameless(job: Read) -> Iterator[Located]:
    if not text_at(job.hub, "metadata", "name"):
        what = "the TrainJob has no name, which its objects are called by"
        yield job.locate(Problem(rules.MISSING_FIELD, ("metadata",), what, "add metadata.name"))


def told_once(problems: Iterable[Located]) -> Iterator[str]:
    """The lines of problems, each problem once, file by file and from top to bottom."""
    found = list(dict.fromkeys(problems))
    files = list(dict.fromkeys(problem.file for problem in found))
    for problem in sorted(found, key=lambda each: (files.index(each.file), each.line, each.column)):
        yield from told(problem)


def source_name(runtime: Read) -> str:
    """A runtime and where it is from, in a few words."""
    what = f"{runtime.hub['kind']} {text_at(runtime.hub, 'metadata', 'name')}"
    file = runtime.document.file
    return f"{what} (built in)" if file.startswith(BUILT_IN) else f"{what} ({file}:{runtime.document.position().line})"


def value_at(document: Read, path: Path) -> Any:
    """The value at a path of keys or positions of a document in the hub's words; None where it is left out."""
    there = positions(document.hub, path)
    return at(document.hub, there) if len(there) == len(path) else None
