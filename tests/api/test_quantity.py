"""Quantities: every spelling that a real API server was asked about, arithmetic, and resource lists."""

import json
from pathlib import Path
from typing import Any

import pytest

from trainplane.api.quantity import (
    ZERO,
    Amount,
    QuantityError,
    amounts,
    canonical,
    fits,
    largest,
    minus,
    parse,
    shortfall,
    spell,
    total,
)

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "facts" / "quantities.json").read_text(encoding="utf-8"))

LOST_UPSTREAM = {"1000E": "1000E", "1000000E": "1000000E", "10000000000000000000000": "10000E"}
"""Above 999E the recorded server drops the suffix and so the amount; we keep it."""


@pytest.mark.parametrize("fact", FACTS["quantities"], ids=lambda fact: repr(fact["written"]))
def test_as_the_real_server(fact: dict[str, str]) -> None:
    written = fact["written"]
    if "refused" in fact:
        with pytest.raises(QuantityError):
            parse(written)
    elif written in LOST_UPSTREAM:
        assert canonical(written) == LOST_UPSTREAM[written]
    elif fact["shown"] == written:
        # The server echoes some spellings that are nearly canonical ("+1", "1E3"): the amount must be the same.
        assert canonical(canonical(written)) == canonical(written)
        assert parse(canonical(written)) == parse(written)
    else:
        assert canonical(written) == fact["shown"]


@pytest.mark.parametrize("fact", FACTS["resourceLists"], ids=lambda fact: fact["written"])
def test_core_resource_lists_hold_whole_thousandths(fact: dict[str, str]) -> None:
    assert str(parse(fact["written"]).whole_milli()) == fact["shown"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("+1", "1"),
        ("007Mi", "7Mi"),
        ("1.500", "1500m"),
        ("1E3", "1e3"),
        ("1e+3", "1e3"),
        (1, "1"),
        (0.5, "500m"),
        (1e-12, "1e-9"),
        (1024**3, "1073741824"),
        (parse("1024Mi"), "1Gi"),
    ],
)
def test_canonical_spelling(written: Any, shown: str) -> None:
    assert canonical(written) == shown


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("1K", ["1Ki", "1k"]),
        ("4GB", ["4Gi", "4G"]),
        ("512MiB", ["512Mi"]),
        ("1 Gi", ["write 1Gi"]),
        ("2g", ["2Gi", "2G"]),
        ("1,5", ["write 1.5"]),
        ("1_000", ["write 1000"]),
        ("lots", ["'lots'", "4Gi"]),
        ("1i", ["4Gi"]),
        ("", ["empty", "500m"]),
        ("1e1001", ["digits", "smaller"]),
        ("1" * 2000, ["characters", "shorter"]),
        (10**1200, ["digits", "smaller"]),
        (float("nan"), ["finite"]),
        (float("inf"), ["finite"]),
        (True, ["True", "4Gi"]),
        (None, ["None", "4Gi"]),
        (["1"], ["4Gi"]),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_refusal_says_what_to_write(written: Any, words: list[str]) -> None:
    with pytest.raises(QuantityError) as refusal:
        parse(written)
    assert all(word in str(refusal.value) for word in words)
    assert len(str(refusal.value)) < 200


def test_a_tiny_exponent_is_the_smallest_amount_at_once() -> None:
    assert str(parse("1e-999999999999")) == "1e-9"
    assert parse("0e999999999999") == ZERO


@pytest.mark.parametrize(
    ("amount", "value", "milli"),
    [("1", 1, 1000), ("1500m", 2, 1500), ("1n", 1, 1), ("-1500m", -2, -1500), ("-1n", -1, -1), ("-2", -2, -2000)],
)
def test_whole_numbers_are_rounded_away_from_zero(amount: str, value: int, milli: int) -> None:
    assert (parse(amount).value(), parse(amount).milli()) == (value, milli)


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        pytest.param(parse("1Gi") + parse("1G"), "2073741824", id="binary first"),
        pytest.param(parse("1Gi") + parse("1024Mi"), "2Gi", id="binary both"),
        pytest.param(parse("1G") + parse("1Gi"), "2073741824", id="decimal first"),
        pytest.param(parse("0") + parse("1Gi"), "1Gi", id="zero has no family"),
        pytest.param(parse("0") - parse("1Gi"), "-1Gi", id="zero minus"),
        pytest.param(parse("1Gi") + parse("500m"), "1073741824500m", id="binary with a fraction prints decimal"),
        pytest.param(parse("1Gi") - parse("1Gi"), "0", id="nothing left"),
        pytest.param(parse("1e3") + parse("1k"), "2e3", id="exponent first"),
        pytest.param(parse("512Mi") * 4, "2Gi", id="times"),
        pytest.param(3 * parse("500m"), "1500m", id="times from the left"),
        pytest.param(-parse("1Ki"), "-1Ki", id="negated"),
        pytest.param(parse("0.00048828125Ki") * 2048, "1024", id="less than one is never binary"),
        pytest.param(parse("7Ei") * 1024, "7168Ei", id="beyond the largest suffix"),
    ],
)
def test_arithmetic_keeps_the_family_of_the_first_that_is_not_zero(result: Amount, shown: str) -> None:
    assert str(result) == shown


def test_amounts_compare_by_amount_alone() -> None:
    assert parse("1Gi") == parse("1073741824")
    assert len({parse("1"), parse("1000m"), parse("1e0")}) == 1
    assert parse("999m") < parse("1") <= parse("1000m") < parse("1Ki") > parse("1k") >= parse("1e3")
    assert parse("1") != "1"
    assert not parse("0m")
    assert parse("1n")


NODE = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": 2}


@pytest.mark.parametrize(
    ("request_", "missing"),
    [
        pytest.param({}, {}, id="nothing asked"),
        pytest.param({"cpu": "4000m", "memory": "8192Mi"}, {}, id="all of it"),
        pytest.param({"cpu": "4001m"}, {"cpu": "1m"}, id="a thousandth too much"),
        pytest.param({"example.com/fpga": 0}, {}, id="none of what is not there"),
        pytest.param({"example.com/fpga": 1}, {"example.com/fpga": "1"}, id="one of what is not there"),
        pytest.param({"memory": "10Gi", "nvidia.com/gpu": "8"}, {"memory": "2Gi", "nvidia.com/gpu": "6"}, id="two"),
    ],
)
def test_fitting(request_: dict[str, str | int], missing: dict[str, str]) -> None:
    assert spell(shortfall(request_, NODE)) == missing
    assert fits(request_, NODE) == (not missing)


def test_asking_for_nothing_fits_where_too_much_was_given_away() -> None:
    assert fits({"cpu": 0}, {"cpu": "-1"})
    assert not fits({"cpu": "1m"}, {"cpu": "-1"})


def test_resource_lists_are_added_and_compared_name_by_name() -> None:
    lists = [{"cpu": "500m", "memory": "1Gi"}, {"cpu": "1", "nvidia.com/gpu": 1}, {"memory": "1024Mi"}]
    assert spell(total(lists)) == {"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": "1"}
    assert spell(largest(lists)) == {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    assert spell(minus(NODE, {"cpu": "500m", "pods": 1})) == {
        "cpu": "3500m",
        "memory": "8Gi",
        "nvidia.com/gpu": "2",
        "pods": "-1",
    }


def test_a_bad_amount_in_a_list_is_named() -> None:
    with pytest.raises(QuantityError, match=r"^memory: '4GB' is no quantity; write 4Gi"):
        amounts({"cpu": 1, "memory": "4GB"})


def test_amounts_that_are_equal_do_not_differ() -> None:
    assert not parse("8") != parse("8000m")  # noqa: SIM202 - the operator itself is asked
    assert parse("8") != parse("9")
    assert parse("8") != "8"
