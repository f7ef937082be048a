# SPDX-License-Identifier: Apache-2.0
"""Convolution and relu in TensorFlow's session style; prints what it computed.

usage: tf_graph.py RUNS
"""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
image = tf.placeholder(tf.float32, [4, 32, 32, 3])
rng = np.random.default_rng(1)
weights = tf.constant(rng.standard_normal((3, 3, 3, 8)), dtype=tf.float32)
answer = tf.reduce_sum(tf.nn.relu(tf.nn.conv2d(image, weights, strides=[1, 1, 1, 1], padding="VALID")))
with tf.Session() as session:
    data = rng.standard_normal((4, 32, 32, 3)).astype(np.float32)
    for _ in range(int(sys.argv[1])):
        value = session.run(answer, {image: data})
print(f"{value:.0f}")
