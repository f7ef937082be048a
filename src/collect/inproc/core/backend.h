/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources of records inside the target, a row each in backends.c: ITT, PyTorch, Python, the sampler. The core calls them
 * where something happens to the process or to a thread, in the order of the table, and knows none of them by name.
 * Recording itself never goes through here: whoever records calls the core directly. A slot may be NULL.
 *
 * Everybody who records reads the control word of the segment (format/shm.h), which strata changes too: the slots for
 * pause and resume are for those who want to know of the program's own at once.
 */
#ifndef ST_COLLECT_INPROC_CORE_BACKEND_H
#define ST_COLLECT_INPROC_CORE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct py_object;
struct st_thread;

/* The program that the collector has come into. */
struct st_entered_program {
	int argc;
	char **argv;
	bool joined; /* it has been running, and records itself (profile.c): nothing of its own is changed */
};

struct st_inproc_backend {
	const char *name;
	/* A "key=value" of STRATA_CONFIG, up to ';' or the end; whoever knows the key takes it. */
	void (*configure)(const char *text);
	/* In the constructor, whether anything is recorded or not: looks for what cannot be looked for later. */
	void (*probe)(void);
	/* Once everything is configured, of a collector that is to record; until all have started nobody can record anything. */
	void (*start)(const struct st_entered_program *program);
	/* The process has joined a strata, after the ones before it. */
	void (*joined)(void);
	/* The first hello of a process, also of a child forked behind our back. Under the process lock. */
	void (*hello)(void);
	/* Python imports something: its lock is held. And whether that is to be told. */
	void (*imported)(struct py_object *name);
	bool (*awaits_imports)(void);
	/* The program has paused, resumed or ended its own recording. */
	void (*pause)(void);
	void (*resume)(void);
	/* Whether it records what another may want left out for a while, to measure what recording costs. Then it rests until that
	 * time (ticks), or, with 0, no longer. */
	bool (*can_rest)(void);
	void (*rest)(uint64_t until);
	/* The calling thread ends; its slot goes to another (between enter and leave). */
	void (*thread_end)(void);
	void (*thread_retire)(struct st_thread *thread);
	/* Around libc's fork, on the thread that forks: in front of it, behind it in the parent, behind it in the child. The
	 * program's own handlers run before and after ours: no lock of anybody's may be kept between the calls. */
	void (*before_fork)(void);
	void (*after_fork)(void);
	void (*forked)(void);
	/* In front of an exec, and when it has come back; a vforked child may call them. */
	bool (*before_exec)(void);
	void (*exec_failed)(void);
	/* The program locks itself up: from now on no system call, no signal. */
	void (*lock_up)(void);
	/* Nobody has been told anything: the process leaves its strata. Under the process lock. */
	void (*forget)(void);
};
extern const struct st_inproc_backend *const st_inproc_backends[]; /* ends with NULL */

#define ST_BACKENDS_CALL(slot, ...)                                                                \
	do {                                                                                       \
		for (const struct st_inproc_backend *const *each = st_inproc_backends; *each;      \
		     each++)                                                                       \
			if ((*each)->slot)                                                         \
				(*each)->slot(__VA_ARGS__);                                        \
	} while (0)

#pragma GCC visibility pop

#endif
