"""What a Secret holds, and every token, is in no log, no event, no table and no refusal."""

import json
import logging
from pathlib import Path

import pytest

from tests.cluster.servers import Caller, serve

SECRETS = "/api/v1/namespaces/default/secrets"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WORD = "hunter2-is-not-told"
ENCODED = "aHVudGVyMi1pcy1ub3QtdG9sZA"


def test_a_secret_is_told_to_whoever_may_read_it_and_to_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []

    async def story(call: Caller) -> None:
        caplog.set_level(logging.DEBUG)
        secret = {"metadata": {"name": "s"}, "stringData": {"password": WORD}}
        code, made, _ = await call("POST", SECRETS, body=secret)
        assert (code, made["data"]["password"].rstrip("=")) == (201, ENCODED)
        for path in (SECRETS, f"{SECRETS}/s"):
            _, table, _ = await call("GET", path, headers={"Accept": TABLE})
            told.append(json.dumps(table))
        _, partial, _ = await call(
            "GET", f"{SECRETS}/s", headers={"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
        )
        told.append(json.dumps(partial))
        wrong = {**secret, "type": "kubernetes.io/tls", "metadata": {"name": "t", "labels": {"a b": "c"}}}
        code, refusal, _ = await call("POST", SECRETS, body=wrong)
        assert code == 422
        told.append(json.dumps(refusal))
        code, refusal, _ = await call("GET", SECRETS, headers={"Impersonate-User": "ann", "X-Token": WORD})
        assert code == 403
        told.append(json.dumps(refusal))
        code, refusal, _ = await call("POST", SECRETS, body=f'{{"stringData":{{"a":"{WORD}"'.encode())
        assert code == 400
        code, _, _ = await call("GET", "/version", headers={"Authorization": f"Bearer {WORD}"})
        _, events, _ = await call("GET", "/api/v1/events")
        told.append(json.dumps(events))
        _, metrics, _ = await call("GET", "/metrics")
        told.append(str(metrics))

    serve(tmp_path, story)
    told += [record.getMessage() for record in caplog.records]
    assert not [text for text in told if WORD in text or ENCODED in text]
    others = [path for path in (tmp_path / "cluster").rglob("*") if path.is_file() and "store" not in path.parts]
    assert not [path for path in others if WORD.encode() in path.read_bytes() or ENCODED.encode() in path.read_bytes()]
