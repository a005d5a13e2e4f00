"""`trainplane backup` and `restore`: with the cluster running and without, and the revision never goes back."""

import json
import stat
from pathlib import Path
from typing import Any

from tests.cli.clusters import Clusters, fetch, open_stream
from tests.places import ROOT
from trainplane.furniture import NAMESPACES

MAPS = "/api/v1/namespaces/default/configmaps"


def _config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"of": name}}


def _names(clusters: Clusters) -> list[str]:
    _, page = fetch(clusters.target(), MAPS)
    return [item["metadata"]["name"] for item in page["items"]]


def _revision(raw: dict[str, Any]) -> int:
    return int(raw["metadata"]["resourceVersion"])


def test_a_runtime_outlives_its_cluster(clusters: Clusters) -> None:
    example = str(ROOT / "examples" / "kubeflow" / "torch-labelled.yaml")
    clusters.up()
    said = clusters.kubectl("apply", "-f", example)
    assert said.endswith(" created\n")
    name = said.split()[0]
    before = json.loads(clusters.kubectl("get", name, "-o", "json"))
    clusters.run("backup", "all.db")
    clusters.kubectl("delete", name)
    clusters.run("down")
    clusters.run("restore", "all.db", "--yes")
    clusters.up()
    after = json.loads(clusters.kubectl("get", name, "-o", "json"))
    assert after["spec"] == before["spec"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert _revision(after) > _revision(before)


def test_a_running_cluster_is_backed_up_and_restored(clusters: Clusters) -> None:
    clusters.up()
    fetch(clusters.target(), MAPS, body=_config_map("early"))
    done = clusters.run("backup", "all.db")
    assert done.stdout.startswith("all.db: ")
    assert stat.S_IMODE((clusters.home / "all.db").stat().st_mode) == 0o600
    _, late = fetch(clusters.target(), MAPS, body=_config_map("late"))
    _, page = fetch(clusters.target(), MAPS)
    since = page["metadata"]["resourceVersion"]
    with open_stream(clusters.target(), f"{MAPS}?watch=true&resourceVersion={since}") as watch:
        clusters.run("restore", "all.db", "--yes")
        event = json.loads(watch.readline())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert _names(clusters) == ["early", "kube-root-ca.crt"]
    code, _ = fetch(clusters.target(), f"{MAPS}?watch=true&resourceVersion={since}")
    assert code in (200, 410)
    code, new = fetch(clusters.target(), MAPS, body=_config_map("new"))
    assert code == 201
    assert _revision(new) > _revision(late)


def test_a_restore_into_nothing_makes_a_cluster(clusters: Clusters) -> None:
    clusters.up("--name", "old")
    fetch(clusters.target("old"), MAPS, body=_config_map("moved"))
    clusters.run("backup", "--name", "old", "all.db")
    clusters.run("restore", "--name", "trainplane", "all.db")
    clusters.up()
    assert _names(clusters) == ["kube-root-ca.crt", "moved"]


def test_a_restore_mends_a_cluster_whose_data_is_damaged(clusters: Clusters) -> None:
    clusters.up()
    fetch(clusters.target(), MAPS, body=_config_map("kept"))
    clusters.run("backup", "all.db")
    clusters.run("down")
    file = clusters.folder() / "store" / "store.db"
    file.write_bytes(b"not a database" * 1_000)
    said = clusters.refusal("restore", "all.db")
    assert said.startswith("Replace what cannot be read of cluster trainplane (")
    clusters.run("restore", "all.db", "--yes")
    clusters.up()
    assert _names(clusters) == ["kept", "kube-root-ca.crt"]
    assert file.with_name("unreadable-store.db").read_bytes().startswith(b"not a database")


def test_a_restore_asks_first(clusters: Clusters) -> None:
    # Without nodes, whose heartbeats are writes.
    clusters.up("--nodes", "0")
    clusters.run("backup", "all.db")
    before = clusters.state()
    said = clusters.refusal("restore", "all.db")
    count = sum(before["objects"].values())
    assert said.startswith(f"Replace {count} objects of cluster trainplane by {count} objects of all.db?")
    assert "add --yes" in said
    assert clusters.state()["revision"] == before["revision"]


def test_a_file_is_not_overwritten(clusters: Clusters) -> None:
    clusters.up()
    (clusters.home / "all.db").write_text("dear to me")
    assert clusters.refusal("backup", "all.db") == "all.db is there already; name another file"
    assert (clusters.home / "all.db").read_text() == "dear to me"


def test_what_is_no_backup_changes_nothing(clusters: Clusters) -> None:
    clusters.up()
    (clusters.home / "letter").write_text("dear to me, and longer than a header of a database would be" * 9)
    for running in (True, False):
        assert clusters.refusal("restore", "--yes", "none.db") == (
            "none.db is not there; name a file that a backup wrote"
        )
        assert "letter is damaged (file is not a database)" in clusters.refusal("restore", "--yes", "letter")
        if running:
            assert _names(clusters) == ["kube-root-ca.crt"]
            clusters.run("down")
    assert clusters.state()["objects"]["namespaces"] == len(NAMESPACES)


def test_there_must_be_a_cluster_to_back_up(clusters: Clusters) -> None:
    assert "there is no cluster trainplane" in clusters.refusal("backup", "all.db")
    assert list(Path(clusters.home).iterdir()) == []
