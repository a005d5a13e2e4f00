"""What Go says of text that should be JSON and is not."""

import json


def json_fault(text: str) -> str:
    """Why a text cannot be read, or "" where it can."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return _words(text[error.pos :])
    return ""


def _words(rest: str) -> str:
    if not rest:
        return "unexpected end of JSON input"
    if rest.startswith("-"):
        return f"invalid character '{rest[1:2]}' in numeric literal" if rest[1:] else "unexpected end of JSON input"
    return f"invalid character '{rest[0]}' looking for beginning of value"
