/* SPDX-License-Identifier: Apache-2.0
 *
 * Which nn.Module an object is: its path from the module that the program calls, found at the first call. The table
 * is kept under the interpreter's lock. An address alone says nothing, because it may be another module's by now: each
 * entry has a weak reference, which CPython empties when the module dies. It then tells us, and only then the references
 * of others need to be looked at again, which are not where the entries are.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_MODULE_NAMES_H
#define ST_COLLECT_INPROC_TORCH_TORCH_MODULE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/torch/torch.h"
#include "collect/inproc/torch/torch_python.h"

#pragma GCC visibility push(hidden)

struct st_torch_module {
	struct py_object *object; /* NULL: the place is free */
	struct py_object *reference;
	struct st_torch_named slice; /* what begins with a call; its name is the path, interned */
	uint16_t misses; /* modules called inside of this one that the latest walk had not found */
	uint16_t walk;	 /* the latest one that came by */
	bool unsure;	 /* whether we are told when it dies */
	uint8_t reserved[19];
};
_Static_assert(sizeof(struct st_torch_module) == 64, "one line");

struct st_torch_modules {
	struct st_torch_module *at;
	uint64_t mask; /* places - 1, a power of two; at most half of them are taken */
	uint32_t taken;
};
extern struct st_torch_modules st_torch_modules;
extern bool st_torch_module_deaths_silent; /* some of them: ask every time */

/* Where a weak reference has its object; tried with every new one. */
enum { ST_TORCH_REFERENCE_OBJECT = 16 };

static inline struct py_object *st_torch_referent(const struct py_object *reference)
{
	return *(struct py_object *const *)((const char *)reference + ST_TORCH_REFERENCE_OBJECT);
}

static inline uint64_t st_torch_module_place(const struct py_object *object)
{
	uint64_t hash = (uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15ull;

	return hash >> 32;
}

/* The entry of an address, or NULL. Good until Python code may run again. */
static inline struct st_torch_module *st_torch_module_at(const struct py_object *object)
{
	const struct st_torch_modules *modules = &st_torch_modules;

	for (uint64_t at = st_torch_module_place(object);; at++) {
		struct st_torch_module *module = &modules->at[at & modules->mask];

		if (ST_LIKELY(module->object == object))
			return module;
		if (!module->object)
			return NULL;
	}
}

/* The same of a living module. */
static inline struct st_torch_module *st_torch_module_find(const struct py_object *object)
{
	struct st_torch_module *module = st_torch_module_at(object);

	return module && st_torch_referent(module->reference) == object ? module : NULL;
}

/* The same for one that is not known, called inside of `outer` (NULL: of none, or of one that may be gone). May run
 * Python code, as any allocation. NULL: there is no place for it. */
struct st_torch_module *st_torch_module_name(struct py_object *object, struct py_object *outer);

/* How a call of a module of that name begins. */
void st_torch_module_slice(struct st_torch_named *slice, const char *name, uint32_t length);

#pragma GCC visibility pop

#endif
