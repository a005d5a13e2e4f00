"""Train a small network with FSDP, in shards, and compare it with the same steps taken by one process."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

STEPS, ROWS, FEATURES, HIDDEN = 20, 32, 8, 16


def network() -> torch.nn.Module:
    """The same weights every time."""
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1))


def trained(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """Take all steps; returns the last loss."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    dice = torch.Generator().manual_seed(7)
    x = torch.randn(ROWS * world, FEATURES, generator=dice)
    y = torch.sin(x).sum(dim=1, keepdim=True)
    model = network()
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    shard = slice(rank * ROWS, (rank + 1) * ROWS)
    trained(model, x[shard], y[shard])
    held = sum(parameter.to_local().numel() for parameter in model.parameters())
    whole = [parameter.full_tensor() for parameter in model.parameters()]
    if rank == 0:
        alone = network()
        loss = trained(alone, x, y)
        pairs = zip(whole, alone.parameters(), strict=True)
        difference = max(float((ours - theirs).detach().abs().max()) for ours, theirs in pairs)
        parts = sum(tensor.numel() for tensor in whole) / held
        print(
            f"result {json.dumps({'world': world, 'difference': difference, 'loss': loss, 'parts': parts})}", flush=True
        )
    dist.barrier()
    dist.destroy_process_group()
    # Threads of gloo that end while the interpreter does abort the process now and then.
    sys.stdout.flush()
    os._exit(0)


main()
