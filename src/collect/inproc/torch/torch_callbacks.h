/* SPDX-License-Identifier: Apache-2.0
 *
 * What the framework calls at the begin and the end of an operator, and what is known by then of where its inputs lie.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_CALLBACKS_H
#define ST_COLLECT_INPROC_TORCH_TORCH_CALLBACKS_H

#include <stdbool.h>

#include "collect/inproc/torch/torch_layout.h"

#pragma GCC visibility push(hidden)

enum { ST_TORCH_CALLBACKS = 6 };

struct st_torch_scope {
	enum st_operator_scope scope;
	void *(*begin)(void **context, const void *record);
	void (*end)(const void *record, void *context);
};
extern const struct st_torch_scope st_torch_scopes[ST_TORCH_CALLBACKS];

struct st_torch_known {
	struct st_torch_memory_layout layout; /* its record is NULL: not proven */
	struct st_torch_learner learner;
	struct st_torch_value_learner values;
};
extern struct st_torch_known st_torch_known;
extern bool st_torch_stacks_used; /* stacks were wanted, now or before */

/* How operators are recorded from now on, which strata is told; `why`: no better. */
void st_torch_settle(enum st_operator_level reached, const char *why);
enum st_operator_level st_torch_level(void);
/* The program's own first operators are to prove the layout. */
void st_torch_learn_on(void);
/* Why it is not proven. */
const char *st_torch_refusal(void);
/* A layout that was proven turned out wrong. */
bool st_torch_is_contradicted(void);

/* torch_probe.c: proves the layout by tensors of our own, seen by this thread only, where they can be made. */
void st_torch_prove_layout(void);

#pragma GCC visibility pop

#endif
