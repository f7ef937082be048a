/* SPDX-License-Identifier: Apache-2.0
 *
 * The words inside the shared rings. Not a file format: what is stored is in format/slices.h.
 *
 * A slice record is one word:   bits 0-3 kind | 4-10 domain | 11-27 name | 28-63 dt
 * An extended record is a header word:  bits 0-3 = 15 | 4-11 subkind | 12-27 words, header included |
 * 28-63 dt, followed by (words - 1) payload words. dt is the number of ticks since the previous record
 * of the same ring, from 0 at the beginning of the ring; a longer gap than 36 bits is preceded by
 * ST_EXT_TIME. Names and domains are ids of the process, defined in the definitions ring before
 * the word that uses them is published. Name 0: no name given. Ids that do not fit (domain > 126,
 * name >= 1 << 17) use ST_EXT_BEGIN / ST_EXT_END. A call of a Python function or built-in that is recorded one by one
 * (ST_WORD_CALL) has no domain; its name is that of torch's profiler. Returns (ST_WORD_RETURN) have neither, and end
 * the innermost open call. Calls lie in the order of all records, but nest among themselves only. ST_WORD_OPERATOR is
 * ST_EXT_OPERATOR without a sequence number, with the signature in place of the name and no domain.
 *
 * What a reader may rely on (from a well-behaved target):
 * - the first record of every owner of a slot is ST_EXT_THREAD, preceded by ST_EXT_TIME;
 * - an end is written if and only if its begin was, except ST_EXT_UNMATCHED_END;
 * - ends name their domain and close the innermost open slice of that domain (else the innermost).
 */
#ifndef ST_FORMAT_RING_RECORD_H
#define ST_FORMAT_RING_RECORD_H

#include <stdint.h>

enum {
	ST_WORD_BEGIN = 1,
	ST_WORD_END = 2,
	ST_WORD_CALL = 3,
	ST_WORD_RETURN = 4,
	ST_WORD_OPERATOR = 5,
	ST_WORD_EXTENDED = 15
};

enum st_ring_ext {
	ST_EXT_TIME = 1,   /* u64 absolute ticks; sets the base, dt of this word is 0 */
	ST_EXT_THREAD = 2, /* u64 tid | generation << 32: this slot now belongs to that thread */
	ST_EXT_THREAD_END = 3, /* no payload: clean end of the owner */
	ST_EXT_BEGIN = 4,      /* u64 domain | name << 32; u64 flags (ST_BEGIN_*) */
	/* u64 domain | how many open slices of the domain, the innermost ones, stay open << 32 */
	ST_EXT_END = 5,
	ST_EXT_UNMATCHED_END = 6, /* u64 domain: nothing was open */
	ST_EXT_TEXT = 7,  /* u64 byte length; text padded with zeros: the next ST_EXT_BEGIN of this
	                             ring with ST_BEGIN_TEXT has this text as its name */
	ST_EXT_LOST = 8,  /* u64 slices dropped since the previous record of this ring */
	ST_EXT_PAUSE = 9, /* no payload: this process pauses (ITT) */
	ST_EXT_RESUME = 10, /* no payload */
	ST_EXT_DETACH = 11, /* no payload */
	/* u64 kind | mask << 16 | detail << 32, then the fields of the mask (format/event_kind.h): */
	ST_EXT_EVENT = 12,
	/* u64 address: who called the next begin. Every ring has a table of ST_CALLER_SLOTS addresses, all 0
	 * at each ST_EXT_THREAD; a begin's caller is in slot name % ST_CALLER_SLOTS, and this record, which comes
	 * right before the begin (or its ST_EXT_TEXT), sets that slot. */
	ST_EXT_CALLER = 13,
	/* An operator of a framework begins: u64 signature id | (sequence number + 1) << 32, 0 = none. The signature
	 * has its domain and name (ST_DEFINE_SIGNATURE); its end is an ordinary end of that domain. It has no caller.
	 * A second word, where there is one: flags, ST_BEGIN_CLIPPED or none. */
	ST_EXT_OPERATOR = 14,
	/* The framework's allocator gave out or took back a block, on this thread: u64 address, i64 bytes, below 0
	 * when it took it back. It belongs to the innermost slice that is open. A third word, where there is one: the
	 * device that the block lies on, ST_MEMORY_PLACE. */
	ST_EXT_MEMORY = 15,
	/* What the calls of Python functions on a thread have come to since the previous record of this kind for that
	 * thread: u64 tid, u64 calls that are in no row, then for each function 5 words: id
	 * (ST_DEFINE_PYTHON_FUNCTION), calls, calls that were not recursive, ticks in itself, ticks in all. Calls that
	 * are still open have the time up to now. */
	ST_EXT_PYTHON_CALLS = 16,
	/* The Python frames of the operators that begin from here on in this ring, up to the next record of this kind:
	 * u64 new | kept << 16 | ST_SAMPLE_PYTHON_CUT << 32, then the new frames, innermost first, as in ST_EXT_SAMPLE;
	 * kept are the outermost ones of the previous such record of this ring's owner. */
	ST_EXT_STACK = 17,
	/* No payload: calls are not recorded any more. Those that are open end here, on all threads of the process. */
	ST_EXT_CALLS_STOP = 18,
	/* Something that a device did, or a call that drives one, whole: the words of format/device.h. It may be anything
	 * but of this ring's thread and time. */
	ST_EXT_DEVICE = 19,
	/* Only in handler rings (ST_RING_HANDLER), see sample_record.h; ST_EXT_TIME, _THREAD, _THREAD_END and
	 * _LOST (samples) are written there too. */
	ST_EXT_SAMPLE = 32,
	ST_EXT_PYTHON_CODE = 33,
	ST_EXT_PYTHON_RUNTIME = 34,
};

enum {
	ST_BEGIN_TEXT = 1,    /* the name is the preceding ST_EXT_TEXT; the name id is its family */
	ST_BEGIN_CLIPPED = 2, /* really began earlier, while paused: the time is the resume's */
};

enum { ST_CALLER_SLOTS = 64 };

/* First payload word of ST_EXT_EVENT. */
static inline uint64_t st_word_event(uint32_t kind, uint32_t mask, uint32_t detail)
{
	return kind | (uint64_t)mask << 16 | (uint64_t)detail << 32;
}

enum { ST_WORD_DOMAIN_MAX = 126, ST_WORD_NAME_MAX = (1 << 17) - 1 };
#define ST_WORD_DT_MAX ((1ull << 36) - 1)

static inline uint64_t st_word_slice(unsigned int kind, uint32_t domain, uint32_t name, uint64_t dt)
{
	return kind | (uint64_t)domain << 4 | (uint64_t)name << 11 | dt << 28;
}

static inline uint64_t st_word_ext(enum st_ring_ext subkind, uint32_t words, uint64_t dt)
{
	return ST_WORD_EXTENDED | (uint64_t)subkind << 4 | (uint64_t)words << 12 | dt << 28;
}

/* Definitions ring: records of whole words. First word: bits 0-7 kind | 8-31 words, header included |
 * 32-63 id. Second word: byte length of the text. Then the text, padded with zeros. */
enum st_ring_definition {
	ST_DEFINE_STRING = 1,	   /* id: name id, counted up from 1 */
	ST_DEFINE_DOMAIN = 2,	   /* id: domain id, counted up from 1 */
	ST_DEFINE_THREAD_NAME = 3, /* id: tid; the last one wins */
	ST_DEFINE_OBJECT =
		4, /* id: object id, counted up from 1; text = struct st_object_head and texts */
	ST_DEFINE_OBJECT_METADATA =
		5, /* id: object id; text = struct st_object_metadata and text */
	/* id: counted up from 1; text = format/operator.h. In a forked child the ids of its ancestor go on to mean
	 * what they meant at the fork, until it defines them itself: it may go on counting or begin anew. */
	ST_DEFINE_SIGNATURE = 6,
	/* How operators are recorded; the last one wins. id: enum st_operator_level | flags << 8; text = framework
	 * and its version, NUL, why no better level ("": it is the best) */
	ST_DEFINE_OPERATOR_SOURCE = 7,
	/* id: counted up from 1, anew in a forked child; text = u32 first line, u32 bytes of the file's name, file, name.
	 * Built-in functions have line 0, file "~" and their description as cProfile has it: "<built-in method
	 * builtins.len>". */
	ST_DEFINE_PYTHON_FUNCTION = 8,
	/* A device's name, in front of the first record of it. id: device | ST_DEVICE_ZE or _OPENCL << 16 */
	ST_DEFINE_DEVICE = 16,
};

static inline uint64_t st_word_definition(enum st_ring_definition kind, uint32_t words, uint32_t id)
{
	return (uint64_t)kind | (uint64_t)words << 8 | (uint64_t)id << 32;
}

/* STRATA_CONFIG, the knobs that travel into the target: "key=value" joined by ';', no spaces, unknown
 * keys ignored. Keys: clock=tsc|mono_raw, ring=KiB, slots=N, paused=0|1, resume_at=MONO_RAW ns (a
 * process whose first record comes later than this starts unpaused), groups=HEX (bits of ITT's groups to
 * bind), domains=PATTERNS (joined by ',', '*' and '?' as in a shell, a leading '!' excludes; every byte but
 * letters, digits and "_-.*?!" as %XX), task_lines=0|1, offer_itt=0|1 (the Python module itt),
 * result=PATH (the folder, coded as domains are; for strata.profile() in the target);
 * of operators: operators=0|1|2 (no, names, with inputs), operator_memory=0|1, operator_modules=0|1|2 (2: outermost calls),
 * operator_stacks=0|1, for
 * tests operator_level=N (none above it is tried);
 * device=0|1|2|3 (off, auto, api, graph: what CUDA did), device_chained=PATH (coded as domains are: what
 * CUDA_INJECTION64_PATH named before), device_ze=PATH (the library for Level Zero);
 * waits=TICKS (of a ms; 0: waits are not recorded), wait_stack=US (waits as long as that have their stack);
 * python_calls=TICKS (how often what was counted is told; 0: calls of Python functions are not counted);
 * of the sampler: sample_ns=PERIOD (0: no samples), sample_trigger=cpu_clock|cycles, sample_stacks=0|1,
 * sample_depth=FRAMES (native, and as many of Python), sample_rung=N (none above it is tried),
 * sample_processes=PATTERNS (as domains; of the executable's or script's last name), sample_defer=0|1 (armed at the first sample),
 * sample_own=0|1 (threads inherit no event, strata opens theirs); for tests: sample_empty=1 (the
 * handler does nothing), sample_late=1 (even when the library was not preloaded). */

/* Where a block lies, in the framework's numbers (1 is CUDA, 12 is XPU); 0 is the CPU's memory. */
#define ST_MEMORY_PLACE(type, index) ((uint32_t)(uint8_t)(type) | (uint32_t)(uint8_t)(index) << 8)
enum { ST_MEMORY_PLACE_MAX = 0xffff };

#endif
