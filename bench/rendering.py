"""Rendering measured: a TrainJob's bytes to its objects' bytes, plain and with blame, and what dominates."""

import cProfile
import io
import json
import pstats
import time
from datetime import UTC, datetime

import msgspec
import orjson
import yaml

from bench.documents import RUNTIME, trainjob
from bench.measure import Row, per_second
from trainplane.api.decode import accepted
from trainplane.api.meta import Raw
from trainplane.api.problem import Severity
from trainplane.api.trainer import TrainJob
from trainplane.trainjob import default, validate
from trainplane.trainjob.pipeline import build, build_with_blame

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
JOBS = (1, 10, 50, 100)


def rendered(text: bytes, runtime: Raw, *, blame: bool = False) -> bytes:
    """The whole way of one TrainJob: decode, default, validate, the pipeline, encode."""
    raw = msgspec.json.decode(text)
    if not accepted(raw, TrainJob, nulls=b"null" in text):
        raise ValueError("the measured TrainJob is refused by the schema")
    job = default.trainjob(raw, now=NOW, on=runtime)
    found = (*validate.trainjob(job), *validate.pair(job, runtime))
    if any(problem.severity is Severity.ERROR for problem in found):
        raise ValueError("the measured TrainJob is refused")
    plan = build_with_blame(job, runtime)[0] if blame else build(job, runtime)
    return orjson.dumps(plan.objects)


def documents(jobs: int = 1) -> tuple[bytes, Raw]:
    """A two-node torch TrainJob, and its runtime with that many replicated jobs."""
    runtime = yaml.safe_load(RUNTIME.format(number=0))
    (node,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    more = [{"name": f"stage-{i}", "template": {"spec": node["template"]["spec"]}} for i in range(1, jobs)]
    runtime["spec"]["template"]["spec"]["replicatedJobs"] = [node, *more]
    return json.dumps(yaml.safe_load(trainjob())).encode(), default.runtime(runtime)


def rendering() -> list[Row]:
    """Renders per second of a two-node torch TrainJob, plain and with blame, beside reading and writing JSON alone."""
    text, runtime = documents()
    result = rendered(text, runtime)
    plain = per_second(lambda: (json.loads(text), json.dumps(json.loads(result))), rounds=7, seconds=0.5)
    rows = []
    for what, blame, aim in (("render", False, 1500), ("render with blame", True, 500)):
        rate = per_second(lambda blame=blame: rendered(text, runtime, blame=blame), rounds=7, seconds=0.5)
        rows.append(
            Row(
                what=f"{what} a two-node torch TrainJob, from bytes to bytes, one core",
                figure=f"{rate:,.0f}/s",
                aim=f"at least {aim:,}/s",
                baseline=f"json alone, in and out: {plain:,.0f}/s",
                ratio=f"{plain / rate:.1f}×",
                reached=rate >= aim,
            )
        )
    return rows


def growth() -> list[Row]:
    """What each replicated job costs: linear, so that it costs no more among a hundred than among ten."""
    pairs = [documents(jobs) for jobs in JOBS]
    costs = [[_seconds(text, runtime) for text, runtime in pairs] for _ in range(9)]
    best = dict(zip(JOBS, map(min, zip(*costs, strict=True)), strict=True))
    each = best[10] / 10
    return [
        Row(
            what=f"render with {jobs} replicated job{'' if jobs == 1 else 's'}",
            figure=f"{cost * 1000:.2f} ms",
            aim="" if jobs < 10 else "linear: at most 1.5× as much for each job as with 10",
            baseline=f"{cost / jobs * 1e6:,.0f} µs for each job",
            ratio=f"{cost / jobs / each:.1f}×",
            reached=jobs < 10 or cost / jobs <= 1.5 * each,
        )
        for jobs, cost in best.items()
    ]


def _seconds(text: bytes, runtime: Raw) -> float:
    start = time.perf_counter()
    for _ in range(10):
        rendered(text, runtime)
    return (time.perf_counter() - start) / 10


def profile(*, blame: bool, lines: int = 12) -> str:
    """Where the time goes: the functions that take most of it themselves."""
    text, runtime = documents()
    rendered(text, runtime, blame=blame)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(200):
        rendered(text, runtime, blame=blame)
    profiler.disable()
    out = io.StringIO()
    pstats.Stats(profiler, stream=out).strip_dirs().sort_stats("tottime").print_stats(lines)
    return "\n".join(line for line in out.getvalue().splitlines() if line.strip())
