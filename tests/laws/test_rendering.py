"""Whatever shape documents have, rendering refuses them in words or accounts for every leaf: it never fails."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.pipelines import pairs, unblamed
from tests.strategies import shaped
from trainplane.api.documents import parse
from trainplane.api.meta import Raw
from trainplane.api.schema import openapi
from trainplane.api.trainer import ClusterTrainingRuntime, TrainJob
from trainplane.cli.inputs import render
from trainplane.lint import Read, understand
from trainplane.trainjob.explain import arithmetic, replaced, short

JOB, RUNTIME = (openapi(kind)["properties"]["spec"] for kind in (TrainJob, ClusterTrainingRuntime))


def grafted(draw: st.DrawFn, good: Any, strange: Any) -> Any:
    """A value that works with parts that merely have the right shape."""
    if isinstance(good, dict) and isinstance(strange, dict):
        both = {key: grafted(draw, good[key], strange[key]) if key in strange else good[key] for key in good}
        return {**strange, **both}
    if isinstance(good, list) and isinstance(strange, list) and good and strange:
        return [grafted(draw, good[0], strange[0]), *good[1:]]
    return strange if draw(st.booleans()) else good


@st.composite
def strange_pairs(draw: st.DrawFn) -> tuple[Raw, Raw]:
    """A TrainJob and its runtime, one of them or both with parts made from the schema."""
    job, runtime = draw(pairs())
    which = draw(st.sampled_from(["job", "runtime", "both"]))
    if which != "runtime":
        spec = grafted(draw, job["spec"], draw(shaped(JOB, 9)))
        job = {**job, "spec": {**spec, "runtimeRef": job["spec"]["runtimeRef"]}}
    if which != "job":
        runtime = {**runtime, "spec": grafted(draw, runtime["spec"], draw(shaped(RUNTIME, 12)))}
    return job, runtime


def document(raw: Raw, file: str) -> Read:
    """An object as if read from a file."""
    (found,) = parse(json.dumps(raw), file).documents
    return understand(found)


@settings(max_examples=max(100, settings.default.max_examples))
@given(strange_pairs())
def test_strange_documents_are_refused_or_rendered_with_blame(pair: tuple[Raw, Raw]) -> None:
    result = render(document(pair[0], "job.json"), document(pair[1], "runtime.json"), blame=True)
    assert (result.plan is None) == bool(result.errors)
    assert all(found.problem.what and found.line for found in result.problems)
    if result.plan:
        assert list(unblamed(result.plan, result.chains)) == []
        assert arithmetic(result.plan).world >= 1
        assert list(short(result.plan.jobset))
        assert isinstance(replaced(result.chains), list)
