"""What mpirun and sshd take for granted of their containers: whose home the keys are in, and who may open the port."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.loose import object_at, text_at, texts_at
from trainplane.api.problem import Path, Problem
from trainplane.api.raw import look
from trainplane.api.roles import Role, Roles
from trainplane.trainjob.misplaced import JOBS, POD
from trainplane.trainjob.pod_rules import KEY_PATH, SSHD_PORT
from trainplane.trainjob.validate import POLICY

FOLDER: Path = (*POLICY, "mpi", "sshAuthMountPath")
DEFAULT_FOLDER = "/root/.ssh"
SSH_PORT = 22
UNPRIVILEGED = 1024
"""The first port that every user may open."""

_SSHD = re.compile(r"(?:^|[\s/])sshd(?:\s|$)")
_PORT = re.compile(r"\s-(?:p\s*|o\s*Port[=\s])([0-9]{1,5})(?=\s|$)")
_CONFIGURED = re.compile(r"\s-f\s*\S")


def runtime(obj: Mapping[str, Any], roles: Roles) -> Iterator[Problem]:
    """Where the keys or the port of a runtime with mlPolicy.mpi do not suit the user of its containers."""
    for role in (roles.launcher, roles.trainer):
        if role and role.container:
            yield from _keys(obj, role)
            yield from _port(obj, role)


def _keys(obj: Mapping[str, Any], role: Role) -> Iterator[Problem]:
    given = text_at(obj, *FOLDER)
    folder = given or DEFAULT_FOLDER
    user, place = _user(obj, role)
    of_root = folder == "/root" or folder.startswith("/root/")
    if place is None or (user == "root") == of_root or not folder.startswith(("/root", "/home/")):
        return
    what = f"the keys are mounted at {folder}, and the container of {role.name} does not run as that user"
    if user == "root":
        todo = f"write {DEFAULT_FOLDER}, or run as the user whose folder it is"
    else:
        todo = "write the .ssh folder of its user, such as /home/mpiuser/.ssh, or run as root"
    yield Problem(KEY_PATH, FOLDER if given else place, what, todo)


def _port(obj: Mapping[str, Any], role: Role) -> Iterator[Problem]:
    path = (*_pod(role), "containers", role.container.index if role.container else 0)
    words = [*texts_at(obj, *path, "command"), *texts_at(obj, *path, "args")]
    text = " ".join(word for _, word in words)
    # A configuration of its own may name any port.
    if not _SSHD.search(text) or _CONFIGURED.search(text):
        return
    user, place = _user(obj, role)
    found = _PORT.search(text)
    port = int(found[1]) if found else SSH_PORT
    bind = look(obj, *path, "securityContext", "capabilities", "add")
    if (
        place is None
        or user == "root"
        or port >= UNPRIVILEGED
        or (isinstance(bind, list) and "NET_BIND_SERVICE" in bind)
    ):
        return
    what = f"sshd of {role.name} listens on port {port}, and does not run as root"
    todo = "add -p 2222 and let the launcher's ssh use that port, or add the capability NET_BIND_SERVICE"
    yield Problem(SSHD_PORT, words[0][0], what, todo)


def _pod(role: Role) -> Path:
    return (*JOBS, role.index, *POD)


def _user(obj: Mapping[str, Any], role: Role) -> tuple[str, Path | None]:
    """Who a role's container runs as, `root` or `another`, and where that is said; nowhere where the image decides."""
    index = role.container.index if role.container else 0
    places = ((*_pod(role), "containers", index, "securityContext"), (*_pod(role), "securityContext"))
    for place in places:
        number = object_at(obj, *place).get("runAsUser")
        if isinstance(number, int) and not isinstance(number, bool):
            return "another" if number else "root", (*place, "runAsUser")
    for place in places:
        said = object_at(obj, *place).get("runAsNonRoot")
        if isinstance(said, bool):
            return "another", (*place, "runAsNonRoot") if said else None
    return "", None
