"""What an image's name stands for on this machine."""

import sys
from pathlib import Path

from trainplane.node.images import PATH, ImageMapping, place, warning


def test_the_first_entry_that_fits_counts(tmp_path: Path) -> None:
    environment, root = tmp_path / "env", tmp_path / "root"
    mappings = (ImageMapping("pytorch/*", environment=environment), ImageMapping("*", root=root))
    torch = place("pytorch/pytorch:2", mappings)
    assert (torch.environment, torch.root) == (environment, None)
    assert torch.path == f"{environment}/bin:{PATH}"
    assert [mount.target for mount in torch.mounts] == [str(environment)]
    assert all(mount.read_only for mount in torch.mounts)
    other = place("other", mappings)
    assert (other.root, other.environment, other.mounts) == (root, None, ())


def test_without_one_it_is_the_host_and_that_is_said() -> None:
    found = place("example.com/x:1", ())
    assert not found.is_mapped
    assert found.path.startswith(f"{sys.prefix}/bin:")
    assert "trainplane up --image 'example.com/x:1=/path/to/environment'" in warning("example.com/x:1")
    assert place("example.com/x:1", (ImageMapping("example.com/*"),)).is_mapped


def test_what_the_environment_leans_on_is_seen_too() -> None:
    targets = {mount.target for mount in place("x", ()).mounts}
    for folder in (sys.prefix, sys.base_prefix):
        assert folder in targets or folder.startswith("/usr")
