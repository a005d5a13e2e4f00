"""A folder of code as one archive, named by its content, that a cluster keeps as a ConfigMap and a pod unpacks."""

import base64
import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from trainplane.api.meta import Raw
from trainplane.sdk.ignore import Ignore

IGNORE_FILES = (".trainplaneignore", ".gitignore")
"""The first that is there says what stays behind."""
ALWAYS_IGNORED = (
    *(".git/", "__pycache__/", ".venv/", "venv/", "node_modules/", ".ipynb_checkpoints/", "*.pyc"),
    *(".ssh/", ".gnupg/", ".aws/", ".kube/", ".docker/", ".netrc"),
)
"""What nobody wants in a pod, and what nobody wants to be read there when a script lies in a home folder."""
AUTHORITY = os.path.join("pki", "ca.pem")
"""The file by which the data of a cluster is known; who has its keys is its administrator."""
LARGEST = 900_000
"""Bytes of an archive: a ConfigMap holds a megabyte, and its encoding a third more than what goes in."""
MOST_FILES = 20_000
KEY = "source.tar.gz"
RANKS = "ranks.py"
"""The program beside the archive that starts it under mpirun."""
MOUNT = "/var/run/trainplane/source"
PYTHON = "python3"
"""What every image and every system calls it; many have nothing that is called python."""
VOLUME = "trainplane-source"
PART_OF = "trainplane.dev/source"
"""The label of what was shipped, with its digest."""

_UNPACK = (
    "import os,sys,tarfile;t=tarfile.open(sys.argv[1]);"
    "t.extractall('.',**({'filter':'data'} if hasattr(tarfile,'data_filter') else {}));t.close();"
    "os.execvp(sys.argv[2],sys.argv[2:])"
)
"""Unpacks into the working folder and becomes the command; a program of its own, so that no shell reads file names."""


class NotShipped(Exception):
    """The folder cannot be shipped: what, and what to do."""


class Archive(msgspec.Struct, frozen=True):
    """A folder's files, packed."""

    data: bytes
    files: int
    size: int
    """Bytes of the files, before they were packed."""
    ranks: str = ""
    """The text of the program that starts it under mpirun, where that is the runtime's way."""

    @property
    def digest(self) -> str:
        """The first part of what tells this content from every other."""
        return hashlib.sha256(self.data + self.ranks.encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """The name of the ConfigMap that holds it."""
        return f"source-{self.digest}"


def pack(folder: Path) -> Archive:
    """The folder's files but those that are to be ignored; the same files make the same archive. Raises NotShipped."""
    found = sorted(_files(folder), key=lambda pair: pair[0])
    packed = io.BytesIO()
    # A time in the header would make every archive a new one.
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        size = sum(_add(archive, name, path) for name, path in found)
    made = Archive(packed.getvalue(), len(found), size)
    if len(made.data) > LARGEST:
        raise NotShipped(_too_large(folder, made, found))
    return made


def configmap(archive: Archive, *, namespace: str, owner: Raw | None = None) -> Raw:
    """The object that keeps an archive, and goes with its owner; it never changes, for its name says what is in it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": archive.name,
            "namespace": namespace,
            "labels": {PART_OF: archive.digest},
            **({"ownerReferences": [owner]} if owner else {}),
        },
        "immutable": True,
        "binaryData": {KEY: base64.b64encode(archive.data).decode()},
        **({"data": {RANKS: archive.ranks}} if archive.ranks else {}),
    }


def command(words: Sequence[str], *, python: str = PYTHON) -> list[str]:
    """The command line that unpacks the archive into the working folder and then runs `words` there."""
    return [python, "-c", _UNPACK, f"{MOUNT}/{KEY}", *words]


def mpi_command(words: Sequence[str], *, names: Iterable[str], python: str = PYTHON) -> list[str]:
    """The command line of a launcher: mpirun with `words` as every rank, which gets the variables of these names."""
    return [python, f"{MOUNT}/{RANKS}", "launch", ",".join(names), *words]


def with_ranks(archive: Archive) -> Archive:
    """The archive with the program beside it that starts it under mpirun."""
    text = (Path(__file__).parents[1] / "probe" / RANKS).read_text(encoding="utf-8")
    return replace(archive, ranks=text)


def volume(archive: Archive) -> Raw:
    """The pod's volume that holds the archive."""
    return {"name": VOLUME, "configMap": {"name": archive.name}}


def mount() -> Raw:
    """Where a container finds it."""
    return {"name": VOLUME, "mountPath": MOUNT, "readOnly": True}


def _add(archive: tarfile.TarFile, name: str, path: Path) -> int:
    entry = tarfile.TarInfo(name)
    try:
        if path.is_symlink():
            entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
            archive.addfile(entry)
            return 0
        content = path.read_bytes()
        entry.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
    except OSError as error:
        raise NotShipped(f"{path}: {error.strerror}; make it readable, or name it in {IGNORE_FILES[0]}") from None
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
    return len(content)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    ignore = _ignore(folder)
    count = 0
    for root, folders, names in os.walk(folder):
        place = Path(root).relative_to(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not ignore.matches(str(place / name), is_folder=True)
            and not os.path.lexists(os.path.join(root, name, AUTHORITY))
        )
        # A link to a folder is a file to us: it is shipped as a link, and what lies behind it is not.
        links = [name for name in folders if (Path(root) / name).is_symlink()]
        for name in (*names, *links):
            path = Path(root) / name
            shown = str(place / name)
            if ignore.matches(shown, is_folder=False) or not (path.is_symlink() or path.is_file()):
                continue
            count += 1
            if count > MOST_FILES:
                raise NotShipped(
                    f"{folder} has more than {MOST_FILES:,} files; keep data elsewhere, or name it in {IGNORE_FILES[0]}"
                )
            yield shown, path


def _ignore(folder: Path) -> Ignore:
    lines: list[str] = [*ALWAYS_IGNORED]
    for name in IGNORE_FILES:
        try:
            lines += (folder / name).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise NotShipped(f"{folder / name}: {error}; mend it or remove it") from None
        break
    return Ignore(lines)


def _too_large(folder: Path, made: Archive, found: Sequence[tuple[str, Path]]) -> str:
    sizes = sorted(((path.stat().st_size, name) for name, path in found if path.is_file()), reverse=True)
    largest = ", ".join(f"{name} ({size / 1e6:.1f} MB)" for size, name in sizes[:3])
    return (
        f"{folder} is {len(made.data) / 1e6:.1f} MB packed and at most {LARGEST / 1e6:.1f} MB can be shipped; "
        f"the largest files are {largest}: put data on a volume, or name it in {IGNORE_FILES[0]}"
    )
