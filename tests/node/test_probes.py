"""When what a probe finds again and again changes what is known of a container."""

import pytest

from trainplane.api.meta import Raw
from trainplane.node.probes import Found, Sort, Tally, failure, port_of, sorts

GOOD, BAD, ERROR = Found(good=True), Found(good=False, message="no"), Found(good=False, error=True)


@pytest.mark.parametrize(
    ("sort", "probe", "found", "result", "fatal"),
    [
        pytest.param(Sort.READINESS, {}, [], False, False, id="not ready at first"),
        pytest.param(Sort.LIVENESS, {}, [], True, False, id="alive at first"),
        pytest.param(Sort.READINESS, {}, [GOOD], True, False, id="one success is enough"),
        pytest.param(Sort.READINESS, {"successThreshold": 2}, [GOOD], False, False, id="unless two are wanted"),
        pytest.param(Sort.READINESS, {"successThreshold": 2}, [GOOD, BAD, GOOD], False, False, id="in a row"),
        pytest.param(Sort.READINESS, {}, [GOOD, BAD, BAD], True, False, id="two failures change nothing"),
        pytest.param(Sort.READINESS, {}, [GOOD, BAD, BAD, BAD], False, False, id="three do, but are not fatal"),
        pytest.param(Sort.LIVENESS, {}, [BAD, BAD, BAD], False, True, id="here they are"),
        pytest.param(Sort.LIVENESS, {}, [BAD, BAD, GOOD, BAD], True, False, id="one success makes up for them"),
        pytest.param(Sort.LIVENESS, {"failureThreshold": 1}, [BAD], False, True, id="or one is"),
        pytest.param(Sort.LIVENESS, {}, [BAD, BAD, ERROR, ERROR], True, False, id="errors of the probe prove nothing"),
        pytest.param(Sort.STARTUP, {"failureThreshold": 2}, [BAD, BAD], False, True, id="never started"),
    ],
)
def test_tally(sort: Sort, probe: Raw, found: list[Found], result: bool, fatal: bool) -> None:
    tally = Tally.first(sort)
    for each in found:
        tally = tally.after(each, probe)
    assert (tally.result, tally.is_fatal(sort, probe)) == (result, fatal)


def test_which_probes_there_are() -> None:
    assert sorts({"livenessProbe": {"exec": {}}}) == [(Sort.LIVENESS, {"exec": {}})]


def test_what_is_said_of_a_failure() -> None:
    assert failure(Sort.LIVENESS, BAD) == "Liveness probe failed: no"
    assert failure(Sort.READINESS, ERROR) == "Readiness probe errored:"


def test_ports_have_names() -> None:
    container = {"ports": [{"name": "web", "containerPort": 8080}]}
    assert [port_of(container, port) for port in (1, "web", "none")] == [1, 8080, None]
