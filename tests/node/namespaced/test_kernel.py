"""Calls of the kernel that have to be made again."""

import os
import subprocess
import sys
from pathlib import Path

from trainplane.node.namespaced import kernel

RENAMES = """
import os, sys
for _ in range(1_000_000):
    os.rename(sys.argv[1], sys.argv[2])
    os.rename(sys.argv[2], sys.argv[1])
"""


def test_a_path_with_dots_is_found_while_others_rename_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").touch()
    folder = os.open(tmp_path, os.O_PATH)
    words = [sys.executable, "-c", RENAMES, str(tmp_path / "b"), str(tmp_path / "c")]
    with subprocess.Popen(words) as other:
        try:
            for _ in range(50_000):
                os.close(kernel.open_beneath(folder, "a/../a", os.O_PATH, as_root=True))
        finally:
            other.kill()
            os.close(folder)
