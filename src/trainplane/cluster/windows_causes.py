"""What the API server refuses in what pods say of Windows, and in what is not for Windows."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, forbidden, invalid
from trainplane.cluster.names import subdomain_faults

_NOT_THERE = "cannot be set for a windows pod"
_OF_PODS = ("hostPID", "hostIPC", "hostUsers", "shareProcessNamespace")
_OF_CONTEXTS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser"),
    *("runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_OF_CONTAINERS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)
_KINDS = ("initContainers", "containers", "ephemeralContainers")
_LONGEST = {"User": 104, "Domain": 255}
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}\Z')
_DNS = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-]*(\.[a-zA-Z0-9-]*[a-zA-Z0-9])*\Z")
_NOT_IN_NAMES = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
Part = Mapping[str, Any]


def system_causes(spec: Part, at: str) -> Iterator[Cause]:
    """What is wrong with a pod's spec for the system that it names."""
    system = look(spec, "os", "name")
    context = spec.get("securityContext") or {}
    containers = [
        (f"{at}.{kind}[{index}].securityContext", container.get("securityContext") or {})
        for kind in _KINDS
        for index, container in enumerate(spec.get(kind) or ())
    ]
    if system is None and not any("windowsOptions" in each for each in (context, *(each for _, each in containers))):
        return
    if system == "linux":
        for where, each in ((f"{at}.securityContext", context), *containers):
            if each.get("windowsOptions") is not None:
                yield forbidden(f"{where}.windowsOptions", "windows options cannot be set for a linux pod")
    if system == "windows":
        for name in _OF_PODS:
            if spec.get(name) not in (None, False) or (name == "hostUsers" and spec.get(name) is not None):
                yield forbidden(f"{at}.{name}", _NOT_THERE)
        if spec.get("resources") is not None:
            yield forbidden(f"{at}.resources", "may not be set for a windows pod")
        for name in _OF_CONTEXTS:
            if context.get(name) is not None:
                yield forbidden(f"{at}.securityContext.{name}", _NOT_THERE)
        for where, each in containers:
            for name in _OF_CONTAINERS:
                if each.get(name) is not None:
                    yield forbidden(f"{where}.{name}", _NOT_THERE)
    yield from _host_causes(spec, at, containers)


def _host_causes(spec: Part, at: str, containers: list[tuple[str, Part]]) -> Iterator[Cause]:
    """What is wrong with containers that run as processes of a Windows host: all of a pod's do, or none."""
    whole = look(spec, "securityContext", "windowsOptions", "hostProcess")
    own = [(where, look(each, "windowsOptions", "hostProcess")) for where, each in containers]
    for where, said in own:
        if said is not None and whole is not None and said != whole:
            words = f"pod hostProcess value must be identical if both are specified, was {str(whole).lower()}"
            yield invalid(f"{where}.windowsOptions.hostProcess", said, words)
    hosted = [bool(whole if said is None else said) for _, said in own]
    if any(hosted):
        if not all(hosted):
            words = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
            yield invalid(at, "", words)
        if not spec.get("hostNetwork"):
            words = "hostNetwork must be true if pod contains any hostProcess containers"
            yield invalid(f"{at}.hostNetwork", False, words)


def option_causes(options: Part, at: str) -> Iterator[Cause]:
    """What is wrong with the Windows options of a security context."""
    name, text, user = (options.get(each) for each in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    for fault in subdomain_faults(name) if name is not None else ():
        yield invalid(f"{at}.gmsaCredentialSpecName", name, fault)
    if text == "":
        yield invalid(f"{at}.gmsaCredentialSpec", text, "gmsaCredentialSpec cannot be an empty string")
    if user is not None and (fault := _user_fault(user)):
        yield invalid(f"{at}.runAsUserName", user, fault)


def _user_fault(text: str) -> str:
    """The first thing that is wrong with who a container runs as."""
    domain, slash, user = text.rpartition("\\")
    if not text:
        return "runAsUserName cannot be an empty string"
    if any(ord(each) < 32 or ord(each) == 127 for each in text):
        return "runAsUserName cannot contain control characters"
    if text.count("\\") > 1:
        return "runAsUserName cannot contain more than one backslash"
    if slash:
        if len(domain) >= _LONGEST["Domain"] + 1:
            return f"runAsUserName's Domain length must be under {_LONGEST['Domain'] + 1} characters"
        if not _NETBIOS.match(domain) and not _DNS.match(domain):
            return "runAsUserName's Domain doesn't match the NetBios nor the DNS format"
    if not user:
        return "runAsUserName's User cannot be empty"
    if len(user) > _LONGEST["User"]:
        return f"runAsUserName's User length must not be longer than {_LONGEST['User']} characters"
    if not user.strip(". "):
        return "runAsUserName's User cannot contain only periods or spaces"
    if _NOT_IN_NAMES.search(user):
        return "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"
    return ""
