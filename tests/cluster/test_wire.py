"""Requests as values and as HTTP: the forms of paths, options by verb, forms of answers, and lines of a watch."""

from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from tests.conformance.apply_cases import CASES
from trainplane.cluster.errors import ApiError, BadRequest, NotAcceptable, UnsupportedMediaType
from trainplane.cluster.negotiation import DISCOVERY_FORMS, PLAIN, Form, answer_form, body_form, patch_form
from trainplane.cluster.options import APPLY_PATCH, Options, check, delete_options, is_pretty, name_asked_for
from trainplane.cluster.wire import Events, Plain, Request, event_line, event_line_of, parse

PATHS = {
    "/api/v1/namespaces/ns/pods/p": Request("get", "v1", "pods", namespace="ns", name="p"),
    "/api/v1/namespaces/ns/pods": Request("list", "v1", "pods", namespace="ns"),
    "/api/v1/pods": Request("list", "v1", "pods"),
    "/api/v1/pods/": Request("list", "v1", "pods"),
    "/api/v1/namespaces": Request("list", "v1", "namespaces"),
    "/api/v1/namespaces/ns": Request("get", "v1", "namespaces", name="ns"),
    "/api/v1/namespaces/ns/status": Request("get", "v1", "namespaces", name="ns", subresource="status"),
    "/api/v1/namespaces/ns/finalize": Request("get", "v1", "namespaces", name="ns", subresource="finalize"),
    "/api/v1/nodes/n/status": Request("get", "v1", "nodes", name="n", subresource="status"),
    "/api/v1/namespaces/ns/pods/p/proxy/a/b": Request(
        "get", "v1", "pods", namespace="ns", name="p", subresource="proxy", below="a/b"
    ),
    "/apis/batch/v1/namespaces/ns/jobs/j/status": Request(
        "get", "v1", "jobs", group="batch", namespace="ns", name="j", subresource="status"
    ),
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode": Request(
        "get", "v1", "clusterroles", group="rbac.authorization.k8s.io", name="system:node"
    ),
    "/api/v1/watch/namespaces/ns/secrets": Request("watch", "v1", "secrets", namespace="ns"),
    "/api/v1/watch/namespaces/ns/secrets/a": Request(
        "watch", "v1", "secrets", namespace="ns", options=Options(field_selector="metadata.name=a")
    ),
}
PLAIN_PATHS = (
    "/",
    "/api",
    "/api/v1",
    "/api/v1/",
    "/apis",
    "/apis/batch",
    "/apis/batch/v1",
    "/version",
    "/healthz/etcd",
    "/openapi/v3/apis/batch/v1",
    "/bogus",
    "/api/v1//pods",
    "/apis//v1/jobs",
    "/api/v1/namespaces/ns/../pods",
    "/api/v1/watch",
)


@pytest.mark.parametrize(("path", "request_"), PATHS.items())
def test_paths_name_what_they_name(path: str, request_: Request) -> None:
    assert parse("GET", path) == request_


@pytest.mark.parametrize("path", PLAIN_PATHS)
def test_paths_that_are_no_resource(path: str) -> None:
    assert parse("GET", path) == Plain(path)


@pytest.mark.parametrize(
    ("method", "path", "verb", "fits"),
    [
        ("POST", "/api/v1/namespaces/ns/pods", "create", True),
        ("POST", "/api/v1/namespaces/ns/pods/p", "create", False),
        ("POST", "/api/v1/namespaces/ns/pods/p/binding", "create", True),
        ("PUT", "/api/v1/namespaces/ns/pods/p", "update", True),
        ("PUT", "/api/v1/namespaces/ns/pods", "update", False),
        ("PATCH", "/api/v1/namespaces/ns/pods", "patch", False),
        ("DELETE", "/api/v1/namespaces/ns/pods/p", "delete", True),
        ("DELETE", "/api/v1/namespaces/ns/pods", "deletecollection", True),
        ("HEAD", "/api/v1/namespaces/ns/pods/p", "", False),
        ("OPTIONS", "/api/v1/namespaces/ns/pods/p", "", False),
    ],
)
def test_methods_are_verbs(method: str, path: str, verb: str, fits: bool) -> None:
    request = parse(method, path)
    assert isinstance(request, Request)
    assert (request.verb, request.fits) == (verb, fits)


@pytest.mark.parametrize(
    ("query", "verb"),
    [
        ("watch=true", "watch"),
        ("watch=1", "watch"),
        ("watch=bogus", "watch"),
        ("watch=", "watch"),
        ("watch=false", "list"),
        ("watch=False", "list"),
        ("watch=0", "list"),
        ("", "list"),
    ],
)
def test_a_collection_is_watched_unless_the_query_says_false(query: str, verb: str) -> None:
    request = parse("GET", "/api/v1/pods", query)
    assert isinstance(request, Request)
    assert request.verb == verb
    assert parse("GET", "/api/v1/pods/p", query).verb == "get"  # type: ignore[union-attr]


def test_each_verb_reads_its_own_options() -> None:
    request = parse("GET", "/api/v1/pods", "limit=5&labelSelector=a%3Db&bogus=1&resourceVersion=7&limit=9")
    assert isinstance(request, Request)
    assert request.options == Options(limit=5, label_selector="a=b", resource_version="7", rest=(("bogus", "1"),))
    one = parse("GET", "/api/v1/namespaces/ns/pods/p", "limit=x&pretty=true")
    assert isinstance(one, Request)
    assert one.options == Options(pretty="true", rest=(("limit", "x"),))
    patch = parse("PATCH", "/api/v1/nodes/n", "force=maybe&dryRun=All&dryRun=x", content_type=f"{APPLY_PATCH}; a=b")
    assert isinstance(patch, Request)
    assert patch.options == Options(force=True, dry_run=("All", "x"))
    assert patch.content_type == APPLY_PATCH


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("1_0", 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        ("9" * 30, f'strconv.ParseInt: parsing "{"9" * 30}": value out of range'),
    ],
)
def test_a_number_that_is_none(text: str, words: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse("GET", "/api/v1/pods", f"limit={text}")
    assert refused.value.message == words


OF_THE_WIRE = ("Options.meta.k8s.io", "strconv.ParseInt", "406:", "415:", "media types")


def recorded_refusals() -> list[Any]:
    """The recorded requests that were refused for their options or their media types."""
    found = []
    for path in sorted(CASES.glob("*.yaml")):
        for number, request in enumerate(yaml.safe_load(path.read_text(encoding="utf-8"))["requests"], 1):
            body = request.get("expect", {}).get("body")
            message = str(body.get("message")) if isinstance(body, dict) else ""
            if any(words in message for words in OF_THE_WIRE) and "jwk-set" not in message:
                found.append(pytest.param(request, id=f"{path.stem}-{number}"))
    return found


@pytest.mark.parametrize("recorded", recorded_refusals())
def test_recorded_refusals(recorded: dict[str, Any]) -> None:
    path, query = recorded.get("path") or recorded["watch"], recorded.get("query") or {}
    if "watch" in recorded:
        query = {"watch": "true", **query}
    with pytest.raises(ApiError) as refused:
        ask(recorded, path.replace("{", "").replace("}", ""), urlencode(query, doseq=True))
    mine, theirs = refused.value.status(), recorded["expect"]["body"]
    for status in (mine, theirs):
        (status.get("details") or {}).get("causes", []).sort(key=lambda cause: cause["message"])
    if "[" in theirs["message"]:
        mine["message"], theirs["message"] = sorted(mine["message"]), sorted(theirs["message"])
    assert mine == theirs


def ask(recorded: dict[str, Any], path: str, query: str) -> None:
    """Do with a request what a server does with it before it looks at objects."""
    content_type = recorded.get("contentType", "application/json")
    request = parse(recorded.get("method", "GET"), path, query, content_type=content_type)
    if isinstance(request, Plain):
        answer_form(recorded.get("accept"), DISCOVERY_FORMS)
        return
    custom = "jobset" in path or "trainer" in path
    answer_form(recorded.get("accept"), custom=custom)
    if request.verb == "patch":
        patch_form(content_type, custom=custom)
    elif request.verb in ("create", "update"):
        body_form(content_type)
    check(request.verb, request.options, patch_type=request.content_type)
    if request.verb == "delete":
        delete_options(request.options, recorded.get("body"))


def test_an_apply_needs_a_manager() -> None:
    check("patch", Options(field_manager="m", force=True), patch_type=APPLY_PATCH)
    with pytest.raises(ApiError, match="fieldManager: Required value: is required for apply patch"):
        check("patch", Options(), patch_type=APPLY_PATCH)


def test_delete_options_come_from_the_body_or_the_query() -> None:
    query = Options(propagation_policy="Orphan", grace_period_seconds=3)
    assert (delete_options(query, None).propagation, delete_options(query, None).grace) == ("Orphan", 3)
    body = {"propagationPolicy": "Foreground", "preconditions": {"uid": "u"}}
    found = delete_options(query, body)
    assert (found.propagation, found.grace, found.uid) == ("Foreground", None, "u")
    with pytest.raises(ApiError, match="orphanDependents and deletionPropagation cannot be both set"):
        delete_options(query, {"propagationPolicy": "Foreground", "orphanDependents": True})
    with pytest.raises(ApiError, match='Unsupported value: "Bogus"'):
        delete_options(Options(propagation_policy="Bogus"), None)


def test_a_selector_may_ask_for_one_name() -> None:
    assert name_asked_for(Options(field_selector="metadata.name=a")) == "a"
    assert name_asked_for(Options(field_selector="spec.x=y,metadata.name==a")) == "a"
    assert name_asked_for(Options(field_selector="metadata.name!=a")) == ""


def test_people_get_indented_answers() -> None:
    assert is_pretty(Options(pretty="true"))
    assert is_pretty(Options(), "curl/8.1")
    assert not is_pretty(Options(pretty="0"), "curl/8.1")
    assert not is_pretty(Options(), "kubectl/v1.37.1")


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
FORMS = {
    None: PLAIN,
    "": PLAIN,
    "*/*": PLAIN,
    "application/*": PLAIN,
    "application/json, */*": PLAIN,
    "application/yaml": Form("application/yaml"),
    "text/html, application/json;q=0.5": PLAIN,
    "application/json;q=0.2, application/yaml;q=0.5": Form("application/yaml"),
    "application/vnd.kubernetes.protobuf,application/json": PLAIN,
    TABLE: Form("application/json", "Table", "meta.k8s.io", "v1"),
    f"{TABLE},application/json": Form("application/json", "Table", "meta.k8s.io", "v1"),
    "application/json;as=Table;v=v9;g=meta.k8s.io, application/json": PLAIN,
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io": Form(
        "application/json", "PartialObjectMetadata", "meta.k8s.io", "v1"
    ),
}


@pytest.mark.parametrize(("accept", "form"), FORMS.items())
def test_forms_of_answers(accept: str | None, form: Form) -> None:
    assert answer_form(accept) == form


def test_forms_that_cannot_be_had() -> None:
    only = "only the following media types are accepted: "
    details: dict[str, str] | None
    for accept, custom, opening, details in [
        ("text/html", False, "406: Not Acceptable\n\nAvailable representations: application/json, ", {}),
        ("text/html", True, only, None),
        ("application/vnd.kubernetes.protobuf", True, only, None),
        ("application/json;as=Table;v=v9;g=meta.k8s.io", False, only, None),
        ("application/json;as=Bogus;v=v1;g=meta.k8s.io", False, only, None),
    ]:
        with pytest.raises(NotAcceptable) as refused:
            answer_form(accept, custom=custom)
        assert refused.value.message.startswith(opening)
        assert refused.value.details == details


def test_discovery_names_its_form() -> None:
    wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert answer_form(f"{wanted},application/json", DISCOVERY_FORMS).content_type == wanted
    assert answer_form(wanted.replace("v2", "v2beta1") + ",application/json", DISCOVERY_FORMS) == PLAIN


def test_bodies_and_patches_are_read_in_known_forms() -> None:
    assert body_form("") == body_form("application/json; charset=utf-8") == "application/json"
    with pytest.raises(UnsupportedMediaType, match="accepted media types include: application/json, application/yaml"):
        body_form("text/plain")
    assert patch_form("application/merge-patch+json; charset=utf-8") == "application/merge-patch+json"
    with pytest.raises(UnsupportedMediaType, match="415: Unsupported Media Type"):
        patch_form("")
    with pytest.raises(UnsupportedMediaType, match=r"application/json-patch\+json, application/merge-patch\+json"):
        patch_form("application/strategic-merge-patch+json", custom=True)


def test_events_come_out_of_any_pieces() -> None:
    text = event_line("ADDED", {"a": "é\n"}) + b"\n" + event_line_of("DELETED", b'{"b":1}\n')
    for size in (1, 3, 1000):
        events = Events()
        found = [event for at in range(0, len(text), size) for event in events.feed(text[at : at + size])]
        assert found == [("ADDED", {"a": "é\n"}), ("DELETED", {"b": 1})]
    with pytest.raises(ValueError, match="no type"):
        list(Events().feed(b"{}\n"))
    with pytest.raises(ValueError, match="more than 4 bytes"):
        list(Events(limit=4).feed(b"12345"))
