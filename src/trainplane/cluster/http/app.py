"""The server: who asks, whether they may, and who answers; every refusal is a Status."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

import msgspec
import orjson
from aiohttp import web

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cluster.access import Attributes, User, forbidden, forbidden_details
from trainplane.cluster.api import Api
from trainplane.cluster.audit import AuditLog
from trainplane.cluster.client import Streams
from trainplane.cluster.errors import (
    ApiError,
    BadRequest,
    Forbidden,
    Internal,
    InternalError,
    MethodNotAllowed,
    NotFound,
    Timeout,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from trainplane.cluster.ground import Call
from trainplane.cluster.http import measures, streams
from trainplane.cluster.http.acting import whom
from trainplane.cluster.http.answers import no_page, refusal, respond
from trainplane.cluster.http.custom_definitions import ROW as DEFINITION
from trainplane.cluster.http.custom_definitions import CustomDefinitions
from trainplane.cluster.http.measures import Measures
from trainplane.cluster.http.noting import audit_line, note
from trainplane.cluster.http.objects import Objects, allowed_verb, read_question
from trainplane.cluster.http.pages import Pages
from trainplane.cluster.http.questions import Access, Questions
from trainplane.cluster.http.unserved import refuse_by_name
from trainplane.cluster.http.watch import stream
from trainplane.cluster.identity import Identity
from trainplane.cluster.log import Closed, Key, StoreError
from trainplane.cluster.negotiation import PLAIN, Form, answer_form, refusal_media
from trainplane.cluster.options import APPLY_PATCH, check, is_pretty, name_asked_for
from trainplane.cluster.resources import STATELESS, Resource, resource_of, served
from trainplane.cluster.reviews import impersonated, impersonation_refused
from trainplane.cluster.strategy import strategy_of
from trainplane.cluster.wire import Plain, Request, parse

BODY_LIMIT = 3 * 1024 * 1024
BODY_TIME = 30.0
"""How long a client may take to send its body."""
_LOG = logging.getLogger("trainplane.http")


class Served(msgspec.Struct, frozen=True):
    """What a server is made of."""

    api: Api
    identity: Identity
    questions: Questions
    access: Access
    now: Callable[[], datetime]
    version: str
    kinds: tuple[Kind, ...]
    measures: Measures | None = None
    metrics: Callable[[], str] = lambda: ""
    """What the cluster tells of itself, in Prometheus' text form."""
    streams: Streams | None = None
    """What flows to and from pods; None where none is run."""
    audit: AuditLog | None = None
    """Where requests are noted."""


class App:
    """Answers HTTP requests."""

    def __init__(self, served_: Served, *, address: str) -> None:
        self._served = served_
        self._resources: tuple[Resource, ...] = served(served_.kinds)
        self._kinds = {(row.group, row.version, row.plural): row for row in served_.kinds}
        self._stateless = {(row.group, row.version, row.plural): row for row in STATELESS}
        self._built_in_groups = {row.group for row in self._resources if not row.custom}
        self._pages = Pages(
            self._resources, served_.questions, address=address, version=served_.version, metrics=served_.metrics
        )
        self._objects = Objects(served_.api, now=served_.now)
        self.closing = asyncio.Event()
        self._definitions: CustomDefinitions | None = None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, and note it where requests are noted."""
        audit = self._served.audit
        if audit is None:
            return await self._handle(request)
        began, answer = self._served.now(), None
        try:
            answer = await self._handle(request)
            return answer
        finally:
            took = (self._served.now() - began).total_seconds()
            audit.write(audit_line(request, answer, took=took))

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to one request; whatever happens, it is a proper one."""
        try:
            return await self._answer(request)
        except ApiError as error:
            return refusal(error, media=refusal_media(request.headers.get("Accept")))
        except Closed:
            return refusal(Unavailable("the server is shutting down; try again"))
        except StoreError as error:
            return refusal(InternalError(str(error)))
        except TimeoutError:
            return refusal(Timeout("the request took too long to arrive"))
        except (RecursionError, orjson.JSONEncodeError):
            return refusal(BadRequest("what is asked for cannot be written as JSON: it is nested too deeply"))
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:  # noqa: BLE001 - the last resort: a client is always answered
            _LOG.exception("%s %s failed", request.method, request.path)
            return refusal(InternalError("an internal error occurred; the server's log has the details"))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        user = self._who(request)
        raw_path, _, query = request.raw_path.partition("?")
        raw_path = raw_path.partition("#")[0]
        asked = parse(request.method, raw_path, query, content_type=request.headers.get("Content-Type", ""))
        if self._served.audit:
            note(request, user, asked)
        user = self._acting(request, user, asked)
        self._check_access(user, asked, method=request.method)
        if isinstance(asked, Plain):
            return self._pages.answer(request, asked, is_closing=self.closing.is_set())
        key = (asked.group, asked.version, asked.resource)
        row = self._kinds.get(key)
        if row is None:
            return await self._without_row(request, asked, user)
        allowed_verb(asked, row)
        form = answer_form(request.headers.get("Accept"), custom=resource_of(row).custom)
        agent = _agent(request)
        if asked.verb == "watch":
            return await self._watch(request, asked, row, user, form)
        if asked.subresource == "token":
            data = await self._read(request)
            made = self._served.questions.token(
                asked.namespace, asked.name, read_question(data, asked.content_type, "TokenRequest")
            )
            return respond(made, code=201, form=PLAIN)
        if asked.subresource in ("log", "exec", "attach", "portforward"):
            return await self._flow(request, asked, user)
        data = await self._read(request)
        pretty = is_pretty(asked.options, request.headers.get("User-Agent", ""))
        if self._would_create(asked, row):
            self._check_access(user, msgspec.structs.replace(asked, verb="create"), method=request.method)
        return await self._objects.answer(asked, row, user=user, agent=agent, form=form, data=data, pretty=pretty)

    def _would_create(self, asked: Request, row: Kind) -> bool:
        """Whether an apply or a PUT would make the object, so that whoever asks must be allowed that too."""
        applies = asked.verb == "patch" and asked.content_type == APPLY_PATCH
        puts = asked.verb == "update" and strategy_of(row).made_by_update
        missing = not asked.subresource and (applies or puts)
        return missing and self._served.api.ground.find(Key(row.resource, asked.namespace, asked.name)) is None

    def _who(self, request: web.BaseRequest) -> User:
        transport = request.transport
        certificate = transport.get_extra_info("peercert") if transport else None
        user = self._served.identity.authenticate(
            authorization=request.headers.get("Authorization", ""),
            certificate=certificate or None,
            now=self._served.now(),
        )
        if user is None:
            raise Unauthorized
        return user

    def _acting(self, request: web.BaseRequest, user: User, asked: Request | Plain) -> User:
        """The user, or another in whose name they ask and may."""
        named = whom(request.headers)
        if named is None:
            return user
        wanted = _attributes(asked, request.method)
        needed = impersonation_refused(user, wanted, whom=named, roles=self._served.access.roles)
        if needed is not None:
            self._refuse(user, needed)
        return impersonated(named)

    def _check_access(self, user: User, asked: Request | Plain, *, method: str) -> None:
        wanted = _attributes(asked, method)
        if not self._served.access.allowed(user, wanted):
            self._refuse(user, wanted)

    def _refuse(self, user: User, wanted: Attributes) -> None:
        raise Forbidden(forbidden(user, wanted), details=forbidden_details(wanted))

    async def _read(self, request: web.BaseRequest) -> bytes:
        """The body; raises TooLarge."""
        if (request.content_length or 0) > BODY_LIMIT:
            raise TooLarge.limit(BODY_LIMIT)
        if not request.body_exists:
            return b""
        if request.content.is_eof():
            return _bounded(request.content.read_nowait())
        parts: list[bytes] = []
        size = 0
        async with asyncio.timeout(BODY_TIME):
            async for part in request.content.iter_any():
                size += len(part)
                if size > BODY_LIMIT:
                    raise TooLarge.limit(BODY_LIMIT)
                parts.append(part)
        return b"".join(parts)

    async def _watch(
        self, request: web.BaseRequest, asked: Request, row: Kind, user: User, form: Form
    ) -> web.StreamResponse:
        check("watch", asked.options)
        call = self._objects.call(asked, row, user=user, agent="")
        batches = self._served.api.reads.watch(call)
        store = self._served.api.ground.store
        return await stream(
            request,
            batches,
            call,
            form,
            now=self._served.now,
            revision=lambda: store.revision,
            closing=self.closing,
        )

    async def _without_row(self, request: web.BaseRequest, asked: Request, user: User) -> web.StreamResponse:
        """Resources that are not stored, and those that are not there."""
        row = self._stateless.get((asked.group, asked.version, asked.resource))
        if row is None:
            refuse_by_name(asked)
            if asked.group in self._built_in_groups:
                raise NotFound.resource()
            return no_page()
        if asked.resource == "customresourcedefinitions":
            return await self._definition(request, asked, user)
        if asked.group == measures.GROUP:
            return respond(measures.answer(asked, self._served.measures), form=PLAIN)
        if asked.verb not in row.verbs or asked.name:
            raise MethodNotAllowed
        data = await self._read(request)
        raw = read_question(data, asked.content_type, row.kind)
        if asked.resource == "bindings":
            return await self._binding(asked, raw, user)
        made = self._served.questions.review(asked.resource, raw, user, namespace=asked.namespace)
        return respond(made, code=201, form=PLAIN)

    async def _binding(self, asked: Request, raw: Raw, user: User) -> web.Response:
        name = (raw.get("metadata") or {}).get("name") or ""
        call = Call(self._kinds["", "v1", "pods"], asked.namespace, name, "binding", asked.options, user)
        made = await self._served.api.parts.bind(call, raw)
        return respond(made.object, code=made.code, form=PLAIN)

    async def _definition(self, request: web.BaseRequest, asked: Request, user: User) -> web.StreamResponse:
        now = self._served.now()
        self._definitions = self._definitions or CustomDefinitions(self._served.api.ground)
        form = answer_form(request.headers.get("Accept"))
        if asked.verb in ("get", "list"):
            check(asked.verb, asked.options)
            return respond(self._definitions.read(asked, form, now=now), form=form)
        if asked.verb == "watch":
            check("watch", asked.options)
            call = Call(DEFINITION, options=asked.options, user=user)
            batches = self._definitions.watch(call)
            return await stream(
                request, batches, call, form, now=self._served.now, revision=lambda: 1, closing=self.closing
            )
        data = await self._read(request)
        sent = read_question(data, "application/yaml", DEFINITION.kind)
        return respond(await self._definitions.write(asked, sent), form=PLAIN)

    async def _flow(self, request: web.BaseRequest, asked: Request, user: User) -> web.StreamResponse:
        """What flows to or from a pod. Whoever may only read may not run anything, though WebSocket asks with GET."""
        pod = self._served.api.reads.get(Call(self._kinds["", "v1", "pods"], asked.namespace, asked.name)).object
        is_log = asked.subresource == "log"
        if not is_log:
            self._check_access(user, msgspec.structs.replace(asked, verb="create"), method=request.method)
        if not pod["spec"].get("nodeName"):
            if is_log:
                streams.container_of(pod, streams.log_options(asked).container)
                return web.Response(status=204)
            if asked.subresource != "portforward":
                streams.container_of(pod, dict(asked.options.rest).get("container", ""))
            raise BadRequest(f"pod {asked.name} does not have a host assigned")
        if self._served.streams is None:
            raise Internal("the nodes of this cluster are simulated: nothing runs in this pod")
        answer = streams.log if is_log else streams.converse
        return await answer(request, self._served.streams, asked, pod)


def _bounded(data: bytes) -> bytes:
    if len(data) > BODY_LIMIT:
        raise TooLarge.limit(BODY_LIMIT)
    return data


def _attributes(asked: Request | Plain, method: str) -> Attributes:
    if isinstance(asked, Plain):
        return Attributes(_PATH_VERBS.get(method, method.lower()), path=asked.path)
    name = asked.name
    if not name and asked.verb in ("list", "watch"):
        name = name_asked_for(asked.options)
    return Attributes(
        asked.verb or method.lower(),
        asked.resource,
        asked.group,
        asked.subresource,
        name,
        asked.scope,
        asked.version,
    )


_PATH_VERBS = {"GET": "get", "POST": "post", "PUT": "put", "PATCH": "patch", "DELETE": "delete", "HEAD": "head"}


def _agent(request: web.BaseRequest) -> str:
    return request.headers.get("User-Agent", "").partition("/")[0] or "unknown"
