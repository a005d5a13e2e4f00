"""What the API server refuses in the volumes of pods."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from trainplane.api.quantity import QuantityError, parse
from trainplane.cluster.causes import Cause, forbidden, invalid, not_supported, required, too_long
from trainplane.cluster.claim_causes import claim_spec_causes
from trainplane.cluster.disk_causes import DISKS, name_causes
from trainplane.cluster.env_causes import field_causes, share_causes
from trainplane.cluster.names import entry_name_causes, map_causes, subdomain_faults
from trainplane.cluster.paths import file_faults

_MODES = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_TYPES = (*("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),)
_SHORTEST_TOKEN = 600
_LONGEST_TOKEN = 2**32
_LONGEST_DRIVER = 63
_PROJECTED = ("configMap", "downwardAPI", "secret", "serviceAccountToken")
_FILES = {"configMap": "ConfigMap", "downwardAPI": "DownwardAPI", "secret": "Secret"}
Source = Mapping[str, Any]


def volume_causes(volumes: Iterable[Source], at: str, *, good: dict[str, Source] | None = None) -> Iterator[Cause]:
    """What is wrong with volumes that stand at a path; those that nothing is wrong with are put into `good` by name."""
    seen: dict[str, Source] = good if good is not None else {}
    for index, volume in enumerate(volumes):
        found = list(_causes_of_one(volume, f"{at}[{index}]", seen))
        yield from found
        if not found:
            seen[volume["name"]] = volume


def _causes_of_one(volume: Source, at: str, seen: Mapping[str, Source]) -> Iterator[Cause]:
    name = volume.get("name") or ""
    for other in [each for each in volume if each != "name"][1:]:
        yield forbidden(f"{at}.{other}", "may not specify more than 1 volume type")
    for kind, source in volume.items():
        if kind in _SOURCES and isinstance(source, Mapping):
            yield from _SOURCES[kind](source, f"{at}.{kind}")
    yield from name_causes(volume, f"{at}.name")
    yield from entry_name_causes(name, f"{at}.name", seen)


def volume_warnings(volumes: Iterable[Source]) -> Iterator[str]:
    """What is odd in volumes, though it is taken."""
    for volume in volumes:
        sources = (volume.get("projected") or {}).get("sources") or ()
        if any(not any(source.get(kind) is not None for kind in _PROJECTED) for source in sources):
            yield f'volume "{volume.get("name")}" (Projected) has no sources provided'
        for kind, word in _FILES.items():
            source = volume.get(kind) or {}
            about = source.get("secretName" if kind == "secret" else "name")
            shown = f'{word} "{about}"' if about else word
            for before, path in _overlaps([item.get("path") or "" for item in source.get("items") or ()]):
                yield f'volume "{volume.get("name")}" ({shown}): overlapping paths: "{path}" with "{before}"'


def _overlaps(paths: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs of paths of which one is the other, or lies below it."""
    ordered = sorted(path.rstrip("/") for path in paths)
    for before, path in pairwise(ordered):
        if before and (path == before or path.startswith(f"{before}/")):
            yield before, path


def _empty_dir(source: Source, at: str) -> Iterator[Cause]:
    limit = source.get("sizeLimit")
    try:
        wrong = limit is not None and parse(limit) < parse(0)
    except QuantityError:
        wrong = False
    if wrong:
        yield forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(source: Source, at: str) -> Iterator[Cause]:
    path, type_ = source.get("path") or "", source.get("type") or ""
    if not path:
        yield required(f"{at}.path")
        return
    if ".." in path.split("/"):
        yield invalid(f"{at}.path", path, "must not contain '..'")
    if type_ not in _HOST_TYPES:
        yield not_supported(f"{at}.type", type_, _HOST_TYPES)


def _mode(source: Source, at: str, name: str = "defaultMode") -> Iterator[Cause]:
    mode = source.get(name)
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(f"{at}.{name}", mode, _MODES)


def _items(source: Source, at: str) -> Iterator[Cause]:
    for index, item in enumerate(source.get("items") or ()):
        where, path = f"{at}.items[{index}]", item.get("path") or ""
        if not item.get("key"):
            yield required(f"{where}.key")
        if not path:
            yield required(f"{where}.path")
        for fault in file_faults(path):
            yield invalid(f"{where}.path", path, fault)
        yield from _mode(item, where, "mode")


def _config_map(source: Source, at: str) -> Iterator[Cause]:
    if not source.get("name"):
        yield required(f"{at}.name")
    yield from _mode(source, at)
    yield from _items(source, at)


def _secret(source: Source, at: str) -> Iterator[Cause]:
    if not source.get("secretName"):
        yield required(f"{at}.secretName")
    yield from _mode(source, at)
    yield from _items(source, at)


def _claim(source: Source, at: str) -> Iterator[Cause]:
    if not source.get("claimName"):
        yield required(f"{at}.claimName")


def _downward(source: Source, at: str) -> Iterator[Cause]:
    yield from _mode(source, at)
    yield from _downward_items(source, at)


def _downward_items(source: Source, at: str) -> Iterator[Cause]:
    for item in source.get("items") or ():
        path = item.get("path") or ""
        if not path:
            yield required(f"{at}.path")
        for fault in file_faults(path):
            yield invalid(f"{at}.path", path, fault)
        if item.get("fieldRef") is not None and item.get("resourceFieldRef") is not None:
            yield invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
        elif item.get("fieldRef") is None and item.get("resourceFieldRef") is None:
            yield required(at, "one of fieldRef and resourceFieldRef is required")
        if item.get("fieldRef") is not None:
            yield from field_causes(item["fieldRef"], f"{at}.fieldRef", files=True)
        if item.get("resourceFieldRef") is not None:
            yield from share_causes(item["resourceFieldRef"], f"{at}.resourceFieldRef", files=True)
        yield from _mode(item, at, "mode")


def _projected(source: Source, at: str) -> Iterator[Cause]:
    yield from _mode(source, at)
    taken: set[str] = set()
    for index, each in enumerate(source.get("sources") or ()):
        for _ in [name for name in each if each[name] is not None][1:]:
            yield forbidden(f"{at}.sources[{index}]", "may not specify more than 1 volume type per source")
        for path, about in _paths(each):
            if path in taken:
                yield invalid(at, about, "conflicting duplicate paths")
            taken.add(path)
        for kind in ("configMap", "secret"):
            if each.get(kind) is not None:
                if not each[kind].get("name"):
                    yield required(f"{at}.sources[{index}].{kind}.name")
                yield from _items(each[kind], f"{at}.sources[{index}].{kind}")
        if each.get("downwardAPI") is not None:
            yield from _downward_items(each["downwardAPI"], f"{at}.sources[{index}].downwardAPI")
        if each.get("serviceAccountToken") is not None:
            yield from _token(each["serviceAccountToken"], f"{at}.sources[{index}].serviceAccountToken", whole=at)


def _token(token: Source, at: str, *, whole: str) -> Iterator[Cause]:
    seconds, path = token.get("expirationSeconds"), token.get("path") or ""
    if seconds is not None and seconds < _SHORTEST_TOKEN:
        yield invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds is not None and seconds > _LONGEST_TOKEN:
        yield invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    if not path:
        yield required(f"{whole}.path")
    for fault in file_faults(path):
        yield invalid(f"{whole}.path", path, fault)


def _paths(source: Source) -> Iterator[tuple[str, str]]:
    """The files that a source puts into a volume as far as it names them, and what a complaint about one names."""
    for kind in ("secret", "configMap", "downwardAPI"):
        for item in (source.get(kind) or {}).get("items") or ():
            if path := item.get("path"):
                yield path, path if kind == "downwardAPI" else source[kind].get("name") or ""
    if path := (source.get("serviceAccountToken") or {}).get("path"):
        yield path, path


def _nfs(source: Source, at: str) -> Iterator[Cause]:
    path = source.get("path") or ""
    if not source.get("server"):
        yield required(f"{at}.server")
    if not path:
        yield required(f"{at}.path")
    if not path.startswith("/"):
        yield invalid(f"{at}.path", path, "must be an absolute path")


def _csi(source: Source, at: str) -> Iterator[Cause]:
    driver, secret = source.get("driver") or "", source.get("nodePublishSecretRef")
    if not driver:
        yield required(f"{at}.driver")
    for fault in subdomain_faults(driver.lower()) if driver else ():
        yield invalid(f"{at}.driver", driver, fault)
    if len(driver.encode()) > _LONGEST_DRIVER:
        yield too_long(f"{at}.driver", _LONGEST_DRIVER)
    if secret is not None and not secret.get("name"):
        yield required(f"{at}.nodePublishSecretRef.name")
    elif secret is not None:
        for fault in subdomain_faults(secret["name"]):
            yield invalid(f"{at}.name", secret["name"], fault)


def _image(source: Source, at: str) -> Iterator[Cause]:
    known = ("Always", "IfNotPresent", "Never")
    if not source.get("reference"):
        yield required(f"{at}.reference")
    if source.get("pullPolicy") not in (None, *known):
        yield not_supported(f"{at}.pullPolicy", source["pullPolicy"], known)


def _ephemeral(source: Source, at: str) -> Iterator[Cause]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{at}.volumeClaimTemplate")
        return
    metadata, where = template.get("metadata") or {}, f"{at}.volumeClaimTemplate"
    yield from map_causes(metadata, f"{where}.metadata")
    yield from claim_spec_causes(template.get("spec") or {}, f"{where}.spec")


_SOURCES: dict[str, Callable[[Source, str], Iterator[Cause]]] = {
    "configMap": _config_map,
    "csi": _csi,
    "downwardAPI": _downward,
    "emptyDir": _empty_dir,
    "ephemeral": _ephemeral,
    "hostPath": _host_path,
    "image": _image,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim,
    "projected": _projected,
    "secret": _secret,
    **DISKS,
}
