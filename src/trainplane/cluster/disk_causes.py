"""What the API server refuses in volumes of vendors: they are judged here, and mounted nowhere."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainplane.cluster.causes import Cause, invalid, not_supported, required
from trainplane.cluster.names import label_faults
from trainplane.cluster.paths import path_faults

_QUALIFIED = (
    re.compile(r"iqn\.\d{4}-\d{2}\.[0-9A-Za-z.-]+(:[^,;*&$|\s]+)\Z"),
    re.compile(r"eui\.[0-9A-Za-z]{16}\Z"),
    re.compile(r"naa\.[0-9A-Za-z]{32}\Z"),
)
_QUALIFIED_WORDS = "must be valid format starting with iqn, eui, or naa"
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"
_DISKS = {
    "Managed": (
        "/subscriptions/",
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
    ),
    "Dedicated": ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"),
}
_DISKS["Shared"] = _DISKS["Dedicated"]
Source = Mapping[str, Any]
Check = Callable[[Source, str], Iterator[Cause]]


def _needing(*names: str, at: str = "") -> Check:
    """A check that looks only at the fields which a source must have."""

    def check(source: Source, where: str) -> Iterator[Cause]:
        place = f"{where.rpartition('.')[0]}.{at}" if at else where
        for name in names:
            if not source.get(name):
                yield required(f"{place}.{name}")

    return check


def _byte(source: Source, name: str, at: str, *, least: int = 0) -> Iterator[Cause]:
    value = source.get(name)
    if value is not None and not 0 <= value <= 255:
        yield invalid(f"{at}.{name}", value, f"must be between {least} and 255, inclusive")


def _partitioned(needed: str, at: str = "") -> Check:
    def check(source: Source, where: str) -> Iterator[Cause]:
        yield from _needing(needed, at=at)(source, where)
        yield from _byte(source, "partition", f"{where.rpartition('.')[0]}.{at}" if at else where, least=1)

    return check


def _azure_disk(source: Source, at: str) -> Iterator[Cause]:
    yield from _needing("diskName", "diskURI")(source, at)
    kind, cached, place = source.get("kind"), source.get("cachingMode"), source.get("diskURI") or ""
    for name, value, known in (
        ("cachingMode", cached, ("None", "ReadOnly", "ReadWrite")),
        ("kind", kind, ("Dedicated", "Managed", "Shared")),
    ):
        if value is not None and value not in known:
            yield not_supported(f"{at}.{name}", value, known)
    prefix, form = _DISKS.get(kind or "", ("", ""))
    if not place.startswith(prefix):
        yield not_supported(f"{at}.diskURI", place, (form,))


def _iscsi(source: Source, at: str) -> Iterator[Cause]:
    yield from _needing("targetPortal", "iqn")(source, at)
    for name, shown in (("iqn", "iqn"), ("initiatorName", "initiatorname")):
        text = source.get(name)
        if (text or (text is not None and name != "iqn")) and not any(form.match(text) for form in _QUALIFIED):
            yield invalid(f"{at}.{shown}", text, _QUALIFIED_WORDS)
    yield from _byte(source, "lun", at)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        yield required(f"{at}.secretRef")


def name_causes(volume: Source, at: str) -> Iterator[Cause]:
    """What is wrong with the name of a volume because of what it holds."""
    disk = volume.get("iscsi") or {}
    if disk.get("initiatorName") is not None and len(f"{volume.get('name')}:{disk.get('targetPortal')}") > 64:
        words = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        )
        yield invalid(at, volume.get("name"), words)


def _fc(source: Source, at: str) -> Iterator[Cause]:
    names = source.get("targetWWNs")
    if not names and not source.get("wwids"):
        yield required(f"{at}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and source.get("lun") is None:
        yield required(f"{at}.lun", "lun is required if targetWWNs is specified")
    elif names:
        yield from _byte(source, "lun", at)


def _flocker(source: Source, at: str) -> Iterator[Cause]:
    name, uid = source.get("datasetName") or "", source.get("datasetUUID")
    if not name and not uid:
        yield required(at, "one of datasetName and datasetUUID is required")
    if name and uid:
        yield invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(f"{at}.datasetName", name, "must not contain '/'")


def _flex(source: Source, at: str) -> Iterator[Cause]:
    yield from _needing("driver")(source, at)
    for key in source.get("options") or ():
        if key.partition("/")[0].endswith(("kubernetes.io", "k8s.io")) and "/" in key:
            yield invalid(f"{at}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved")


def _git(source: Source, at: str) -> Iterator[Cause]:
    yield from _needing("repository")(source, at)
    for fault in path_faults(source.get("directory") or ""):
        yield invalid(f"{at}.directory", source["directory"], fault)


def _quobyte(source: Source, at: str) -> Iterator[Cause]:
    registry = source.get("registry") or ""
    if not registry:
        yield required(f"{at}.registry", _PAIRS)
    elif len(source.get("tenant") or "") >= 65:
        yield required(f"{at}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    elif any(pair.count(":") != 1 for pair in registry.split(",")):
        yield invalid(f"{at}.registry", registry, _PAIRS)
    yield from _needing("volume")(source, at)


def _storage_os(source: Source, at: str) -> Iterator[Cause]:
    yield from _needing("volumeName")(source, at)
    for name in ("volumeName", "volumeNamespace"):
        for fault in label_faults(source[name]) if source.get(name) else ():
            yield invalid(f"{at}.{name}", source[name], fault)
    if source.get("secretRef") is not None and not source["secretRef"].get("name"):
        yield required(f"{at}.secretRef.name")


DISKS: dict[str, Check] = {
    "awsElasticBlockStore": _partitioned("volumeID"),
    "azureDisk": _azure_disk,
    "azureFile": _needing("secretName", "shareName"),
    "cephfs": _needing("monitors"),
    "cinder": _needing("volumeID"),
    "fc": _fc,
    "flexVolume": _flex,
    "flocker": _flocker,
    "gcePersistentDisk": _partitioned("pdName", at="persistentDisk"),
    "gitRepo": _git,
    "glusterfs": _needing("endpoints", "path"),
    "iscsi": _iscsi,
    "photonPersistentDisk": _needing("pdID"),
    "portworxVolume": _needing("volumeID"),
    "quobyte": _quobyte,
    "rbd": _needing("monitors", "image"),
    "scaleIO": _needing("gateway", "system", "volumeName"),
    "storageos": _storage_os,
    "vsphereVolume": _needing("volumePath"),
}
