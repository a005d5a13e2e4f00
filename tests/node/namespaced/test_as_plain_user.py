"""The same tests as an ordinary user, when these run as root."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.node.plain_user import become_plain, passes_as_plain
from trainplane.node.namespaced import kernel


def _crowd() -> None:
    """Put a mount into /etc, as container engines do, for this process alone; layers over it are refused to users."""
    kernel.unshare(kernel.NEW_MOUNT)
    kernel.mount(None, "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("/etc/passwd", "/etc/passwd", flags=kernel.MS_BIND)


def _crowd_and_become_plain() -> None:
    _crowd()
    become_plain()


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests run as an ordinary user already")
@pytest.mark.parametrize(
    ("become", "which"),
    [
        pytest.param(become_plain, "test", id="anywhere"),
        pytest.param(_crowd_and_become_plain, "mounted_wherever or knows_itself or parts_of", id="inside a container"),
    ],
)
def test_an_ordinary_user_sees_the_same(become: Callable[[], None], which: str) -> None:
    passes_as_plain("-k", which, str(Path(__file__).parent), become=become)
