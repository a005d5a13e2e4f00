"""`trainplane token`: made, used, listed and revoked while the cluster runs."""

import json
import time

import pytest
import yaml

from tests.cli.clusters import Clusters, fetch

NAMESPACES = "/api/v1/namespaces"
TRAINJOBS = "/apis/trainer.kubeflow.org/v1alpha1/trainjobs"


def test_a_token_holds_from_the_next_request_until_it_is_revoked(clusters: Clusters) -> None:
    clusters.up()
    made = clusters.run("token", "create", "alice", "--group", "trainplane.dev:viewers", "--ttl", "1h30m")
    secret = made.stdout.strip()
    assert "holds until " in made.stderr
    assert fetch(clusters.target(), TRAINJOBS, token=secret)[0] == 200
    code, refused = fetch(clusters.target(), "/api/v1/secrets", token=secret)
    assert code == 403
    assert 'User "alice" cannot list resource "secrets"' in refused["message"]
    listed = clusters.run("token", "list").stdout
    assert listed.splitlines()[1].split()[1] == "alice"
    assert secret not in listed
    (row,) = json.loads(clusters.run("token", "list", "-o", "json").stdout)
    assert (row["user"], row["groups"], row["valid"]) == ("alice", ["trainplane.dev:viewers"], True)
    assert made.stderr.startswith(f"{row['id']} holds until ")
    assert clusters.run("token", "revoke", row["id"]).stdout == "revoked 1 token of alice\n"
    assert fetch(clusters.target(), TRAINJOBS, token=secret)[0] == 401


def test_a_token_ends_by_itself(clusters: Clusters) -> None:
    clusters.up()
    secret = clusters.run("token", "create", "alice", "--group", "system:masters", "--ttl", "1s").stdout.strip()
    for _ in range(200):
        code, _ = fetch(clusters.target(), NAMESPACES, token=secret)
        if code == 401:
            break
        time.sleep(0.05)
    assert code == 401
    assert clusters.run("token", "list").stdout.splitlines()[1].split()[4] == "expired"


def test_a_kubeconfig_can_be_handed_over(clusters: Clusters) -> None:
    clusters.up()
    made = clusters.run("token", "create", "ci", "-o", "kubeconfig").stdout
    assert [each["name"] for each in yaml.safe_load(made)["users"]] == ["ci"]
    (clusters.home / "ci.yaml").write_text(made)
    said = clusters.kubectl("--kubeconfig", str(clusters.home / "ci.yaml"), "auth", "whoami", "-o", "json")
    assert json.loads(said)["status"]["userInfo"]["username"] == "ci"


@pytest.mark.parametrize("time", ["1", "soon", "0h", "1h-2m", "-1h", "1.5h"])
def test_a_time_that_is_none_is_refused(clusters: Clusters, time: str) -> None:
    done = clusters.run("token", "create", "alice", f"--ttl={time}", code=2)
    assert "Invalid value for '--ttl'" in done.stderr


def test_there_must_be_a_cluster_and_a_token(clusters: Clusters) -> None:
    assert "there is no cluster trainplane" in clusters.refusal("token", "create", "alice")
    assert not (clusters.home / "state").exists()
    clusters.up()
    assert clusters.run("token", "list").stdout == (
        "cluster trainplane has no tokens; make one with: trainplane token create USER\n"
    )
    assert clusters.refusal("token", "revoke", "bob").startswith("there is no token 'bob', nor one of such a user")


def test_whoever_has_a_token_is_known_as_the_submitter(clusters: Clusters) -> None:
    clusters.up("--nodes", "1", "--simulate")
    secret = clusters.run("token", "create", "alice", "--group", "trainplane.dev:users").stdout.strip()
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "annotations": {"trainplane.dev/submitter": "bob"}},
        "spec": {"runtimeRef": {"name": "plain"}},
    }
    jobs = TRAINJOBS.replace("trainjobs", "namespaces/default/trainjobs")
    code, made = fetch(clusters.target(), jobs, token=secret, body=job)
    assert code == 201, made
    assert made["metadata"]["annotations"]["trainplane.dev/submitter"] == "alice"
    clusters.run("delete", "digits")
    head, row = clusters.run("history", "-o", "wide").stdout.splitlines()
    assert row.split()[head.split().index("SUBMITTER")] == "alice"
