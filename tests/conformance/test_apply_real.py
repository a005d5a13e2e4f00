"""Random applies and updates: a real API server and ownership must say the same of who owns what, each time."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.random_writes import APPLY, MERGE, Server, Writer
from trainplane.api.kinds import KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.cluster.errors import ApplyConflict
from trainplane.cluster.ownership import apply, update
from trainplane.cluster.tracking import blank_of, merge_schema

NOW = datetime(2026, 1, 31, tzinfo=UTC)
ROWS = {row.kind: row for row in reversed(KINDS)}
ROUNDS, WRITES = 40, 8
_JOB = merge_schema(ROWS["Job"])["properties"]
_TEMPLATES = {
    "type": "object",
    "properties": {**_JOB, "template": _JOB["spec"]["properties"]["template"]},
}
_NO_TEMPLATE = {"metadata": {}, "template": {"metadata": {}, "spec": {"containers": None}}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, real_kubeconfig: Path) -> Iterator[tuple[Server, str]]:
    """A real API server, and the path of a namespace there."""
    server = Server(real_kubeconfig, tmp_path_factory.mktemp("certificates"))
    namespace = f"trainplane-apply-{os.getpid()}"
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    path = f"/api/v1/namespaces/{namespace}"
    yield server, path
    for plural in ("configmaps", "podtemplates"):
        for item in server.ask("GET", f"{path}/{plural}")[1]["items"]:
            # A finalizer of nobody's would keep the namespace for ever.
            server.ask(
                "PATCH", f"{path}/{plural}/{item['metadata']['name']}", {"metadata": {"finalizers": None}}, MERGE
            )
    server.ask("DELETE", path)
    server.close()


def facts(kind: str) -> dict[str, Any]:
    """What ownership must know of a kind."""
    if kind == "PodTemplate":
        return {"schema": _TEMPLATES, "blank": _NO_TEMPLATE}
    row: Kind = ROWS[kind]
    return {"schema": merge_schema(row), "blank": blank_of(row)}


def entries(raw: Raw) -> list[Raw]:
    """The managedFields, with nothing said of a time but that there is one, in an order that needs no times."""
    found = raw["metadata"].get("managedFields", [])
    timed = [{**entry, "time": "some"} if "time" in entry else entry for entry in found]
    return sorted(timed, key=lambda entry: (entry["operation"], entry["manager"]))


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("kind", ["ConfigMap", "PodTemplate"])
def test_a_real_server_says_the_same(place: tuple[Server, str], kind: str, seed: int) -> None:
    server, path = place
    writer, name = Writer(seed), f"o{seed}"
    collection = f"{path}/{'configmaps' if kind == 'ConfigMap' else 'podtemplates'}"
    live: Raw | None = None
    for number in range(WRITES):
        verb = writer.dice.choice(["apply", "apply", "force", "force", "update", "merge"])
        manager = writer.dice.choice(["m1", "m2", "m3"])
        writer.twice = verb in ("update", "merge") and writer.dice.random() < 0.4
        whole = live is None or verb == "update"
        body = writer.config_map(name) if kind == "ConfigMap" else writer.pod_template(name, whole=whole)
        if verb in ("apply", "force"):
            live = _apply(server, collection, body, live, manager=manager, force=verb == "force", step=number)
        else:
            live = _write(server, collection, body, live, manager=manager, merge=verb == "merge")


def _apply(
    server: Server, collection: str, body: Raw, live: Raw | None, *, manager: str, force: bool, step: int
) -> Raw | None:
    query = f"fieldManager={manager}&force={str(force).lower()}"
    code, answer = server.ask("PATCH", f"{collection}/{body['metadata']['name']}?{query}", body, APPLY)
    said = {"manager": manager, "force": force, "now": NOW, **facts(body["kind"])}
    if code == 409:
        with pytest.raises(ApplyConflict) as refused:
            apply(live, body, **said)
        assert refused.value.message == answer["message"]
        return live
    if code == 422:
        # Validation comes after ownership, and is not its business.
        return live
    made = apply(live, body, **said).object
    assert entries(made) == entries(answer), f"write {step}"
    return answer  # type: ignore[no-any-return]


def _write(server: Server, collection: str, body: Raw, live: Raw | None, *, manager: str, merge: bool) -> Raw | None:
    query = f"fieldManager={manager}"
    if live is None:
        code, answer = server.ask("POST", f"{collection}?{query}", body)
    else:
        one = f"{collection}/{body['metadata']['name']}?{query}"
        code, answer = server.ask("PATCH", one, body, MERGE) if merge else server.ask("PUT", one, body)
    if code == 422:
        return live
    assert code < 300, answer
    new = {**answer, "metadata": {k: v for k, v in answer["metadata"].items() if k != "managedFields"}}
    owned = update(live, new, manager=manager, now=NOW, **facts(body["kind"]))
    assert entries({"metadata": {"managedFields": owned}}) == entries(answer)
    return answer  # type: ignore[no-any-return]
