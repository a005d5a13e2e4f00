"""A small network learns to tell three spirals apart, with torch DDP: plain torch, and nothing of Trainplane in it.

Run it by hand with `torchrun --nproc-per-node 2 train.py`, or on several nodes with `trainplane run`.
"""

import argparse
import math
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CLASSES, POINTS = 3, 300


def spirals() -> tuple[torch.Tensor, torch.Tensor]:
    """Points on three arms with a little noise, and the arm of each; the same on every rank."""
    dice = torch.Generator().manual_seed(1)
    way = torch.linspace(0.1, 1.0, POINTS).repeat(CLASSES)
    arm = torch.arange(CLASSES).repeat_interleave(POINTS)
    angle = way * 4.0 + arm * (2 * math.pi / CLASSES) + torch.randn(len(way), generator=dice) * 0.1
    points = torch.stack([way * torch.cos(angle), way * torch.sin(angle)], dim=1)
    order = torch.randperm(len(way), generator=dice)
    return points[order], arm[order]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    model = DistributedDataParallel(network.to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    points, arms = (each.to(device) for each in spirals())
    mine = slice(rank, None, world)
    print(f"rank {rank} of {world} has {len(arms[mine])} points", flush=True)
    began = time.monotonic()
    for step in range(1, asked.steps + 1):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points[mine]), arms[mine])
        loss.backward()
        optimizer.step()
        if rank == 0 and (step == 1 or step % 20 == 0):
            print(f"step {step}/{asked.steps} loss {loss.item():.4f}", flush=True)
    with torch.no_grad():
        right = (model(points[mine]).argmax(dim=1) == arms[mine]).sum().float()
    dist.all_reduce(right)
    if rank == 0:
        took = time.monotonic() - began
        print(f"accuracy {right.item() / len(arms):.1%} after {asked.steps} steps in {took:.1f} s", flush=True)
        if folder := os.environ.get("TRAINPLANE_OUTPUT"):
            torch.save(network.state_dict(), Path(folder) / "model.pt")
            print(f"saved {Path(folder) / 'model.pt'}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
