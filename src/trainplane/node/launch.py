"""Launch: what a pod needs before it starts, and a container of it as a Program."""

import os
import posixpath
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path

import msgspec
from msgspec.structs import replace

from trainplane.api.kinds import by_plural
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.cluster.errors import NotFound
from trainplane.node import content, devices, environment, volumes
from trainplane.node.home import HOME, OUTPUT, WORK, Home, box_of, cores, job_of, octets, with_policy
from trainplane.node.identity import user_of
from trainplane.node.images import Place, place
from trainplane.node.runner import CONTAINER, CREATE_ERROR, Box, Image, Mount, NotStarted, Program
from trainplane.node.volumes import Owner, Source
from trainplane.reconcile.view import View

TERMINATION_LOG = "/dev/termination-log"
"""Where a container says something of its end, unless it names another place."""
USER = "trainplane"
LIBRARIES = "LD_LIBRARY_PATH"
FRESH = 0.8
"""The part of its life after which a token is replaced."""


class NotMounted(Exception):
    """A volume cannot be made; the message is that of the event."""


class Furnished(msgspec.Struct):
    """What was made for a pod."""

    owner: Owner
    sources: dict[str, Source] = msgspec.field(default_factory=dict)
    tokens: dict[tuple[str, str], tuple[bytes, datetime]] = msgspec.field(default_factory=dict)
    """By volume and path, with the time at which another is asked for."""


async def look_up(pod: Raw, home: Home) -> View:
    """The objects that a pod's volumes and variables are made of, as they are now."""
    found = list[Raw]()
    namespace = Ref("", "Namespace", "", pod["metadata"].get("namespace", ""))
    for ref in sorted({namespace} | content.references(pod) | environment.references(pod)):
        try:
            raw = await home.client.get(ref)
        except NotFound:
            continue
        found.append({"apiVersion": "v1", "kind": ref.kind, **raw})
    services = by_plural("", "services")
    if services and pod["spec"].get("enableServiceLinks") is not False:
        page = await home.client.list(services, namespace=pod["metadata"].get("namespace", ""))
        found += [{"apiVersion": "v1", "kind": "Service", **raw} for raw in page.items]
    return View(found)


async def furnish(pod: Raw, home: Home, view: View, *, box: Box) -> Furnished:
    """Make the volumes of a pod; raises NotMounted."""
    made = Furnished(owner_of(pod, home, box))
    folder = home.folders.pod(pod["metadata"]["uid"]) / "volumes"
    for volume in pod["spec"].get("volumes") or ():
        name = volume["name"]
        try:
            files = await _files(pod, volume, home, view=view, made=made)
            made.sources[name] = volumes.make(
                pod, volume, folder, files=files, view=view, claims=home.folders.claims, owner=made.owner
            )
        except (content.Missing, NotFound) as error:
            raise NotMounted(volumes.failed(name, str(error))) from error
        except OSError as error:
            raise NotMounted(volumes.failed(name, f"{error.strerror}: {error.filename}")) from error
    for kept in _kept(pod, home).values():
        kept.mkdir(parents=True, exist_ok=True)
        kept.chmod(0o777)
    return made


def owner_of(pod: Raw, home: Home, box: Box) -> Owner:
    """Whose the files of a pod's volumes are."""
    context = pod["spec"].get("securityContext") or {}
    uid, gid = home.runner.owner(box, uid=context.get("runAsUser"), gid=context.get("runAsGroup"))
    group = context.get("fsGroup")
    if group is None:
        return Owner(uid, gid)
    root, fs_group = home.runner.owner(box, uid=0, gid=group)
    return Owner(uid, gid, fs_group, root if root != uid else None)


async def refresh(pod: Raw, home: Home, made: Furnished) -> None:
    """Let the volumes follow what they are made of; what is gone by now stays as it was."""
    view = await look_up(pod, home)
    folder = home.folders.pod(pod["metadata"]["uid"]) / "volumes"
    for volume in pod["spec"].get("volumes") or ():
        try:
            files = await _files(pod, volume, home, view=view, made=made)
            if files is not None:
                volumes.write(folder / volume["name"], files, owner=made.owner)
        except (content.Missing, NotFound, OSError):
            continue


def is_refreshed(pod: Raw) -> bool:
    """Whether a pod has volumes whose content may change."""
    sorts = ("configMap", "secret", "downwardAPI", "projected")
    return any(volume.get(sort) for volume in pod["spec"].get("volumes") or () for sort in sorts)


async def _files(pod: Raw, volume: Raw, home: Home, *, view: View, made: Furnished) -> content.Files | None:
    tokens, now = dict[str, bytes](), home.clock.now()
    for asked in content.token_projections(volume):
        key = (volume["name"], asked["path"])
        if key not in made.tokens or made.tokens[key][1] <= now:
            life = timedelta(seconds=asked.get("expirationSeconds") or 3600)
            made.tokens[key] = (await _token(pod, asked, home), now + life * FRESH)
        tokens[asked["path"]] = made.tokens[key][0]
    return content.files(pod, volume, view, allocatable=home.allocatable, token=lambda asked: tokens[asked["path"]])


async def _token(pod: Raw, asked: Raw, home: Home) -> bytes:
    metadata = pod["metadata"]
    request = {
        "audiences": [asked["audience"]] if asked.get("audience") else [],
        "expirationSeconds": asked.get("expirationSeconds") or 3600,
        "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]},
    }
    account = pod["spec"].get("serviceAccountName") or "default"
    return (await home.token(metadata.get("namespace", ""), account, request)).encode()


def _kept(pod: Raw, home: Home) -> dict[str, Path]:
    """What every container sees besides its volumes: where it begins and what its job leaves behind."""
    metadata = pod["metadata"]
    namespace, job = metadata.get("namespace", ""), job_of(pod)
    return {
        WORK: home.folders.work(namespace, job, metadata["name"]),
        OUTPUT: home.folders.output(namespace, job),
        HOME: home.folders.pod(metadata["uid"]) / "home",
    }


def message_file(pod: Raw, home: Home, container: str) -> Path:
    """Where a container's own word on its end is found."""
    return home.folders.pod(pod["metadata"]["uid"]) / "messages" / container


def gpus_of(container: Raw) -> int:
    """How many GPUs a container asks for."""
    limit = look(container, "resources", "limits", devices.GPU)
    return octets(limit) or 0


def program(pod: Raw, container: Raw, home: Home, *, view: View, made: Furnished) -> tuple[Program, Place]:
    """A container as a Program, and where its image is; raises ConfigError or NotStarted."""
    image = container.get("image") or ""
    where = place(image, home.images, has_engine=home.runner.name == CONTAINER)
    name = container["name"]
    box = with_policy(box_of(pod, home), view, pod=pod)
    user = user_of(pod, container, is_root_by_default=box.host_users and not where.is_image)
    around = environment.Surroundings(view, home.allocatable, home.api_host, home.api_port)
    own = environment.environment(pod, container, around, hostname=box.nodename)
    taken = home.devices.take(pod["metadata"]["uid"], name, gpus_of(container))
    env = {**_defaults(container, home, where), **(devices.variables(taken) if home.devices.capacity else {}), **own}
    argv = environment.command(container, env)
    if not argv and not where.is_image:
        message = f'no command specified: nothing here knows the entrypoint of "{image}"; set the container\'s command'
        raise NotStarted(CREATE_ERROR, message)
    mounts = _mounts(pod, container, home, where=where, made=made, env=env)
    limits, requests = look(container, "resources", "limits") or {}, look(container, "resources", "requests") or {}
    return Program(
        name,
        argv,
        env,
        cwd=container.get("workingDir") or ("" if where.is_image else WORK),
        mounts=tuple(sorted(mounts, key=lambda each: each.target.rstrip("/").count("/"))),
        root=where.root,
        image=_image(container) if where.is_image else None,
        read_only_root=user.read_only_root,
        uid=user.uid,
        gid=user.gid,
        groups=user.groups,
        privileged=user.privileged,
        add_capabilities=user.add,
        drop_capabilities=user.drop,
        no_new_privileges=user.no_new_privileges,
        unmasked=user.unmasked,
        unconfined=user.unconfined,
        cpus=cores(limits.get("cpu")),
        memory=octets(limits.get("memory")),
        cpu_request=cores(requests.get("cpu")) or 0.0,
        devices=devices.files(taken),
    ), where


def _mounts(
    pod: Raw, container: Raw, home: Home, *, where: Place, made: Furnished, env: Mapping[str, str]
) -> Iterable[Mount]:
    """What a container sees besides its root; of two at one place the later is meant."""
    word = message_file(pod, home, container["name"])
    word.parent.mkdir(parents=True, exist_ok=True)
    word.write_bytes(b"")
    word.chmod(0o666)
    seen = [
        *where.mounts,
        *(Mount(target, folder, name="kept") for target, folder in _kept(pod, home).items()),
        Mount(container.get("terminationMessagePath") or TERMINATION_LOG, word, name="termination-log"),
        *volumes.mounts(container, made.sources, env),
    ]
    # Nobody who makes mounts should have to think of paths that lead up again.
    return {target: replace(mount, target=target) for mount in seen if (target := _plain(mount.target))}.values()


def _plain(path: str) -> str:
    """A path of a container from its root, without steps up."""
    return posixpath.normpath("/" + path.lstrip("/"))


def _image(container: Raw) -> Image:
    name = container.get("image") or ""
    tag = name.rpartition("/")[2].partition(":")[2]
    usual = "Always" if "@" not in name and tag in ("", "latest") else "IfNotPresent"
    return Image(name, container.get("imagePullPolicy") or usual, knows_command=not container.get("command"))


def _defaults(container: Raw, home: Home, where: Place) -> Mapping[str, str]:
    """What a container has unless it says otherwise, as from an image."""
    threads = cores(look(container, "resources", "limits", "cpu") or home.allocatable.get("cpu") or 1) or 1.0
    # An image has these, and what it says of them is right in it.
    own = {"PATH": where.path, "HOME": HOME, "USER": USER, "LOGNAME": USER, "LANG": "C.UTF-8"}
    env = {
        **({} if where.is_image else own),
        # What a program says is to be seen when it says it, not when a buffer is full.
        "PYTHONUNBUFFERED": "1",
        # Several pods share the machine: each with a thread for every core would be slower than one.
        "OMP_NUM_THREADS": str(max(1, ceil(threads))),
        "TRAINPLANE_OUTPUT": OUTPUT,
    }
    if where.environment and where.environment != Path(sys.base_prefix):
        env["VIRTUAL_ENV"] = str(where.environment)
    if where.environment and os.environ.get(LIBRARIES):
        # Where a GPU's driver lies beside the system's libraries, the machine says so here.
        env[LIBRARIES] = os.environ[LIBRARIES]
    return env
