"""What pods find of the network between them, by real processes, and what their findings come to."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from socket import SHUT_RDWR, SHUT_WR, create_server, socket
from typing import Any

import pytest

import trainplane
from tests.patience import PATIENCE
from trainplane.sdk.network import Asked, Findings, jobset, judge, keys, read
from trainplane.sdk.source import pack

PROBE = Path(trainplane.__file__).parent / "probe"
Seen = Callable[[int, str], str]


class Wire:
    """A wire to a place, as long as it is held: what is sent into it comes out there, so many bytes a second."""

    def __init__(self, place: str, *, rate: float) -> None:
        host, _, port = place.partition(":")
        self._place, self._rate = (host, int(port)), rate
        self._sockets = [create_server(("127.0.0.1", 0))]
        self._threads: list[threading.Thread] = []
        self.address = f"127.0.0.1:{self._sockets[0].getsockname()[1]}"

    def __enter__(self) -> "Wire":
        self._begin(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)
        for each in self._sockets:
            each.close()

    def _begin(self, work: Callable[..., None], *ends: socket) -> None:
        self._threads.append(threading.Thread(target=work, args=ends, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._sockets[0].accept()
                self._sockets.append(near)
                far = socket()
                self._sockets.append(far)
                if far.connect_ex(self._place):
                    near.shutdown(SHUT_RDWR)
                    continue
                self._begin(self._carry, near, far)
                self._begin(self._carry, far, near)

    def _carry(self, source: socket, sink: socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
                time.sleep(len(data) / self._rate)
            sink.shutdown(SHUT_WR)


def host(rank: int) -> str:
    """An address of this machine that only this process of the tests uses, so that no port of it is taken meanwhile."""
    high, low = divmod(os.getpid() % 60_000, 250)
    return f"127.{high + 1}.{low + 1}.{rank + 1}"


def probed(
    hosts: list[str], *, ranks: list[int], wait: float = PATIENCE / 2, seen: Seen = lambda _, place: place
) -> Findings:
    """What processes of these ranks find; the others are not there. `seen` says where a rank sees a place."""
    words = [sys.executable, str(PROBE / "network.py"), "--seconds", "0.1", "--wait", str(wait)]
    started = [
        subprocess.Popen(
            [*words, "--rank", str(rank), *(seen(rank, place) for place in hosts)],
            stdout=subprocess.PIPE,
            text=True,
            stderr=subprocess.PIPE,
        )
        for rank in ranks
    ]
    said = []
    for process in started:
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        said += [found for line in out.splitlines() if (found := read(line))]
    return judge(Asked("any", len(hosts)), said)


def test_processes_that_reach_each_other_measure_every_pair() -> None:
    findings = probed([f"{host(rank)}:29460" for rank in range(3)], ranks=[0, 1, 2])
    assert [(link.origin, link.target) for link in findings.links] == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert all(link.rate and link.rate > 0 and link.tcp is not None for link in findings.links)
    assert not findings.silent
    assert not any(link.error for link in findings.links)


def test_who_is_not_there_or_has_no_name_is_told_and_the_others_are_measured() -> None:
    hosts = [f"{name}:29460" for name in (*map(host, range(3)), "nobody.invalid")]
    for wait in (2.0, 10.0, PATIENCE / 2):
        # Whoever is not there is waited for to the end of that time, and on a busy machine two may need it to meet.
        findings = probed(hosts, ranks=[0, 1], wait=wait)
        if not any(link.error for link in findings.links if {link.origin, link.target} == {0, 1}):
            break
    assert findings.silent == [2, 3]
    assert not findings.healthy
    errors = {(link.origin, link.target): link.error for link in findings.links}
    assert errors[0, 1] == ""
    assert errors[0, 2] == "connection: Connection refused"
    assert errors[1, 3].startswith("name: ")


def test_a_node_behind_a_slow_wire_is_the_odd_one() -> None:
    hosts = [f"{host(rank)}:29460" for rank in range(3)]
    with ExitStack() as wired:
        wires = {place: wired.enter_context(Wire(place, rate=4e6)).address for place in hosts}

        def seen(rank: int, place: str) -> str:
            return wires[place] if (place == hosts[2]) != (rank == 2) else place

        findings = probed(hosts, ranks=[0, 1, 2], seen=seen)
    assert not any(link.error for link in findings.links)
    assert [*findings.odd] == [2], findings
    assert "MB/s, those of the others" in findings.odd[2]


def told(rates: list[list[float | None]]) -> list[dict[str, Any]]:
    """What pods say whose links have these rates, in MB/s; None is a link that is broken."""
    return [
        {
            "rank": rank,
            "dns": {str(other): {"seconds": 0.001} for other in range(len(row))},
            "tcp": {
                str(other): {"error": "timed out"} if rate is None else {"seconds": 0.001}
                for other, rate in enumerate(row)
            },
            "rate": {str(other): {"rate": rate * 1e6} for other, rate in enumerate(row) if rate is not None},
        }
        for rank, row in enumerate(rates)
    ]


@pytest.mark.parametrize(
    ("rates", "odd", "is_healthy"),
    [
        pytest.param([[0, 900, 800], [850, 0, 900], [900, 950, 0]], [], True, id="all alike"),
        pytest.param([[0, 900, 90], [850, 0, 95], [90, 95, 0]], [2], False, id="one is slow"),
        pytest.param([[0, 900, 400], [850, 0, 420], [410, 400, 0]], [], True, id="half as fast is no fault"),
        pytest.param([[0, None, 900], [None, 0, None], [900, None, 0]], [1], False, id="one is cut off"),
        pytest.param([[0, None, 900], [900, 0, 900], [900, 900, 0]], [], False, id="one way, and nobody is to blame"),
        pytest.param([[0, None], [None, 0]], [], False, id="of two nobody is odd"),
        pytest.param([[0, 900], [90, 0]], [], True, id="nor is one slow"),
    ],
)
def test_the_odd_one(rates: list[list[float | None]], odd: list[int], is_healthy: bool) -> None:
    findings = judge(Asked("any", len(rates)), told(rates))
    assert [*findings.odd] == odd
    assert findings.healthy == is_healthy


def test_a_pod_that_says_nothing_is_no_healthy_network() -> None:
    findings = judge(Asked("any", 3), told([[0, 900, 900], [900, 0, 900], [900, 900, 0]])[:2])
    assert findings.silent == [2]
    assert not findings.healthy


def test_the_collective_is_as_fast_as_its_slowest_and_fails_with_the_first_that_fails() -> None:
    rates: list[list[float | None]] = [[0, 900], [900, 0]]
    asked = Asked("any", 2, collective=True)
    both = [{**each, "collective": {"backend": "gloo", "rate": 10.0 + each["rank"]}} for each in told(rates)]
    assert judge(asked, both).collective["rate"] == 10.0
    one = [both[0], {**both[1], "collective": {"error": "No module named 'torch'"}}]
    assert judge(asked, one).collective == {"error": "node 1: No module named 'torch'"}
    assert not judge(asked, one).healthy


def test_lines_of_others_are_passed_over() -> None:
    assert read("hello") is None
    assert read("trainplane-network: {half") is None
    assert read("trainplane-network: " + json.dumps({"rank": 1})) == {"rank": 1}


def test_pods_lie_apart_and_keys_are_a_secret_of_their_own() -> None:
    asked = Asked("probe", 2, ssh=True, gpus=1)
    made = jobset(asked, pack(PROBE))
    pod = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    (apart,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["topologyKey"] == "kubernetes.io/hostname"
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert pod["containers"][0]["command"][-2:] == ["probe-node-0-0.probe:29460", "probe-node-0-1.probe:29460"]
    assert "PRIVATE" not in json.dumps(made)
    assert keys(asked)["stringData"]["id"] != keys(asked)["stringData"]["id"]
