"""Remote: how a cluster is found and reached, what is said where it cannot be, and how its answers are read."""

import asyncio
import base64
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.patience import PATIENCE, STORY
from trainplane.api.kinds import KINDS
from trainplane.api.ref import Ref
from trainplane.cluster.certificates import Certificates
from trainplane.cluster.connection import Unreachable, warnings
from trainplane.cluster.errors import Expired, NotFound, Unauthorized
from trainplane.cluster.kubeconfig import KubeconfigError
from trainplane.cluster.remote import Remote
from trainplane.cluster.tokens import Tokens
from trainplane.embed import Config, Running, running

NOW = datetime(2026, 1, 31, tzinfo=UTC)
CONFIG_MAPS = next(row for row in KINDS if row.kind == "ConfigMap")
PUBLIC = Ref("", "Namespace", "", "kube-public")
NO_CERTIFICATE = {"client-certificate-data": None, "client-key-data": None}


def with_cluster(folder: Path, story: Callable[[Running], Awaitable[None]]) -> None:
    """Play a story against a cluster of its own, and not for ever."""

    async def whole() -> None:
        async with running(Config(folder / "cluster")) as cluster:
            await story(cluster)

    asyncio.run(asyncio.wait_for(whole(), STORY))


def changed(kubeconfig: Path, to: Path, **sections: dict[str, Any]) -> Path:
    """A kubeconfig with other fields of its cluster, its user or its context; None removes one."""
    config = yaml.safe_load(kubeconfig.read_text())
    for section, fields in sections.items():
        entry = {**config[f"{section}s"][0][section], **fields}
        config[f"{section}s"][0][section] = {name: value for name, value in entry.items() if value is not None}
    to.write_text(yaml.safe_dump(config))
    return to


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that nobody listens on: it is taken, and not opened."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


async def told(kubeconfig: Path) -> str:
    """What is said where a cluster cannot be asked."""
    with pytest.raises(Unreachable) as caught:
        async with Remote.connect(kubeconfig) as client:
            await client.get(PUBLIC)
    return str(caught.value)


def test_what_keeps_a_cluster_from_answering_is_told_in_a_sentence(tmp_path: Path) -> None:
    stranger = Certificates(tmp_path / "pki", name="stranger", now=NOW).authority.certificate_pem

    async def story(cluster: Running) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"server": nobody}, f"{nobody} (context trainplane): nothing listens there; start the cluster, or check"),
            (
                {"certificate-authority-data": base64.b64encode(stranger).decode()},
                "its certificate is not trusted: self-signed certificate in certificate chain; check server and",
            ),
            ({"tls-server-name": "elsewhere.test"}, "its certificate is not trusted: Hostname mismatch"),
            ({"server": "https://no-such-host.invalid:1"}, "its name has no address; check server in the kubeconfig"),
            ({"server": cluster.server.replace("https", "http")}, "it closed the connection before its answer"),
            ({"certificate-authority-data": "bm9uc2Vuc2U="}, "its certificates in the kubeconfig cannot be read"),
            ({"proxy-url": "socks5://127.0.0.1:1"}, "proxy-url socks5://127.0.0.1:1 is not spoken; give one"),
        ]
        for fields, said in cases:
            sentence = await told(changed(cluster.kubeconfig, tmp_path / "changed", cluster=fields))
            assert said in sentence
            assert "\n" not in sentence

    with silent_port() as port:
        nobody = f"https://127.0.0.1:{port}"
        with_cluster(tmp_path, story)


def test_tokens_certificates_and_no_questions_asked_of_the_server(tmp_path: Path) -> None:
    async def story(cluster: Running) -> None:
        path = tmp_path / "changed"
        account = Ref("", "ServiceAccount", "default", "default")
        wrong = changed(cluster.kubeconfig, path, user={**NO_CERTIFICATE, "token": "wrong"})
        async with Remote.connect(wrong) as client:
            with pytest.raises(Unauthorized):
                await client.get(account)
        assert "cannot read" in await told(changed(path, path, user={"token": None, "tokenFile": "no"}))
        unchecked = {"insecure-skip-tls-verify": True, "certificate-authority-data": None}
        async with Remote.connect(changed(cluster.kubeconfig, path, cluster=unchecked)) as client:
            assert (await client.get(account))["metadata"]["name"] == "default"

    with_cluster(tmp_path, story)


def test_a_token_in_a_file_is_read_again_each_time(tmp_path: Path) -> None:
    async def story(cluster: Running) -> None:
        tokens = Tokens(tmp_path / "cluster" / "pki")
        (tmp_path / "token").write_text("not-yet")
        path = changed(cluster.kubeconfig, tmp_path / "changed", user={**NO_CERTIFICATE, "tokenFile": "token"})
        async with Remote.connect(path) as client:
            with pytest.raises(Unauthorized):
                await client.read("/version")
            made, _ = tokens.create("ann", groups=("system:masters",), now=NOW)
            (tmp_path / "token").write_text(f"{made}\n")
            assert (await client.read("/version"))["gitVersion"].startswith("v1.")

    with_cluster(tmp_path, story)


def test_the_context_says_which_cluster_and_which_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(cluster: Running) -> None:
        second = changed(cluster.kubeconfig, tmp_path / "second", context={"namespace": "team"})
        text = second.read_text().replace("name: trainplane", "name: other").replace("current-context: trainplane", "")
        second.write_text(
            text.replace("cluster: trainplane", "cluster: other").replace("user: trainplane", "user: other")
        )
        monkeypatch.setenv(
            "KUBECONFIG", os.pathsep.join([str(tmp_path / "missing"), str(cluster.kubeconfig), str(second)])
        )
        async with Remote.connect() as first:
            assert (first.target.context, first.target.namespace) == ("trainplane", "default")
        async with Remote.connect(context="other") as other:
            assert (other.target.context, other.target.namespace) == ("other", "team")
            await other.get(PUBLIC)
        with pytest.raises(KubeconfigError, match="did you mean other"):
            async with Remote.connect(context="othr"):
                pass

    with_cluster(tmp_path, story)


def test_warnings_are_kept_until_they_are_asked_for(tmp_path: Path) -> None:
    async def story(cluster: Running) -> None:
        job = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "t", "namespace": "default"},
            "spec": {"suspend": True, "runtimeRef": {"name": "torch-distributed"}, "trainr": {}},
        }
        async with Remote.connect(cluster.kubeconfig) as client:
            await client.create(job)
            assert client.take_warnings() == ('unknown field "spec.trainr"',)
            assert client.take_warnings() == ()

    with_cluster(tmp_path, story)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ('299 - "plain"', ("plain",)),
        (r'299 - "a \"word\" and a \\"', ('a "word" and a \\',)),
        ("299 - nothing quoted", ()),
        ('299 - "not ended', ()),
    ],
)
def test_the_words_of_a_warning(header: str, said: tuple[str, ...]) -> None:
    assert warnings([header]) == said


@asynccontextmanager
async def odd_server(folder: Path, *answers: bytes) -> AsyncIterator[Path]:
    """The kubeconfig of a server that answers any request with these bytes, and hangs up."""

    answering: set[asyncio.Task[Any] | None] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.add(asyncio.current_task())
        await reader.readuntil(b"\r\n\r\n")
        for part in answers:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    path = folder / "odd"
    config = {
        "current-context": "odd",
        "clusters": [{"name": "odd", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": "odd", "context": {"cluster": "odd"}}],
    }
    path.write_text(yaml.safe_dump(config))
    async with server:
        yield path
        await asyncio.wait([task for task in answering if task])
        # The transport is closed a turn after the writer.
        await asyncio.sleep(0.01)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
ADDED = b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}\n'
ERROR = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n'


@pytest.mark.parametrize(
    ("parts", "seen", "fault"),
    [
        pytest.param((chunk(ADDED), b"0\r\n\r\n"), 1, None, id="ended by the server"),
        pytest.param((chunk(ADDED[:9]), chunk(ADDED[9:] + ADDED), b"0\r\n\r\n"), 2, None, id="in pieces"),
        pytest.param((chunk(ADDED), chunk(ERROR), b"0\r\n\r\n"), 1, Expired, id="an ERROR is raised"),
        pytest.param((chunk(ADDED), b"40\r\n{"), 1, Unreachable, id="cut in the middle"),
        pytest.param((chunk(b"nonsense\n"), b"0\r\n\r\n"), 0, Unreachable, id="no events"),
    ],
)
def test_how_a_watch_ends(tmp_path: Path, parts: tuple[bytes, ...], seen: int, fault: type[Exception] | None) -> None:
    async def story() -> None:
        found: list[str] = []
        caught: Exception | None = None
        async with odd_server(tmp_path, HEAD, *parts) as path, Remote.connect(path) as client:
            try:
                async for change in client.watch(CONFIG_MAPS, since="1"):
                    found += [change.resource_version]
            except (Expired, Unreachable) as error:
                caught = error
        assert found == ["7"] * seen
        assert type(caught) is (fault or type(None))

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


@pytest.mark.parametrize(
    ("answer", "fault", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<p/>", Unreachable, "what answers there is no Kubernetes API"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", NotFound, "none"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", Unreachable, "check server in the kubeconfig"),
        (b"", Unreachable, "it closed the connection before its answer was complete; ask again"),
    ],
)
def test_what_is_no_api_server_is_called_so(tmp_path: Path, answer: bytes, fault: type[Exception], said: str) -> None:
    async def story() -> None:
        async with odd_server(tmp_path, answer) as path, Remote.connect(path) as client:
            with pytest.raises(fault) as caught:
                await client.get(PUBLIC)
            assert said in str(caught.value)
            assert "\n" not in str(caught.value)

    asyncio.run(asyncio.wait_for(story(), PATIENCE))


def test_a_command_that_connects_to_nothing_does_not_pay_for_http() -> None:
    code = "import sys, trainplane.cluster.remote; print('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
