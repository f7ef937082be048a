/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of tf.function as tasks of the domain "tf.function": a batch of Keras' fit, evaluate and predict is one, and so is a
 * step of most training loops. Everything here needs the interpreter's lock.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_TENSORFLOW_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_TENSORFLOW_H

#pragma GCC visibility push(hidden)

struct py_object;

/* Something is imported: looks whether TensorFlow has come to define the class and, if it has, records the calls of it. */
void st_python_tensorflow_look(struct py_object *name);

#pragma GCC visibility pop

#endif
