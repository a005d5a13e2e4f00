"""What an unquoted word of YAML means: text, number, truth or nothing, exactly as kubectl reads it."""

import re
from functools import lru_cache

Scalar = str | int | float | bool | None

WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
"""The unquoted words that are not text."""

_OPENINGS = frozenset("0123456789+-.~yYnNtTfFoO")
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)\Z")
_OCTAL = re.compile(r"[-+]?0[0-7]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")

_INT64 = 2**63
_UINT64 = 2**64
_LONGEST_INT = 80
"""Digits and prefix of the longest integer that can still fit 64 bits, with room for leading zeros."""


def resolve(text: str) -> Scalar:
    """The value of an unquoted word."""
    if text and text[0] not in _OPENINGS:
        return text
    return _resolve(text)


def number(text: str) -> int | float:
    """The value of a JSON number; infinite where it is too large for a double."""
    if len(text) < 19 and text.lstrip("-").isdigit():
        return int(text)
    if len(text) <= _LONGEST_INT and text.lstrip("-").isdigit():
        return _sixty_four_bits(int(text))
    return whole(float(text))


def whole(value: float) -> int | float:
    """The same number, as an integer where it is one: JSON does not tell 1.0 from 1, and neither does kubectl."""
    return int(value) if abs(value) < _INT64 and value.is_integer() else value


def surprise(text: str, value: Scalar) -> str:
    """What a reader of an unquoted word may not expect of its value; "" where there is nothing to say."""
    if isinstance(value, float) and text.lstrip("+-").isdigit():
        return f"{text[:40]} needs more than 64 bits and loses its last digits"
    if isinstance(value, str) and text[:1] in "0123456789+-." and _FLOAT.match(text):
        return f"{text[:40]} is too large for a number and is read as text"
    return ""


@lru_cache(maxsize=4096)
def _resolve(text: str) -> Scalar:
    if text in WORDS:
        return WORDS[text]
    if text[0] == ".":
        return _float(text) if _FLOAT.match(text) else text
    if text[0].isalpha():
        return text
    plain = text.replace("_", "")
    if len(plain) <= _LONGEST_INT and _INTEGER.match(plain):
        integer = int(plain, 8) if _OCTAL.match(plain) else int(plain, 0)
        if -_INT64 <= integer < _UINT64:
            return _sixty_four_bits(integer)
    return _float(plain, text) if _FLOAT.match(plain) else text


def _float(plain: str, text: str = "") -> int | float | str:
    value = float(plain)
    return (text or plain) if value in (float("inf"), float("-inf")) else whole(value)


def _sixty_four_bits(integer: int) -> int | float:
    return integer if -_INT64 <= integer < _INT64 else float(integer)
