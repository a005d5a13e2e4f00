"""A job on a GPU measured: `python -m bench.gpu` trains with NCCL, bare and through Trainplane in turn."""

import asyncio
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from trainplane.api.ref import Ref
from trainplane.embed import Config, running
from trainplane.node import devices
from trainplane.node.machine import Settings

ROUNDS = 3
PATIENCE = 300.0
RESULT = re.compile(r"RESULT (\S+)")
TRAINING = """
import time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("nccl")
gpu = torch.device("cuda", 0)
layers = [torch.nn.Linear(8192, 8192, bias=False) for _ in range(4)]
net = DistributedDataParallel(torch.nn.Sequential(*layers).to(gpu, torch.bfloat16), device_ids=[0])
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
batch = torch.randn(4096, 8192, device=gpu, dtype=torch.bfloat16)
def steps(count):
    for _ in range(count):
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
steps(30)
began = time.perf_counter()
steps(400)
print(f"RESULT {400 / (time.perf_counter() - began):.3f}", flush=True)
dist.destroy_process_group()
"""


def bare(folder: Path) -> float:
    """Steps a second of the command as a person types it."""
    script = folder / "training.py"
    script.write_text(TRAINING, encoding="utf-8")
    done = subprocess.run(
        ["torchrun", "--nproc-per-node=1", str(script)], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return _steps(done.stdout)


async def through(folder: Path, *, runner: str) -> float:
    """Steps a second of the same as a TrainJob that asks for one GPU."""
    command = ["sh", "-c", f"cat > training.py <<'END'\n{TRAINING}\nEND\ntorchrun training.py"]
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "gpu", "namespace": "default"},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {
                "image": "bench",
                "numNodes": 1,
                "numProcPerNode": 1,
                "command": command,
                "resourcesPerNode": {"limits": {devices.GPU: 1}},
            },
        },
    }
    async with running(Config(folder, machine=Settings(1, runner=runner))) as cluster, asyncio.timeout(PATIENCE):
        await cluster.api.create(job)
        ref = Ref("trainer.kubeflow.org", "TrainJob", "default", "gpu")
        while True:
            conditions = (await cluster.api.get(ref)).get("status", {}).get("conditions") or ()
            if any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions):
                break
            await asyncio.sleep(0.05)
    logs = folder.glob("node/logs/*/node/*.log")
    return _steps("".join(path.read_text(encoding="utf-8") for path in logs))


def _steps(text: str) -> float:
    found = RESULT.search(text)
    if found is None:
        raise SystemExit(f"the training said nothing of its speed:\n{text[-2000:]}")
    return float(found[1])


def main() -> None:
    """Measure in turn, so that a clock that wanders wanders for all."""
    found = devices.find()
    if not found or not shutil.which("torchrun"):
        raise SystemExit("this needs a GPU, nvidia-ml-py and torch; install trainplane[gpu] beside torch")
    ways: dict[str, list[float]] = {"bare": [], "namespaced": [], "process": []}
    for _ in range(ROUNDS):
        for way, figures in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder)
                figures.append(bare(place) if way == "bare" else asyncio.run(through(place, runner=way)))
    baseline = statistics.median(ways["bare"])
    print(f"{found[0].name}, median of {ROUNDS}, in steps a second")
    for way, figures in ways.items():
        middle = statistics.median(figures)
        print(f"{way:12}{middle:8.2f}  {middle / baseline:7.2%}")


if __name__ == "__main__":
    main()
