# SPDX-License-Identifier: Apache-2.0
"""Loops of TensorFlow without marks; prints how many batches were trained with, and before that, by its own clock, what
the step of each can take at most: until the next batch, or the first one that validates, is done.

usage: tf_loops.py fit|fit_two|custom|eager
"""

import json
import sys
import time

import numpy as np
import tensorflow as tf

BATCHES = 12


def fit(models=1):
    begins, marks = [], []

    class Clock(tf.keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            begins.append((time.perf_counter_ns(), len(marks)))

        def on_train_batch_end(self, batch, logs=None):
            marks.append(time.perf_counter_ns())

        def on_test_batch_end(self, batch, logs=None):
            marks.append(time.perf_counter_ns())

    data, wanted = np.ones((16 * BATCHES, 64), np.float32), np.ones((16 * BATCHES, 4), np.float32)
    kept = (data[:32], wanted[:32])
    for _ in range(models):
        model = tf.keras.Sequential([tf.keras.layers.Input((64,)), tf.keras.layers.Dense(32), tf.keras.layers.Dense(4)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(data, wanted, batch_size=16, epochs=2, verbose=0, callbacks=[Clock()], validation_data=kept)
    # The first mark after a begin is its own batch's end, the second the end of what follows.
    print(json.dumps([marks[at + 1] - begin for begin, at in begins]))
    return len(begins)


def fit_two():
    """One model after the other, as programs do that compare them."""
    return fit(2)


def custom():
    weights = tf.Variable(tf.ones((64, 64)))

    @tf.function
    def update(data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((data @ weights) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    times = [time.perf_counter_ns()]
    for _ in range(BATCHES):
        update(tf.ones((16, 64)))
        times.append(time.perf_counter_ns())
    times.append(times[-1])
    print(json.dumps([times[i + 2] - times[i] for i in range(BATCHES)]))
    return BATCHES


def eager():
    data = tf.ones((64, 64))
    for _ in range(BATCHES):
        data = tf.nn.relu(data @ data) * 0.01
    return BATCHES


print({"fit": fit, "fit_two": fit_two, "custom": custom, "eager": eager}[sys.argv[1]]())
