"""In whose name a request is made, as its headers say."""

from collections.abc import Iterable
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from trainplane.cluster.access import User
from trainplane.cluster.reviews import nameless_impersonation

_EXTRA = "impersonate-extra-"


def whom(headers: CIMultiDictProxy[str]) -> User | None:
    """Whom the headers name, before it is known whether they may; None where nobody; raises BadRequest."""
    name, uid = headers.get("Impersonate-User", ""), headers.get("Impersonate-Uid", "")
    groups = tuple(headers.getall("Impersonate-Group", ()))
    if not name and groups:
        raise nameless_impersonation(groups, uid)
    return User(name, groups, uid, _extra(headers.items())) if name else None


def _extra(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for header, value in headers:
        if header.lower().startswith(_EXTRA):
            found.setdefault(unquote(header[len(_EXTRA) :].lower()), []).append(value)
    return tuple((key, tuple(values)) for key, values in found.items())
