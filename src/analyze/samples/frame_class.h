/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose a function is: the user's, a library's, or glue between them (interpreter, dispatcher, autograd engine, import
 * machinery). Trees of calls, callers and flame graphs leave out glue that lies between two functions; the time of a
 * function stays its own. The rules are a table.
 */
#ifndef ST_ANALYZE_SAMPLES_FRAME_CLASS_H
#define ST_ANALYZE_SAMPLES_FRAME_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/definitions.h"

struct st_named;

enum st_frame_class {
	ST_FRAME_USER,
	ST_FRAME_LIBRARY,
	ST_FRAME_IMPORT, /* the body of a library's module: glue below another one */
	ST_FRAME_GLUE,
};

/* A Python file that is not the program's own: in site-packages, of Python itself, or no file at all. */
bool st_path_is_library(struct st_text path);
/* Fills classes[function_count]; false when memory is out. */
bool st_frame_classes(const struct st_named *named, uint8_t *classes);

#endif
