"""Images: what an image's name stands for on this machine: a virtual environment, a root folder, or the host itself."""

import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from trainplane.node.runner import Mount

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HOST = "host"
ON_HOST = "ImageOnHost"


class ImageMapping(msgspec.Struct, frozen=True):
    """An entry of the user's settings: images whose name fits the pattern are run in this place."""

    pattern: str
    """As a shell has it, such as `pytorch/*`."""
    environment: Path | None = None
    """A virtual environment."""
    root: Path | None = None
    """A folder with a whole system in it, such as an unpacked image."""


class Place(msgspec.Struct, frozen=True):
    """Where an image's containers run."""

    id: str
    """What the status shows as the image's id."""
    path: str
    """The PATH of a container that sets none."""
    mounts: tuple[Mount, ...] = ()
    root: Path | None = None
    environment: Path | None = None
    is_mapped: bool = True
    is_image: bool = False
    """Whether an engine has it, or gets it, as what its name says."""


def place(image: str, mappings: Sequence[ImageMapping], *, has_engine: bool = False) -> Place:
    """Where an image's containers run: by the first entry that fits, else in a container engine, else on the host."""
    for mapping in mappings:
        if fnmatchcase(image, mapping.pattern):
            if mapping.root:
                return Place(f"root:{mapping.root}", PATH, root=mapping.root)
            if mapping.environment:
                return _environment(mapping.environment, is_mapped=True)
            return _environment(Path(sys.prefix), is_mapped=True)
    if has_engine:
        return Place(image, "", is_image=True)
    return _environment(Path(sys.prefix), is_mapped=False)


def warning(image: str) -> str:
    """What the event says of an image that nobody has mapped."""
    return (
        f'nothing says what the image "{image}" is here, so its container runs with the programs of this machine '
        f"and the Python environment {sys.prefix}; to choose another, "
        f"run `trainplane up --image '{image}=/path/to/environment'`"
    )


def _environment(environment: Path, *, is_mapped: bool) -> Place:
    folders = [each for each in dict.fromkeys((environment, *_bases(environment))) if _is_private(each)]
    outer = [each for each in folders if not any(each != other and each.is_relative_to(other) for other in folders)]
    mounts = tuple(Mount(str(each), each, name="environment", read_only=True) for each in outer)
    path = f"{environment / 'bin'}:{PATH}"
    return Place(f"environment:{environment}", path, mounts, environment=environment, is_mapped=is_mapped)


def _bases(environment: Path) -> list[Path]:
    """What an environment leans on: the interpreter it was made with, and what is imported from where it is written."""
    found = [Path(sys.base_prefix)] if environment == Path(sys.prefix) else list[Path]()
    python = environment / "bin" / "python"
    for _ in range(8):
        if not python.is_symlink():
            break
        python = Path(os.path.normpath(python.parent / python.readlink()))
        found.append(python.parent.parent)
    for file in environment.glob("lib/python*/site-packages/*.pth"):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [Path(line) for line in lines if line.startswith("/") and Path(line).is_dir()]
    return found


def _is_private(folder: Path) -> bool:
    """Whether a folder is none of the system's own, which every container sees anyway."""
    system = ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/opt", "/etc")
    return not any(folder.is_relative_to(each) for each in system) and folder != Path("/")
