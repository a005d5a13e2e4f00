"""Content: the files of configMap, secret, downwardAPI and projected volumes, from the objects behind them. Pure."""

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from trainplane.api.claims import claim_of
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.node import downward
from trainplane.reconcile.view import View

MODE = 0o644
KINDS = {"configMap": "ConfigMap", "secret": "Secret"}


class Missing(Exception):
    """A volume cannot be made; the message is Kubernetes'."""


class File(msgspec.Struct, frozen=True):
    """One file of a volume."""

    data: bytes
    mode: int = MODE


Files = dict[str, File]
Token = Callable[[Raw], bytes]
"""The token that a serviceAccountToken projection asks for."""


def references(pod: Raw) -> set[Ref]:
    """The ConfigMaps, Secrets and claims that a pod's volumes are made of."""
    found, namespace = set[Ref](), pod["metadata"].get("namespace", "")
    for volume in pod["spec"].get("volumes") or ():
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            for key, kind in KINDS.items():
                if source.get(key):
                    name = source[key].get("secretName") or source[key].get("name") or ""
                    found.add(Ref("", kind, namespace, name))
        if claim := claim_of(pod, volume):
            found.add(Ref("", "PersistentVolumeClaim", namespace, claim))
    return found


def token_projections(volume: Raw) -> list[Raw]:
    """The service account tokens that a volume holds."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    return [source["serviceAccountToken"] for source in sources if source.get("serviceAccountToken")]


def files(pod: Raw, volume: Raw, view: View, *, allocatable: Mapping[str, Any], token: Token) -> Files | None:
    """The files of a volume that is made of objects, or None for one that is not; raises Missing."""
    sources = (volume["projected"].get("sources") or ()) if volume.get("projected") else (volume,)
    key = next((key for key in ("projected", *KINDS, "downwardAPI") if volume.get(key)), None)
    if key is None:
        return None
    found = Files()
    for source in sources:
        found |= _source(pod, source, view, mode=_mode(volume[key]), allocatable=allocatable, token=token)
    for path in found:
        # Whoever writes these files may be root, and must not be led elsewhere by what a pod says.
        if path.startswith(("/", "..")) or ".." in path.split("/"):
            raise Missing(f'the path "{path}" leads out of the volume; name a file in it that does not begin with ".."')
    return found


def _mode(source: Raw) -> int:
    mode = source.get("defaultMode")
    return MODE if mode is None else int(mode)


def _source(pod: Raw, source: Raw, view: View, *, mode: int, allocatable: Mapping[str, Any], token: Token) -> Files:
    for key in KINDS:
        if source.get(key):
            return _keys(pod, key, source[key], view, mode=mode)
    if downward_api := source.get("downwardAPI"):
        items = downward_api.get("items") or ()
        return dict(_downward(pod, item, mode=mode, allocatable=allocatable) for item in items)
    if asked := source.get("serviceAccountToken"):
        return {asked["path"]: File(token(asked), mode)}
    raise Missing(f"a projected volume cannot hold {', '.join(source)} here; use secret, configMap or downwardAPI")


def _keys(pod: Raw, key: str, source: Raw, view: View, *, mode: int) -> Files:
    kind, name = KINDS[key], source.get("secretName") or source.get("name") or ""
    found = view.get(Ref("", kind, pod["metadata"].get("namespace", ""), name))
    if found is None:
        if source.get("optional"):
            return {}
        raise Missing(f'{kind.lower()} "{name}" not found')
    data = _data(kind, found)
    if not source.get("items"):
        return {path: File(content, mode) for path, content in data.items()}
    chosen = Files()
    for item in source["items"]:
        if item["key"] in data:
            own = item.get("mode")
            chosen[item["path"]] = File(data[item["key"]], mode if own is None else int(own))
        elif not source.get("optional"):
            what = "config" if kind == "ConfigMap" else "secret"
            prefix = "configmap " if kind == "ConfigMap" else ""
            raise Missing(f"{prefix}references non-existent {what} key: {item['key']}")
    return chosen


def _data(kind: str, raw: Raw) -> dict[str, bytes]:
    if kind == "Secret":
        return {key: base64.b64decode(value) for key, value in (raw.get("data") or {}).items()}
    plain = {key: value.encode() for key, value in (raw.get("data") or {}).items()}
    return plain | {key: base64.b64decode(value) for key, value in (raw.get("binaryData") or {}).items()}


def _downward(pod: Raw, item: Raw, *, mode: int, allocatable: Mapping[str, Any]) -> tuple[str, File]:
    own = item.get("mode")
    try:
        if selector := item.get("fieldRef"):
            text = downward.field(pod, selector["fieldPath"])
        else:
            selector = item["resourceFieldRef"]
            text = downward.resource(
                pod, selector, container=selector.get("containerName", ""), allocatable=allocatable
            )
    except KeyError as error:
        raise Missing(f"the downward API has no {error.args[0]}; see `kubectl explain pod.spec.volumes`") from None
    return item["path"], File(text.encode(), mode if own is None else int(own))


def names(paths: Iterable[str]) -> set[str]:
    """The first part of each path: what is at the top of a volume."""
    return {path.split("/")[0] for path in paths}
