"""Train with DeepSpeed's ZeRO, optimizer state and gradients in shards, and see the loss fall."""

import json
import os
import sys

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
import torch.distributed as dist

STEPS, ROWS, FEATURES = 20, 16, 8


def main() -> None:
    torch.set_num_threads(1)
    # A shortcut between ranks of one machine would have to be compiled first, for minutes; gloo does without.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed("gloo")
    torch.manual_seed(3)
    model = torch.nn.Linear(FEATURES, 1)
    options = {
        "train_micro_batch_size_per_gpu": ROWS,
        "optimizer": {"type": "Adam", "params": {"lr": 0.05, "torch_adam": True}},
        "zero_optimization": {"stage": int(os.environ.get("ZERO_STAGE", "2"))},
    }
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=list(model.parameters()), config=options)
    dice = torch.Generator().manual_seed(100 + dist.get_rank())
    x = torch.randn(ROWS, FEATURES, generator=dice)
    y = x.sum(dim=1, keepdim=True)
    losses = []
    for _ in range(STEPS):
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()
        losses.append(loss.item())
    if dist.get_rank() == 0:
        print(
            f"result {json.dumps({'world': dist.get_world_size(), 'first': losses[0], 'last': losses[-1]})}", flush=True
        )
    dist.barrier()
    dist.destroy_process_group()
    # Threads of gloo that end while the interpreter does abort the process now and then.
    sys.stdout.flush()
    os._exit(0)


main()
