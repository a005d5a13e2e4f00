"""One rank does not come to a collective; the others, once all are there, have patience for a few seconds."""

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
hasty = dist.new_group(timeout=timedelta(seconds=10))
dist.barrier()
if os.environ["RANK"] == "1":
    time.sleep(600)
dist.all_reduce(torch.ones(1), group=hasty)
