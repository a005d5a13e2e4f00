"""What the API server refuses in the security contexts of pods and containers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.cluster.causes import Cause, duplicate, invalid, not_supported, required, too_long
from trainplane.cluster.go_structs import as_go
from trainplane.cluster.paths import path_faults
from trainplane.cluster.windows_causes import option_causes

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_WORDS = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "procMount": ("Default", "Unmasked"),
    "seLinuxChangePolicy": ("Recursive",),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
}
_LONGEST_PROFILE = 4095
_MOST = 2**31 - 1
_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?\Z")
_SYSCTL_FORM = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SHARED = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")}
"""What a pod that has the host's cannot set for itself."""
Part = Mapping[str, Any]


def container_context_causes(context: Part, at: str) -> Iterator[Cause]:
    """What is wrong with the context of a container, which stands at a path."""
    for name in ("runAsUser", "runAsGroup"):
        yield from _number(context.get(name), f"{at}.{name}")
    yield from _profile_causes(context, at)
    if context.get("allowPrivilegeEscalation") is False:
        words = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            yield invalid(at, as_go(context, "SecurityContext"), f"{words} `privileged` to true")
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            yield invalid(at, as_go(context, "SecurityContext"), f"{words} `capabilities.Add` CAP_SYS_ADMIN")


def pod_context_causes(spec: Part, at: str) -> Iterator[Cause]:
    """What is wrong with the context of a pod, which stands at a path."""
    context = spec.get("securityContext") or {}
    groups = [
        (f"supplementalGroups[{index}]", each) for index, each in enumerate(context.get("supplementalGroups") or ())
    ]
    for name, value in [*((name, context.get(name)) for name in ("fsGroup", "runAsUser", "runAsGroup")), *groups]:
        yield from _number(value, f"{at}.{name}")
    seen: set[str] = set()
    for index, each in enumerate(context.get("sysctls") or ()):
        yield from _sysctl(each.get("name") or "", f"{at}.sysctls[{index}].name", spec=spec, seen=seen)
    yield from _profile_causes(context, at)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        words = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{at}.shareProcessNamespace", True, words)


def _number(value: Any, at: str) -> Iterator[Cause]:
    if value is not None and not 0 <= value <= _MOST:
        yield invalid(at, value, f"must be between 0 and {_MOST}, inclusive")


def _sysctl(name: str, at: str, *, spec: Part, seen: set[str]) -> Iterator[Cause]:
    dotted = name.replace("/", ".")
    if not name:
        yield required(at)
    elif len(name) > 253 or not _SYSCTL.match(name):
        yield invalid(at, name, f"must have at most 253 characters and match regex {_SYSCTL_FORM}")
    elif name in seen:
        yield duplicate(at, name)
    for host, prefixes in _SHARED.items():
        if spec.get(host) and dotted.startswith(prefixes):
            yield invalid(at, name, f"may not be specified when '{host}' is true")
    seen.add(name)


def _profile_causes(context: Part, at: str) -> Iterator[Cause]:
    for name, known in _WORDS.items():
        if context.get(name) not in (None, *known):
            yield not_supported(f"{at}.{name}", context[name], known)
    for name, local in (("appArmorProfile", _armor), ("seccompProfile", _seccomp)):
        profile = context.get(name)
        if profile is None:
            continue
        kind, where = profile.get("type") or "", f"{at}.{name}"
        if not kind:
            yield required(f"{where}.type", f"type is required when {name} is set")
        elif kind not in _PROFILES:
            yield not_supported(f"{where}.type", kind, _PROFILES)
        yield from local(profile, f"{where}.localhostProfile", kind)
    if context.get("windowsOptions") is not None:
        yield from option_causes(context["windowsOptions"], f"{at}.windowsOptions")


def _seccomp(profile: Part, at: str, kind: str) -> Iterator[Cause]:
    local = profile.get("localhostProfile")
    if kind != "Localhost":
        if local is not None:
            yield invalid(at, as_go(profile, "Profile"), "can only be set when seccomp type is Localhost")
    elif local is None:
        yield required(at, "must be set when seccomp type is Localhost")
    else:
        for fault in path_faults(local):
            yield invalid(at, local, fault)


def _armor(profile: Part, at: str, kind: str) -> Iterator[Cause]:
    local = profile.get("localhostProfile")
    if kind != "Localhost":
        if local is not None and kind in _PROFILES:
            yield invalid(at, local, "can only be set when AppArmor type is Localhost")
    elif not local:
        yield required(at, "must be set when AppArmor type is Localhost")
    elif local != local.strip():
        yield invalid(at, local, "must not be padded with whitespace")
    elif len(local.encode()) > _LONGEST_PROFILE:
        yield too_long(at, _LONGEST_PROFILE)
