"""The pages of a server that are about no object: discovery, schemas, its health and its figures."""

from collections.abc import Callable

from aiohttp import web

from trainplane.cluster.discovery import Discovery, paths, version_info
from trainplane.cluster.errors import MethodNotAllowed, NotAcceptable, NotFound
from trainplane.cluster.http.answers import document, no_page, respond
from trainplane.cluster.http.questions import Questions
from trainplane.cluster.negotiation import DISCOVERY_FORMS, PLAIN, answer_form, refusal_media
from trainplane.cluster.openapi import OpenApi
from trainplane.cluster.openapi_protobuf import ASKED as OPENAPI_PROTOBUF
from trainplane.cluster.resources import Resource
from trainplane.cluster.wire import Plain

METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_HEALTH = (("healthz",), ("livez",), ("readyz",))
_WITH_VERSION = {"api": 2, "apis": 3}
"""The parts of a path that names a version: there a media type that is not known is refused in other words."""
_CHECKS = ("ping", "log", "etcd")


class Pages:
    """Answers to what is asked of the server itself."""

    def __init__(
        self,
        resources: tuple[Resource, ...],
        questions: Questions,
        *,
        address: str,
        version: str,
        metrics: Callable[[], str],
    ) -> None:
        self._resources = resources
        self._questions = questions
        self._version = version
        self._metrics = metrics
        self._built_in_groups = {row.group for row in resources if not row.custom}
        self._discovery = Discovery(resources, address=address)
        self._openapi = OpenApi(resources)

    def answer(self, request: web.BaseRequest, asked: Plain, *, is_closing: bool) -> web.StreamResponse:
        """The page at a path; raises ApiError where the API refuses it in words."""
        parts = asked.parts
        if request.method != "GET" and parts[:1] not in _HEALTH:
            if parts[:1] in (("api",), ("apis",), ("version",)):
                raise MethodNotAllowed
            return no_page()
        matching, accept = request.headers.get("If-None-Match", ""), request.headers.get("Accept", "*/*")
        match parts:
            case ():
                return respond(paths(self._resources), form=PLAIN)
            case ("version",):
                if refusal_media(accept) != PLAIN.media or not any(each in accept for each in ("*", PLAIN.media)):
                    raise NotAcceptable.media([PLAIN.media])
                return respond(version_info(self._version), form=PLAIN)
            case ("version", *_):
                raise NotFound.resource()
            case ("metrics",):
                return web.Response(text=self._metrics(), headers={"Content-Type": METRICS_TEXT})
            case (("healthz" | "livez" | "readyz") as kind, *rest):
                return _health(request, kind, list(rest), is_closing=is_closing)
            case (".well-known", "openid-configuration"):
                return respond(self._questions.openid(asked.path), form=PLAIN)
            case ("openid", "v1", "jwks"):
                if "application/jwk-set+json" not in accept and "*/*" not in accept:
                    raise NotAcceptable.media(["application/jwk-set+json"])
                keys = respond(self._questions.openid(asked.path), form=PLAIN)
                keys.headers["Content-Type"] = "application/jwk-set+json"
                return keys
            case ("openapi", "v2"):
                wanted = self._openapi.v2_protobuf() if OPENAPI_PROTOBUF in accept else self._openapi.v2()
                return document(wanted, matching=matching)
            case ("openapi", "v3"):
                return document(self._openapi.index(), matching=matching)
            case ("openapi", "v3", *rest):
                return self._group_version(request, "/".join(rest))
            case ("api" | "apis", *_):
                form = answer_form(accept, DISCOVERY_FORMS, custom=len(parts) < _WITH_VERSION[parts[0]])
                found = self._discovery.answer(asked.path, request.headers.get("Accept", ""))
                if found is not None and form.media != PLAIN.media:
                    return respond(found.body, form=form)
                if found is not None:
                    return document(found, matching=matching)
                if parts[0] == "api" or (len(parts) > 2 and parts[1] in self._built_in_groups):
                    raise NotFound.resource()
        return no_page()

    def _group_version(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        found = self._openapi.group_version(path)
        if found is None:
            return web.Response(status=404)
        wanted = request.query.get("hash")
        right = found.etag.strip('"')
        if wanted is not None and wanted != right:
            return web.Response(status=301, headers={"Location": f"/openapi/v3/{path}?hash={right}"})
        answer = document(found, matching=request.headers.get("If-None-Match", ""))
        if wanted is not None:
            answer.headers["Cache-Control"] = "public, immutable"
        return answer


def _health(request: web.BaseRequest, kind: str, checks: list[str], *, is_closing: bool) -> web.StreamResponse:
    if checks:
        return web.Response(text="ok") if len(checks) == 1 and checks[0] in _CHECKS else no_page()
    if is_closing and kind == "readyz":
        return web.Response(status=500, text="[-]shutdown failed\nreadyz check failed\n")
    if "verbose" not in request.query:
        return web.Response(text="ok")
    left_out = set(request.query.getall("exclude", ()))
    lines = [f"[+]{name} {'excluded: ' if name in left_out else ''}ok" for name in _CHECKS]
    return web.Response(text="\n".join([*lines, f"{kind} check passed", ""]))
