/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at threads that wait, from outside: in which system call, for what, and with which stack. The thread is neither stopped
 * nor touched; the kernel's count of how often it has run, read before and after, proves that what was read belongs
 * together. A thread of strata does it, because the first look at a process takes long.
 */
#ifndef ST_COLLECT_HOST_LOOKER_H
#define ST_COLLECT_HOST_LOOKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/host/outside.h"

struct st_looker;

struct st_look_code { /* a Python function that was not told before */
	struct st_outside_code code;
	struct st_look_code *next; /* its texts lie behind it */
};

struct st_look {
	struct st_look *next;
	uint32_t pid, tid;
	uint64_t since_ns; /* as asked */
	uint32_t
		kind; /* enum st_wait_kind; 0: it did not wait any more, or could not be looked at */
	uint64_t object;
	uint32_t flags; /* enum st_sample_flag */
	uint32_t python_version;
	uint64_t eval[4];
	uint32_t native_count, python_count;
	struct st_look_code *codes;
	uint64_t words[]; /* native, then Python frames, as words of format/sample_record.h */
};

struct st_looker_state {
	uint64_t looks, refused; /* refused: by the kernel */
	uint64_t moved;		 /* the thread went on meanwhile */
	int why;		 /* errno of the first that was refused */
};

/* 0, or errno: why waiting threads cannot be looked at here. Of a process that changes its user it may be refused all the
 * same. */
int st_looker_refusal(void);
/* NULL: no memory, or no thread. */
struct st_looker *st_looker_create(void);
void st_looker_destroy(struct st_looker *looker);
/* Asks for a look; false: there are many waiting. */
bool st_looker_ask(struct st_looker *looker, uint32_t pid, uint32_t tid, uint64_t since_ns);
/* Those that are done, in their order; to be freed one by one. */
struct st_look *st_looker_take(struct st_looker *looker);
void st_look_free(struct st_look *look);
struct st_looker_state st_looker_state(struct st_looker *looker);

#endif
