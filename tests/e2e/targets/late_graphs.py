# SPDX-License-Identifier: Apache-2.0
"""A script that strata has started, whose CUDA is not seen to begin: the first strata.profile() finds it in use, with a
graph that was made before (tests/programs/cuda).

usage: late_graphs.py LIBRARY
"""

import ctypes
import os
import sys

import strata
import torch

os.environ.pop("CUDA_INJECTION64_PATH")
device = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
torch.version.cuda = "13.0"
torch.cuda.is_available = torch.cuda.is_initialized = lambda: True
torch.cuda.synchronize = lambda: device.double_wait()  # noqa: PLW0108 (PyTorch asks for its hash)
device.double_graph(0, 7, 3, 100)
with strata.profile(activities=[strata.ProfilerActivity.CPU, strata.ProfilerActivity.CUDA]):
    for _ in range(2):
        device.double_graph(0, 7, 3, 100)
