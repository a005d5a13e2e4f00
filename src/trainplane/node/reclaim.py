"""Reclaim: the folders of volume claims whose owners want nothing kept; all others stay when their claims go."""

import asyncio
import logging
import shutil
from pathlib import Path

from trainplane.api.kinds import KINDS
from trainplane.api.meta import Raw
from trainplane.cluster.client import Client
from trainplane.control.live import Live
from trainplane.control.reflector import Reflector, Scope
from trainplane.control.unseen import Unseen

POLICY = "trainplane.dev/reclaim-policy"
"""The annotation of a claim by which its owner says what becomes of its folder: Retain, or Delete."""
CLAIM = next(kind for kind in KINDS if kind.kind == "PersistentVolumeClaim")
JOBSET = next(kind for kind in KINDS if kind.kind == "JobSet")

_log = logging.getLogger(__name__)


def is_unwanted(claim: Raw) -> bool:
    """Whether a claim's folder goes with it: it says so, or was made for a JobSet or a pod that does not want it kept.

    Other owners have not said so: whoever lets a claim go with something of his own does not thereby give up its data.
    """
    metadata = claim["metadata"]
    said = (metadata.get("annotations") or {}).get(POLICY)
    owners = metadata.get("ownerReferences") or ()
    return bool(said == "Delete" or (said is None and any(_has_made(owner, metadata["name"]) for owner in owners)))


def _has_made(owner: Raw, claim: str) -> bool:
    """Whether a claim is one of a JobSet's, or bears the name that the claim of a pod's own volume has."""
    version, kind = str(owner.get("apiVersion", "")), owner.get("kind")
    if not owner.get("controller"):
        return False
    if version == "v1":
        return kind == "Pod" and claim.startswith(f"{owner.get('name')}-")
    return (version.partition("/")[0], kind) == (JOBSET.group, JOBSET.kind)


def folder_of(claim: Raw, claims: Path) -> Path:
    """Where a claim's data lies."""
    metadata = claim["metadata"]
    return claims / str(metadata.get("namespace", "")) / f"{metadata['name']}-{metadata['uid']}"


async def reclaim(client: Client, claims: Path) -> None:
    """Remove such folders as their claims go, until cancelled."""
    live = Live(hot=1)
    gone: asyncio.Queue[Raw] = asyncio.Queue()

    def tell(before: Raw | None, after: Raw | None) -> None:
        if before and (after is None or after["metadata"]["uid"] != before["metadata"]["uid"]) and is_unwanted(before):
            gone.put_nowait(before)

    async with asyncio.TaskGroup() as tasks:
        unseen = Unseen(live, asyncio.get_running_loop().time)
        tasks.create_task(Reflector(Scope(CLAIM), client, live, unseen=unseen, tell=tell).run(), name="claims")
        while True:
            folder = folder_of(await gone.get(), claims)
            try:
                await asyncio.to_thread(shutil.rmtree, folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                _log.warning("the folder %s of a claim that is gone cannot be removed: %s", folder, error)
