/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared memory between a collector inside a target process and the strata process: one sealed
 * memfd ("segment") per process, a further one for each 64 live threads more. The target creates and
 * fills it, hands it over once (struct st_shm_hello, with the descriptor in SCM_RIGHTS) and keeps no
 * descriptor. strata treats all of it as hostile.
 *
 *   offset 0                        struct st_shm_header, then st_shm_slot[slot_count]
 *   ST_SHM_HEADER_BYTES             definitions ring (segment 0 only; the space exists in every one)
 *   + ST_SHM_DEFINITIONS_BYTES      slot 0: slice ring, handler ring, flood ring; slot 1 …
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

struct st_shm_slot {
	alignas(64) _Atomic uint32_t state; /* enum st_slot_state */
	_Atomic uint32_t tid;		    /* of the owner, in the target's pid namespace */
	_Atomic uint32_t generation;	    /* +1 at each adoption */
	alignas(64) struct st_shm_ring ring[ST_RING_KINDS];
	uint8_t reserved[64];
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
	uint32_t reserved;
	_Atomic uint64_t resumed; /* strata: ticks at which it last ended a pause; 0: never */
	uint8_t reserved_more[48];
};

/* Bits of st_shm_header.notices. */
enum {
	ST_NOTICE_NO_ITT = 1,	/* `import itt` under -I or -E: not offered there */
	ST_NOTICE_NO_LINES = 2, /* a CPython whose frames are not known */
};

_Static_assert(sizeof(struct st_shm_ring) == 128, "two lines a ring");
_Static_assert(sizeof(struct st_shm_slot) == 512, "slot size is part of the layout");
_Static_assert(sizeof(struct st_shm_header) + ST_SHM_SLOTS * sizeof(struct st_shm_slot) <=
		       ST_SHM_HEADER_BYTES,
	       "header fits");

/* Changed by hand with any change of this file or of ring_record.h. */
#define ST_SHM_LAYOUT_HASH 0x53540004u

/* Files beside the socket of STRATA_SOCK (its last byte replaced), for processes that have not said hello
 * yet and must know at once: the family is paused now; start-paused is over. */
enum { ST_FLAG_PAUSED = 'p', ST_FLAG_RESUMED = 'r' };

enum { ST_HELLO_PAUSED_AT_START = 1 }; /* paused by start-paused, not by the program's own call */

/* One SEQPACKET message per segment, with exactly one descriptor. */
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

#endif
