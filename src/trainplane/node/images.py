"""Images: what an image's name stands for on this machine: a virtual environment, a root folder, or the host itself."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from trainplane.node.runner import Mount

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HOST = "host"
ON_HOST = "ImageOnHost"


@dataclass(frozen=True, slots=True)
class ImageMapping:
    """An entry of the user's settings: images whose name fits the pattern are run in this place."""

    pattern: str
    """As a shell has it, such as `pytorch/*`."""
    environment: Path | None = None
    """A virtual environment."""
    root: Path | None = None
    """A folder with a whole system in it, such as an unpacked image."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an image's containers run."""

    id: str
    """What the status shows as the image's id."""
    path: str
    """The PATH of a container that sets none."""
    mounts: tuple[Mount, ...] = ()
    root: Path | None = None
    environment: Path | None = None
    is_mapped: bool = True


def place(image: str, mappings: Sequence[ImageMapping]) -> Place:
    """Where an image's containers run: by the first entry that fits, else on the host."""
    for mapping in mappings:
        if fnmatchcase(image, mapping.pattern):
            if mapping.root:
                return Place(f"root:{mapping.root}", PATH, root=mapping.root)
            if mapping.environment:
                return _environment(mapping.environment, is_mapped=True)
            return _environment(Path(sys.prefix), is_mapped=True)
    return _environment(Path(sys.prefix), is_mapped=False)


def warning(image: str) -> str:
    """What the event says of an image that nobody has mapped."""
    return (
        f'nothing says what the image "{image}" is here, so its container runs with the programs of this machine '
        f"and the Python environment {sys.prefix}; to choose another, "
        f"run `trainplane up --image '{image}=/path/to/environment'`"
    )


def _environment(environment: Path, *, is_mapped: bool) -> Place:
    folders = dict.fromkeys((environment, *_bases(environment)))
    mounts = tuple(Mount(str(each), each, name="environment", read_only=True) for each in folders if _is_private(each))
    path = f"{environment / 'bin'}:{PATH}"
    return Place(f"environment:{environment}", path, mounts, environment=environment, is_mapped=is_mapped)


def _bases(environment: Path) -> list[Path]:
    """The interpreter that an environment was made with lies elsewhere; so may what it imports from."""
    python = environment / "bin" / "python"
    found = list[Path]()
    if environment == Path(sys.prefix):
        found.append(Path(sys.base_prefix))
        # What is installed for development is imported from where it is written.
        found += [Path(each) for each in sys.path if each and Path(each).is_dir()]
    with_links = python
    for _ in range(8):
        if not with_links.is_symlink():
            break
        with_links = Path(os.path.normpath(with_links.parent / with_links.readlink()))
        found.append(with_links.parent.parent)
    return [each for each in found if not each.is_relative_to(environment)]


def _is_private(folder: Path) -> bool:
    """Whether a folder is none of the system's own, which every container sees anyway."""
    system = ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/opt", "/etc")
    return not any(folder.is_relative_to(each) for each in system) and folder != Path("/")
