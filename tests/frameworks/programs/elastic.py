"""Count to a number in steps that all ranks take together, with a checkpoint of each, whoever comes and goes."""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

STEPS, PAUSE = int(os.environ.get("STEPS", "60")), float(os.environ.get("PAUSE", "0.2"))
HELD = int(os.environ.get("HELD", STEPS + 1))
"""The step that is not taken before somebody has put a file `go-on` beside the checkpoint."""


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    checkpoint = Path(os.environ["TRAINPLANE_OUTPUT"]) / "checkpoint.json"
    seen = json.loads(checkpoint.read_text()) if checkpoint.exists() else {"step": 0, "total": 0.0}
    start = torch.tensor([float(seen["step"]), seen["total"]])
    dist.broadcast(start, src=0)
    step, total = int(start[0]), float(start[1])
    if rank == 0:
        print(f"world {world} from step {step}", flush=True)
    while step < STEPS:
        goes_on = step + 1 < HELD or checkpoint.with_name("go-on").exists()
        # Those who wait must meet too: the loss of one is noticed only by the others.
        told = torch.tensor([float(goes_on)])
        dist.broadcast(told, src=0)
        if not told.item():
            time.sleep(PAUSE)
            continue
        part = torch.tensor([1.0 / world])
        dist.all_reduce(part)
        total += part.item()
        step += 1
        if rank == 0:
            fresh = checkpoint.with_suffix(".new")
            fresh.write_text(json.dumps({"step": step, "total": total}))
            fresh.replace(checkpoint)
            print(f"step {step} world {world}", flush=True)
        time.sleep(PAUSE)
    if rank == 0:
        print(f"result {json.dumps({'world': world, 'step': step, 'total': total})}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    # Threads of gloo that end while the interpreter does abort the process now and then.
    sys.stdout.flush()
    os._exit(0)


main()
