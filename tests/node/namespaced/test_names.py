"""The pods' name server, by the bytes on the wire."""

import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainplane.node.namespaced.addresses import GATEWAY, NETWORK, Addresses
from trainplane.node.namespaced.egress import is_outside, variables
from trainplane.node.namespaced.names import Names

A, PTR, AAAA = 1, 12, 28
POD = "a.job.ml.svc.cluster.local"


def query(name: str, kind: int = A, *, questions: int = 1, flags: int = 0x0100) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", 77, flags, questions, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def read(answer: bytes | None) -> tuple[int, int, bytes]:
    """The code, the number of records, and the last four bytes."""
    assert answer
    number, flags, _, count, *_ = struct.unpack_from("!HHHHHH", answer)
    assert number == 77
    assert flags & 0x8000
    return flags & 0xF, count, answer[-4:]


def known() -> Names:
    names = Names()
    names.set({POD: ("10.244.0.2",), "job.ml.svc.cluster.local": ("10.244.0.2", "10.244.0.3")})
    return names


@pytest.mark.parametrize(
    ("name", "kind", "code", "count"),
    [
        pytest.param(POD, A, 0, 1, id="a pod"),
        pytest.param(POD.upper(), A, 0, 1, id="in capitals"),
        pytest.param("job.ml.svc.cluster.local", A, 0, 2, id="a service has its pods' addresses"),
        pytest.param(POD, AAAA, 0, 0, id="there, but with no address of version 6"),
        pytest.param("ml.svc.cluster.local", A, 0, 0, id="what lies above a name is there too"),
        pytest.param("b.job.ml.svc.cluster.local", A, 3, 0, id="nobody"),
        pytest.param("example.org", A, 3, 0, id="the world is not known here"),
        pytest.param("2.0.244.10.in-addr.arpa", PTR, 0, 1, id="who has an address"),
        pytest.param("9.9.244.10.in-addr.arpa", PTR, 3, 0, id="nobody has this one"),
        pytest.param("2.0.0.0.4.f.a.0.f.f.f.f." + "0." * 20 + "ip6.arpa", PTR, 0, 1, id="a mapped one is the same"),
        pytest.param("x.ip6.arpa", PTR, 3, 0, id="no address at all"),
    ],
)
def test_answers(name: str, kind: int, code: int, count: int) -> None:
    assert read(known().answer(query(name, kind)))[:2] == (code, count)


def test_the_address_is_the_one_that_was_told() -> None:
    assert read(known().answer(query(POD)))[2] == socket.inet_aton("10.244.0.2")


def test_a_pods_own_name_comes_before_its_services() -> None:
    answer = known().answer(query("2.0.244.10.in-addr.arpa", PTR))
    assert answer
    assert b"\x01a\x03job" in answer


def test_a_long_answer_is_for_a_stream() -> None:
    names = Names()
    names.set({"many": tuple(str(NETWORK[number]) for number in range(2, 102))})
    short = names.answer(query("many"))
    assert short
    assert struct.unpack_from("!H", short, 2)[0] & 0x0200, "it says that it was cut"
    assert len(short) <= 512
    assert read(names.answer(query("many"), limit=65535))[1] == 100


@given(st.binary(max_size=80))
def test_no_bytes_make_it_fall(data: bytes) -> None:
    known().answer(data)
    known().answer(query(POD)[:12] + data)


def test_other_operations_are_not_done() -> None:
    assert read(known().answer(query(POD, flags=0x2800)))[0] == 4
    assert read(known().answer(query(POD, questions=2)))[0] == 4
    assert known().answer(query(POD, flags=0x8000)) is None, "an answer is not answered"


def test_an_address_rests_before_it_is_given_again() -> None:
    addresses = Addresses()
    first, second = addresses.take(), addresses.take()
    assert GATEWAY not in (first, second)
    addresses.give_back(first)
    assert addresses.take() not in (first, second)
    taken = {addresses.take() for _ in range(NETWORK.num_addresses - 5)}
    assert first in taken
    with pytest.raises(OSError, match="every address"):
        addresses.take()


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "169.254.169.254", "fe80::1", "224.0.0.1", "::ffff:127.0.0.1"],
)
def test_the_proxy_leads_nowhere_on_this_machine(address: str) -> None:
    assert not is_outside(address)


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1"])
def test_the_proxy_leads_elsewhere(address: str) -> None:
    assert is_outside(address)


def test_the_cluster_does_without_the_proxy() -> None:
    found = variables(gateway="10.244.0.1", network="10.244.0.0/16", namespace="ml", domain="job.ml.svc.cluster.local")
    assert {".cluster.local", ".svc", ".ml", ".job", "10.244.0.0/16"} <= set(found["no_proxy"].split(","))
    assert found["HTTPS_PROXY"] == found["http_proxy"] == "http://10.244.0.1:3128"
