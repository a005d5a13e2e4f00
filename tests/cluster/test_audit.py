"""The audit log: a line for each request, of who and what and how it ended; never of what was sent."""

import asyncio
import json
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp

from tests.cluster.servers import Caller
from tests.patience import STORY
from trainplane.cluster.audit import KEPT, AuditLog
from trainplane.cluster.kubeconfig import load
from trainplane.embed import Config, running

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
SECRETS = "/api/v1/namespaces/default/secrets"


def lines(file: Path) -> list[dict[str, Any]]:
    """What was noted of requests that this test sent."""
    return [line for line in map(json.loads, file.read_text().splitlines()) if line.get("userAgent") == "tests/1"]


def test_every_request_is_a_line_without_what_was_sent(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"

    async def play() -> None:
        async with running(Config(tmp_path / "cluster", audit=file)) as cluster, aiohttp.ClientSession() as session:
            call = Caller(cluster, session, load([cluster.kubeconfig]).client_context())
            secret = {"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
            await call("POST", SECRETS, body=secret)
            await call("GET", f"{SECRETS}/s", params={"labelSelector": "token=hunter2"})
            await call("DELETE", f"{SECRETS}/t", headers={"Impersonate-User": "ann"})
            await call("GET", "/version")
            strict = {
                "pod-security.kubernetes.io/enforce": "privileged",
                "pod-security.kubernetes.io/audit": "baseline",
            }
            await call("POST", "/api/v1/namespaces", body={"metadata": {"name": "x", "labels": strict}})
            spec = {"hostNetwork": True, "containers": [{"name": "c", "image": "i"}]}
            _, _, headers = await call(
                "POST", "/api/v1/namespaces/x/pods", body={"metadata": {"name": "p"}, "spec": spec}
            )
            assert "Warning" not in headers

    asyncio.run(asyncio.wait_for(play(), STORY))
    made, read, gone, version, _, pod = lines(file)
    assert (made["verb"], made["resource"], made["namespace"], made["name"], made["code"]) == (
        *("create", "secrets", "default", "s"),
        201,
    )
    assert made["source"] == "127.0.0.1"
    assert made["user"] == "trainplane-admin" or made["user"]
    assert made["ms"] >= 0
    assert made["time"].endswith("Z")
    assert (read["verb"], read["code"]) == ("get", 200)
    assert (gone["as"], gone["verb"], gone["code"]) == ("ann", "delete", 403)
    assert (version["path"], version["code"]) == ("/version", 200)
    assert pod["notes"] == ['would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)']
    assert "hunter2" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_log_is_bounded(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "a", now=lambda: NOON, limit=500)
    for number in range(100):
        log.write({"name": f"n{number}", "userAgent": "x" * 10_000})
    log.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) == KEPT
    assert all(file.stat().st_size <= 500 and stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert json.loads((tmp_path / "a").read_text().splitlines()[-1])["name"] == "n99"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    try:
        AuditLog(tmp_path / "a", now=lambda: NOON)
    except OSError:
        return
    raise AssertionError("a link was followed")
