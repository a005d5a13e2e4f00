"""Requests about objects: each verb of the wire handed to the Api, and its answer put into form."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from aiohttp import web

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cluster import options as query_options
from trainplane.cluster import protobuf
from trainplane.cluster.access import User
from trainplane.cluster.api import Api
from trainplane.cluster.bodies import Body, NotReadable, read_json, unrecognized
from trainplane.cluster.errors import ApiError, BadRequest, MethodNotAllowed, NotFound, UnsupportedMediaType
from trainplane.cluster.ground import Answer, Call
from trainplane.cluster.http.answers import NAME, list_in, object_in, respond
from trainplane.cluster.negotiation import Form, body_form, patch_form
from trainplane.cluster.options import APPLY_PATCH, delete_options, truth
from trainplane.cluster.question_forms import in_form
from trainplane.cluster.reading import GO_TYPE_META
from trainplane.cluster.reads import Listed
from trainplane.cluster.resources import resource_of
from trainplane.cluster.wire import PROTOBUF, YAML, Request


class Objects:
    """The verbs on objects, as HTTP has them."""

    def __init__(self, api: Api, *, now: Callable[[], datetime]) -> None:
        self._api = api
        self._now = now
        self._views = api.ground.views

    async def answer(
        self, asked: Request, row: Kind, *, user: User, agent: str, form: Form, data: bytes, pretty: bool
    ) -> web.Response:
        """The answer to any verb but watch; a refusal warns of the kind as well."""
        try:
            return await self._answered(asked, row, user=user, agent=agent, form=form, data=data, pretty=pretty)
        except ApiError as error:
            error.warnings = (*_deprecated(row), *error.warnings)
            raise

    async def _answered(
        self, asked: Request, row: Kind, *, user: User, agent: str, form: Form, data: bytes, pretty: bool
    ) -> web.Response:
        call = self.call(asked, row, user=user, agent=agent)
        if asked.verb != "delete":
            kind = asked.content_type if asked.verb == "patch" else ""
            query_options.check(asked.verb, asked.options, patch_type=kind)
        match asked.verb:
            case "list":
                found = _shown(await self._api.reads.list(call), call)
                body = list_in(row, found, form, now=self._now(), include=asked.options.include_object)
                return respond(body, form=form, pretty=pretty, warnings=_deprecated(row))
            case "deletecollection":
                body = await self._delete_collection(call, data, asked.content_type, form)
                return respond(body, form=form, pretty=pretty)
        made = _shown_answer(await self._on_object(asked, call, data), call)
        body = made.encoded if made.encoded is not None and not form.kind else None
        if body is None:
            body = object_in(made.object, form, now=self._now(), include=asked.options.include_object)
        warnings = (*_deprecated(row), *made.warnings)
        answer = respond(body, code=made.code, form=form, warnings=warnings, pretty=pretty)
        answer[NAME] = (made.object.get("metadata") or {}).get("name", "")
        return answer

    def call(self, asked: Request, row: Kind, *, user: User, agent: str) -> Call:
        """What is asked of the Api, of the kind behind a view where it is one."""
        view, options = self._views.get((row.group, row.kind)), asked.options
        if view is not None:
            options = msgspec.structs.replace(options, field_selector=view.selector(options.field_selector))
            row = view.stored
        return Call(row, asked.namespace, asked.name, asked.subresource, options, user, agent, view)

    async def _on_object(self, asked: Request, call: Call, data: bytes) -> Answer:
        match asked.verb:
            case "get":
                if any(name == "export" and truth(text) for name, text in asked.options.rest):
                    raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
                if asked.subresource == "scale":
                    return self._api.parts.scale(call)
                return await self._api.reads.get_at(call)
            case "create":
                return await self._create(asked, call, data)
            case "update":
                body = _body(data, asked.content_type, call)
                if asked.subresource == "scale":
                    return await self._api.parts.rescale(call, "", body)
                return await self._api.writes.update(call, body, data=data)
            case "patch":
                return await self._patch(asked, call, data)
            case "delete":
                return await self._api.deletion.delete(call, delete_options(call.options, _options(data, asked)))
        raise MethodNotAllowed

    async def _create(self, asked: Request, call: Call, data: bytes) -> Answer:
        body = _body(data, asked.content_type, call)
        if asked.subresource == "binding":
            return await self._api.parts.bind(call, _of_kind(_object(body, "Binding"), "Binding", "core"))
        if asked.subresource == "eviction":
            return await self._api.parts.evict(call, _of_kind(_object(body, "Eviction"), "Eviction", "policy"))
        return await self._api.writes.create(call, body, data=data)

    async def _patch(self, asked: Request, call: Call, data: bytes) -> Answer:
        custom = resource_of(call.row).custom and asked.subresource != "scale"
        form = patch_form(asked.content_type, custom=custom)
        if form == APPLY_PATCH:
            return await self._apply(asked, call, data)
        try:
            body = read_json(data)
        except NotReadable as fault:
            opening = "" if form.startswith("application/strategic") else "error decoding patch: "
            raise BadRequest(f"{opening}{fault}") from None
        if asked.subresource == "scale":
            return await self._api.parts.rescale(call, form, body)
        return await self._api.writes.patch(call, form, body)

    async def _apply(self, asked: Request, call: Call, data: bytes) -> Answer:
        try:
            body = _read(data, YAML)
        except NotReadable as fault:
            raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {fault}") from None
        if body.value is not None and not isinstance(body.value, dict):
            word = "string" if isinstance(body.value, str) else "array" if isinstance(body.value, list) else "number"
            words = f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
            raise BadRequest(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {words}")
        mode = asked.options.field_validation
        if body.lines and mode == "Strict":
            listed = "\n  ".join(body.lines)
            raise BadRequest(
                f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {listed}"
            )
        if asked.subresource == "scale":
            made = await self._api.parts.rescale(call, APPLY_PATCH, body)
        else:
            made = await self._api.writes.apply(call, body.value)
        if body.lines and mode != "Ignore":
            return Answer(made.code, made.object, made.encoded, (*body.lines, *made.warnings))
        return made

    async def _delete_collection(self, call: Call, data: bytes, content_type: str, form: Form) -> Any:
        options = delete_options(call.options, _delete_body(data, content_type))
        found = await self._api.reads.list(call)
        await self._api.deletion.delete_collection(call, options, found.items)
        return list_in(call.asked, _shown(found, call), form, now=self._now())


def _deprecated(row: Kind) -> tuple[str, ...]:
    """What to tell whoever asks for a kind that others have taken the place of."""
    if (row.group, row.kind) != ("", "Endpoints"):
        return ()
    return ("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",)


def _shown(found: Listed, call: Call) -> Listed:
    """A list as the view that was asked for shows it."""
    if call.through is None:
        return found
    return msgspec.structs.replace(found, items=[call.through.shown(stored) for stored in found.items])


def _shown_answer(made: Answer, call: Call) -> Answer:
    """An answer as the view that was asked for shows it."""
    if call.through is None:
        return made
    if made.object.get("kind") == call.through.stored.kind:
        return Answer(made.code, call.through.show(made.object), warnings=made.warnings)
    details = made.object.get("details")
    if details:
        # What was deleted is told of by the name that it was asked for by.
        details = {**details, "group": call.through.row.group}
        return Answer(made.code, {**made.object, "details": details}, warnings=made.warnings)
    return made


def _options(data: bytes, asked: Request) -> Raw | None:
    return _delete_body(data, asked.content_type)


def _delete_body(data: bytes, content_type: str) -> Raw | None:
    if not data.strip():
        return None
    try:
        body = _read(data, body_form(content_type))
    except NotReadable as fault:
        raise BadRequest(f"couldn't get version/kind; json parse error: {fault}") from None
    if isinstance(body.value, list):
        words = "json: cannot unmarshal array into Go value of type " + GO_TYPE_META
        raise BadRequest(f"couldn't get version/kind; json parse error: {words}")
    raw = body.value if isinstance(body.value, dict) else {}
    if raw.get("kind") not in (None, "", "DeleteOptions"):
        version = raw.get("apiVersion") or "v1"
        raise BadRequest(
            f'no kind "{raw["kind"]}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        )
    return in_form(raw, "DeleteOptions") or None


def _read(data: bytes, media: str) -> Body:
    if media == PROTOBUF:
        try:
            return Body(protobuf.decode(data))
        except protobuf.NotInProtobuf as error:
            raise UnsupportedMediaType(str(error)) from None
        except protobuf.ProtobufError as error:
            raise BadRequest(str(error)) from None
    if media == YAML:
        # Only here: a cluster starts without a reader of YAML.
        from trainplane.cluster.yaml_bodies import read_yaml

        return read_yaml(data)
    return read_json(data)


def _body(data: bytes, content_type: str, call: Call) -> Body:
    media = body_form(content_type)
    try:
        return _read(data, media)
    except NotReadable as fault:
        said = f"couldn't get version/kind; json parse error: {fault}"
        raise unrecognized(call.row.kind, data, said) from None


def read_question(data: bytes, content_type: str, kind: str) -> Raw:
    """The body of a review or of a token request."""
    try:
        body = _read(data, body_form(content_type))
    except NotReadable as fault:
        raise unrecognized(kind, data, f"couldn't get version/kind; json parse error: {fault}") from None
    return _of_kind({"kind": kind, **_object(body, kind)}, kind, _PACKAGES.get(kind, "authorization"))


_PACKAGES = {
    "Binding": "core",
    "CustomResourceDefinition": "apiextensions",
    "SelfSubjectReview": "authentication",
    "TokenRequest": "authentication",
    "TokenReview": "authentication",
}
"""What Go calls the home of those questions that are not about access."""


def _object(body: Body, kind: str) -> Raw:
    if not isinstance(body.value, dict):
        raise BadRequest(f"the object provided is unrecognized (must be of type {kind})")
    return body.value


def _of_kind(raw: Raw, kind: str, package: str) -> Raw:
    said = raw.get("kind") or kind
    if said != kind:
        version = str(raw.get("apiVersion") or "v1").rpartition("/")[2]
        words = f"converting (v1.{said}) to ({package}.{kind}): unknown conversion"
        raise BadRequest(f'{said} in version "{version}" cannot be handled as a {kind}: {words}')
    return in_form(raw, kind)


def allowed_verb(asked: Request, row: Kind) -> None:
    """Refuse what a resource or its part has not; raises NotFound or MethodNotAllowed."""
    resource = resource_of(row)
    homeless = row.namespaced and not asked.namespace
    if (asked.namespace and not row.namespaced) or (homeless and asked.name):
        raise NotFound.resource()
    if asked.subresource:
        part = next((each for each in resource.subresources if each.name == asked.subresource), None)
        if part is None or asked.below:
            if resource.custom:
                raise NotFound.of(row.resource, asked.name)
            raise NotFound.resource()
        if asked.verb not in part.verbs:
            raise MethodNotAllowed
    elif not asked.fits or (asked.verb not in resource.verbs) or (homeless and asked.verb not in ("list", "watch")):
        raise MethodNotAllowed
