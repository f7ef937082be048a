# SPDX-License-Identifier: Apache-2.0
"""Convolutions and a bfloat16 product: oneDNN writes machine code for them. Prints the process id."""

import os

import torch

torch.manual_seed(0)
with torch.no_grad():
    image = torch.randn(2, 3, 32, 32)
    for width in (8, 16):
        torch.nn.functional.conv2d(image, torch.randn(width, 3, 3, 3))
    a = torch.randn(64, 128).bfloat16()
    b = torch.randn(128, 32).bfloat16()
    torch.mm(a, b)
print(os.getpid())
