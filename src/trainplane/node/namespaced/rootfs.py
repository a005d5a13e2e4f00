"""A container's root: the host's system folders read-only, private places to write, and the pod's mounts."""

import contextlib
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any

from trainplane.node.namespaced import kernel
from trainplane.node.namespaced.kernel import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_REC, mount

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix", "gnu")
"""The folders below / that every container sees; not homes, not /var, not what somebody put there himself."""
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
_PRIVATE = (
    "home",
    "mnt",
    "media",
    "srv",
    "run",
    "run/lock",
    "var",
    "var/lib",
    "var/log",
    "var/cache",
    "var/spool",
    "workspace",
)
_GUARDED = ("bus", "fs", "irq", "sys", "sysrq-trigger")
"""The machine's switches in /proc, which can be read and not turned."""
_HIDDEN = (
    "proc/acpi",
    "proc/asound",
    "proc/interrupts",
    "proc/kcore",
    "proc/keys",
    "proc/latency_stats",
    "proc/sched_debug",
    "proc/scsi",
    "proc/timer_list",
    "proc/timer_stats",
    "sys/devices/virtual/powercap",
    "sys/firmware",
)
"""What says more of the machine and of others on it than a pod needs to know."""
_HOST = ".host"
"""Where links lead to, in the places where no layer can be laid over the host's folder."""
_CERTIFICATES = "var/lib/ca-certificates"


class Refused(Exception):
    """A mount cannot be made; the message says which and why."""


class Root:
    """A root under construction, in a mount namespace that is this process's own."""

    def __init__(self, scratch: str) -> None:
        mount("tmpfs", scratch, kind="tmpfs", flags=MS_NOSUID | MS_NODEV, data="mode=755,size=50%")
        # The paths of layers can be read in the container, so they are written from here.
        os.chdir(scratch)
        self.path, self._upper, self._work = "root", "upper", "work"
        for folder in (self.path, self._upper, self._work):
            os.mkdir(folder, 0o755)
        self._descriptor = os.open(self.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._is_image = False

    def host(self, *, targets: Sequence[tuple[str, bool]], files: Mapping[str, str]) -> None:
        """Lay out the host's system folders; `targets` are the mount points to come, and whether each is a folder."""
        tops = {target.strip("/").partition("/")[0] for target, _ in targets}
        for name in (*SYSTEM, "etc"):
            source = f"/{name}"
            if not os.path.lexists(source):
                continue
            if os.path.islink(source):
                os.symlink(os.readlink(source), f"{self.path}/{name}")
                continue
            os.mkdir(f"{self.path}/{name}", 0o755)
            if name == "etc" or (name in tops and self._missing(name, targets)):
                self._overlay(name, targets, files if name == "etc" else {})
            else:
                self._bind(source, f"{self.path}/{name}", read_only=True)

    def image(self, source: str, *, targets: Sequence[tuple[str, bool]], files: Mapping[str, str]) -> None:
        """Lay out a folder as the root; what is written goes to memory and is lost."""
        self._is_image = True
        os.mkdir(f"{self._upper}/image")
        os.mkdir(f"{self._work}/image")
        layers = f"lowerdir={_escaped(source)},upperdir={self._upper}/image,workdir={self._work}/image"
        try:
            self._try_overlay(layers, self.path)
        except OSError as error:
            raise Refused(f"{source} cannot be a root: overlay is refused ({error.strerror})") from error
        os.close(self._descriptor)
        self._descriptor = os.open(self.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        for name, text in files.items():
            self._write(f"etc/{name}", text)
        for target, folder in targets:
            os.close(self._point(target, folder=folder))

    def _missing(self, name: str, targets: Sequence[tuple[str, bool]]) -> bool:
        return any(target.strip("/").startswith(f"{name}/") and not os.path.lexists(target) for target, _ in targets)

    def _overlay(self, name: str, targets: Sequence[tuple[str, bool]], files: Mapping[str, str]) -> None:
        """Put a layer over a system folder that has the mount points and files to come; then it is read-only too."""
        upper, work, place = f"{self._upper}/{name}", f"{self._work}/{name}", f"{self.path}/{name}"
        os.mkdir(upper, 0o755)
        os.mkdir(work, 0o755)
        for file, text in files.items():
            with open(f"{upper}/{file}", "w", encoding="utf-8") as opened:
                opened.write(text)
        for target, folder in targets:
            if target.strip("/").startswith(f"{name}/"):
                _prepare(target, name, upper, folder=folder)
        try:
            self._try_overlay(f"lowerdir=/{name},upperdir={upper},workdir={work}", place)
        except OSError:
            # Refused to an ordinary user where the folder has mounts of the host in it, and by kernels before 5.11.
            self._plant(name, targets, files)
        kernel.restrict(place, read_only=True)

    def _try_overlay(self, layers: str, place: str) -> None:
        try:
            mount("overlay", place, kind="overlay", flags=MS_NOSUID | MS_NODEV, data=f"userxattr,{layers}")
        except OSError:
            mount("overlay", place, kind="overlay", flags=MS_NOSUID | MS_NODEV, data=layers)

    def _plant(self, name: str, targets: Sequence[tuple[str, bool]], files: Mapping[str, str]) -> None:
        """Fill a folder with links to what the host has there, and with the mount points and files to come."""
        os.makedirs(f"{self.path}/{_HOST}/{name}", 0o755)
        self._bind(f"/{name}", f"{self.path}/{_HOST}/{name}", read_only=True)
        _mirror(self.path, name, [*((f"/{name}/{file}", False) for file in files), *targets])
        for file, text in files.items():
            with open(f"{self.path}/{name}/{file}", "w", encoding="utf-8") as opened:
                opened.write(text)
        self._bind(f"{self.path}/{name}", f"{self.path}/{name}", read_only=True)

    def private(self, *, owner: tuple[int, int], home: str, temporary: Mapping[str, str], read_only: bool) -> None:
        """Lay out places of the pod's own: /run, /var, its home, and /tmp, which is on disk."""
        for name in (*(() if self._is_image else _PRIVATE), home.strip("/")):
            self._folder(name, owner)
        if not self._is_image:
            os.chown(self.path, *owner)
            for name, target in (("var/run", "../run"), ("var/lock", "../run/lock")):
                os.symlink(target, f"{self.path}/{name}")
        for target, source in temporary.items():
            self.bind(source, target, read_only=read_only)
        if os.path.isdir(f"/{_CERTIFICATES}"):
            self.bind(f"/{_CERTIFICATES}", f"/{_CERTIFICATES}", read_only=True)

    def _folder(self, name: str, owner: tuple[int, int]) -> None:
        point = self._point(name, folder=True)
        if stat.S_IMODE(os.stat(point).st_mode) & 0o700:
            os.chown(f"/proc/self/fd/{point}", *owner)
        os.close(point)

    def working_folder(self, path: str, owner: tuple[int, int]) -> None:
        """Make the folder where the program begins, as other runtimes do; where that cannot be, it will say so."""
        try:
            os.close(kernel.open_beneath(self._descriptor, path, os.O_PATH, as_root=True))
        except FileNotFoundError:
            with contextlib.suppress(OSError):
                self._folder(path, owner)

    def special(self, *, devices: Sequence[str], shm: int | None, masked: bool, privileged: bool) -> None:
        """Lay out /proc, /sys and /dev, with /dev/shm and terminals that are the pod's alone."""
        proc, sys, dev = (f"{self.path}/{name}" for name in ("proc", "sys", "dev"))
        for folder in (proc, sys, dev):
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o755)
        mount("proc", proc, kind="proc", flags=MS_NOSUID | MS_NODEV | MS_NOEXEC)
        try:
            mount("sysfs", sys, kind="sysfs", flags=MS_NOSUID | MS_NODEV | MS_NOEXEC)
        except OSError:
            mount("/sys", sys, flags=MS_BIND | MS_REC)
        if not privileged:
            kernel.restrict(sys, read_only=True)
        if masked and not privileged:
            self._mask(proc)
        self._dev(dev, devices=os.listdir("/dev") if privileged else (*DEVICES, *devices), shm=shm)

    def _mask(self, proc: str) -> None:
        """Keep a container from the machine's switches, and from what it says of others."""
        for name in _GUARDED:
            if os.path.exists(f"{proc}/{name}"):
                self._bind(f"{proc}/{name}", f"{proc}/{name}", read_only=True)
        for name in _HIDDEN:
            place = f"{self.path}/{name}"
            if os.path.isdir(place):
                mount(
                    "tmpfs",
                    place,
                    kind="tmpfs",
                    flags=MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                    data="size=4k,mode=555",
                )
            elif os.path.exists(place):
                mount("/dev/null", place, flags=MS_BIND)

    def _dev(self, dev: str, *, devices: Sequence[str], shm: int | None) -> None:
        # Each device is a mount of its own; one that is made beside them is none.
        mount("tmpfs", dev, kind="tmpfs", flags=MS_NOSUID | MS_NODEV | MS_NOEXEC, data="mode=755,size=64k")
        for device in devices:
            name = device.removeprefix("/dev/")
            if name in ("pts", "ptmx", "shm", "mqueue", *_LINKS) or not os.path.exists(f"/dev/{name}"):
                continue
            if os.path.isdir(f"/dev/{name}"):
                os.makedirs(f"{dev}/{name}", 0o755, exist_ok=True)
            else:
                os.makedirs(os.path.dirname(f"{dev}/{name}"), 0o755, exist_ok=True)
                os.close(os.open(f"{dev}/{name}", os.O_CREAT | os.O_CLOEXEC, 0o644))
            mount(f"/dev/{name}", f"{dev}/{name}", flags=MS_BIND | MS_REC)
        for name, target in (*_LINKS.items(), ("ptmx", "pts/ptmx")):
            os.symlink(target, f"{dev}/{name}")
        for name in ("pts", "shm", "mqueue"):
            os.mkdir(f"{dev}/{name}", 0o755)
        mount(
            "devpts",
            f"{dev}/pts",
            kind="devpts",
            flags=MS_NOSUID | MS_NOEXEC,
            data="newinstance,ptmxmode=0666,mode=620",
        )
        size = "50%" if shm is None else str(shm)
        mount("tmpfs", f"{dev}/shm", kind="tmpfs", flags=MS_NOSUID | MS_NODEV, data=f"mode=1777,size={size}")
        with contextlib.suppress(OSError):
            mount("mqueue", f"{dev}/mqueue", kind="mqueue", flags=MS_NOSUID | MS_NODEV | MS_NOEXEC)

    def bind(self, source: str, target: str, *, read_only: bool, sub_path: str = "") -> None:
        """Show a folder or file of the host at a path, which is made where it is missing."""
        try:
            whole = os.open(source, os.O_PATH | os.O_CLOEXEC)
        except OSError as error:
            raise Refused(f"{target}: {source} cannot be mounted: {error.strerror}") from error
        part = whole
        try:
            if sub_path:
                part = kernel.open_beneath(whole, sub_path, os.O_PATH, as_root=False)
            folder = stat.S_ISDIR(os.stat(part).st_mode)
            point = self._point(target, folder=folder)
            mount(f"/proc/self/fd/{part}", f"/proc/self/fd/{point}", flags=MS_BIND | MS_REC)
            os.close(point)
            # What was open is what lies below the mount; only a second look finds the mount itself.
            point = self._point(target, folder=folder)
            kernel.restrict(f"/proc/self/fd/{point}", read_only=read_only)
            os.close(point)
        except OSError as error:
            raise Refused(f"{target}: {source}/{sub_path} cannot be mounted there: {error.strerror}") from error
        finally:
            os.close(whole)
            if part != whole:
                os.close(part)

    def _bind(self, source: str, target: str, *, read_only: bool) -> None:
        mount(source, target, flags=MS_BIND | MS_REC)
        kernel.restrict(target, read_only=read_only)

    def _point(self, target: str, *, folder: bool) -> int:
        """An open file for a mount point, made where it is missing, looked up without leaving this root."""
        path, parts = "", [part for part in target.split("/") if part]
        for number, part in enumerate(parts, 1):
            parent, path = path, f"{path}/{part}"
            try:
                found = kernel.open_beneath(self._descriptor, path, os.O_PATH, as_root=True)
            except FileNotFoundError:
                at = kernel.open_beneath(self._descriptor, parent, os.O_PATH | os.O_DIRECTORY, as_root=True)
                try:
                    _make(at, part, folder=folder or number < len(parts))
                finally:
                    os.close(at)
                continue
            if number == len(parts):
                return found
            os.close(found)
        return kernel.open_beneath(self._descriptor, path or "/", os.O_PATH, as_root=True)

    def _write(self, name: str, text: str) -> None:
        folder, _, file = name.rpartition("/")
        at = self._point(folder, folder=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file, dir_fd=at)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(file, flags, 0o644, dir_fd=at), "w", encoding="utf-8") as opened:
            opened.write(text)
        os.close(at)

    def enter(self, *, read_only: bool) -> None:
        """Make it this process's root, for good."""
        os.close(self._descriptor)
        if not os.path.ismount(self.path):
            mount(self.path, self.path, flags=MS_BIND | MS_REC)
        os.chdir(self.path)
        kernel.pivot_root()
        kernel.restrict("/", read_only=read_only, recursive=False)


def _mirror(root: str, folder: str, targets: Sequence[tuple[str, bool]]) -> None:
    """Make a folder of links to the entries of the host's, but for those on the way to mount points."""
    os.makedirs(f"{root}/{folder}", 0o755, exist_ok=True)
    below: dict[str, list[tuple[str, bool]]] = {}
    for target, is_folder in targets:
        if target.startswith(f"/{folder}/"):
            below.setdefault(target.removeprefix(f"/{folder}/").partition("/")[0], []).append((target, is_folder))
    entries = os.listdir(f"/{folder}") if os.path.isdir(f"/{folder}") else []
    for entry in entries:
        if entry not in below:
            os.symlink(f"/{_HOST}/{folder}/{entry}", f"{root}/{folder}/{entry}")
    for entry, wanted in below.items():
        if any(target == f"/{folder}/{entry}" and not is_folder for target, is_folder in wanted):
            os.close(os.open(f"{root}/{folder}/{entry}", os.O_CREAT | os.O_CLOEXEC, 0o644))
        else:
            _mirror(root, f"{folder}/{entry}", wanted)


def _prepare(target: str, name: str, upper: str, *, folder: bool) -> None:
    """Make a mount point in the layer, where an ordinary user may, unlike in the folder below it."""
    real = os.path.realpath(f"/{target.strip('/')}")
    if os.path.lexists(real) or not real.startswith(f"/{name}/"):
        return
    place = f"{upper}/{real.removeprefix(f'/{name}/')}"
    os.makedirs(place if folder else os.path.dirname(place), 0o755, exist_ok=True)
    if not folder:
        os.close(os.open(place, os.O_CREAT | os.O_CLOEXEC, 0o644))


def _make(at: int, name: str, *, folder: bool) -> None:
    if folder:
        os.mkdir(name, 0o755, dir_fd=at)
    else:
        os.close(os.open(name, os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644, dir_fd=at))


def _escaped(path: str) -> str:
    """A path as overlay's options take it."""
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def lay_out(plan: Mapping[str, Any]) -> None:
    """Build a container's root as a plan says it, and enter it; raises Refused or OSError."""
    root = Root(plan["scratch"])
    targets = [(target, folder) for target, folder in plan["targets"]]
    owner = (plan["owner"][0], plan["owner"][1])
    if plan["root"]:
        root.image(plan["root"], targets=targets, files=plan["files"])
    else:
        root.host(targets=targets, files=plan["files"])
    root.private(owner=owner, home=plan["home"], temporary=plan["temporary"], read_only=plan["read_only"])
    root.special(devices=plan["devices"], shm=plan["shm"], masked=plan["masked"], privileged=plan["privileged"])
    for target, source, sub_path, read_only in plan["mounts"]:
        root.bind(source, target, read_only=read_only, sub_path=sub_path)
    root.working_folder(plan["cwd"], owner)
    root.enter(read_only=plan["read_only"])
