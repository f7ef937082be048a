/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks with names made by hand: what st_named_open gives while a test holds one. Every frame has a node
 * of its own in the fake result, of the same number.
 */
#ifndef ST_TESTS_UNIT_FAKE_STACKS_H
#define ST_TESTS_UNIT_FAKE_STACKS_H

#include "fake_result.h"
#include "resolve/named.h"

void fake_named_begin(struct st_result *fake);
void fake_named_end(void);
uint32_t fake_module(const char *name);
uint32_t fake_source(const char *path);
uint32_t fake_function(const char *name, uint32_t module, enum st_function_kind kind,
		       uint8_t flags);
void fake_function_at(uint32_t function, uint32_t source, uint32_t line);
/* A frame below a caller (0: outermost), at a source line. Gives the node. */
uint32_t fake_frame(uint32_t caller, uint32_t function, uint32_t line, uint32_t flags);

#endif
