/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of nn.Module as slices of the domain torch.module. Everything here needs the interpreter's lock.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_MODULE_H
#define ST_COLLECT_INPROC_TORCH_TORCH_MODULE_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Looks whether nn.Module is there by now and, if it is, records the calls of it and of its subclasses from now on.
 * Once that is so: puts right what the program has undone by giving nn.Module another __call__. Leaves no error of
 * Python behind. */
void st_torch_module_look(void);

/* No calls are recorded any more, until st_torch_module_look. */
void st_torch_module_release(void);

struct py_object;

/* Whether an object is an nn.Module; if so, the calls of its class are recorded from now on. */
bool st_torch_class_of(struct py_object *object);

#pragma GCC visibility pop

#endif
