# SPDX-License-Identifier: Apache-2.0
"""Keras trains on pictures that a mapped dataset prepares anew in every epoch, or once; prints, by the process's own
clock, the CPU time of training and of the same passes over the dataset alone.

usage: tf_input.py [cache]
"""

import json
import sys
import time

import numpy as np
import tensorflow as tf

PICTURES, EPOCHS = 256, 4


def prepare(picture, label):
    picture = tf.image.convert_image_dtype(picture, tf.float32)
    picture = tf.image.resize(picture, (128, 128), method="bicubic", antialias=True)
    picture = tf.image.adjust_saturation(picture, 1.2)
    return tf.image.resize(picture, (32, 32), antialias=True), label


def main():
    rng = np.random.default_rng(1)
    pictures = rng.integers(0, 256, (PICTURES, 96, 96, 3), dtype=np.uint8)
    dataset = tf.data.Dataset.from_tensor_slices((pictures, rng.integers(0, 10, PICTURES))).map(prepare)
    dataset = (dataset.cache() if "cache" in sys.argv else dataset).batch(16)
    layers = [tf.keras.layers.Input((32, 32, 3)), tf.keras.layers.Conv2D(8, 3), tf.keras.layers.GlobalMaxPooling2D()]
    model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(10)])
    model.compile(optimizer="sgd", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(dataset, epochs=1, verbose=0)
    began = time.process_time()
    model.fit(dataset, epochs=EPOCHS, verbose=0)
    trained = time.process_time()
    for _ in range(EPOCHS):
        for _ in dataset:
            pass
    print(json.dumps({"training": trained - began, "input": time.process_time() - trained}))


main()
