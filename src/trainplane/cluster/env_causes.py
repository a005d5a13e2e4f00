"""What the API server refuses in the variables of containers, and in what they are told of their pod."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from trainplane.cluster.causes import Cause, invalid, not_found, not_supported, required
from trainplane.cluster.names import key_faults, label_faults, subdomain_faults
from trainplane.cluster.paths import path_faults

_ENV_NAME = re.compile(r"[ -<>-~]+\Z")
_IN_ENV = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_IN_FILES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_FIELDS = {*_IN_ENV, *_IN_FILES, "spec.restartPolicy", "spec.schedulerName", "status.nominatedNodeName", "status.phase"}
_MAPS = ("metadata.annotations", "metadata.labels")
_ENTRY = re.compile(r"(.*)\['(.*)'\]\Z", re.DOTALL)
_RESOURCES = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS = {
    "cpu": (("1m", "1"), "1m and 1", "cpu"),
    "memory": (_BYTES, ", ".join(_BYTES), "memory"),
    "ephemeral-storage": (_BYTES, ", ".join(_BYTES), "local ephemeral storage"),
    "hugepages-": (_BYTES, ", ".join(_BYTES), "hugepages"),
}
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+\Z")
CONFIG_KEY_WORDS = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
Part = Mapping[str, Any]


def config_key_faults(key: str) -> Iterator[str]:
    """What keeps a text from being a key of a ConfigMap or a Secret."""
    if len(key) > 253:
        yield "must be no more than 253 characters"
    if not CONFIG_KEY.match(key):
        yield CONFIG_KEY_WORDS
    if key in (".", ".."):
        yield f"must not be '{key}'"
    elif key.startswith(".."):
        yield "must not start with '..'"


def env_causes(env: Any, at: str, *, volumes: Container[Any]) -> Iterator[Cause]:
    """What is wrong with variables that stand at a path; `volumes` are the names of those whose files they may read."""
    for index, each in enumerate(env):
        where = f"{at}[{index}]"
        name, source = each.get("name") or "", each.get("valueFrom")
        if not name:
            yield required(f"{where}.name")
        elif not _ENV_NAME.match(name):
            words = "a valid environment variable name must consist only of printable ASCII characters other than '='"
            yield invalid(f"{where}.name", name, words)
        if source is not None:
            yield from _source(each, source, f"{where}.valueFrom")
            if source.get("fileKeyRef") is not None and (source["fileKeyRef"].get("volumeName") or "") not in volumes:
                volume = source["fileKeyRef"].get("volumeName") or ""
                yield not_found(f"{where}.valueFrom.fileKeyRef.volumeName", volume)


def _source(each: Part, source: Part, at: str) -> Iterator[Cause]:
    given = [kind for kind in _SOURCES if source.get(kind) is not None]
    if not given:
        kinds = f"{', '.join(f'`{kind}`' for kind in _SOURCES[:-1])} or `{_SOURCES[-1]}`"
        yield invalid(at, "", f"must specify one of: {kinds}")
    elif each.get("value"):
        yield invalid(at, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(at, "", "may not have more than one field specified at a time")
    if source.get("fieldRef") is not None:
        yield from field_causes(source["fieldRef"], f"{at}.fieldRef")
    if source.get("resourceFieldRef") is not None:
        yield from share_causes(source["resourceFieldRef"], f"{at}.resourceFieldRef")
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if source.get(kind) is not None:
            yield from _key_causes(source[kind], f"{at}.{kind}")
    if source.get("fileKeyRef") is not None:
        yield from _file_causes(source["fileKeyRef"], f"{at}.fileKeyRef")


def field_causes(raw: Part, at: str, *, files: bool = False) -> Iterator[Cause]:
    """What is wrong with what names a field of the pod, in a variable or in files."""
    version, path = raw.get("apiVersion") or "v1", raw.get("fieldPath") or ""
    where = f"{at}.fieldPath"
    entry = _ENTRY.match(path)
    if not path:
        yield required(where)
    elif version != "v1":
        yield invalid(where, path, f"error converting fieldPath: unsupported pod version: {version}")
    elif entry and entry[1] not in _MAPS:
        yield invalid(where, path, f"error converting fieldPath: field label does not support subscript: {path}")
    elif path not in _FIELDS and not entry:
        yield invalid(where, path, f"error converting fieldPath: field label not supported: {path}")
    elif entry:
        key = entry[2].lower() if entry[1] == "metadata.annotations" else entry[2]
        for fault in key_faults(key):
            yield invalid(at, entry[2], fault)
    elif path not in (known := _IN_FILES if files else _IN_ENV):
        yield not_supported(where, path, known)


def share_causes(raw: Part, at: str, *, files: bool = False) -> Iterator[Cause]:
    """What is wrong with what names a resource of a container, in a variable or in files."""
    resource = raw.get("resource") or ""
    if files and not raw.get("containerName"):
        yield required(f"{at}.containerName")
    elif not resource:
        yield required(f"{at}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{at}.resource", resource, _RESOURCES)
    divisor = str(raw.get("divisor") or "0")
    for kind, (known, listed, name) in _DIVISORS.items():
        if divisor != "0" and resource.partition(".")[2].startswith(kind) and divisor not in known:
            words = f"only divisor's values {listed} are supported with the {name} resource"
            yield invalid(f"{at}.divisor", resource, words)


def _key_causes(raw: Part, at: str) -> Iterator[Cause]:
    name, key = raw.get("name") or "", raw.get("key") or ""
    for fault in subdomain_faults(name):
        yield invalid(f"{at}.name", name, fault)
    if not key:
        yield required(f"{at}.key")
    else:
        for fault in config_key_faults(key):
            yield invalid(f"{at}.key", key, fault)


def _file_causes(raw: Part, at: str) -> Iterator[Cause]:
    volume, path, key = (raw.get(name) or "" for name in ("volumeName", "path", "key"))
    if not key:
        yield required(f"{at}.key")
    elif not _ENV_NAME.match(key):
        words = "a valid environment variable name must consist only of printable ASCII characters other than '='"
        yield invalid(f"{at}.key", key, words)
    if not volume:
        yield required(f"{at}.volumeName")
    for fault in label_faults(volume) if volume else ():
        yield invalid(f"{at}.volumeName", volume, fault)
    if not path:
        yield required(f"{at}.path")
    for fault in path_faults(path):
        yield invalid(f"{at}.path", path, fault)


def env_from_causes(sources: Any, at: str) -> Iterator[Cause]:
    """What is wrong with what a container takes all variables from."""
    for index, each in enumerate(sources):
        given = [kind for kind in ("configMapRef", "secretRef") if each.get(kind) is not None]
        if not given:
            yield invalid(at, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(at, "", "may not have more than one field specified at a time")
        for kind in given:
            name = each[kind].get("name") or ""
            if not name:
                yield required(f"{at}[{index}].{kind}.name")
            for fault in subdomain_faults(name) if name else ():
                yield invalid(f"{at}[{index}].{kind}.name", name, fault)
