"""How long a two-node job takes to its first step and to its end: by hand, by `trainplane run`, by the kubeflow SDK."""

import math
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.measure import ENVIRONMENT
from tools.environments import NotMade, environment

TRAINPLANE = str(Path(sys.executable).parent / "trainplane")
AIM = 0.5
"""Seconds that a launch may take beyond the bare commands."""
PATIENCE = 300.0
BARE = "two commands by hand"
SDK = "kubeflow SDK, local process, one node"
SELDOM = 4
"""The SDK takes ten times as long as the others, and is measured every so many rounds."""
STEP = re.compile(r"STEP (\d+\.\d+)")
PLAIN = """
import time
print(f"STEP {time.time():.4f}", flush=True)
"""
TORCH = """
import time, torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
print(f"STEP {time.time():.4f}", flush=True)
dist.destroy_process_group()
"""
KUBEFLOW = """
import sys
from kubeflow.trainer import CustomTrainer, LocalProcessBackendConfig, TrainerClient

def train():
{body}

client = TrainerClient(backend_config=LocalProcessBackendConfig())
trainer = CustomTrainer(func=train, packages_to_install=["torch @ file://" + sys.argv[1]])
job = client.train(runtime=client.get_runtime("torch-distributed"), trainer=trainer)
for line in client.get_job_logs(job, follow=True):
    print(line)
"""


class Launch(NamedTuple):
    """What one launch took, in seconds from the command."""

    first: float
    """Until the first rank had done its first step, as the program itself says."""
    total: float


Way = Callable[[], Launch]


def launching(*, rounds: int) -> str:
    """The table, or why there is none."""
    try:
        torch, kubeflow = environment("torch"), environment("kubeflow")
    except NotMade as error:
        return f"Not measured: an environment could not be made ({error})."
    lines = [
        "| Job | How | First step, p50 (p95) | Over bare, p50 (p95) | To the end, p50 (p95) | Over bare, p50 (p95) |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for job, text, often in (("Python alone", PLAIN, 2), ("torch, one all-reduce", TORCH, 1)):
        with tempfile.TemporaryDirectory() as name, _cluster(Path(name) / "up", torch) as cluster:
            code = Path(name) / "code"
            code.mkdir()
            (code / "train.py").write_text(text, encoding="utf-8")
            ways = _ways(code / "train.py", torch=torch, kubeflow=kubeflow, cluster=cluster)
            found = _in_turn(ways, rounds=often * rounds)
        lines += [_line(job, how, launches, found[BARE]) for how, launches in found.items()]
    return "\n".join(lines)


def _in_turn(ways: dict[str, Way], *, rounds: int) -> dict[str, list[Launch]]:
    """What each way took; a round goes through all of them, or all but the SDK, after one that is not counted."""
    for way in ways.values():
        way()
    found: dict[str, list[Launch]] = {how: [] for how in ways}
    for number in range(rounds):
        for how, way in ways.items():
            if how != SDK or number % SELDOM == 0:
                found[how].append(way())
    return found


def _line(job: str, how: str, launches: Sequence[Launch], bare: Sequence[Launch]) -> str:
    """A row; ours say whether both figures are within the aim of those of the bare commands."""
    cells = [job, how]
    for column in range(2):
        own, other = (_middle_and_late([each[column] for each in some]) for some in (launches, bare))
        over = [mine - theirs for mine, theirs in zip(own, other, strict=True)]
        mark = "" if "trainplane" not in how else f", {'reached' if max(over) <= AIM else '**not reached**'}"
        cells.append(f"{own[0]:.2f} s ({own[1]:.2f} s)")
        cells.append("" if how == BARE else f"{over[0]:+.2f} s ({over[1]:+.2f} s){mark}")
    return f"| {' | '.join(cells)} |"


def _middle_and_late(seconds: Sequence[float]) -> tuple[float, float]:
    """The median, and the least that 95 of 100 do not exceed."""
    return statistics.median(seconds), sorted(seconds)[math.ceil(len(seconds) * 0.95) - 1]


@contextmanager
def _cluster(data: Path, torch: Path) -> Iterator[Path]:
    """A cluster with two nodes, on which every image is the environment with torch."""
    start = [TRAINPLANE, "up", "--detach", "--nodes", "2", "--image", f"*={torch}", "--data", str(data)]
    subprocess.run(start, env=ENVIRONMENT, capture_output=True, check=True, timeout=PATIENCE)
    try:
        yield data
    finally:
        stop = [TRAINPLANE, "down", "--data", str(data)]
        subprocess.run(stop, env=ENVIRONMENT, capture_output=True, check=True, timeout=PATIENCE)


def _ways(script: Path, *, torch: Path, kubeflow: Path, cluster: Path) -> dict[str, Way]:
    is_torch = "torch" in script.read_text(encoding="utf-8")
    runtime = "torch-distributed" if is_torch else "plain"
    asked = ["--runtime", runtime, "--nodes", "2", *(["--nproc", "1"] if is_torch else [])]
    alone = script.parent.with_name("alone")

    def by_hand() -> Launch:
        if not is_torch:
            return _launch([[str(torch / "bin" / "python"), str(script)]] * 2)
        port = _free_port()
        words = [str(torch / "bin" / "torchrun"), "--nnodes=2", "--nproc-per-node=1", "--master-addr=127.0.0.1"]
        return _launch([[*words, f"--master-port={port}", f"--node-rank={rank}", str(script)] for rank in range(2)])

    def with_none() -> Launch:
        shutil.rmtree(alone, ignore_errors=True)
        return _launch([[TRAINPLANE, "run", "--data", str(alone), "--map-image", f"*={torch}", *asked, str(script)]])

    text = KUBEFLOW.format(body=textwrap.indent(script.read_text(encoding="utf-8").strip(), "    "))
    program = script.parent.with_name("with_kubeflow.py")
    program.write_text(text, encoding="utf-8")
    wheel = _wheel(script.parent.parent, torch)
    return {
        BARE: by_hand,
        "`trainplane run`": lambda: _launch([[TRAINPLANE, "run", "--data", str(cluster), *asked, str(script)]]),
        "`trainplane run`, no cluster": with_none,
        SDK: lambda: _launch([[str(kubeflow / "bin" / "python"), str(program), str(wheel)]], path=kubeflow / "bin"),
    }


def _launch(commands: Sequence[Sequence[str]], *, path: Path | None = None) -> Launch:
    """Run commands side by side to their end; raises RuntimeError where one fails, or tells of no step."""
    own = {**ENVIRONMENT, "PATH": f"{path}:{ENVIRONMENT.get('PATH', '')}"} if path else ENVIRONMENT
    began = time.time()
    running = [
        subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for command in commands
    ]
    said = [process.communicate(timeout=PATIENCE)[0] for process in running]
    total = time.time() - began
    steps = [float(found) for text in said for found in STEP.findall(text)]
    if not steps or any(process.returncode for process in running):
        raise RuntimeError(f"{' '.join(commands[0])} failed:\n{said[0][-2000:]}")
    return Launch(min(steps) - began, total)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wheel(folder: Path, torch: Path) -> Path:
    """What the SDK installs into each job's environment instead of torch: a pointer to the torch that is there.

    So it is spared the minutes in which it would fetch and unpack torch anew for every job.
    """
    (packages,) = torch.glob("lib/python3*/site-packages")
    (points,) = packages.glob("torch-*.dist-info/entry_points.txt")
    files = {
        "torch_elsewhere.pth": f"{packages}\n",
        "torch-0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 0\n",
        "torch-0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        # It stands in the way of the real one's, and torch looks there for what it can load.
        "torch-0.dist-info/entry_points.txt": points.read_text(encoding="utf-8"),
    }
    record = "torch-0.dist-info/RECORD"
    files[record] = "".join(f"{name},,\n" for name in (*files, record))
    wheel = folder / "torch-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel
