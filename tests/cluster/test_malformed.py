"""Malformed requests: each is answered with a Status or ends cleanly, and the server stays up and as small as it was.

TRAINPLANE_MALFORMED is how many; `make soak` sends ten thousand. TRAINPLANE_SEED has others sent.
"""

import http.client
import json
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cluster.malformed import Sent, malformed
from tests.cluster.processes import Process
from tests.patience import PATIENCE
from trainplane.cluster.kubeconfig import load

COUNT = int(os.environ.get("TRAINPLANE_MALFORMED", "1500"))
SEED = int(os.environ.get("TRAINPLANE_SEED", "1"))
LIMIT = PATIENCE
"""Seconds within which everything is answered."""
GROWTH = 30 * 1024 * 1024
"""What a server may come to hold that has been asked thousands of things: caches that fill once, and some objects."""
OUR_FAULT = "the server's log has the details"


class Server:
    """A server as bytes see it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        target = load([process.kubeconfig])
        self._tls = target.client_context()
        host, _, port = target.server.removeprefix("https://").rpartition(":")
        self._address = (host, int(port))
        self._socket: ssl.SSLSocket | None = None

    def connect(self) -> ssl.SSLSocket:
        """A new connection."""
        plain = socket.create_connection(self._address, timeout=LIMIT)
        return self._tls.wrap_socket(plain, server_hostname=self._address[0])

    def ask(self, sent: Sent) -> tuple[int, bytes, str] | None:
        """The code, the body and its type, or None where the connection ended without an answer."""
        if not sent.is_http:
            with self.connect() as own:
                return _answer(own, sent)
        for is_new in (False, True):
            connection = self._socket if self._socket and not is_new else self.connect()
            self._socket = None
            answer = _answer(connection, sent, keep=self)
            if answer is not None or is_new:
                return answer
        return None

    def memory(self) -> int:
        """The bytes that the process has in memory."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """Hang up."""
        if self._socket:
            self._socket.close()


def _answer(connection: ssl.SSLSocket, sent: Sent, *, keep: Server | None = None) -> tuple[int, bytes, str] | None:
    try:
        connection.sendall(sent.data)
        if keep is None:
            # Nothing more comes; whatever waits for the rest of a request must not wait for ever.
            with suppress(OSError):
                connection.unwrap()
        response = http.client.HTTPResponse(connection, method=sent.method)
        response.begin()
    except (http.client.HTTPException, OSError, ValueError):
        connection.close()
        return None
    if response.status == 101 or (response.chunked and response.status == 200):
        # A watch goes on for as long as it is asked to; that it began is all that matters here.
        connection.close()
        return response.status, b"", "stream"
    body = response.read()
    if keep is not None and not response.will_close:
        keep._socket = connection
    else:
        connection.close()
    return response.status, body, response.headers.get("Content-Type", "")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    process = Process(tmp_path_factory.mktemp("malformed"))
    process.start()
    made = Server(process)
    yield made
    made.close()
    process.stop()


def fault(sent: Sent, answer: tuple[int, bytes, str] | None) -> str:
    """What is wrong with an answer; "" where nothing is."""
    if answer is None:
        return "no answer" if sent.is_http else ""
    code, body, media = answer
    if code < 400 or sent.method == "HEAD":
        return ""
    if code == 404 and media.startswith("text/plain"):
        return "" if body == b"404 page not found\n" else "404 without its words"
    if not media.startswith(("application/json", "application/yaml")):
        return f"{code} is no Status but {media}: {body[:200]!r}"
    if media.startswith("application/yaml"):
        return "" if b"kind: Status" in body else "YAML without a Status"
    status = json.loads(body)
    if status.get("kind") != "Status" or status.get("code") != code or status.get("status") != "Failure":
        return f"{code} with {body[:200]!r}"
    return status["message"] if OUR_FAULT in status.get("message", "") else ""


def test_malformed_requests(server: Server) -> None:
    wrong: list[str] = []
    codes: dict[int, int] = {}
    early = 0
    # What is made once and kept is made now.
    for path in (
        "/openapi/v2",
        "/openapi/v3",
        "/apis",
        "/api/v1/nodes",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ):
        server.ask(Sent(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode(), is_http=True, method="GET"))
    for number, sent in enumerate(malformed(SEED, COUNT)):
        answer = server.ask(sent)
        if answer:
            codes[answer[0]] = codes.get(answer[0], 0) + 1
        if found := fault(sent, answer):
            wrong.append(f"{number}: {found}\n    {sent.data[:600]!r}")
        if number == COUNT // 3:
            early = server.memory()
        assert server.process.is_up, f"the server died of {sent.data[:600]!r}"
    grown = server.memory() - early
    log = server.process.log.read_text()
    assert not wrong, "\n".join([f"{len(wrong)} wrong answers; codes {codes}", *wrong[:20], log[-4000:]])
    assert "Traceback" not in log, log[-4000:]
    assert grown < GROWTH, f"grew by {grown >> 20} MiB"
    # Had all been refused for the same reason, nothing would have been tried.
    assert {200, 400, 404, 405, 415, 422} <= set(codes), codes
    head = b"GET /readyz HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
    assert server.ask(Sent(head, is_http=True, method="GET")) == (200, b"ok", "text/plain; charset=utf-8")
