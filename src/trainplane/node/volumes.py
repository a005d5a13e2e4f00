"""Volumes: the folders behind a pod's volumes, and where its containers see them."""

import os
import shutil
import stat
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec.structs import replace

from trainplane.api.claims import claim_of
from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.node import environment
from trainplane.node.content import Files, Missing, names
from trainplane.node.reclaim import folder_of
from trainplane.node.runner import Mount
from trainplane.reconcile.view import View

DATA = "..data"
"""The link that is turned to let all files of a volume change at once."""
HERE = ("emptyDir", "hostPath", "configMap", "secret", "downwardAPI", "projected", "persistentVolumeClaim", "ephemeral")
_CHECKS = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


class Source(msgspec.Struct, frozen=True):
    """What is behind a volume: a folder or file of the host, or memory."""

    path: Path | None
    size: int | None = None
    read_only: bool = False


def failed(volume: str, message: str) -> str:
    """What the event says of a volume that cannot be made."""
    return f'MountVolume.SetUp failed for volume "{volume}" : {message}'


class Owner(msgspec.Struct, frozen=True):
    """Whose the files of a pod's volumes are, as the host counts; nobody else's where we are not root."""

    uid: int
    gid: int
    fs_group: int | None = None
    root: int | None = None
    """Root in the pod, where that is another."""

    def give(self, folder: Path, *, to_read: bool = False) -> None:
        """Let the pod's user have a folder with all that is in it, and its fsGroup write there.

        What it gets only to read is root's where there is an fsGroup, as on Kubernetes: ssh refuses a private key of
        its own user that a group may read.
        """
        if os.geteuid() != 0:
            return
        by_group = self.fs_group is not None and to_read and self.root is not None
        giver = replace(self, uid=self.root) if by_group else self
        # Nothing is looked up by a path twice: another pod may have the volume too, and put a link where a folder was.
        for _, folders, files, at in os.fwalk(folder):
            for name in (".", *folders, *files):
                giver._give(name, at, write=not by_group)

    def _give(self, name: str, at: int, *, write: bool) -> None:
        os.chown(name, self.uid, self.gid if self.fs_group is None else self.fs_group, dir_fd=at, follow_symlinks=False)
        if self.fs_group is None or stat.S_IFMT(os.lstat(name, dir_fd=at).st_mode) not in (stat.S_IFDIR, stat.S_IFREG):
            return
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
        try:
            mode = os.fstat(file).st_mode
            group = 0o060 if write and mode & 0o200 else 0o040
            os.fchmod(file, mode & 0o7777 | (0o2070 if stat.S_ISDIR(mode) else group))
        finally:
            os.close(file)


def make(pod: Raw, volume: Raw, folder: Path, *, files: Files | None, view: View, claims: Path, owner: Owner) -> Source:
    """Make what is behind a volume, in a folder of the pod; raises Missing, or OSError where the host refuses."""
    own = folder / volume["name"]
    read_only = False
    if files is not None:
        write(own, files, owner=owner)
        return Source(own, read_only=True)
    if volume.get("hostPath"):
        return Source(host_path(volume["hostPath"]))
    if claim := claim_of(pod, volume):
        own = _claimed(pod, claim, view, claims)
        read_only = bool(look(volume, "persistentVolumeClaim", "readOnly"))
    elif look(volume, "emptyDir", "medium") == "Memory":
        limit = look(volume, "emptyDir", "sizeLimit")
        return Source(None, size=parse(limit).value() if limit is not None else None)
    elif medium := look(volume, "emptyDir", "medium"):
        raise Missing(f"an emptyDir of medium {medium} cannot be made here; use Memory, or leave the medium out")
    elif not any(volume.get(key) is not None for key in HERE) and set(volume) - {"name"}:
        kinds = ", ".join(sorted(set(volume) - {"name"}))
        raise Missing(f"volumes of kind {kinds} cannot be mounted here; use hostPath or a persistentVolumeClaim")
    own.mkdir(parents=True, exist_ok=True)
    if not any(own.iterdir()):
        own.chmod(0o777)
        owner.give(own)
    return Source(own, read_only=read_only)


def host_path(source: Raw) -> Path:
    """The path of the host, made where its type wants that; raises Missing where it is of another type."""
    path, kind = Path(source["path"]), source.get("type") or ""
    if kind == "DirectoryOrCreate" and not path.exists():
        path.mkdir(parents=True, mode=0o755)
    if kind == "FileOrCreate" and not path.exists():
        path.touch(mode=0o644)
    check = _CHECKS.get(kind.removesuffix("OrCreate"))
    if check and not (path.exists() and check[0](path.stat().st_mode)):
        raise Missing(f"hostPath type check failed: {path} is not {check[1]}")
    if not kind and not path.exists():
        # Container runtimes make what is missing a folder.
        path.mkdir(parents=True, mode=0o755)
    return path


def _claimed(pod: Raw, claim: str, view: View, claims: Path) -> Path:
    namespace = pod["metadata"].get("namespace", "")
    found = view.get(Ref("", "PersistentVolumeClaim", namespace, claim))
    if found is None:
        raise Missing(f'persistentvolumeclaim "{claim}" not found')
    return folder_of(found, claims)


def write(folder: Path, files: Files, *, owner: Owner) -> bool:
    """Let a folder have exactly these files, all at once; returns whether anything changed.

    The files lie in a folder of their own behind a link, so that a reader sees all old ones or all new ones.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / DATA
    if data.is_symlink() and _holds(data, files):
        return False
    old = data.readlink() if data.is_symlink() else None
    new = folder / f"..{uuid.uuid4().hex}"
    new.mkdir(mode=0o755)
    for path, file in files.items():
        place = new / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
        place.chmod(file.mode)
    link = folder / f"{DATA}_tmp"
    link.unlink(missing_ok=True)
    link.symlink_to(new.name)
    link.replace(data)
    top = names(files)
    for name in top:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"{DATA}/{name}")
    for each in folder.iterdir():
        if each.is_symlink() and each.name != DATA and each.name not in top:
            each.unlink()
    if old is not None:
        shutil.rmtree(folder / old, ignore_errors=True)
    owner.give(folder, to_read=True)
    return True


def _holds(folder: Path, files: Files) -> bool:
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return found == set(files) and all((folder / path).read_bytes() == file.data for path, file in files.items())


def mounts(container: Raw, sources: Mapping[str, Source], env: Mapping[str, str]) -> tuple[Mount, ...]:
    """Where a container sees the volumes, those above others first; raises ConfigError for a subPath that cannot be."""
    found = list[Mount]()
    for mount in container.get("volumeMounts") or ():
        source = sources[mount["name"]]
        sub_path = mount.get("subPath") or ""
        if expression := mount.get("subPathExpr"):
            sub_path = environment.sub_path(expression, env)
        if sub_path and source.path is not None:
            make_sub_path(source.path, sub_path)
        found.append(
            Mount(
                mount["mountPath"],
                source.path,
                name=mount["name"],
                sub_path=sub_path,
                read_only=bool(mount.get("readOnly")) or source.read_only,
                size=source.size,
            )
        )
    return tuple(sorted(found, key=lambda each: each.target.rstrip("/").count("/")))


def make_sub_path(source: Path, sub_path: str) -> None:
    """Make a folder below a volume where nothing is; raises ConfigError for one that leads out of it."""
    place = source.joinpath(sub_path)
    if ".." in Path(sub_path).parts or Path(sub_path).is_absolute():
        raise environment.ConfigError(
            f'subPath "{sub_path}" must stay within the volume; remove ".." and a leading "/"'
        )
    whole = source.resolve()
    real = place.resolve()
    if not real.is_relative_to(whole):
        raise environment.ConfigError(f'subPath "{sub_path}" leads out of the volume through a link')
    if not real.exists() and not _make_folders(whole, real.relative_to(whole).parts):
        raise environment.ConfigError(f'subPath "{sub_path}" changes while it is looked up')


def _make_folders(whole: Path, parts: Sequence[str]) -> bool:
    """Make what is missing of a path below a volume, the last folder for everybody; False where links are in the way.

    Whoever has the volume mounted may put a link where a folder was just now, so none is followed.
    """
    with ExitStack() as opened:
        at = os.open(whole, os.O_RDONLY | os.O_DIRECTORY)
        opened.callback(os.close, at)
        is_new = False
        for part in parts:
            try:
                os.mkdir(part, 0o755, dir_fd=at)
                is_new = True
            except FileExistsError:
                is_new = False
            try:
                at = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            except OSError:
                return False
            opened.callback(os.close, at)
        if is_new:
            os.fchmod(at, 0o777)
    return True
