"""The laws of quantities, against an oracle of decimals."""

from decimal import ROUND_UP, Context, Decimal

from hypothesis import given
from hypothesis import strategies as st

from trainplane.api.quantity import Amount, Form, QuantityError, canonical, fits, minus, parse, total

ORACLE = Context(prec=400, rounding=ROUND_UP)
NANO = Decimal("1e-9")
FACTORS = {
    **{suffix: Decimal(10) ** power for suffix, power in zip("num kMGTPE", range(-9, 19, 3), strict=True)},
    **{suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}

digits = st.text("0123456789", max_size=25)
numbers = st.builds(
    lambda sign, whole, dot, rest: f"{sign}{whole}{dot}{rest if dot else ''}",
    st.sampled_from(["", "+", "-"]),
    digits.filter(bool),
    st.sampled_from(["", "."]),
    digits,
)
spellings = st.one_of(
    st.builds(lambda number, suffix: number + suffix.strip(), numbers, st.sampled_from(sorted(FACTORS))),
    st.builds(lambda n, e, power: f"{n}{e}{power}", numbers, st.sampled_from("eE"), st.integers(-40, 40)),
)
parsed = st.one_of(spellings.map(parse), st.builds(Amount, st.integers(), st.sampled_from(Form)))


def exact(spelling: str) -> Decimal:
    """The amount of a spelling by decimal arithmetic, rounded up to billionths and capped as upstream."""
    suffix = spelling.lstrip("+-0123456789.")
    if suffix[:1] in ("e", "E") and suffix != "E" and suffix != "Ei":
        factor = Decimal(10) ** int(suffix[1:])
    else:
        factor = FACTORS[suffix or " "]
    amount = ORACLE.multiply(Decimal(spelling.removesuffix(suffix)), factor)
    amount = amount.quantize(NANO, context=ORACLE)
    most = Decimal(2**63 - 1)
    return max(-most, min(most, amount)) if suffix.endswith("i") else amount


@given(spellings)
def test_parsing_agrees_with_decimals(spelling: str) -> None:
    assert ORACLE.multiply(Decimal(parse(spelling).nano), NANO) == exact(spelling)


@given(parsed)
def test_printing_loses_nothing_and_is_stable(amount: Amount) -> None:
    assert parse(str(amount)) == amount or abs(amount.value()) >= 2**63
    assert canonical(str(amount)) == str(amount) or abs(amount.value()) >= 2**63


@given(parsed, parsed, parsed, st.integers(-1000, 1000))
def test_amounts_add_as_numbers_do(a: Amount, b: Amount, c: Amount, times: int) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + b - b == a
    assert (a + b) * times == a * times + b * times
    assert a + -a == Amount(0)
    assert (a < b) == (a - b < Amount(0)) == (b > a)


@given(parsed)
def test_rounding_never_shrinks(amount: Amount) -> None:
    assert abs(amount.value()) * 10**9 >= abs(amount.nano)
    assert abs(amount.milli()) * 10**6 >= abs(amount.nano)
    assert abs(amount.value()) * 10**9 - abs(amount.nano) < 10**9


@given(st.dictionaries(st.sampled_from("abc"), parsed), st.dictionaries(st.sampled_from("abc"), parsed))
def test_what_is_taken_away_fits(a: dict[str, Amount], b: dict[str, Amount]) -> None:
    both = total([a, b])
    assert minus(both, b) == {**dict.fromkeys(b, Amount(0)), **a}
    positive = {name: amount for name, amount in b.items() if amount >= Amount(0)}
    assert fits(positive, total([positive, {name: abs(amount.nano) for name, amount in a.items()}]))


@given(st.one_of(st.text(), st.text("0123456789.+-eEinumkKMGTP"), st.floats(), st.integers(), st.none(), st.binary()))
def test_anything_is_an_amount_or_a_quantity_error(value: object) -> None:
    try:
        outcome = str(parse(value))  # type: ignore[arg-type]
    except QuantityError as error:
        outcome = str(error).partition("; ")[2]
    assert outcome
