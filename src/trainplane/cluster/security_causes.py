"""What the API server refuses in the security contexts of pods and containers."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.cluster.causes import Cause, invalid, not_supported, required
from trainplane.cluster.go_structs import as_go

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_WORDS = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "procMount": ("Default", "Unmasked"),
    "seLinuxChangePolicy": ("Recursive",),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
}


def profile_causes(context: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What is wrong with the profiles and policies of a context that stands at a path."""
    for name, known in _WORDS.items():
        if context.get(name) not in (None, *known):
            yield not_supported(f"{at}.{name}", context[name], known)
    for name in ("appArmorProfile", "seccompProfile"):
        profile = context.get(name)
        if profile is None:
            continue
        kind, where = profile.get("type") or "", f"{at}.{name}"
        if not kind:
            yield required(f"{where}.type", f"type is required when {name} is set")
        elif kind not in _PROFILES:
            yield not_supported(f"{where}.type", kind, _PROFILES)
        local = profile.get("localhostProfile")
        if name == "seccompProfile" and kind == "Localhost" and not local:
            yield required(f"{where}.localhostProfile", "must be set when seccomp type is Localhost")
        elif name == "seccompProfile" and kind != "Localhost" and local is not None:
            shown = as_go(profile, "Profile")
            yield invalid(f"{where}.localhostProfile", shown, "can only be set when seccomp type is Localhost")
