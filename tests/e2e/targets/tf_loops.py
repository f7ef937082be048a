# SPDX-License-Identifier: Apache-2.0
"""Loops of TensorFlow without marks; prints how many batches were trained with.

usage: tf_loops.py fit|custom|eager
"""

import sys

import numpy as np
import tensorflow as tf

BATCHES = 12


def fit():
    model = tf.keras.Sequential([tf.keras.layers.Input((64,)), tf.keras.layers.Dense(32), tf.keras.layers.Dense(4)])
    model.compile(optimizer="adam", loss="mse")
    counted = []
    count = tf.keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: counted.append(batch))
    data, wanted = np.ones((16 * BATCHES, 64), np.float32), np.ones((16 * BATCHES, 4), np.float32)
    kept = (data[:32], wanted[:32])
    model.fit(data, wanted, batch_size=16, epochs=2, verbose=0, callbacks=[count], validation_data=kept)
    return len(counted)


def custom():
    weights = tf.Variable(tf.ones((64, 64)))

    @tf.function
    def update(data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((data @ weights) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    for _ in range(BATCHES):
        update(tf.ones((16, 64)))
    return BATCHES


def eager():
    data = tf.ones((64, 64))
    for _ in range(BATCHES):
        data = tf.nn.relu(data @ data) * 0.01
    return BATCHES


print({"fit": fit, "custom": custom, "eager": eager}[sys.argv[1]]())
