# SPDX-License-Identifier: Apache-2.0
"""Two processes that train one model with DistributedDataParallel over gloo.

usage: waits_ddp.py FILE      by which they find each other
"""

import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def train(rank, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(20):
        optimizer.zero_grad()
        model(torch.full((8, 64), float(rank + step))).pow(2).mean().mul(1e-4).backward()
        optimizer.step()
    if rank == 0:
        print(round(sum(parameter.sum().item() for parameter in model.parameters()), 5), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, args=(sys.argv[1],), nprocs=2)
