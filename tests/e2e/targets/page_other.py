# SPDX-License-Identifier: Apache-2.0
"""Another program to compare with: Python that computes inside a task."""

import torch

torch.profiler.itt.range_push("squares")
print(sum(number * number for number in range(3_000_000)))
torch.profiler.itt.range_pop()
