"""Root folders for docker, which runs images alone: a copy of each in its store, made anew when the folder changes."""

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trainplane.node.engine import Failed

if TYPE_CHECKING:
    from trainplane.node.docker import Docker

ROOT = "dev.trainplane.root"
"""The label of such an image: of which folder it is a copy."""
PATIENCE = 3600.0
"""Seconds that a copy may take."""
_CHANGED = 1
"""What tar exits with where a file changed while it was read."""


class Roots:
    """The copies of folders that docker has."""

    def __init__(self, docker: "Docker") -> None:
        self._docker = docker
        self._copying = asyncio.Lock()

    async def image(self, root: Path) -> str:
        """The image that is a copy of a folder as it is now; raises Failed."""
        async with self._copying:
            try:
                name = f"trainplane-root:{await asyncio.to_thread(fingerprint, root)}"
            except OSError as error:
                raise Failed(f"the root folder cannot be read: {error}") from error
            if not await self._docker.has_image(name):
                await self._copy(root, name)
                await self._forget_others(root, name)
            return name

    async def _copy(self, root: Path, name: str) -> None:
        tar = shutil.which("tar")
        if tar is None:
            raise Failed("tar is not on the PATH, and nothing else copies root folders")
        # What is mounted in the folder is no part of it.
        words = [tar, "--create", "--numeric-owner", "--one-file-system", "--directory", str(root), "."]
        reading, writing = os.pipe()
        try:
            packs = await asyncio.create_subprocess_exec(
                *words, stdin=asyncio.subprocess.DEVNULL, stdout=writing, stderr=asyncio.subprocess.PIPE
            )
            os.close(writing)
            writing = -1
            label = f"LABEL {ROOT}={json.dumps(str(root))}"
            told = asyncio.create_task(packs.communicate(), name="tar")
            try:
                await self._docker.ask("import", "--change", label, "-", name, stdin=reading, patience=PATIENCE)
            finally:
                os.close(reading)
                reading = -1
                _, wrong = await told
        finally:
            for file in (reading, writing):
                if file >= 0:
                    os.close(file)
        if packs.returncode and packs.returncode > _CHANGED:
            await self._docker.ask("image", "rm", name)
            raise Failed(f"the root folder cannot be copied: {wrong.decode(errors='replace').strip()}")

    async def _forget_others(self, root: Path, name: str) -> None:
        """Remove copies of what the folder was; those that containers use stay."""
        words = ["--filter", f"label={ROOT}={root}", "--format", "{{.Repository}}:{{.Tag}}"]
        for other in (await self._docker.ask("image", "ls", *words)).split():
            if other != name:
                try:
                    await self._docker.ask("image", "rm", other)
                except Failed:
                    continue


def fingerprint(root: Path) -> str:
    """What changes when anything below a folder does, by all that can be known without reading the files."""
    seen = hashlib.sha256(os.fsencode(root))
    for path, about in _below(os.fsencode(root)):
        facts = (about.st_mode, about.st_uid, about.st_gid, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        seen.update(path + b"\0" + repr(facts).encode())
    return seen.hexdigest()[:32]


def _below(folder: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    """Everything below a folder, in one order."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda each: each.name)
    for entry in found:
        about = entry.stat(follow_symlinks=False)
        yield entry.path, about
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)
