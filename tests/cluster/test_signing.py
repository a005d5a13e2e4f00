"""Who made a TrainJob is what the request has proved, and nobody but an administrator can say otherwise."""

from typing import Any

import pytest

from trainplane.cluster.access import User
from trainplane.cluster.signing import signed

Raw = dict[str, Any]
JOBS = "trainjobs.trainer.kubeflow.org"
ALICE, BOB = User("alice", ("trainplane.dev:users",)), User("bob")
ADMIN = User("root", ("system:masters",))


def job(submitter: str | None = None) -> Raw:
    annotations = {"team": "vision", **({"trainplane.dev/submitter": submitter} if submitter else {})}
    return {"kind": "TrainJob", "metadata": {"name": "digits", "annotations": annotations}, "spec": {}}


@pytest.mark.parametrize(
    ("new", "old", "user", "noted"),
    [
        pytest.param(job(), None, ALICE, "alice", id="whoever makes it"),
        pytest.param(job("bob"), None, ALICE, "alice", id="whatever they say"),
        pytest.param(job("bob"), job("alice"), BOB, "alice", id="nobody can take it over"),
        pytest.param(job(), job("alice"), ALICE, "alice", id="nor take it away"),
        pytest.param(job("bob"), job(), BOB, None, id="nor add it later"),
        pytest.param(job(), None, ADMIN, None, id="administrators are not noted"),
        pytest.param(job("bob"), None, ADMIN, "bob", id="and may make it for others"),
        pytest.param(job("bob"), job("alice"), ADMIN, "bob", id="or correct it"),
    ],
)
def test_the_submitter(new: Raw, old: Raw | None, user: User, noted: str | None) -> None:
    found = signed(new, old, resource=JOBS, user=user)["metadata"]["annotations"]
    assert found.get("trainplane.dev/submitter") == noted
    assert found["team"] == "vision"


def test_other_objects_are_left_alone() -> None:
    assert signed(job("bob"), None, resource="pods", user=ALICE) == job("bob")
    bare: Raw = {"metadata": {"name": "digits"}}
    assert signed(bare, bare, resource=JOBS, user=ALICE) == bare
