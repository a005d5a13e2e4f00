"""Tables, held against those that a real API server made of the same objects (facts/tables.json)."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from trainplane.api.kinds import by_plural
from trainplane.cluster.ages import age, duration
from trainplane.cluster.jsonpath import JsonPathError, compiled
from trainplane.cluster.resources import SERVED_KINDS
from trainplane.cluster.tables import include_problem, printer, table

FACTS = json.loads((Path(__file__).parent / "facts" / "tables.json").read_text(encoding="utf-8"))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def names_of(path: str) -> tuple[str, str]:
    """The apiVersion and kind at a path."""
    parts = path.strip("/").split("/")
    group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
    if parts[-1] == "customresourcedefinitions":
        return "apiextensions.k8s.io/v1", "CustomResourceDefinition"
    kind = by_plural(group, parts[-1])
    assert kind is not None
    return (f"{group}/{version}" if group else version), kind.kind


def rows() -> Iterator[Any]:
    """Every recorded row with its place."""
    for fact in FACTS:
        for row in fact["rows"]:
            name = row["object"]["metadata"]["name"]
            yield pytest.param(fact, row, id=f"{fact['path'].split('/')[-1]}-{name}")


@pytest.mark.parametrize(("fact", "row"), list(rows()))
def test_cells_are_a_real_servers(fact: Any, row: Any) -> None:
    api_version, kind = names_of(fact["path"])
    assert printer(api_version, kind).cells(row["object"], datetime.fromisoformat(fact["now"])) == row["cells"]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact["path"].split("/")[-1])
def test_columns_are_a_real_servers(fact: Any) -> None:
    api_version, kind = names_of(fact["path"])
    made = table([], api_version=api_version, kind=kind, now=NOW)
    assert [{k: v for k, v in c.items() if k != "description"} for c in made["columnDefinitions"]] == fact["columns"]


def test_a_trainjob_shows_where_it_stands() -> None:
    job = {
        "metadata": {"name": "tune", "creationTimestamp": "2026-03-01T11:00:00Z"},
        "spec": {"runtimeRef": {"name": "torch"}},
        "status": {
            "summary": {"state": "Running", "nodes": 4, "restarts": 2},
            "trainerStatus": {"progressPercentage": 40},
        },
    }
    made = table([job], api_version="trainer.kubeflow.org/v1alpha1", kind="TrainJob", now=NOW)
    assert [column["name"] for column in made["columnDefinitions"]][:7] == (
        ["Name", "State", "Runtime", "Nodes", "Progress", "Restarts", "Age"]
    )
    assert made["rows"][0]["cells"][:7] == ["tune", "Running", "torch", 4, 40, 2, "60m"]
    assert made["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("include", "shown"),
    [
        ("", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}),
        ("Metadata", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}),
        ("Object", {"metadata": {"name": "a"}, "data": {"k": "c2VjcmV0"}}),
        ("None", None),
    ],
)
def test_a_row_carries_what_was_asked_for(include: str, shown: Any) -> None:
    secret = {"metadata": {"name": "a"}, "data": {"k": "c2VjcmV0"}}
    made = table([secret], api_version="v1", kind="Secret", now=NOW, include=include, metadata={"resourceVersion": "7"})
    assert made["rows"][0]["object"] == shown
    assert made["metadata"] == {"resourceVersion": "7"}
    assert "c2VjcmV0" not in json.dumps(made["rows"][0]["cells"])


def test_an_unknown_include_is_refused_as_a_real_server_does() -> None:
    assert include_problem("Zap") == (
        "Unable to convert to Table as requested: includeObject: Invalid value: \"Zap\": must be 'Metadata', "
        "'Object', 'None', or empty"
    )
    assert not include_problem("Object")


@pytest.mark.parametrize("kind", SERVED_KINDS, ids=lambda kind: f"{kind.api_version}-{kind.kind}")
def test_a_bookmark_and_an_empty_object_are_rows_of_every_kind(kind: Any) -> None:
    bookmark = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {"resourceVersion": "9"}}
    made = table([bookmark], api_version=kind.api_version, kind=kind.kind, now=NOW, columns=False)
    assert made["columnDefinitions"] is None
    assert len(made["rows"][0]["cells"]) == len(printer(kind.api_version, kind.kind).columns)


def test_a_bookmark_has_the_cells_of_an_object_without_anything() -> None:
    made = table([{"metadata": {"resourceVersion": "9"}}], api_version="v1", kind="ConfigMap", now=NOW)
    assert made["rows"][0]["cells"] == ["", 0, "<unknown>"]


def test_scale_has_its_own_columns() -> None:
    scale = {"metadata": {"name": "t", "creationTimestamp": "2026-03-01T11:59:48Z"}, "spec": {}, "status": {}}
    made = table([scale], api_version="autoscaling/v1", kind="Scale", now=NOW)
    assert made["rows"][0]["cells"] == ["t", 0, 0, "12s"]
    assert made["columnDefinitions"][0]["format"] == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (303, "5m3s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (11000, "3h3m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (800 * 86400, "2y70d"),
        (3000 * 86400, "8y"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_ages() -> None:
    assert age("2026-03-01T11:58:00Z", NOW) == "2m"
    assert age((NOW + timedelta(hours=1)).isoformat(), NOW) == "<invalid>"
    assert age("yesterday", NOW) == "<invalid>"
    assert age(None, NOW) == "<unknown>"


WORLD = {
    "spec": {"a.b/c": 1, "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}, {"n": "z"}], "yes": True},
    "status": {"conditions": []},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.yes", [True]),
        ("{.spec.yes}", [True]),
        ("$.spec.yes", [True]),
        (r".spec.a\.b/c", [1]),
        (".spec['a.b/c']", [1]),
        (".spec.list[0].n", ["x"]),
        (".spec.list[-1].n", ["z"]),
        (".spec.list[-1:].n", ["z"]),
        (".spec.list[0:2].n", ["x", "y"]),
        (".spec.list[*].v", [1, 2]),
        ('.spec.list[?(@.n=="y")].v', [2]),
        (".spec.list[?(@.v==1)].n", ["x"]),
        (".spec.list[?(@.n!='x')].n", ["y", "z"]),
        (".spec.list[?(@.v)].n", ["x", "y"]),
        (".spec.nothing.at.all", []),
        (".spec.list.n", []),
        ('.status.conditions[?(@.type=="Completed")].status', []),
        ("", [WORLD]),
    ],
)
def test_paths(path: str, found: list[Any]) -> None:
    assert compiled(path)(WORLD) == found


@pytest.mark.parametrize("path", [".spec[", ".a..b", ".spec.list[?(@.v==one)]", ".a[?(@.b>1)]"])
def test_paths_that_cannot_be_read_say_so(path: str) -> None:
    with pytest.raises(JsonPathError, match="write"):
        compiled(path)
