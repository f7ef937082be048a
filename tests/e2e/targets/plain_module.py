# SPDX-License-Identifier: Apache-2.0
"""As much of nn.Module as its calls need, for CPythons without PyTorch: stands as torch/nn/modules/module.py."""


class Module:
    def __init__(self):
        object.__setattr__(self, "_modules", {})

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self._modules[name] = value
        object.__setattr__(self, name, value)

    def __call__(self, *args, **keywords):
        return self.forward(*args, **keywords)


class Early(Module):
    def forward(self, number, more=0):
        return number + more
