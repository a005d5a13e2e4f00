"""Malformed requests: HTTP that asks for what cannot be, and bytes that are no HTTP, the same for the same seed."""

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "FOO", "get", "PROPFIND")
_RESOURCES = (
    *("api/v1 pods", "api/v1 configmaps", "api/v1 secrets", "api/v1 nodes", "api/v1 namespaces", "api/v1 events"),
    *(
        "api/v1 serviceaccounts",
        "api/v1 bindings",
        "api/v1 persistentvolumeclaims",
        "api/v1 deployments",
        "api/v2 pods",
    ),
    *("apis/batch/v1 jobs", "apis/batch/v9 jobs", "apis/nowhere/v1 things", "apis/coordination.k8s.io/v1 leases"),
    *("apis/trainer.kubeflow.org/v1alpha1 trainjobs", "apis/trainer.kubeflow.org/v1alpha1 clustertrainingruntimes"),
    *("apis/jobset.x-k8s.io/v1alpha2 jobsets", "apis/ome.io/v1beta1 trainingruntimes", "apis/ome.io/v1beta1 trainjobs"),
    *("apis/rbac.authorization.k8s.io/v1 roles", "apis/authorization.k8s.io/v1 selfsubjectaccessreviews"),
    *("apis/apiextensions.k8s.io/v1 customresourcedefinitions", "apis/autoscaling/v2 horizontalpodautoscalers"),
    *(
        "apis/metrics.k8s.io/v1beta1 pods",
        "apis/scheduling.x-k8s.io/v1alpha1 podgroups",
        "apis/events.k8s.io/v1 events",
    ),
)
_PARTS = ("status", "scale", "log", "exec", "binding", "eviction", "token", "finalize", "proxy", "ephemeralcontainers")
_NAMES = ("a", "fuzz", "A_b", "..", ".", "%2e%2e", "%00", "a%2Fb", "x" * 300, "ü", "%C3%28", "%zz", "a b", "", "'\";--")
_PLAIN = ("/", "//", "/api", "/apis", "/version", "/healthz", "/openapi/v2", "/openapi/v3/apis/batch/v1", "/nowhere")
_OPTIONS = (
    *("limit", "continue", "labelSelector", "fieldSelector", "resourceVersion", "resourceVersionMatch", "watch"),
    *("timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation"),
    *("force", "propagationPolicy", "gracePeriodSeconds", "pretty", "includeObject", "orphanDependents", "nothing"),
)
_VALUES = (
    *(
        "",
        "0",
        "1",
        "-1",
        "true",
        "false",
        "All",
        "9" * 30,
        "1e9",
        "NaN",
        "a=b",
        "a in (b",
        "!",
        ",,,",
        "metadata.name=x",
    ),
    *(
        "spec.nope=1",
        "%",
        "%ff%fe",
        "eyJ2IjoibWV0YSJ9",
        "Exact",
        "NotOlderThan",
        "Strict",
        "x" * 2000,
        "\u2603",
        "Orphan",
    ),
)
_TYPES = (
    *("application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json"),
    *("application/strategic-merge-patch+json", "application/apply-patch+yaml", "text/plain", "", "application/json;"),
    *(
        "application/vnd.kubernetes.protobuf",
        "multipart/form-data",
        "application/json; charset=latin-1",
        "\u00fc/\u00fc",
    ),
)
_ACCEPTS = (
    *(
        "*/*",
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "text/html",
        "",
        ";;;",
        "a/b",
    ),
    *("application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Nothing;v=v1;g=meta.k8s.io", "q=1" * 500),
    *("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;q=x, */*;q=9"),
)
_HEADERS = (
    ("Impersonate-User", "nobody"),
    ("Impersonate-Group", "system:masters"),
    ("Impersonate-User", ""),
    ("If-None-Match", '"x'),
    ("Authorization", "Bearer \x7f"),
    ("Authorization", "Basic !!!"),
    ("Accept-Encoding", "gzip;q=x"),
    ("Upgrade", "websocket"),
    ("Connection", "Upgrade"),
    ("Expect", "100-continue"),
    ("Expect", "the-unexpected"),
    ("Content-Encoding", "gzip"),
    ("Content-Encoding", "nonsense"),
    ("User-Agent", "\u00e9" * 20),
    ("User-Agent", ""),
    ("Range", "bytes=9-1"),
    ("X-" + "y" * 200, "z"),
)
_OBJECTS: dict[str, Any] = {
    "api/v1 configmaps": {"kind": "ConfigMap", "metadata": {"name": "fuzz"}, "data": {"a": "1"}},
    "api/v1 secrets": {"kind": "Secret", "metadata": {"name": "fuzz"}, "data": {"a": "MQ=="}, "stringData": {"b": "1"}},
    "api/v1 pods": {
        "kind": "Pod",
        "metadata": {"name": "fuzz", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}, "env": []}]},
    },
    "apis/batch/v1 jobs": {
        "kind": "Job",
        "metadata": {"name": "fuzz"},
        "spec": {
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
        },
    },
    "apis/trainer.kubeflow.org/v1alpha1 trainjobs": {
        "kind": "TrainJob",
        "metadata": {"name": "fuzz"},
        "spec": {"suspend": True, "runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2, "env": []}},
    },
    "apis/ome.io/v1beta1 trainjobs": {
        "kind": "TrainJob",
        "metadata": {"name": "fuzz"},
        "spec": {"suspend": True, "runtimeRef": {"name": "torch-distributed", "apiGroup": "ome.io"}},
    },
    "apis/jobset.x-k8s.io/v1alpha2 jobsets": {
        "kind": "JobSet",
        "metadata": {"name": "fuzz"},
        "spec": {"suspend": True, "replicatedJobs": [{"name": "w", "template": {"spec": {"template": {"spec": {}}}}}]},
    },
    "apis/rbac.authorization.k8s.io/v1 roles": {
        "kind": "Role",
        "metadata": {"name": "fuzz"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    },
    "apis/authorization.k8s.io/v1 selfsubjectaccessreviews": {
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    },
    "apis/authorization.k8s.io/v1 subjectaccessreviews": {
        "kind": "SubjectAccessReview",
        "spec": {"user": "a", "groups": ["b"], "nonResourceAttributes": {"verb": "get", "path": "/"}},
    },
    "apis/authorization.k8s.io/v1 selfsubjectrulesreviews": {
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    },
    "apis/authentication.k8s.io/v1 tokenreviews": {"kind": "TokenReview", "spec": {"token": "x", "audiences": ["y"]}},
    "api/v1 bindings": {"kind": "Binding", "metadata": {"name": "fuzz"}, "target": {"kind": "Node", "name": "n"}},
    "apis/autoscaling/v2 horizontalpodautoscalers": {
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "fuzz"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "TrainJob", "name": "fuzz"}, "metrics": []},
    },
}
_OTHERS: tuple[Any, ...] = (
    {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan", "preconditions": {"uid": "x"}},
    [{"op": "replace", "path": "/metadata/labels", "value": {"a": "b"}}, {"op": "test", "path": "/x~2", "value": None}],
    {"spec": {"containers": [{"$patch": "delete", "name": "c"}], "$setElementOrder/containers": [{"name": 1}]}},
    {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "fuzz"}, "spec": {"replicas": 3}},
    {"metadata": {"labels": {"c": "d"}, "finalizers": None}, "data": {"a": None}},
    {"kind": "Eviction", "metadata": {"name": "fuzz"}, "deleteOptions": {"dryRun": ["All"], "gracePeriodSeconds": 0}},
    {"kind": "TokenRequest", "spec": {"audiences": ["a"], "expirationSeconds": 600, "boundObjectRef": {"name": "a"}}},
)
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**63, 10**400, 1.5, "", "x" * 5000, [], {}, [[]], {"": ""}, [None]),
    *("\ud800", "\x00", {"$patch": "replace"}, {"metadata": None}, {"a": {"b": {"c": [1, {"d": None}]}}}),
)
_NO_HTTP = (
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost a\r\n\r\n",
    b"GET / HTTP/1.1\r\n: empty\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: nonsense\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    b"GET /" + b"z" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: y\r\n" % number for number in range(5_000)) + b"\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: \x00\r\n\r\n",
    b"GET / HTTP/1.1\nHost: a\n\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"SSH-2.0-OpenSSH_9.9\r\n",
    b"\xff" * 500,
    b"GET http://elsewhere.test/api HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
    b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b" GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
)


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes over a connection."""

    data: bytes
    is_http: bool
    """Whether an answer must come: else a clean end of the connection will do."""
    method: str = ""


def malformed(seed: int, count: int) -> Iterator[Sent]:
    """So many requests."""
    chance = random.Random(seed)
    for number in range(count):
        if chance.random() < 0.15:
            yield Sent(_no_http(chance, number), is_http=False)
        else:
            yield _http(chance)


def _no_http(chance: random.Random, number: int) -> bytes:
    data = bytearray(_NO_HTTP[number % len(_NO_HTTP)])
    if chance.random() < 0.5:
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _http(chance: random.Random) -> Sent:
    method = chance.choice(_METHODS) if chance.random() < 0.3 else chance.choice(_METHODS[:5])
    resource = chance.choice([*_OBJECTS] if chance.random() < 0.6 else _RESOURCES)
    target = _path(chance, resource, named=chance.random() < (0.2 if method == "POST" else 0.7))
    if chance.random() < 0.6:
        pairs = [f"{chance.choice(_OPTIONS)}={chance.choice(_VALUES)}" for _ in range(chance.randint(1, 4))]
        target += "?" + "&".join(pairs)
    headers = [("Host", "cluster.test"), ("Accept", chance.choice(_ACCEPTS))]
    headers += [chance.choice(_HEADERS) for _ in range(chance.choice((0, 0, 0, 1, 1, 2)))]
    body = b"" if method in ("GET", "HEAD") and chance.random() < 0.8 else _body(chance, resource)
    if body:
        usual = _TYPES[2:6] if method == "PATCH" else _TYPES[:1]
        headers.append(("Content-Type", chance.choice(usual if chance.random() < 0.7 else _TYPES)))
    headers.append(("Content-Length", str(len(body))))
    head = f"{method} {_escaped(target)} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers)
    return Sent(head.encode() + b"\r\n" + body, is_http=True, method=method)


def _escaped(target: str) -> str:
    # What would end the first line is no malformed path but another request.
    return target.replace(" ", "%20").replace("\r", "%0d").replace("\n", "%0a")


def _path(chance: random.Random, resource: str, *, named: bool) -> str:
    if chance.random() < 0.1:
        return chance.choice(_PLAIN)
    group, plural = resource.split()
    parts = [group]
    if chance.random() < 0.9 and plural not in ("nodes", "namespaces", "clustertrainingruntimes"):
        parts += ["namespaces", "default" if chance.random() < 0.9 else chance.choice(_NAMES)]
    parts.append(plural)
    if named:
        parts.append("fuzz" if chance.random() < 0.7 else chance.choice(_NAMES))
        if chance.random() < 0.4:
            parts.append(chance.choice(_PARTS))
        if chance.random() < 0.1:
            parts.append(chance.choice(_NAMES))
    if chance.random() < 0.05:
        parts[chance.randrange(len(parts))] = chance.choice(_NAMES)
    return "/" + "/".join(parts)


def _body(chance: random.Random, resource: str) -> bytes:
    kind = chance.randrange(16)
    if kind == 0:
        return bytes(chance.randrange(256) for _ in range(chance.randint(1, 200)))
    if kind == 1:
        return b"k8s\x00" + bytes(chance.randrange(256) for _ in range(chance.randint(0, 100)))
    if kind == 2:
        depth = chance.choice((50, 500, 20_000))
        return b"[" * depth if chance.random() < 0.5 else b'{"a":' * depth + b"1" + b"}" * depth
    if kind == 3:
        return b"a: &a [x,x,x]\n" + b"".join(b"b%d: &b%d [*a,*a,*a]\n" % (n, n) for n in range(50)) + b"c: !!python/x 1"
    text = json.dumps(_mutated(chance, _sample(chance, resource))).encode()
    if kind == 4:
        return text[: chance.randrange(len(text))]
    if kind == 5:
        return gzip.compress(text) if chance.random() < 0.5 else text.replace(b'"', b"'")
    if kind == 6:
        return text.replace(b"1", b"NaN").replace(b'"a"', b'"a\xff"')
    return text


def _sample(chance: random.Random, resource: str) -> Any:
    """What fits a resource, mostly."""
    if resource not in _OBJECTS or chance.random() < 0.25:
        return chance.choice(_OTHERS)
    return {"apiVersion": resource.split()[0].partition("/")[2], **_OBJECTS[resource]}


def _mutated(chance: random.Random, value: Any, depth: int = 0) -> Any:
    """A copy in which some things are other things."""
    if chance.random() < (0.06 if depth else 0.03):
        return chance.choice(_ODD)
    if isinstance(value, dict):
        made = {name: _mutated(chance, item, depth + 1) for name, item in value.items()}
        if chance.random() < 0.1:
            made[chance.choice(("", "x", "status", "metadata", "$patch", "\u0000"))] = chance.choice(_ODD)
        return made
    if isinstance(value, list):
        return [_mutated(chance, item, depth + 1) for item in value] * chance.choice((1, 1, 1, 2))
    return value
