"""In whose name a request is made, as its headers say."""

from collections.abc import Iterable
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from trainplane.cluster.access import User
from trainplane.cluster.reviews import nameless_impersonation

_EXTRA = "impersonate-extra-"


def whom(headers: CIMultiDictProxy[str]) -> User | None:
    """Whom the headers name, before it is known whether they may; None where nobody; raises BadRequest."""
    groups = tuple(headers.getall("Impersonate-Group", ()))
    named = User(
        headers.get("Impersonate-User", ""), groups, headers.get("Impersonate-Uid", ""), _extra(headers.items())
    )
    if named.name:
        return named
    if named != User(""):
        raise nameless_impersonation(named)
    return None


def _extra(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for header, value in headers:
        if header.lower().startswith(_EXTRA):
            found.setdefault(unquote(header[len(_EXTRA) :].lower()), []).append(value)
    return tuple((key, tuple(values)) for key, values in found.items())
