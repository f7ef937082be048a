/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks with names, made by hand, to go with fake_result.h: a function is told once, a call makes the stack
 * node and its frame together. Frames of inlined functions are added to the newest node.
 */
#ifndef ST_TESTS_UNIT_FAKE_NAMED_H
#define ST_TESTS_UNIT_FAKE_NAMED_H

#include "fake_result.h"
#include "resolve/named.h"

enum { FAKE_FRAMES = 4096 };

struct fake_named {
	struct st_named named; /* what is given to the code under test */
	struct st_result *fake;
	struct st_named_module modules[FAKE_SMALL];
	struct st_named_function functions[4 * FAKE_SMALL];
	struct st_text sources[FAKE_SMALL];
	struct st_named_frame frames[FAKE_FRAMES];
	uint32_t frame_of_node[FAKE_FRAMES];
};

struct fake_named *fake_named_create(struct st_result *fake);
void fake_named_destroy(struct fake_named *named);
/* Texts must live as long as named does. Module and source ("" for none) are found again by name. */
uint32_t fake_function(struct fake_named *named, enum st_function_kind kind, const char *module,
		       const char *name, const char *source);
/* A frame that function calls from parent (a node; 0: outermost), now at line; returns its node. */
uint32_t fake_call(struct fake_named *named, uint32_t parent, uint32_t function, uint32_t line);
/* A function inlined into the newest call: its frame becomes the innermost one of that node. */
void fake_inlined(struct fake_named *named, uint32_t function, uint32_t line);

#endif
