"""A container's environment and command line, in Kubernetes' order, and what `$(VAR)` becomes in them."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.node import downward
from trainplane.reconcile.view import View

CONFIG_ERROR = "CreateContainerConfigError"
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_NO_ADDRESS = ("", "None")


class ConfigError(Exception):
    """A variable cannot be given its value; the message is Kubernetes'."""


class Surroundings(msgspec.Struct, frozen=True):
    """What an environment is made of besides the pod."""

    view: View
    """ConfigMaps, Secrets and Services of the pod's namespace; `references` says which are needed."""
    allocatable: Mapping[str, Any]
    api_host: str
    api_port: int


def references(pod: Raw) -> set[Ref]:
    """The ConfigMaps and Secrets that variables come from."""
    found, namespace = set[Ref](), pod["metadata"].get("namespace", "")
    for container in downward.containers(pod):
        for source in container.get("envFrom") or ():
            for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                if source.get(key):
                    found.add(Ref("", kind, namespace, source[key].get("name", "")))
        for variable in container.get("env") or ():
            for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
                if selector := look(variable, "valueFrom", key):
                    found.add(Ref("", kind, namespace, selector.get("name", "")))
    return found


def environment(pod: Raw, container: Raw, around: Surroundings, *, hostname: str) -> dict[str, str]:
    """Every variable of a container; raises ConfigError for what is missing."""
    links = _service_links(pod, around)
    known: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        known.update(_whole(pod, source, around.view))
    for variable in container.get("env") or ():
        name = variable["name"]
        if variable.get("valueFrom"):
            value = _value_from(pod, container, variable["valueFrom"], around)
            if value is None:
                continue
        else:
            value = expand(variable.get("value") or "", lambda key: known.get(key, links.get(key)))
        known[name] = value
    return {**links, "HOSTNAME": hostname, **known}


def command(container: Raw, env: Mapping[str, str]) -> tuple[str, ...]:
    """The command line: `command`, then `args`, with `$(VAR)` replaced."""
    words = (*(container.get("command") or ()), *(container.get("args") or ()))
    return tuple(expand(word, env.get) for word in words)


def expand(text: str, value: Callable[[str], str | None]) -> str:
    """The text with `$(NAME)` replaced where the name is known and `$$` written as `$`; nothing else changes."""

    def replaced(found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        known = value(found[1])
        return found[0] if known is None else known

    return _REFERENCE.sub(replaced, text)


def sub_path(text: str, env: Mapping[str, str]) -> str:
    """A subPathExpr with its variables; raises ConfigError for one that is not there or empty."""
    missing = [found[1] for found in _REFERENCE.finditer(text) if found[1] is not None and not env.get(found[1])]
    if missing:
        raise ConfigError(f"failed to prepare subPath for volumeMount: missing value for {', '.join(missing)}")
    return expand(text, env.get)


def _whole(pod: Raw, source: Raw, view: View) -> dict[str, str]:
    """All keys of a ConfigMap or Secret."""
    kind, selector = (
        ("ConfigMap", source["configMapRef"]) if source.get("configMapRef") else ("Secret", source["secretRef"])
    )
    found = _found(pod, kind, selector, view)
    prefix = source.get("prefix") or ""
    return {prefix + key: _text(kind, value) for key, value in ((found or {}).get("data") or {}).items()}


def _found(pod: Raw, kind: str, selector: Raw, view: View) -> Raw | None:
    ref = Ref("", kind, pod["metadata"].get("namespace", ""), selector.get("name", ""))
    found = view.get(ref)
    if found is None and not selector.get("optional"):
        raise ConfigError(f'{kind.lower()} "{ref.name}" not found')
    return found


def _value_from(pod: Raw, container: Raw, source: Raw, around: Surroundings) -> str | None:
    """The value, or None where the variable is left out."""
    if selector := source.get("fieldRef"):
        try:
            return downward.field(pod, selector["fieldPath"])
        except KeyError:
            raise ConfigError(f"unsupported fieldPath: {selector['fieldPath']}") from None
    if selector := source.get("resourceFieldRef"):
        try:
            return downward.resource(pod, selector, container=container["name"], allocatable=around.allocatable)
        except KeyError:
            raise ConfigError(f"unsupported container resource : {selector['resource']}") from None
    for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if selector := source.get(key):
            found = _found(pod, kind, selector, around.view)
            if found is None:
                return None
            value = (found.get("data") or {}).get(selector["key"])
            if value is not None:
                return _text(kind, value)
            if selector.get("optional"):
                return None
            place = f"{pod['metadata'].get('namespace', '')}/{selector.get('name', '')}"
            raise ConfigError(f"couldn't find key {selector['key']} in {kind} {place}")
    names = ", ".join(source)
    raise ConfigError(f"valueFrom.{names} is not supported here; use configMapKeyRef, secretKeyRef or fieldRef")


def _text(kind: str, value: str) -> str:
    return base64.b64decode(value).decode(errors="replace") if kind == "Secret" else value


def _service_links(pod: Raw, around: Surroundings) -> dict[str, str]:
    """The variables that tell where services are: the API's always, the namespace's own where the pod wants them."""
    links = dict(_link("kubernetes", around.api_host, [{"name": "https", "port": around.api_port}]))
    if pod["spec"].get("enableServiceLinks") is False:
        return links
    namespace = pod["metadata"].get("namespace", "")
    for service in sorted(
        around.view.all("", "Service", namespace=namespace), key=lambda raw: str(raw["metadata"]["name"])
    ):
        spec = service.get("spec") or {}
        address = spec.get("clusterIP") or ""
        if address not in _NO_ADDRESS and service["metadata"]["name"] != "kubernetes":
            links.update(_link(service["metadata"]["name"], address, spec.get("ports") or ()))
    return links


def _link(name: str, address: str, ports: Iterable[Raw]) -> Iterator[tuple[str, str]]:
    word, all_ports = _word(name), list(ports)
    if not all_ports:
        return
    first = all_ports[0]
    yield f"{word}_SERVICE_HOST", address
    yield f"{word}_SERVICE_PORT", str(first["port"])
    for port in all_ports:
        if port.get("name"):
            yield f"{word}_SERVICE_PORT_{_word(port['name'])}", str(port["port"])
    yield f"{word}_PORT", _url(address, first)
    for port in all_ports:
        protocol = port.get("protocol") or "TCP"
        prefix = f"{word}_PORT_{port['port']}_{protocol.upper()}"
        yield prefix, _url(address, port)
        yield f"{prefix}_PROTO", protocol.lower()
        yield f"{prefix}_PORT", str(port["port"])
        yield f"{prefix}_ADDR", address


def _url(address: str, port: Raw) -> str:
    return f"{(port.get('protocol') or 'TCP').lower()}://{address}:{port['port']}"


def _word(name: str) -> str:
    return name.replace("-", "_").upper()
