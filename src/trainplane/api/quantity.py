"""Quantities such as "4Gi" and "500m": parse, add, compare and print as Kubernetes does, exactly.

An Amount counts whole billionths; what is finer is rounded away from zero when it is parsed, as upstream rounds it.
Two deliberate differences from kube-apiserver 1.36: a number beyond 1000 digits is refused instead of
occupying the server for minutes, and `1000E` prints as `1000E`, where upstream prints `1`.
"""

import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

import msgspec

_NANO: Final = 10**9
_MILLI: Final = 10**6
_MOST_BINARY: Final = (2**63 - 1) * _NANO
_MOST_DIGITS: Final = 1000

_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = ("", *_BINARY)

_SHAPE: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_WRITTEN: Final = re.compile(r"\s*([+-]?[0-9][0-9_]*(?:[.,][0-9]+)?)\s*([A-Za-z]*)\s*")


class QuantityError(ValueError):
    """A text that is no quantity; the message says why and what to write."""


class Form(StrEnum):
    """The family of suffixes that an amount is written in."""

    BINARY = "binary"
    DECIMAL = "decimal"
    EXPONENT = "exponent"


class Amount(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An exact amount of something, and the family of suffixes it prints in; equal amounts are equal in any family."""

    nano: int
    form: Form = Form.DECIMAL

    def value(self) -> int:
        """The amount as a whole number, rounded away from zero."""
        return _away_from_zero(self.nano, _NANO)

    def milli(self) -> int:
        """The amount in thousandths, rounded away from zero."""
        return _away_from_zero(self.nano, _MILLI)

    def whole_milli(self) -> "Amount":
        """The amount rounded away from zero to whole thousandths, as core resource lists are stored."""
        return self if self.nano % _MILLI == 0 else Amount(self.milli() * _MILLI, self.form)

    def __add__(self, other: "Amount") -> "Amount":
        """The sum, in the family of the first operand that is not zero."""
        return Amount(self.nano + other.nano, self.form if self.nano else other.form)

    def __sub__(self, other: "Amount") -> "Amount":
        """The difference, in the family of the first operand that is not zero."""
        return Amount(self.nano - other.nano, self.form if self.nano else other.form)

    def __mul__(self, times: int) -> "Amount":
        """The amount so many times over."""
        return Amount(self.nano * times, self.form)

    __rmul__ = __mul__

    def __neg__(self) -> "Amount":
        """The amount with the other sign."""
        return Amount(-self.nano, self.form)

    def __bool__(self) -> bool:
        """Whether it is anything but zero."""
        return self.nano != 0

    def __eq__(self, other: object) -> bool:
        """Whether both are the same amount, however written."""
        return self.nano == other.nano if isinstance(other, Amount) else NotImplemented

    def __ne__(self, other: object) -> bool:
        """Whether they differ; a Struct's own `!=` would compare identities."""
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        """By amount alone, as equality."""
        return hash(self.nano)

    def __lt__(self, other: "Amount") -> bool:
        """Whether it is less."""
        return self.nano < other.nano

    def __le__(self, other: "Amount") -> bool:
        """Whether it is at most as much."""
        return self.nano <= other.nano

    def __gt__(self, other: "Amount") -> bool:
        """Whether it is more."""
        return self.nano > other.nano

    def __ge__(self, other: "Amount") -> bool:
        """Whether it is at least as much."""
        return self.nano >= other.nano

    def __str__(self) -> str:
        """The canonical spelling: the largest suffix of its family that needs no fraction."""
        if self.nano == 0:
            return "0"
        if self.form is Form.BINARY and abs(self.nano) >= 1024 * _NANO and self.nano % _NANO == 0:
            return _in_1024s(self.nano // _NANO)
        return _in_1000s(self.nano, exponents=self.form is Form.EXPONENT)


ZERO: Final = Amount(0)


def parse(value: str | int | float | Amount) -> Amount:
    """Read a quantity as Kubernetes does; raises QuantityError with a remedy."""
    if isinstance(value, str):
        return _parse(value)
    if isinstance(value, Amount):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise QuantityError(f"{_shown(value)} is no quantity; write a number with a suffix, such as 500m or 4Gi")
    if isinstance(value, int):
        if abs(value) >= 10**_MOST_DIGITS:
            raise QuantityError(f"the number has more than {_MOST_DIGITS} digits; write a smaller one")
        return Amount(value * _NANO)
    if not math.isfinite(value):
        raise QuantityError(f"{value} is no quantity; write a finite number, such as 1.5 or 4Gi")
    return _parse(repr(value))


def canonical(value: str | int | float | Amount) -> str:
    """The canonical spelling of a quantity: `1024Mi` becomes `1Gi`, `0.5` becomes `500m`."""
    return str(parse(value))


@lru_cache(maxsize=4096)
def _parse(text: str) -> Amount:
    if len(text) > _MOST_DIGITS:
        raise QuantityError(f"the quantity has more than {_MOST_DIGITS} characters; write a shorter one")
    shape = _SHAPE.fullmatch(text.strip(" "))
    if shape is None or not shape[0]:
        raise QuantityError(_refusal(text))
    sign, whole, fraction, suffix = shape[1], shape[2], shape[3] or "", shape[4]
    form, exponent, factor = Form.DECIMAL, 0, 1
    if suffix in _DECIMAL:
        exponent = _DECIMAL[suffix]
    elif suffix in _BINARY:
        form, factor = Form.BINARY, 1 << _BINARY[suffix]
    elif power := _EXPONENT.fullmatch(suffix):
        form, exponent = Form.EXPONENT, int(power[1])
    else:
        raise QuantityError(_refusal(text))
    digits = int(whole + fraction or "0") * factor
    if digits == 0:
        return Amount(0, form)
    if exponent > _MOST_DIGITS:
        raise QuantityError(f"{_shown(text)} has more than {_MOST_DIGITS} digits; write a smaller exponent")
    nano = _scaled(digits, exponent + 9 - len(fraction))
    if form is Form.BINARY:
        nano = min(nano, _MOST_BINARY)
        if nano < _NANO:
            form = Form.DECIMAL
    return Amount(-nano if sign == "-" else nano, form)


def _scaled(digits: int, power: int) -> int:
    # The digits are at most some thousand: an amount finer than that is the smallest there is.
    unit: int = 10 ** min(abs(power), 2 * _MOST_DIGITS)
    return digits * unit if power >= 0 else _away_from_zero(digits, unit)


def _away_from_zero(nano: int, unit: int) -> int:
    return -(-nano // unit) if nano >= 0 else nano // unit


def _in_1024s(value: int) -> str:
    step = 0
    while value % 1024 == 0 and step < len(_BINARY):
        value //= 1024
        step += 1
    return f"{value}{_BINARY_SUFFIX[step]}"


def _in_1000s(nano: int, *, exponents: bool) -> str:
    exponent = -9
    while nano % 1000 == 0 and (exponents or exponent < 18):
        nano //= 1000
        exponent += 3
    if exponents:
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_SUFFIX[exponent]}"


def _refusal(text: str) -> str:
    if not text.strip():
        return "the quantity is empty; write a number with a suffix, such as 500m or 4Gi"
    remedy = "write digits and one suffix of n u m k M G T P E Ki Mi Gi Ti Pi Ei, such as 500m or 4Gi"
    if written := _WRITTEN.fullmatch(text):
        number = written[1].replace("_", "").replace(",", ".")
        unit = written[2].lower().removesuffix("bytes").removesuffix("byte").removesuffix("b")
        if unit in ("k", "ki"):
            remedy = f"write {number}Ki for multiples of 1024 or {number}k for multiples of 1000"
        elif unit == "" or unit.removesuffix("i") in ("m", "g", "t", "p", "e"):
            big = unit[:1].upper()
            both = f"write {number}{big}i for powers of 1024 or {number}{big} for powers of 1000"
            remedy = f"write {number}{big}i" if unit.endswith("i") else both if unit else f"write {number}"
    return f"{_shown(text)} is no quantity; {remedy}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


Resources = Mapping[str, str | int | float | Amount]
"""A resource list: names such as `cpu` and `nvidia.com/gpu`, with how much of each."""


def amounts(resources: Resources) -> dict[str, Amount]:
    """The resource list with every quantity parsed; a QuantityError names the resource."""
    parsed: dict[str, Amount] = {}
    for name, value in resources.items():
        try:
            parsed[name] = parse(value)
        except QuantityError as error:
            raise QuantityError(f"{name}: {error}") from None
    return parsed


def spell(resources: Resources) -> dict[str, str]:
    """The resource list with every quantity in its canonical spelling."""
    return {name: str(amount) for name, amount in amounts(resources).items()}


def total(lists: Iterable[Resources]) -> dict[str, Amount]:
    """The sum of resource lists, name by name."""
    result: dict[str, Amount] = {}
    for resources in lists:
        for name, amount in amounts(resources).items():
            result[name] = result[name] + amount if name in result else amount
    return result


def largest(lists: Iterable[Resources]) -> dict[str, Amount]:
    """The largest amount of each name in any of the lists; of equal ones the first."""
    result: dict[str, Amount] = {}
    for resources in lists:
        for name, amount in amounts(resources).items():
            if name not in result or amount > result[name]:
                result[name] = amount
    return result


def minus(resources: Resources, less: Resources) -> dict[str, Amount]:
    """What is left of `resources` when `less` is taken away; a name only in `less` goes below zero."""
    result = amounts(resources)
    for name, amount in amounts(less).items():
        result[name] = result.get(name, ZERO) - amount
    return result


def shortfall(request: Resources, free: Resources) -> dict[str, Amount]:
    """How much more of each name is needed before `request` fits into `free`; empty when it fits."""
    there = amounts(free)
    missing = ((name, amount - there.get(name, ZERO)) for name, amount in amounts(request).items() if amount > ZERO)
    return {name: amount for name, amount in missing if amount > ZERO}


def fits(request: Resources, free: Resources) -> bool:
    """Whether `free` holds at least `request` of every name; what is not in `free` is not there at all."""
    return not shortfall(request, free)
