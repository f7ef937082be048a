# SPDX-License-Identifier: Apache-2.0
"""Operators that are called from known lines."""

import os
import sys
import threading

import torch
from torch import nn

torch.set_num_threads(1)


def inner(x):
    return torch.sin(x)  # sin


def outer(x):
    y = inner(x)  # outer sin
    return torch.cos(y)  # cos


def generated(x):
    yield torch.tan(x)  # tan


class Square(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.square()  # square

    @staticmethod
    def backward(context, gradient):
        return torch.exp(gradient)  # exp


def train():
    weight = torch.ones(3, requires_grad=True)
    loss = Square.apply(torch.mul(weight, 2)).sum()  # mul
    loss.backward()  # backward


def deep(n, x):
    return deep(n - 1, x) if n else torch.asin(x)


def in_thread(x):
    return torch.sinh(x)  # sinh


def forever(x):
    while True:
        torch.neg(x)


def main():
    x = torch.zeros(3)
    for _ in range(3):
        outer(x)  # main
    next(generated(x))
    train()
    deep(300, x)
    thread = threading.Thread(target=in_thread, args=(x,))
    thread.start()
    thread.join()
    nn.Linear(3, 3)(x)  # module
    if not os.fork():
        torch.tanh(x)  # child
        os._exit(0)
    os.wait()
    if "daemon" in sys.argv:
        for _ in range(3):
            threading.Thread(target=forever, args=(x,), daemon=True).start()
    exec("torch.atan(x)", {"torch": torch, "x": x})


main()  # top
