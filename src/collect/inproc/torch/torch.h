/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators of PyTorch, from inside: torch_library.c finds the framework and torch_install.c registers with it, which calls
 * torch_callbacks.c; torch_layout.c proves where the inputs lie, torch_record.c writes the slices, torch_memory.c counts
 * its allocator, torch_module.c knows the calls of nn.Module.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_H
#define ST_COLLECT_INPROC_TORCH_TORCH_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/core/intern.h"
#include "collect/inproc/core/state.h"
#include "format/operator.h"

#pragma GCC visibility push(hidden)

struct st_inproc_backend;

/* What STRATA_CONFIG asks for: "operators=", "operator_memory=" and so on; read by state.c. */
struct st_torch_config {
	uint8_t operators; /* 0 no, 1 names, 2 with inputs */
	bool memory;
	bool modules, outermost_modules; /* the second: only those that are called in no other */
	bool stacks;
	bool calls;	/* of Python functions, one by one */
	uint8_t level;	/* none above it is tried; enum st_operator_level, 0 = the best */
	bool no_layout; /* "operator_layout=0", for tests: as in a release that nobody knows */
	bool wrong_reads; /* "operator_layout=2", for tests: as if one held for the first operators only */
};
extern struct st_torch_config st_torch_config;

extern const struct st_inproc_backend st_backend_torch;

/* Whether somebody should call st_torch_trigger once libtorch may be there. A flag, no work. */
bool st_torch_awaited(void);
/* One key of STRATA_CONFIG ("operator…=…"); others are not ours. */
void st_torch_configure(const char *text);
/* Looks for libtorch among the loaded libraries and registers with it, once. From the import system (GIL held) and
 * from the framework's first allocation. */
void st_torch_trigger(void);

/* Records from now on what is wanted, no more and no less; no operators: nothing of ours is called any more. One caller
 * at a time. False: there is no PyTorch in the process that can be entered. */
bool st_torch_switch(const struct st_torch_config *wanted);

/* Whether operators are being recorded: from the trigger on. */
bool st_torch_installed(void);

/* Bytes of the inputs as in format/operator.h, without what stands before them. */
struct st_operator_inputs {
	uint32_t bytes;
	uint16_t count;
	uint8_t flags; /* ST_SIGNATURE_* */
};

/* A slice of one of our domains that begins. */
struct st_torch_operator {
	uint64_t hash; /* of everything in the signature; the same in a forked child */
	const char *name;
	uint32_t length;
	enum st_operator_scope scope;
	int64_t sequence; /* -1: none */
	/* Called at a signature's first use; NULL: no inputs. */
	struct st_operator_inputs (*encode)(void *from, uint8_t *to, uint32_t room);
	void *from;
};

/* Memory for the rest of this header; false: there is none. */
bool st_operator_init(void);

/* The hash of a signature without inputs: may be kept as long as the name is. */
static inline uint64_t st_operator_hash(const char *name, uint32_t length,
					enum st_operator_scope scope)
{
	return st_text_mix(st_text_hash(name, length), 2 * (uint64_t)scope + 1) | 1;
}

/* Until its end (torch_record.h), with the same key, the slice is open. `key` is any address, a multiple of 8, that no
 * other open slice of the thread has: of the framework's record, or in the frame of whoever calls both. A key that was
 * never begun on this thread (before a fork, while there was no place) ends nothing; begun on another thread, it is
 * closed there, with this time, when that one comes by next. The time is taken last in begin (of a module: first, see
 * torch_module.c) and first in end. No lock and no allocation but for a signature's first use. */
void st_operator_begin(const void *key, const struct st_torch_operator *operator);
/* A call of a module (torch_record.h), whose signature is kept with it. Under a lock of whoever keeps it. */
struct st_torch_named {
	const char *name;
	uint32_t length;
	uint32_t word;	/* how the record begins */
	uint64_t stamp; /* the word is good while the signatures have this one (torch_record.h) */
};

/* Bits that the signatures never have all of: with them the word may be good, but it is not known whose it is. */
#define ST_STAMP_NEVER 0xffffffff00000000ull
#define ST_STAMP_NONE UINT64_MAX

struct st_thread;

/* torch_elsewhere.c: `key`, with its domain in the lowest bits, is open on another thread, or nowhere. Not between
 * enter and leave. */
void st_operator_ended_elsewhere(uintptr_t key, uint64_t time);
/* Whether another thread has ended this slice of the thread, and when; once. */
bool st_operator_take_ended(struct st_thread *thread, uintptr_t key, uint64_t *time);
/* Forgets those that are not open any more. */
void st_operator_forget_ended(struct st_thread *thread);
/* Closes the innermost slices of a thread that others have ended. Between enter and leave. */
void st_operator_close_ended(struct st_thread *thread);
/* The same for the calling thread, which may come by no more. Not between enter and leave. */
void st_operator_come_by(void);

/* The framework's allocator gave out a block, or (bytes below 0) took one back. As cheap as a begin. */
void st_operator_block(const void *address, int64_t bytes, uint32_t place);

/* How operators are recorded, for strata; told again in a forked child. `why`: no better level. */
void st_operator_source(enum st_operator_level level, uint32_t flags, const char *framework,
			const char *why);

/* torch_memory.c: has c10's libraries call us where the program was not started with us in front of them, or undoes it.
 * False: they cannot be made to. */
bool st_torch_memory_enter(bool on);
/* torch_told.c: whether c10 alone would tell the program's own profiler of this; as it would, with bytes and sum. */
bool st_torch_told(void *block, int64_t *bytes, uint64_t *allocated);

/* Nothing was told of any signature. */
void st_operator_undefine(void);

/* torch_itt.c: the framework's own tasks are wanted; and, from its allocator, that it is in use. */
void st_torch_itt_want(void);
void st_torch_itt_allocated(void);
/* What became of that, behind the reason why it was needed. */
void st_torch_itt_source(const char *how);

#pragma GCC visibility pop

#endif
