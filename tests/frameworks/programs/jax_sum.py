"""Add up a sharded array over all JAX processes."""

import json
import os

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

jax.distributed.initialize(
    coordinator_address=os.environ["JAX_COORDINATOR_ADDRESS"],
    num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
    process_id=int(os.environ["JAX_PROCESS_ID"]),
)
mine = jnp.arange(4.0) + 4 * jax.process_index()
everything = multihost_utils.process_allgather(mine)
if jax.process_index() == 0:
    said = {"processes": jax.process_count(), "devices": jax.device_count(), "total": float(everything.sum())}
    print(f"result {json.dumps(said)}", flush=True)
jax.distributed.shutdown()
