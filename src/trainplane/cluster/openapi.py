"""The OpenAPI documents: v3 by group version with its index, and v2 as one; kubectl explains and applies by them."""

import hashlib
from collections.abc import Iterable, Sequence

import orjson

from trainplane.api.kinds import Kind, kind_of
from trainplane.api.meta import Raw
from trainplane.cluster.definitions import COMPONENTS, DEFINITIONS, EVERY_OBJECT, definitions, name_of, reference
from trainplane.cluster.discovery import JSON, MINOR, Document
from trainplane.cluster.openapi_protobuf import CONTENT_TYPE, encode_v2
from trainplane.cluster.resources import Resource

_INFO = {"title": "Kubernetes", "version": f"1.{MINOR}"}
_GVK = "x-kubernetes-group-version-kind"
_ACTIONS = {
    "create": ("post", "post"),
    "delete": ("delete", "delete"),
    "deletecollection": ("delete", "deletecollection"),
    "get": ("get", "get"),
    "list": ("get", "list"),
    "patch": ("patch", "patch"),
    "update": ("put", "put"),
}
_ON_COLLECTION = ("list", "create", "deletecollection")
_ON_OBJECT = ("get", "update", "delete", "patch")
_PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_STRATEGIC = "application/strategic-merge-patch+json"
_OPTIONS = {
    "dryRun": "`All` answers as if the request were carried out, and stores nothing.",
    "fieldManager": "The name under which the fields that this request sets are owned.",
    "fieldValidation": "What happens to unknown and repeated fields: Strict refuses, Warn tells, Ignore drops them.",
}
_PLAIN = {
    "Binding": "A pod, and the node that it is placed on.",
    "CustomResourceDefinition": "A kind that is served besides Kubernetes' own. Here they can be read, not added.",
    "LocalSubjectAccessReview": "A question whether somebody may do something in a namespace.",
    "NodeMetrics": "What a node uses.",
    "PodMetrics": "What the containers of a pod use.",
    "SelfSubjectAccessReview": "A question whether you may do something.",
    "SelfSubjectReview": "A question who you are.",
    "SelfSubjectRulesReview": "A question what you may do in a namespace.",
    "SubjectAccessReview": "A question whether somebody may do something.",
    "TokenReview": "A question whose token it is.",
}
"""What is served and has no type of ours."""
_ASKED = {"spec": "What is asked.", "status": "The answer."}
_PARTS = {
    "Binding": {"target": "The node."},
    "NodeMetrics": {"timestamp": "When.", "window": "Over how long.", "usage": "How much."},
    "PodMetrics": {"timestamp": "When.", "window": "Over how long.", "containers": "How much, by container."},
    "CustomResourceDefinition": {"spec": "The kind, and its schema.", "status": "Whether it is served."},
}
"""The fields that such objects have besides those of every object."""
_FORCE = "Take over fields that other managers own."
_LISTING = {
    "continue": "The token of the page before.",
    "fieldSelector": "Only objects whose fields match.",
    "labelSelector": "Only objects whose labels match.",
    "limit": "How many objects a page holds at most.",
    "resourceVersion": "A state that the answer must not be older than.",
    "watch": "Follow changes instead of listing.",
}


class OpenApi:
    """The OpenAPI documents of a set of resources, made when they are first asked for."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        """Nothing is made yet: the documents are large and a start should be quick."""
        self._resources = tuple(resources)
        self._made: dict[str, Document] = {}

    def index(self) -> Document:
        """`/openapi/v3`: where each group version's document lies, under a name that changes with its content."""
        if "" not in self._made:
            found = {}
            for key in sorted({_key(row) for row in self._resources}):
                found[key] = {"serverRelativeURL": f"/openapi/v3/{key}?hash={_hash(self._group_version(key))}"}
            body = orjson.dumps({"paths": found})
            self._made[""] = Document(body, "text/plain; charset=utf-8", f'"{_digest(body)}"')
        return self._made[""]

    def group_version(self, path: str) -> Document | None:
        """`/openapi/v3/PATH`, where PATH is `api/v1` or `apis/GROUP/VERSION`; its URL's hash is the bare etag."""
        return self._group_version(path) if any(_key(row) == path for row in self._resources) else None

    def v2(self) -> Document:
        """`/openapi/v2` in JSON."""
        if "v2" not in self._made:
            body = orjson.dumps(v2_document(self._resources))
            self._made["v2"] = Document(body, JSON, f'"{_digest(body)}"')
        return self._made["v2"]

    def v2_protobuf(self) -> Document:
        """`/openapi/v2` in protobuf, for requests that accept `openapi_protobuf.ASKED`."""
        if "v2-protobuf" not in self._made:
            body = encode_v2(v2_document(self._resources))
            self._made["v2-protobuf"] = Document(body, CONTENT_TYPE, f'"{_digest(body)}"')
        return self._made["v2-protobuf"]

    def _group_version(self, key: str) -> Document:
        if key not in self._made:
            body = orjson.dumps(v3_document([row for row in self._resources if _key(row) == key]))
            self._made[key] = Document(body, JSON, f'"{_digest(body)}"')
        return self._made[key]


def v3_document(resources: Sequence[Resource]) -> Raw:
    """The OpenAPI v3 document of the resources of one group version."""
    paths: Raw = {}
    for row in resources:
        paths |= _paths(row, COMPONENTS)
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": _schemas(resources, COMPONENTS)},
    }


def v2_document(resources: Sequence[Resource]) -> Raw:
    """The OpenAPI v2 document of all resources."""
    paths: Raw = {}
    for row in resources:
        paths |= _paths(row, DEFINITIONS)
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": dict(sorted(paths.items())),
        "definitions": _schemas(resources, DEFINITIONS),
    }


def _key(row: Resource) -> str:
    return f"apis/{row.api_version}" if row.group else f"api/{row.version}"


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest().upper()


def _hash(document: Document) -> str:
    return document.etag.strip('"')


def _kind(row: Resource) -> Kind | None:
    return kind_of(row.api_version, row.kind)


def _schema_name(row: Resource) -> str:
    kind = _kind(row)
    return name_of(kind.type) if kind else f"dev.trainplane.{row.kind}"


def _schemas(resources: Iterable[Resource], root: str) -> Raw:
    rows = tuple(resources)
    found: Raw = definitions([kind.type for kind in map(_kind, rows) if kind], root=root)
    for row in rows:
        name = _schema_name(row)
        plain = _plain(row.kind)
        # Definitions of one type may serve several groups: a dialect's kinds are the hub's.
        known = found.get(name, plain)
        found[name] = {**known, _GVK: [*known.get(_GVK, ()), _gvk(row)]}
    return dict(sorted(found.items()))


def _plain(kind: str) -> Raw:
    """The schema of an object of which no more is known than what every object has."""
    types = {"metadata": "object"}
    fields: Raw = {
        name: {"type": types.get(name, "string"), "description": text} for name, text in EVERY_OBJECT.items()
    }
    about = {"description": _PLAIN[kind]} if kind in _PLAIN else {}
    # kubectl refuses to send a field that is not named here, whatever else is said of the object.
    for name, text in _PARTS.get(kind, _ASKED).items():
        fields[name] = {"description": text, "x-kubernetes-preserve-unknown-fields": True}
    return {**about, "type": "object", "properties": fields, "x-kubernetes-preserve-unknown-fields": True}


def _gvk(row: Resource) -> Raw:
    return {"group": row.group, "version": row.version, "kind": row.kind}


def _paths(row: Resource, root: str) -> Raw:
    base = f"/{_key(row)}"
    found: Raw = {}
    if row.namespaced:
        if "list" in row.verbs:
            found[f"{base}/{row.plural}"] = _item(row, ("list",), root=root)
        base += "/namespaces/{namespace}"
    collection = f"{base}/{row.plural}"
    found[collection] = _item(row, [verb for verb in _ON_COLLECTION if verb in row.verbs], root=root)
    if "get" in row.verbs:
        one = f"{collection}/{{name}}"
        found[one] = _item(row, [verb for verb in _ON_OBJECT if verb in row.verbs], root=root)
        for part in row.subresources:
            if part.kind == row.kind and part.name != "log":
                verbs = [verb for verb in _ON_OBJECT if verb in part.verbs]
                found[f"{one}/{part.name}"] = _item(row, verbs, root=root)
    for path, item in found.items():
        in_path = [name for name in ("name", "namespace") if f"{{{name}}}" in path]
        if in_path:
            item["parameters"] = [_parameter(name, "", root, where="path") for name in in_path]
    return found


def _item(row: Resource, verbs: Iterable[str], *, root: str) -> Raw:
    return {_ACTIONS[verb][0]: _operation(row, verb, root) for verb in verbs}


def _operation(row: Resource, verb: str, root: str) -> Raw:
    schema = reference(_schema_name(row), root)
    parameters = [_parameter(name, about, root) for name, about in _options(verb).items()]
    operation: Raw = {
        "description": f"{verb} {row.kind}",
        "parameters": parameters,
        "responses": {"200": _answer(schema if verb != "list" else {"type": "object"}, root)},
        "x-kubernetes-action": _ACTIONS[verb][1],
        _GVK: _gvk(row),
    }
    if verb == "patch":
        # A strategic merge goes by a schema: kubectl would look in vain for the fields of an object without one.
        types = _PATCHES if row.custom or _kind(row) is None else (*_PATCHES, _STRATEGIC)
        return operation | _takes(types, {"type": "object"}, root)
    if verb in ("create", "update"):
        return operation | _takes((JSON, "application/yaml"), schema, root)
    return operation


def _takes(types: Sequence[str], schema: Raw, root: str) -> Raw:
    """What an operation takes as its body."""
    if root == COMPONENTS:
        return {"requestBody": {"content": {each: {"schema": schema} for each in types}}}
    return {"consumes": list(types)}


def _answer(schema: Raw, root: str) -> Raw:
    if root == COMPONENTS:
        return {"description": "OK", "content": {JSON: {"schema": schema}}}
    return {"description": "OK", "schema": schema}


def _options(verb: str) -> dict[str, str]:
    match verb:
        case "list" | "deletecollection":
            return _LISTING
        case "create" | "update":
            return _OPTIONS
        case "patch":
            return {**_OPTIONS, "force": _FORCE}
        case _:
            return {}


def _parameter(name: str, about: str, root: str, *, where: str = "query") -> Raw:
    type_ = {"limit": "integer", "watch": "boolean", "force": "boolean"}.get(name, "string")
    parameter: Raw = {"name": name, "in": where}
    if about:
        parameter["description"] = about
    if where == "path":
        parameter["required"] = True
    return parameter | ({"schema": {"type": type_}} if root == COMPONENTS else {"type": type_})
