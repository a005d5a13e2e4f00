"""What the API server refuses in the volumes of pods."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainplane.api.quantity import QuantityError, parse
from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, not_supported, required
from trainplane.cluster.env_causes import field_causes, share_causes
from trainplane.cluster.names import label_faults, subdomain_faults
from trainplane.cluster.paths import file_faults

_MODES = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_TYPES = (*("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),)
_SHORTEST_TOKEN = 600
_PROJECTED = ("configMap", "downwardAPI", "secret", "serviceAccountToken")
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
    for source in [each for each in volume if each != "name"][1:]:
        yield forbidden(f"{at}.{source}", "may not specify more than 1 volume type")
    for kind, check in _SOURCES.items():
        if isinstance(volume.get(kind), Mapping):
            yield from check(volume[kind], f"{at}.{kind}")
    if not name:
        yield required(f"{at}.name")
    elif faults := list(label_faults(name)):
        for fault in faults:
            yield invalid(f"{at}.name", name, fault)
    elif name in seen:
        yield duplicate(f"{at}.name", name)


def volume_warnings(volumes: Iterable[Source]) -> Iterator[str]:
    """What is odd in volumes, though it is taken."""
    for volume in volumes:
        sources = (volume.get("projected") or {}).get("sources") or ()
        if any(not any(source.get(kind) is not None for kind in _PROJECTED) for source in sources):
            yield f'volume "{volume.get("name")}" (Projected) has no sources provided'


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
        if item.get("fieldRef") is None and item.get("resourceFieldRef") is None:
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
    if secret is not None and not secret.get("name"):
        yield required(f"{at}.nodePublishSecretRef.name")


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
    spec, where = template.get("spec") or {}, f"{at}.volumeClaimTemplate.spec"
    if not spec.get("accessModes"):
        yield required(f"{where}.accessModes", "at least 1 access mode is required")
    if not ((spec.get("resources") or {}).get("requests") or {}).get("storage"):
        yield required(f"{where}.resources[storage]")


def _needing(*names: str, at: str = "") -> Callable[[Source, str], Iterator[Cause]]:
    """A check of a source that only the fields are looked at which it must have."""

    def check(source: Source, where: str) -> Iterator[Cause]:
        place = f"{where.rpartition('.')[0]}.{at}" if at else where
        for name in names:
            if not source.get(name):
                yield required(f"{place}.{name}")

    return check


_SOURCES: dict[str, Callable[[Source, str], Iterator[Cause]]] = {
    "configMap": _config_map,
    "downwardAPI": _downward,
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim,
    "projected": _projected,
    "secret": _secret,
    "awsElasticBlockStore": _needing("volumeID"),
    "azureFile": _needing("secretName", "shareName"),
    "cephfs": _needing("monitors"),
    "cinder": _needing("volumeID"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "flexVolume": _needing("driver"),
    "gcePersistentDisk": _needing("pdName", at="persistentDisk"),
    "gitRepo": _needing("repository"),
    "glusterfs": _needing("endpoints", "path"),
    "image": _image,
    "iscsi": _needing("targetPortal", "iqn"),
    "photonPersistentDisk": _needing("pdID"),
    "portworxVolume": _needing("volumeID"),
    "rbd": _needing("monitors", "image"),
    "scaleIO": _needing("gateway", "system", "volumeName"),
    "storageos": _needing("volumeName"),
    "vsphereVolume": _needing("volumePath"),
}
