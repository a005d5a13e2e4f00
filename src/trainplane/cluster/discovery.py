"""What the API says of itself: groups, versions and resources, in the old documents and the aggregated ones."""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec
import orjson

from trainplane.api.meta import Raw
from trainplane.cluster.resources import Resource, Subresource

MINOR = 36
"""The minor version of Kubernetes whose ways are followed."""

JSON = "application/json"
AGGREGATED_VERSIONS = ("v2",)


class Document(msgspec.Struct, frozen=True):
    """An answer that does not change while the process lives."""

    body: bytes
    content_type: str
    etag: str


class Discovery:
    """The discovery documents of a set of resources, made once each."""

    def __init__(self, resources: Sequence[Resource], *, address: str = "127.0.0.1:443") -> None:
        """`address` is where this server is reached, for the oldest clients."""
        self._resources = tuple(resources)
        self._address = address
        self._made: dict[tuple[str, str], Document | None] = {}

    def answer(self, path: str, accept: str = "") -> Document | None:
        """The document at a path such as `/apis/batch/v1`; None where there is none, and the answer is a text 404."""
        path = path.rstrip("/")
        aggregated = aggregated_version(accept) if path in ("/api", "/apis") else ""
        key = (path, aggregated)
        if key not in self._made:
            raw = self._raw(path, aggregated)
            content_type = f"{JSON};g=apidiscovery.k8s.io;v={aggregated};as=APIGroupDiscoveryList"
            self._made[key] = None if raw is None else document(raw, content_type if aggregated else JSON)
        return self._made[key]

    def _raw(self, path: str, aggregated: str) -> Raw | None:
        match path.split("/")[1:]:
            case ["api" | "apis" as root] if aggregated:
                return aggregated_list(self._resources, core=root == "api", version=aggregated)
            case ["api"]:
                return api_versions(self._resources, address=self._address)
            case ["apis"]:
                return group_list(self._resources)
            case ["api", version]:
                return resource_list(self._resources, "", version)
            case ["apis", group]:
                return api_group(self._resources, group)
            case ["apis", group, version]:
                return resource_list(self._resources, group, version)
            case _:
                return None


def document(raw: Raw, content_type: str = JSON) -> Document:
    """A JSON document with its strong Etag."""
    body = orjson.dumps(raw)
    return Document(body, content_type, f'"{hashlib.sha256(body).hexdigest().upper()}"')


def aggregated_version(accept: str) -> str:
    """The version of aggregated discovery that an Accept header asks for first, or "" for the old documents."""
    for entry in accept.split(","):
        media, *parameters = (part.strip() for part in entry.split(";"))
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media in (JSON, "*/*") and not given.keys() & {"g", "v", "as"}:
            return ""
        if media == JSON and (given.get("g"), given.get("as")) == ("apidiscovery.k8s.io", "APIGroupDiscoveryList"):
            version = given.get("v", "")
            if version in AGGREGATED_VERSIONS:
                return version
    return ""


def api_versions(resources: Iterable[Resource], *, address: str) -> Raw:
    """`/api` of old: the versions of the core group."""
    versions = dict.fromkeys(row.version for row in resources if not row.group)
    where = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": list(versions), "serverAddressByClientCIDRs": where}


def group_list(resources: Sequence[Resource]) -> Raw:
    """`/apis` of old: every group but the core one, with its versions."""
    groups = dict.fromkeys(row.group for row in resources if row.group)
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(resources, group) for group in groups]}


def api_group(resources: Sequence[Resource], group: str) -> Raw | None:
    """`/apis/GROUP`."""
    if not any(row.group == group for row in resources):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(resources, group)}


def resource_list(resources: Iterable[Resource], group: str, version: str) -> Raw | None:
    """`/apis/GROUP/VERSION`: each resource and, under its own name, each subresource."""
    rows = [row for row in resources if (row.group, row.version) == (group, version)]
    if not rows:
        return None
    head: Raw = {"kind": "APIResourceList", "groupVersion": rows[0].api_version}
    if group:
        head["apiVersion"] = "v1"
    return {**head, "resources": [entry for row in rows for entry in _entries(row)]}


def aggregated_list(resources: Iterable[Resource], *, core: bool, version: str = "v2") -> Raw:
    """`/api` or `/apis` as one document with everything in it."""
    items: list[Raw] = []
    chosen = (row for row in resources if core is not bool(row.group))
    for group, rows in groupby(chosen, key=lambda row: row.group):
        by_version: dict[str, list[Raw]] = {}
        for row in rows:
            by_version.setdefault(row.version, []).append(_aggregated(row))
        versions = [{"version": v, "resources": found, "freshness": "Current"} for v, found in by_version.items()]
        items.append({"metadata": {"name": group} if group else {}, "versions": versions})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": items,
    }


def paths(resources: Iterable[Resource], *others: str) -> Raw:
    """`/`: every path that discovery knows, and others that are served."""
    found = {"/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version", *others}
    for row in resources:
        if row.group:
            found |= {f"/apis/{row.group}", f"/apis/{row.api_version}"}
        else:
            found.add(f"/api/{row.version}")
    return {"paths": sorted(found)}


def version_info(trainplane: str, *, platform: str = "linux/amd64", python: str = "3") -> Raw:
    """`/version`: which Kubernetes this API follows, and which Trainplane it is."""
    build = "".join(letter if letter.isalnum() or letter in ".-" else "." for letter in trainplane)
    return {
        "major": "1",
        "minor": str(MINOR),
        "gitVersion": f"v1.{MINOR}.0+trainplane.{build}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": f"python{python}",
        "platform": platform,
    }


def _group(resources: Iterable[Resource], group: str) -> Raw:
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version}
        for version in dict.fromkeys(row.version for row in resources if row.group == group)
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _entries(row: Resource) -> Iterable[Raw]:
    entry: Raw = {
        "name": row.plural,
        "singularName": row.singular,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": row.verbs,
    }
    yield {**entry, **_names(row), **_stored_as(row)}
    for part in row.subresources:
        foreign = {"group": part.group, "version": part.version} if part.group else {}
        yield {
            "name": f"{row.plural}/{part.name}",
            "singularName": "",
            "namespaced": row.namespaced,
            **foreign,
            "kind": part.kind,
            "verbs": part.verbs,
        }


def _aggregated(row: Resource) -> Raw:
    entry: Raw = {
        "resource": row.plural,
        "responseKind": _response_kind(row, row.kind),
        "scope": "Namespaced" if row.namespaced else "Cluster",
        "singularResource": row.singular,
        "verbs": row.verbs,
        **_names(row),
    }
    if row.subresources:
        entry["subresources"] = [_aggregated_part(row, part) for part in row.subresources]
    return entry


def _aggregated_part(row: Resource, part: Subresource) -> Raw:
    foreign = {"group": part.group, "version": part.version, "kind": part.kind}
    return {
        "subresource": part.name,
        "responseKind": foreign if part.group else _response_kind(row, part.kind),
        "verbs": part.verbs,
    }


def _response_kind(row: Resource, kind: str) -> Raw:
    # A real server leaves the group and version of its own kinds empty, and clients take the enclosing ones.
    group, version = (row.group, row.version) if row.custom else ("", "")
    return {"group": group, "version": version, "kind": kind}


def _names(row: Resource) -> Raw:
    names: Raw = {"shortNames": row.short_names} if row.short_names else {}
    return names | ({"categories": row.categories} if row.categories else {})


def _stored_as(row: Resource) -> Raw:
    """What tells whether two servers store a kind alike; what is not stored has none."""
    if "get" not in row.verbs or row.group == "metrics.k8s.io":
        return {}
    group = "" if row.group == "events.k8s.io" else row.group
    digest = hashlib.sha256(f"{group}/{row.version}/{row.kind}".encode()).digest()
    return {"storageVersionHash": b64encode(digest[:8]).decode()}
