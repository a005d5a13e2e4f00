"""As whom a container runs and what it may do, as its pod says. Pure."""

import msgspec

from trainplane.api.meta import Raw
from trainplane.node.environment import ConfigError
from trainplane.node.status import identity


class User(msgspec.Struct, frozen=True):
    """The ids of a process, None where nothing is said of them, and what it may do."""

    uid: int | None
    gid: int | None
    groups: tuple[int, ...] = ()
    privileged: bool = False
    add: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()
    no_new_privileges: bool = False
    read_only_root: bool = False
    unconfined: bool = False
    unmasked: bool = False


def user_of(pod: Raw, container: Raw, *, is_root_by_default: bool = False) -> User:
    """As whom a container runs; raises ConfigError where its pod wants what cannot be."""
    whole, own = pod["spec"].get("securityContext") or {}, container.get("securityContext") or {}
    both = {**whole, **{key: value for key, value in own.items() if value is not None}}
    uid = both.get("runAsUser")
    about = f'(pod: "{identity(pod)}", container: {container["name"]})'
    if both.get("runAsNonRoot") and uid == 0:
        raise ConfigError(f"container's runAsUser breaks non-root policy {about}")
    if both.get("runAsNonRoot") and uid is None and is_root_by_default:
        raise ConfigError(f"container has runAsNonRoot and image will run as root {about}")
    profile = both.get("seccompProfile") or {}
    if profile.get("type") == "Localhost":
        where = f"seccompProfile {profile.get('localhostProfile', '')}"
        raise ConfigError(f"{where} cannot be loaded: nodes have no profiles of their own; use type RuntimeDefault")
    groups = [*(whole.get("supplementalGroups") or ())]
    if whole.get("fsGroup") is not None:
        groups.append(whole["fsGroup"])
    capabilities = own.get("capabilities") or {}
    return User(
        uid,
        both.get("runAsGroup"),
        tuple(dict.fromkeys(groups)),
        bool(own.get("privileged")),
        frozenset(capabilities.get("add") or ()),
        frozenset(capabilities.get("drop") or ()),
        no_new_privileges=own.get("allowPrivilegeEscalation") is False,
        read_only_root=bool(own.get("readOnlyRootFilesystem")),
        unconfined=profile.get("type") == "Unconfined",
        unmasked=own.get("procMount") == "Unmasked",
    )
