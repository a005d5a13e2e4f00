"""List the Python processes of a container as JSON: their numbers, ranks and parents, and the CPU time they took."""

import json
import os
import sys

CONTAINER = "TRAINPLANE_CONTAINER"
"""Tells containers apart that share the processes of their machine."""
OWN = ("HOSTNAME", "JOB_COMPLETION_INDEX")
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "JAX_PROCESS_ID")


def read(pid: str, name: str) -> str:
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read().decode(errors="replace")


found = []
for entry in os.listdir("/proc"):
    if not entry.isdigit() or int(entry) == os.getpid():
        continue
    try:
        if "python" not in os.path.basename(os.readlink(f"/proc/{entry}/exe")):
            continue
        own = dict(each.partition("=")[::2] for each in read(entry, "environ").split("\0"))
        words = read(entry, "stat").rpartition(")")[2].split()
        argv = read(entry, "cmdline").split("\0")
    except OSError:
        continue
    if own.get(CONTAINER) != os.environ.get(CONTAINER):
        continue
    said = [own[name] for name in RANKS if own.get(name, "").isdigit()]
    found.append(
        {
            "pid": int(entry),
            "parent": int(words[1]),
            "rank": int(said[0]) if said else None,
            "cpu": int(words[11]) + int(words[12]),
            "own": all(own.get(name) == os.environ.get(name) for name in OWN),
            "command": " ".join(argv).strip()[:200],
        }
    )
sys.stdout.write(json.dumps(found))
