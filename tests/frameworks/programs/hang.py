"""One rank does not come to a collective; the others have patience for a few seconds."""

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=5))
dist.barrier()
if os.environ["RANK"] == "1":
    time.sleep(600)
dist.all_reduce(torch.ones(1))
