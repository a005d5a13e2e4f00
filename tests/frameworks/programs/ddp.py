"""Train a linear model with DDP on shards of one data set, and compare it with the same steps taken by one process."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, ROWS, FEATURES = 40, 64, 8


def trained(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """Take all steps; returns the last loss."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.6f}", flush=True)
    return loss.item()


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    dice = torch.Generator().manual_seed(7)
    x = torch.randn(ROWS * world, FEATURES, generator=dice)
    y = x @ torch.randn(FEATURES, 1, generator=dice)
    torch.manual_seed(11)
    alone = torch.nn.Linear(FEATURES, 1)
    model = torch.nn.Linear(FEATURES, 1)
    model.load_state_dict(alone.state_dict())
    shard = slice(rank * ROWS, (rank + 1) * ROWS)
    trained(DistributedDataParallel(model), x[shard], y[shard])
    total = torch.tensor([float(rank)])
    dist.all_reduce(total)
    if rank == 0:
        trained(alone, x, y)
        pairs = zip(model.parameters(), alone.parameters(), strict=True)
        difference = max(float((ours - theirs).detach().abs().max()) for ours, theirs in pairs)
        loss = torch.nn.functional.mse_loss(model(x), y).item()
        said = {"world": world, "ranks": total.item(), "difference": difference, "loss": loss}
        print(f"result {json.dumps(said)}", flush=True)
        if folder := os.environ.get("TRAINPLANE_OUTPUT"):
            torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
    dist.barrier()
    dist.destroy_process_group()
    # Threads of gloo that end while the interpreter does abort the process now and then.
    sys.stdout.flush()
    os._exit(0)


main()
