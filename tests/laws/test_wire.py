"""Whatever can be asked can be written and read again."""

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from trainplane.cluster.errors import BadRequest, NotAcceptable
from trainplane.cluster.negotiation import answer_form
from trainplane.cluster.options import Options
from trainplane.cluster.wire import Plain, Request, parse

_words = st.text("abcz-.09", min_size=1, max_size=8).filter(lambda word: word not in (".", ".."))
_names = st.text("abcxyz-.:@%+ é&=?#", min_size=1, max_size=8).filter(lambda word: word not in (".", ".."))
_resources = st.sampled_from(["pods", "jobs", "nodes", "trainjobs", "a"])
_texts = st.text(max_size=8)
_whole = st.integers(-(2**63), 2**63 - 1)

_LISTS = {
    "label_selector": _texts,
    "field_selector": _texts,
    "limit": _whole,
    "continue_": _texts,
    "resource_version": _texts,
    "resource_version_match": _texts,
    "allow_watch_bookmarks": st.booleans(),
    "send_initial_events": st.none() | st.booleans(),
    "timeout_seconds": st.none() | _whole,
}
_WRITES = {"dry_run": st.lists(_texts, max_size=2).map(tuple), "field_manager": _texts, "field_validation": _texts}
_DELETES = {
    "dry_run": st.lists(_texts, max_size=2).map(tuple),
    "grace_period_seconds": st.none() | _whole,
    "propagation_policy": st.none() | _texts,
    "orphan_dependents": st.none() | st.booleans(),
}
_OPTIONS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "get": {"resource_version": _texts},
    "list": _LISTS,
    "watch": _LISTS,
    "create": _WRITES,
    "update": _WRITES,
    "patch": {**_WRITES, "force": st.none() | st.booleans()},
    "delete": _DELETES,
    "deletecollection": {**_LISTS, **_DELETES},
}
_rest = st.lists(st.tuples(st.text("xyz", min_size=1, max_size=3), _texts), max_size=2).map(tuple)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Any request that fits its path."""
    verb = draw(st.sampled_from(sorted(_OPTIONS)))
    collection = verb in ("list", "watch", "create", "deletecollection")
    said = {name: draw(values) for name, values in _OPTIONS[verb].items()}
    options = Options(**said, pretty=draw(_texts), include_object=draw(_texts), rest=draw(_rest))
    group, version, content_type = draw(st.just("") | _words), draw(_words), draw(st.sampled_from(["", "a/b"]))
    if draw(st.booleans()):
        name = "" if collection else draw(_names)
        subresource = draw(st.sampled_from(["", "status", "finalize"])) if name else ""
        return Request(verb, version, "namespaces", group=group, name=name, subresource=subresource, options=options)
    name = "" if collection and not (verb == "create" and draw(st.booleans())) else draw(_names)
    subresource = draw(_words if verb == "create" else st.just("") | _words) if name else ""
    return Request(
        verb,
        version,
        draw(_resources),
        group=group,
        namespace=draw(st.just("") | _names),
        name=name,
        subresource=subresource,
        below=draw(st.sampled_from(["", "a", "a/b"])) if subresource else "",
        options=options,
        content_type=content_type,
    )


@given(requests())
def test_what_is_written_is_read(request: Request) -> None:
    url = urlsplit(request.url)
    assert parse(request.method, url.path, url.query, content_type=request.content_type) == request
    assert request.fits


@given(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "zap"]), st.text(max_size=30), _texts, _texts)
def test_any_line_is_read_or_refused(method: str, path: str, query: str, content_type: str) -> None:
    for opening in ("", "/api/v1/", "/apis/g/v/namespaces/", "/"):
        with suppress(BadRequest):
            assert isinstance(parse(method, opening + path, query, content_type=content_type), Request | Plain)


@given(st.text(max_size=40))
def test_any_accept_header_is_answered_or_refused(accept: str) -> None:
    for header in (accept, f"application/json;{accept}", f"{accept},*/*"):
        with suppress(NotAcceptable):
            assert answer_form(header).media in ("application/json", "application/yaml")
