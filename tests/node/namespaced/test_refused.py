"""A machine that refuses namespaces: one sentence says what and why, and nothing is kept."""

import os
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT
from trainplane.node.namespaced.users import become_root_of_own

ATTEMPT = """
import asyncio, sys
from pathlib import Path
from trainplane.node.namespaced.client import Unable
from trainplane.node.namespaced.runner import NamespacedRunner

runner = NamespacedRunner(Path(sys.argv[1]))
try:
    asyncio.run(runner.sweep())
except Unable as error:
    print(error)
print([group for group in runner.control_groups if Path(group).exists()])
"""


def _forbid() -> None:
    """Be in a user namespace of one's own, which is allowed no network."""
    become_root_of_own(os.getuid(), os.getgid())
    Path("/proc/sys/user/max_net_namespaces").write_text("0", encoding="ascii")


def test_a_refusal_is_one_sentence_with_a_remedy(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ATTEMPT, str(tmp_path)],
        preexec_fn=_forbid,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    said, groups = done.stdout.splitlines()
    assert said.startswith("namespaces are refused (")
    assert "user.max_user_namespaces" in said
    assert groups == "[]"
    assert not list((tmp_path / "boxes").iterdir())
