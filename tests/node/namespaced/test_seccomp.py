"""Which calls of the kernel a container may make: those that stay within it, unless its pod says otherwise."""

import asyncio
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.node.namespaced.boxes import ENVIRONMENT, once
from trainplane.node.environment import ConfigError
from trainplane.node.identity import user_of
from trainplane.node.namespaced import kernel, seccomp
from trainplane.node.namespaced.identity import CAPABILITIES, capabilities

pytestmark = pytest.mark.skipif(
    not (seccomp.is_known(platform.machine()) and kernel.can_filter()), reason="this machine has no filters of calls"
)

CALLS = """
import ctypes, errno, json, os, socket, threading
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"x86_64": (250, 272, 321, 323, 425), "aarch64": (219, 97, 280, 282, 425)}[os.uname().machine]
found = {}
for name, number in zip(("keyctl", "unshare", "bpf", "userfaultfd", "io_uring_setup"), NUMBERS):
    argument = 0x10000000 if name == "unshare" else 0
    ctypes.set_errno(0)
    result = libc.syscall(number, argument, 0, 0, 0, 0)
    found[name] = errno.errorcode.get(ctypes.get_errno(), "none") if result < 0 else "done"
try:
    socket.socket(40, socket.SOCK_STREAM).close()
    found["vsock"] = "done"
except OSError as error:
    found["vsock"] = errno.errorcode[error.errno]
thread = threading.Thread(target=lambda: found.update(thread="done"))
thread.start()
thread.join()
print(json.dumps(found))
"""
FORBIDDEN = {
    "keyctl": "EPERM",
    "unshare": "EPERM",
    "bpf": "EPERM",
    "userfaultfd": "EPERM",
    "io_uring_setup": "EPERM",
    "vsock": "EAFNOSUPPORT",
    "thread": "done",
}


def tried(folder: Path, **fields: Any) -> dict[str, str]:
    ended, text = asyncio.run(once(folder, sys.executable, "-c", CALLS, mounts=ENVIRONMENT, **fields))
    assert ended.code == 0, text
    found: dict[str, str] = json.loads(text)
    return found


def test_a_container_is_kept_from_calls_that_reach_beyond_it(tmp_path: Path) -> None:
    assert tried(tmp_path) == FORBIDDEN


def test_so_is_its_root(tmp_path: Path) -> None:
    assert tried(tmp_path, uid=0, gid=0) == FORBIDDEN


def test_an_unconfined_one_is_not(tmp_path: Path) -> None:
    found = tried(tmp_path, unconfined=True)
    assert (found["unshare"], found["keyctl"] == "EPERM") == ("done", False)


KEYRING = "import ctypes, os; print(ctypes.CDLL(None).syscall({'x86_64': 250}.get(os.uname().machine, 219), 0, -3, 0))"
"""Prints which keyring the session has."""


def test_the_keys_of_whoever_starts_the_cluster_are_not_its_pods(tmp_path: Path) -> None:
    kernel.leave_session_keys()  # So that there is a session whose keyring could be handed on.
    mine = subprocess.run([sys.executable, "-c", KEYRING], capture_output=True, text=True, check=True).stdout
    _, text = asyncio.run(once(tmp_path, sys.executable, "-c", KEYRING, mounts=ENVIRONMENT, unconfined=True))
    assert text != mine


def test_a_capability_opens_the_calls_that_need_it() -> None:
    usual = {CAPABILITIES[number] for number in capabilities(add=(), drop=(), privileged=False)}
    assert {"mount", "setns", "reboot", "init_module", "settimeofday", "kexec_load"} <= set(seccomp.forbidden(usual))
    assert "mount" not in set(seccomp.forbidden({*usual, "SYS_ADMIN"}))
    assert "bpf" not in set(seccomp.forbidden({*usual, "BPF"}))
    assert "kexec_load" in set(seccomp.forbidden(CAPABILITIES))


@pytest.mark.parametrize(
    ("whole", "own", "unconfined"),
    [
        ({}, {}, False),
        ({"type": "RuntimeDefault"}, {}, False),
        ({"type": "Unconfined"}, {}, True),
        ({"type": "Unconfined"}, {"type": "RuntimeDefault"}, False),
        ({"type": "RuntimeDefault"}, {"type": "Unconfined"}, True),
    ],
)
def test_a_container_has_the_last_word(whole: dict[str, Any], own: dict[str, Any], unconfined: bool) -> None:
    container = {"name": "c", "securityContext": {"seccompProfile": own} if own else {}}
    pod = {"metadata": {"name": "p"}, "spec": {"securityContext": {"seccompProfile": whole} if whole else {}}}
    assert user_of(pod, container).unconfined is unconfined


def test_a_profile_of_the_node_is_refused_by_name() -> None:
    profile = {"seccompProfile": {"type": "Localhost", "localhostProfile": "mine.json"}}
    pod = {"metadata": {"name": "p"}, "spec": {"securityContext": profile}}
    with pytest.raises(ConfigError, match=r"mine\.json cannot be loaded.*RuntimeDefault"):
        user_of(pod, {"name": "c"})
