/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared memory between a collector inside a target process and the strata process: one sealed
 * memfd ("segment") per process, a further one for each 64 live threads more. The target creates and
 * fills it, hands it over once (struct st_shm_hello, with the descriptor in SCM_RIGHTS) and keeps no
 * descriptor. strata treats all of it as hostile.
 *
 *   offset 0                        struct st_shm_header, then st_shm_slot[slot_count]
 *   ST_SHM_HEADER_BYTES             definitions ring (segment 0 only; the space exists in every one)
 *   + ST_SHM_DEFINITIONS_BYTES      struct st_shm_unwind (segment 0 only; the space exists in every one)
 *   ST_SHM_RINGS_OFFSET             slot 0: slice ring, handler ring, flood ring; slot 1 …
 *
 * A ring is a power-of-two number of 8-byte words, one producer, one consumer. head and tail count
 * bytes since the beginning and never wrap; word index = (head / 8) & (ring_bytes / 8 - 1). Every
 * store is masked word by word, so a record may wrap round the end.
 *
 * Header only: the collector links no code of format/.
 */
#ifndef ST_FORMAT_SHM_H
#define ST_FORMAT_SHM_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#define ST_SHM_MAGIC 0x31304d4853545253ull /* "SRTSHM01" as bytes */

enum {
	ST_SHM_HEADER_BYTES = 64 << 10,
	ST_SHM_DEFINITIONS_BYTES = 1 << 20,
	ST_SHM_UNWIND_BYTES = 256 << 10,
	ST_SHM_RINGS_OFFSET = ST_SHM_HEADER_BYTES + ST_SHM_DEFINITIONS_BYTES + ST_SHM_UNWIND_BYTES,
	ST_SHM_MODULES_MAX = 2048,   /* executable mappings with an unwind table, of one process */
	ST_SHM_SLOTS = 64,	     /* per segment; fewer under RLIMIT_AS or RLIMIT_FSIZE */
	ST_SHM_SEGMENTS_MAX = 256,   /* 16,384 live threads; more are counted in lost_no_slot */
	ST_SHM_RING_BYTES = 1 << 20, /* slice ring; knob ring-size, 64 KiB … 4 MiB */
	ST_SHM_HANDLER_RING_BYTES = 256 << 10,
	ST_SHM_FLOOD_RING_BYTES = 256 << 10,
	ST_SHM_TEXT_MAX = 128 << 10, /* longest label kept whole; longer ones are cut and counted */
	ST_SHM_STRINGS_MAX = 64 << 10, /* distinct labels with a handle of their own */
	ST_SHM_FAMILIES_MAX = 4096,    /* families that later labels share */
	ST_SHM_DOMAINS_MAX = 4096,
	ST_SHM_OBJECTS_MAX = 16 << 10, /* counters, clock domains and the like */
	ST_SHM_SIGNATURES_MAX =
		64 << 10, /* operators with distinct shapes; later ones have names only */
};

/* Bits of st_shm_header.control. Both sides change it by fetch_or / fetch_and; a producer records
 * only while the whole word is 0. */
enum {
	ST_CONTROL_PAUSED_FAMILY = 1, /* strata: -command pause */
	ST_CONTROL_STOPPED = 2,	      /* strata: collection is over, for good */
	ST_CONTROL_PAUSED_SELF = 4, /* target: __itt_pause, or start-paused; strata may clear it */
	ST_CONTROL_DETACHED = 8,    /* target: __itt_detach, for good */
};

enum st_slot_state {
	ST_SLOT_FREE = 0,
	ST_SLOT_OWNED = 1,
	ST_SLOT_DONE =
		2, /* its thread is gone; the next new thread adopts it by CAS DONE -> OWNED */
	ST_SLOT_MAINTENANCE = 3, /* strata punches its pages out; CAS from DONE, back to DONE */
};

enum st_ring_kind { ST_RING_SLICE = 0, ST_RING_HANDLER = 1, ST_RING_FLOOD = 2, ST_RING_KINDS = 3 };

struct st_shm_ring {
	/* producer writes, drainer reads */
	alignas(64) _Atomic uint64_t head; /* release store after the words */
	_Atomic uint64_t dropped; /* records that found no room (begin and its end count once) */
	_Atomic uint64_t unmatched_ends;
	_Atomic uint64_t events_dropped; /* ST_EXT_EVENTs that found no room */
	_Atomic uint64_t events_cut;	 /* whose data was cut */
	/* drainer writes, producer reads */
	alignas(64) _Atomic uint64_t tail;
};

/* What the owner waits in, so that it is known of a process that is killed; and what of its short waits and holds is in no record
 * yet. The owner writes, the drainer reads when nothing more is to come. Who ends a region of OpenMP says so to its workers
 * here: since then they are idle, and before it they have waited for it. */
struct st_shm_wait {
	alignas(64) _Atomic uint64_t begin; /* ticks; 0: in none. Stored last */
	_Atomic uint64_t object;
	_Atomic uint32_t kind; /* enum st_wait_kind */
	_Atomic uint32_t short_count;
	_Atomic uint64_t short_ticks;
	_Atomic uint64_t hold_ticks;
	_Atomic uint64_t
		region_begin; /* of kind ST_WAIT_REGION; another `begin`: when it was over */
	uint64_t reserved_more;
	_Atomic uint32_t hold_count;
	uint32_t reserved;
};

struct st_shm_slot {
	alignas(64) _Atomic uint32_t state; /* enum st_slot_state */
	_Atomic uint32_t tid;		    /* of the owner, in the target's pid namespace */
	_Atomic uint32_t generation;	    /* +1 at each adoption */
	alignas(64) struct st_shm_ring ring[ST_RING_KINDS];
	struct st_shm_wait wait;
};

struct st_shm_header {
	uint64_t magic;
	uint32_t layout_hash; /* ST_SHM_LAYOUT_HASH of the collector's build */
	uint32_t segment_index;
	uint32_t slot_count;
	uint32_t slot_bytes;
	uint32_t ring_bytes[ST_RING_KINDS];
	uint32_t clock;				 /* enum st_clock */
	alignas(64) _Atomic uint32_t control;	 /* alone on its line; only segment 0's counts */
	alignas(64) _Atomic uint32_t slots_used; /* high water mark */
	_Atomic uint64_t lost_no_slot;		 /* records of threads that got no slot */
	_Atomic uint64_t labels_cut;		 /* labels longer than ST_SHM_TEXT_MAX */
	_Atomic uint64_t labels_unknown; /* slices of a shared family whose own text is not known */
	_Atomic uint64_t
		definitions_delayed; /* definitions that had to be retried: ring was full */
	alignas(64) struct st_shm_ring definitions;
	alignas(64) _Atomic uint32_t notices; /* bits: what the user should be told */
	_Atomic uint32_t
		profiled; /* how often Python's calls were told to a tool of the program's instead */
	_Atomic uint64_t resumed; /* strata: ticks at which it last ended a pause; 0: never */
	_Atomic uint64_t
		makers_forgotten; /* objects to wait for, of which nobody will know who made them */
	_Atomic uint64_t
		stopped; /* ticks; stored before control says stopped or detached. 0: nobody says when */
	uint8_t reserved_more[32];
};

/* Bits of st_shm_header.notices. */
enum {
	ST_NOTICE_NO_ITT = 1,	/* `import itt` under -I or -E: not offered there */
	ST_NOTICE_NO_LINES = 2, /* a CPython whose frames are not known */
	/* Samples of Python threads have no Python frames: */
	ST_NOTICE_PYTHON_UNKNOWN = 4,	    /* of this version */
	ST_NOTICE_PYTHON_FREE_THREADED = 8, /* of this build */
	ST_NOTICE_PYTHON_UNREADABLE = 16,   /* process_vm_readv is forbidden, or no memory */
	ST_NOTICE_NO_MODULES =
		32, /* calls of nn.Module are not recorded: classes of an unknown form */
	/* Calls of Python functions are not counted: */
	ST_NOTICE_NO_PYTHON_CALLS = 64, /* a CPython that is not known, or its hooks are taken */
	ST_NOTICE_NO_STACKS =
		256, /* Python frames of operators are not told: a CPython that is not known */
	/* What CUDA devices did is not recorded: */
	ST_NOTICE_NO_CUPTI = 512,	/* no libcupti, or one without what is needed */
	ST_NOTICE_CUPTI_TAKEN = 1024,	/* another tool has it */
	ST_NOTICE_CUPTI_REFUSED = 2048, /* it is there and says no */
	ST_NOTICE_GRAPHS_LATE =
		1 << 24, /* kernels of CUDA graphs are recorded one by one: CUDA may be in use */
	/* What devices of Level Zero did is not recorded: */
	ST_NOTICE_ZE_OFF = 1 << 20,	   /* the user has its tracing layer off */
	ST_NOTICE_ZE_REFUSED = 1 << 21,	   /* the loader refuses a tracer */
	ST_NOTICE_OMPT_TAKEN = 1 << 22,	   /* another tool listens to LLVM's OpenMP */
	ST_NOTICE_FREE_THREADED = 1 << 23, /* Python without an interpreter lock */
	ST_NOTICE_NO_GIL = 4096, /* Python's interpreter lock is not where it is in this version */
};

_Static_assert(sizeof(struct st_shm_ring) == 128, "two lines a ring");
_Static_assert(sizeof(struct st_shm_slot) == 512, "slot size is part of the layout");
_Static_assert(sizeof(struct st_shm_header) + ST_SHM_SLOTS * sizeof(struct st_shm_slot) <=
		       ST_SHM_HEADER_BYTES,
	       "header fits");

/* Unwind tables of the process, written by strata only and read by the sampler in the target, which maps
 * the file of an entry read-only when a stack first passes through it. Entries are never moved or reused;
 * `count` is stored (release) after the entry. Of two live entries that hold an address the later counts. */
struct st_shm_module {
	uint64_t start, end; /* addresses in the target */
	uint64_t bias; /* address less the address that the table knows (ELF virtual address) */
	uint32_t path; /* offset in paths of a NUL-terminated name, e.g. in the cache folder */
	_Atomic uint32_t state; /* enum st_module_state */
};

enum st_module_state {
	ST_MODULE_READY = 1,
	ST_MODULE_GONE = 2,	/* unmapped: addresses in it mean nothing any more */
	ST_MODULE_NO_TABLE = 3, /* known, and there is nothing to unwind it with */
	/* Known, its table is being made; a later entry of the same place replaces this one. */
	ST_MODULE_PENDING = 4,
};

struct st_shm_unwind {
	_Atomic uint32_t count;
	_Atomic uint32_t generation; /* strata: +1 after any change */
	_Atomic uint32_t
		wanted; /* target: +1 when an address lies in no entry and no known anonymous code */
	uint32_t reserved;
	_Atomic uint64_t wanted_address;
	/* target: samples not taken, because the thread was inside the collector or got no slot */
	_Atomic uint64_t not_taken;
	uint64_t reserved_more[4];
	struct st_shm_module modules[ST_SHM_MODULES_MAX];
	char paths[ST_SHM_UNWIND_BYTES - 64 - ST_SHM_MODULES_MAX * sizeof(struct st_shm_module)];
};
_Static_assert(sizeof(struct st_shm_unwind) == ST_SHM_UNWIND_BYTES, "unwind area size");

/* Changed by hand with any change of this file, ring_record.h or sample_record.h. */
#define ST_SHM_LAYOUT_HASH 0x53540016u

/* Files beside the socket of STRATA_SOCK (its last byte replaced), for processes that have not said hello
 * yet and must know at once: the family is paused now; start-paused is over. */
enum { ST_FLAG_PAUSED = 'p', ST_FLAG_RESUMED = 'r' };

enum {
	ST_HELLO_PAUSED_AT_START = 1, /* paused by start-paused, not by the program's own call */
	/* A limit on file sizes or memory leaves no room for a segment: no descriptor, and no other hello. */
	ST_HELLO_NO_MEMORY = 2,
};

/* One SEQPACKET message per segment, with exactly one descriptor (none: ST_HELLO_NO_MEMORY). */
struct st_shm_hello {
	uint64_t magic;
	uint32_t layout_hash;
	uint32_t segment_index;
	uint8_t token[16]; /* STRATA_TOKEN, decoded */
	uint32_t pid;	   /* in the target's namespace; SO_PEERCRED has the one strata believes */
	uint32_t tid;
	uint64_t process_token; /* unique per process incarnation, not 0 */
	uint64_t
		parent_token; /* process_token of the nearest ancestor that said hello before the fork, or 0 */
	uint32_t inherited_strings; /* string ids 1 … n mean what they mean in that ancestor */
	uint32_t inherited_domains;
	uint32_t inherited_objects;
	uint32_t flags; /* ST_HELLO_* */
	uint64_t ticks; /* a clock pair taken at the hello */
	uint64_t mono_raw_ns;
	uint64_t segment_bytes;
};
_Static_assert(sizeof(struct st_shm_hello) == 96, "hello is a wire format");

/* A process arms its sampler: one message on the same socket, before or after its hello and again in each
 * forked child, with the descriptor of the trigger event where the rung has one. The target keeps none:
 * strata enables and disables the event, and closes it when the process is gone. */
#define ST_SHM_ARM_MAGIC 0x31304d5241545253ull /* "SRTARM01" as bytes */

enum st_sampler_rung {
	ST_RUNG_NONE = 0,	  /* nothing works: see errors */
	ST_RUNG_SIGTRAP = 1,	  /* perf event with sigtrap, inherited by later threads */
	ST_RUNG_SIGTRAP_USER = 2, /* the same, exclude_kernel: samples in the kernel are missing */
	ST_RUNG_SETSIG = 3,	  /* perf event + F_SETSIG per thread, exclude_kernel */
	ST_RUNG_THREAD_TIMER =
		4, /* timer_create(CLOCK_THREAD_CPUTIME_ID) per thread: at most CONFIG_HZ */
	ST_RUNG_PROCESS_TIMER = 5, /* setitimer(ITIMER_PROF) */
	ST_RUNG_OUTSIDE = 6,	   /* strata reads stacks from outside (-target-pid) */
	ST_RUNG_IMPORTED = 7,
};

/* What fires it. */
enum st_sampler_trigger {
	ST_TRIGGER_CPU_CLOCK = 1,
	ST_TRIGGER_CYCLES = 2,
	ST_TRIGGER_CPU_TIME = 3, /* a timer */
};

struct st_shm_arm {
	uint64_t magic;
	uint32_t layout_hash;
	uint32_t rung; /* enum st_sampler_rung */
	uint8_t token[16];
	uint32_t pid, tid; /* in the target's namespace */
	uint32_t trigger;  /* enum st_sampler_trigger */
	uint32_t flags;	   /* ST_ARM_* */
	uint64_t period_ns;
	uint64_t ticks;
	uint64_t mark;	      /* by which the target knows its triggers: sig_data of their events */
	uint64_t mono_raw_ns; /* when; strata compares it with the times of execs */
	int32_t errors
		[6]; /* errno by which each rung was refused, by enum st_sampler_rung; 0: not tried */
};
_Static_assert(sizeof(struct st_shm_arm) == 104, "arm is a wire format");

enum {
	ST_ARM_FOREIGN_HANDLER = 1, /* the program has a SIGTRAP handler of its own: a lower rung */
	ST_ARM_TRACED = 2,	    /* a tracer is attached: a lower rung */
	ST_ARM_NO_CYCLES = 4,	    /* cycles were asked for and there are none: cpu-clock */
	/* The library came too late, by ITT, to stand between the program and its signals: no samples. */
	ST_ARM_NOT_PRELOADED = 8,
	ST_ARM_GO = 16, /* Go's run time takes all signals for itself: no samples */
	/* Not a trigger: an event that is only to be held as long as the thread lives (sampler_arm.c). */
	ST_ARM_ANCHOR = 32,
	/* Threads inherit nothing: strata opens the events of those that live on (own_events.h). */
	ST_ARM_OWN_EVENTS = 64,
};

#endif
