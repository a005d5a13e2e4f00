"""What a real API server with JobSet refuses is refused here, at the same fields; and what it takes is taken.

`tests/golden/jobset-refusals` has the JobSets and their changes, and which fields the real one named.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Golden
from tests.jobset.real import MERGE, RealJobSets
from tests.jobset.worlds import API, NS, Denied, admitted
from tests.places import ROOT
from trainplane.api.check import check
from trainplane.api.jobset import JobSet
from trainplane.api.merge import merge_patch
from trainplane.api.problem import Severity
from trainplane.api.schema import openapi

Raw = dict[str, Any]
FOLDER = ROOT / "tests/golden/jobset-refusals"
CASES = yaml.load((FOLDER / "in.yaml").read_text(), Loader=yaml.CSafeLoader)
STRICTER = {
    "parallelism without completions": "every Job would be refused, out of sight",
    "waits for itself": "it would wait for ever",
    "replicas below zero": "no Job would be made, and the JobSet would never end",
    "change: a failure policy that was not there": "the Jobs were made without it",
}
"""What is refused here and not there, and why."""


def document(case: Raw) -> Raw:
    return {"apiVersion": API, "kind": "JobSet", "metadata": case.get("metadata", {"name": "js"}), "spec": case["spec"]}


def refused(raw: Raw, old: Raw | None = None) -> set[str] | None:
    """The fields for which a JobSet is refused; None where it is taken."""
    found = [problem for problem in check(raw, openapi(JobSet), old=old) if problem.severity is Severity.ERROR]
    if not found:
        try:
            admitted(raw, old)
        except Denied as denied:
            found = denied.problems
    return {plain(problem.field) for problem in found} or None


def here(case: Raw) -> set[str] | None:
    raw = document(case)
    raw["metadata"]["namespace"] = NS
    if "update" not in case:
        return refused(raw)
    stored = admitted(raw)
    return refused(merge_patch(stored, case["update"]), stored)


def plain(field: str) -> str:
    """A field without the places in lists, which the real one often leaves out; of claims it writes the path wrong."""
    return re.sub(r"\[[^]]*\]", "", field).replace("Policies.template.name", "Policies.templates.metadata.name")


def covers(ours: set[str], theirs: str) -> bool:
    """Whether one of our fields is the field, or lies in it."""
    return any(one == theirs or one.startswith(theirs + ".") for one in ours)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_refusal(case: Raw) -> None:
    theirs = yaml.load((FOLDER / "out.yaml").read_text(), Loader=yaml.CSafeLoader)[case["name"]]
    ours = here(case)
    if case["name"] in STRICTER:
        assert theirs == "taken"
        assert ours
    elif theirs == "taken":
        assert ours is None
    else:
        assert ours is not None
        assert [field for field in theirs if not covers(ours, plain(field))] == []


def test_the_real_cluster_says_so(real_kubeconfig: Path, golden: Golden) -> None:
    stage = RealJobSets(real_kubeconfig, "jobset-refusals")
    said = {}
    try:
        for case in CASES:
            dry = "?dryRun=All&fieldValidation=Strict"
            answer = stage.call("POST", stage.jobsets() + ("" if "update" in case else dry), document(case))
            if "update" in case:
                assert answer["kind"] == "JobSet", answer
                answer = stage.call("PATCH", f"{stage.jobsets()}/js{dry}", case["update"], MERGE)
                stage.call("DELETE", f"{stage.jobsets()}/js")
            causes = (answer.get("details") or {}).get("causes", []) if answer["kind"] == "Status" else []
            fields = sorted({cause["field"] for cause in causes if cause.get("field") not in (None, "<nil>", "")})
            said[case["name"]] = fields if answer["kind"] == "Status" else "taken"
    finally:
        stage.close()
    golden.check(FOLDER, yaml.safe_dump(said, sort_keys=False, width=110))
