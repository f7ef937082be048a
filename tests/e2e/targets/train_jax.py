# SPDX-License-Identifier: Apache-2.0
"""train_jax.py STEPS: a small training loop of JAX, each step a task; prints the last loss, bit by bit.

Without strata there is no module itt, and nothing is marked.
"""

import contextlib
import sys

import jax
import jax.numpy as jnp

try:
    import itt

    DOMAIN = itt.domain_create("train")
except ImportError:
    itt = None


@contextlib.contextmanager
def marked(name):
    if itt:
        itt.task_begin(DOMAIN, name)
    yield
    if itt:
        itt.task_end(DOMAIN)


@jax.jit
def loss(weights, x, y):
    hidden = jnp.tanh(x @ weights[0])
    return ((hidden @ weights[1] - y) ** 2).mean()


step = jax.jit(jax.value_and_grad(loss))
key = jax.random.key(0)
weights = [jax.random.normal(key, shape) * 0.02 for shape in ((512, 1024), (1024, 10))]
x, y = jax.random.normal(key, (256, 512)), jnp.ones((256, 10))
for _ in range(int(sys.argv[1])):
    with marked("step"):
        value, gradients = jax.block_until_ready(step(weights, x, y))
        weights = [w - 0.01 * g for w, g in zip(weights, gradients, strict=True)]
print(float(value).hex())
