# SPDX-License-Identifier: Apache-2.0
"""Steps of a TensorFlow graph, labelled on the main thread; its convolutions run on TensorFlow's own threads.

usage: tf_step.py STEPS
"""

import sys

import numpy as np
import tensorflow as tf
from strata import itt

rng = np.random.default_rng(1)
weights = tf.constant(rng.standard_normal((3, 3, 64, 64)), dtype=tf.float32)
images = tf.constant(rng.standard_normal((8, 48, 48, 64)), dtype=tf.float32)


@tf.function
def step(x):
    for _ in range(6):
        x = 0.01 * tf.nn.relu(tf.nn.conv2d(x, weights, strides=1, padding="SAME"))
    return tf.reduce_sum(x)


for i in range(int(sys.argv[1])):
    with itt.task(f"step_{i}"):
        answer = step(images).numpy()
print(answer.shape)
