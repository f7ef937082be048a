/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's state inside the target, in four kinds of memory:
 *   config     read from the environment once, by the constructor; never changes
 *   st_shared  ordinary memory: survives a fork (names, ids, the token of the process)
 *   process    a MADV_WIPEONFORK page: reads zero in a forked child, so locks are free there and the
 *              child says its own hello
 *   threads    MADV_WIPEONFORK too, one per slot; the thread's pointer to it is the only TLS variable
 * Everything here is safe in signal handlers: no libc but clock_gettime, memcpy and the like.
 */
#ifndef ST_COLLECT_INPROC_CORE_STATE_H
#define ST_COLLECT_INPROC_CORE_STATE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rt/clock.h"
#include "format/ring_record.h"
#include "format/shm.h"

#pragma GCC visibility push(hidden)

#define ST_LIKELY(x) __builtin_expect(!!(x), 1)
#define ST_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Large memory of the library that most processes never touch: apart from small variables, so that these share few pages. Each
 * page that a process touches at its start costs it a microsecond or two. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ST_APART __attribute__((section(".lbss.strata")))
#else
#define ST_APART
#endif

struct st_config {
	bool active; /* a strata process is to be told; false: creators work, nothing is recorded */
	bool paused;
	bool key_valid;
	bool task_lines; /* every begin gets the Python line that made it */
	bool offer_itt;	 /* Python programs get a module "itt" when they have none */
	enum st_clock clock;
	uint32_t ring_bytes;
	uint32_t slots;
	unsigned int key; /* pthread key whose destructor ends a thread's slot */
	uint64_t resume_at_ns;
	uint8_t token[16];
	uint32_t only_pid;		/* joined: forked children record nothing; 0: they do */
	uint32_t sock_bytes, abs_bytes; /* length of the names, 0 = not given */
	char sock[108];
	char abs[108];
};
extern struct st_config st_config;
extern bool st_bound; /* a static part of ITT has come in */
/* What each slot has for the handler of its thread, in wiped memory; 0: nothing, there is no sampler. */
extern size_t st_handler_memory_bytes;

/* Written under the process lock. A child may see any later store without an earlier one of another
 * thread (a fork copies page by page), so st_intern_highest() corrects the counts. */
struct st_shared {
	uint64_t token; /* process_token of the last hello, of this process or of the ancestor */
	uint32_t strings, domains, objects; /* highest ids that were published */
	_Atomic uint32_t self_paused;	    /* enum st_self_paused */
	_Atomic uint32_t detached;
	_Atomic uint32_t passive; /* sandbox.c: no system call of ours any more */
};
extern struct st_shared st_shared;

enum st_self_paused {
	ST_SELF_RUNNING = 0,
	ST_SELF_PAUSED_AT_START = 1,
	ST_SELF_PAUSED_BY_CALL = 2
};

enum { ST_PROCESS_SILENT = 0, ST_PROCESS_ON = 1, ST_PROCESS_OFF = 2 };

struct st_segment {
	struct st_shm_header *header;
	struct st_shm_slot *slots;
	uint8_t *rings;
	uint8_t *threads;
	uint8_t *samplers; /* NULL: no samples of these threads */
	uint32_t slot_count;
	uint32_t slot_bytes;
};

struct st_inproc_process {
	_Atomic uint32_t lock;
	_Atomic uint32_t lock_stuck; /* a full wait was in vain: later ones only spin */
	_Atomic uint32_t state;
	_Atomic uint32_t segment_count;
	_Atomic uint32_t no_slot;      /* claims refused since the last success */
	_Atomic uint64_t lost_early;   /* records lost before there was a header to count in */
	_Atomic uint64_t resume_ticks; /* of the latest __itt_resume */
	uint64_t token;
	uint64_t parent_token;
	uint32_t inherited_strings, inherited_domains, inherited_objects;
	bool arena_checked; /* intern.c */
	struct st_segment segment[ST_SHM_SEGMENTS_MAX];
};
extern struct st_inproc_process *st_process; /* NULL: no memory, nothing works but the fallbacks */

/* What a record touches, one cache line. limit == 0 means "in use or wiped": the fast path of a signal
 * handler that interrupts the fast path, and that of a forked child, both end in the slow path. */
struct st_hot {
	uint64_t *data; /* ring words; NULL in a forked child */
	_Atomic uint64_t *head_shared;
	const _Atomic uint32_t *control;
	uint64_t head;	    /* bytes since the beginning of the ring */
	uint64_t limit;	    /* a begin needs head + ST_BEGIN_BYTES <= limit */
	uint64_t last;	    /* ticks of the previous record */
	uint32_t byte_mask; /* of the ring: bytes - 1 */
	uint32_t run;	    /* open slices on top of the stack whose begins were written */
	uint32_t key_count; /* of st_thread's keys */
	_Atomic uint32_t ended_count; /* of these slices, written by other threads */
};
_Static_assert(sizeof(struct st_hot) == 64, "one line");

enum {
	ST_END_BYTES = 32, /* kept free for each open slice: ST_EXT_TIME and ST_EXT_END */
	ST_BEGIN_BYTES = 8 + ST_END_BYTES,
	ST_SLACK_BYTES = 256, /* kept free for thread end, pause and loss records */
	ST_OPEN_MAX = 256,
	ST_OPEN_SPARE = 4,
	ST_SCRATCH_BYTES = 4096,
	ST_KEYS_MAX = 256,
	ST_ENDED_MAX = 16,
};

/* The stack of open slices below hot.run, run-length coded. */
enum st_open_kind {
	ST_OPEN_WRITTEN = 0, /* count slices whose begins are in the ring */
	ST_OPEN_SKIPPED = 1, /* count slices that were dropped; their ends are, too */
	ST_OPEN_PAUSED = 2,  /* one slice begun while paused: published if it outlives the pause */
	ST_OPEN_TIMED = 3,   /* count tasks with times of their own, which are events */
};
struct st_open {
	uint32_t kind;
	uint32_t count; /* of ST_OPEN_PAUSED: the domain */
	uint32_t name;
	uint32_t reserved;
	uint64_t caller;
};

/* A slice that another thread has ended; key 0: a free place (torch_elsewhere.c). */
struct st_ended {
	_Atomic uintptr_t key;
	uint64_t time;
};

/* Waits that are only added up, by object and outcome; and where the frame of an open one is. */
enum { ST_WAIT_SUMS = 8 };
struct st_wait_sum {
	uint64_t object, ticks;
	uint32_t count;
	uint16_t kind, outcome; /* enum st_wait_kind, enum st_wait_outcome */
};
/* When the thread last told that it let others go on that wait for an object. */
enum { ST_WOKEN = 4 };
struct st_woken {
	uint64_t object, ticks;
};
/* A wait in the run time of OpenMP; at the end of a region, and after it for work (regions.c). */
struct st_region_wait {
	uint64_t begin; /* ticks; 0: not open */
	uint64_t object;
	uint32_t kind;
};
struct st_wait_sums {
	uintptr_t frame;
	bool was_paused;
	bool takes_gil; /* the open wait lasts until the thread has Python's lock */
	uint32_t count;
	uint32_t hold_count;
	uint64_t since; /* ticks of the first of them */
	uint64_t
		told_window; /* of time: how many waits were told one by one in it that were not long */
	uint64_t woke_window; /* and how many wakes */
	uint32_t told, woke;
	struct st_woken last_woken[ST_WOKEN];	      /* by object */
	uint64_t held_since, hold_ticks, holds_since; /* Python's lock: gil.c */
	struct st_region_wait region;
	struct st_wait_sum sum[ST_WAIT_SUMS];
};

struct st_intern_node;
struct st_inproc_sampler;
struct st_torch_stack;

struct st_thread {
	alignas(64) struct st_hot hot;
	/* Open slices with their domains, from 1 on (torch_record.c); in the same page as long as there are few. */
	uintptr_t key[1 + ST_KEYS_MAX];
	uint64_t caller[ST_CALLER_SLOTS]; /* the ring's table, see ST_EXT_CALLER */
	struct st_shm_slot *slot;
	struct st_shm_ring *ring;
	struct st_inproc_sampler *sampler; /* its memory, whether it samples or not; NULL: none */
	uint64_t ring_bytes;
	uint64_t written_below; /* slices in ST_OPEN_WRITTEN entries */
	uint64_t lost;		/* slices dropped and not yet told by ST_EXT_LOST */
	uint64_t paused_ticks;	/* of the latest begin remembered while paused */
	const struct st_intern_node *text_family; /* whose text the ring's latest ST_EXT_TEXT is */
	uint64_t text_hash;
	const struct st_intern_node *name_pending; /* the thread's name, not yet defined */
	bool text_ambiguous;
	bool identified; /* ST_EXT_THREAD is written */
	uint32_t tid;
	uint32_t generation;
	uint32_t open_count;
	uint32_t paused_count;
	uint32_t
		call_count; /* calls of Python functions that are open and written (python_trace.c) */
	struct st_ended ended[ST_ENDED_MAX];
	struct st_wait_sums waits; /* waits.c */
	struct st_open open[ST_OPEN_MAX];
	struct st_torch_stack *stack; /* torch_stack.c; stays with the slot */
	uint32_t allocations,
		operators; /* since they were last added to the process's (torch_turns.h) */
	char scratch[ST_SCRATCH_BYTES]; /* of whoever is between enter and leave */
};
enum { ST_THREAD_STRIDE = (sizeof(struct st_thread) + 255) & ~255u };

extern __thread struct st_hot *st_tls __attribute__((tls_model("initial-exec")));
extern struct st_hot
	st_hot_busy; /* st_tls while a slow path runs: whoever interrupts it is dropped */
extern struct st_hot st_hot_ignored; /* st_tls of a thread that asked not to be recorded */

/* Its own function: with memory for a time, all those that ask for one would keep a guard of it. */
uint64_t st_ticks_mono_raw(void);

/* Of a clock that the caller knows. */
static inline __attribute__((always_inline)) uint64_t st_ticks_of(enum st_clock clock)
{
	return clock == ST_CLOCK_TSC ? st_clock_tsc() : st_ticks_mono_raw();
}

static inline uint64_t st_ticks(void)
{
	return ST_LIKELY(st_config.clock == ST_CLOCK_TSC) ? st_clock_tsc() : st_ticks_mono_raw();
}

/* Of a collector that was loaded into a running process and joins a strata that the process has started itself: what
 * the environment says in other cases. False: it records for another one already, or cannot. */
struct st_join {
	const char *sock, *abs, *token, *config;
};
bool st_state_join(const struct st_join *join);

/* The decimal digits at the beginning of a value of STRATA_CONFIG. */
uint64_t st_config_number(const char *text);

/* Bounded: false after some 10 ms, at once when the holder seems to be gone. Not from handlers that may
 * interrupt a holder on the same thread: st_tls == &st_hot_busy tells them. */
bool st_process_lock(void);
void st_process_unlock(void);

/* Memory whose pages come one by one as they are touched, even in a program that locks all its memory;
 * NULL when there is none. `flags` and `fd` as for mmap. */
void *st_map_lazily(size_t size_bytes, int flags, int fd);

/* How much may be mapped at a time: a sixteenth of a limited address space, which the program needs. */
size_t st_address_share(void);

/* sandbox.c: whether the program, or an ancestor it was forked from, may have locked itself up. */
void st_sandbox_init(void);
/* fork.c: has the back-ends told of forks. */
void st_fork_init(void);
bool st_sandboxed(void);
/* A prctl with these, or a system call that does the same, is about to be made. */
void st_sandbox_prepare(int option, unsigned long second);

static inline bool st_passive(void)
{
	return atomic_load_explicit(&st_shared.passive, memory_order_relaxed);
}

/* segment.c: maps segment `index`, hands it to strata. Lock held. */
bool st_segment_create(uint32_t index);
/* Of a process that has no segment: whether it is paused, by itself or because everybody starts so. That ends for good when strata
 * says so: a process that comes later must not wait for a resume that has already been. */
bool st_starts_paused(void);
/* One message to strata, with a descriptor (-1: none) that stays open here. Nothing is awaited. */
bool st_rendezvous_send(const void *message, size_t size_bytes, int fd);
/* A program that closed its standard descriptors must not find ours in their place. */
int st_above_standard(long fd);

/* A piece of the text of a definition or of the data of an event. */
struct st_part {
	const void *at;
	uint32_t size_bytes;
};

/* define.c; lock held. False: the ring is full (counted), or there is none. */
bool st_define(enum st_ring_definition kind, uint32_t id, const char *text, uint32_t length);
bool st_define_parts(enum st_ring_definition kind, uint32_t id, const struct st_part *parts,
		     uint32_t part_count);

static inline struct st_shm_header *st_header(void)
{
	return st_process->segment[0].header;
}

#pragma GCC visibility pop

#endif
