/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sampler's signal handler writes into the handler ring of its thread (ST_RING_HANDLER), as
 * extended records of format/ring_record.h. Stacks are written innermost frame first, and the outermost
 * frames that the previous sample of the same ring had too are left out ("kept"). The first sample
 * of an owner of the slot keeps none; it comes after ST_EXT_TIME and ST_EXT_THREAD.
 *
 * Header only: the collector links no code of format/.
 */
#ifndef ST_FORMAT_SAMPLE_RECORD_H
#define ST_FORMAT_SAMPLE_RECORD_H

#include <stdint.h>

/* Flags of a sample: in the ring, on disk and in an open result. */
enum st_sample_flag {
	ST_SAMPLE_TRUNCATED = 1, /* the native walk did not reach the thread's entry */
	ST_SAMPLE_RECOVERED = 2, /* a caller was found by scanning the stack: likely, not certain */
	ST_SAMPLE_NO_TABLE = 4,	 /* truncated because an unwind table was not there (yet) */
	ST_SAMPLE_PYTHON_CUT = 8,	   /* Python frames beyond the depth limit, or unreadable */
	ST_SAMPLE_PYTHON_TOP_UNKNOWN = 16, /* the innermost Python frame was being made or unmade */
	/* Native evaluation frames and Python entries do not tally (collect/launch/drain/merge.h): either stack is
	 * wrong, or the program switches stacks; where the Python frames stand is likely, not certain. */
	ST_SAMPLE_MISMATCH = 32,
	ST_SAMPLE_NO_STACK = 64, /* stacks were not asked for: the leaf only */
	ST_SAMPLE_HOLDS_GIL = 128,
	ST_SAMPLE_KERNEL = 256,		/* the innermost frames are the kernel's */
	ST_SAMPLE_WEIGHT_NOMINAL = 512, /* the period, not a measured time */
	ST_SAMPLE_APPROXIMATE = 1024,	/* Python frames were read from outside, a moment later */
	ST_SAMPLE_DEPTH_CUT = 2048,	/* more native frames than the depth limit */
	/* What the thread did: 0 ran; these come from the scheduler and weigh wall time, not CPU time. */
	ST_SAMPLE_WAITING = 4096,
	ST_SAMPLE_RUNNABLE = 8192, /* preempted */
	/* From outside: the thread went on before its Python frames were read, so that they are left out. */
	ST_SAMPLE_PYTHON_LATE = 16384,
};

/* With ST_SAMPLE_WAITING: the stack of a wait that has just ended, and word 1 = ticks that it took. Otherwise:
 * ST_EXT_SAMPLE: word 0 = st_word_sample(); word 1 = CPU time in ns (u32) since the previous sample was begun
 * | ticks that the handler took in it << 32; then the new native frames (word: address; bit 63 = ST_FRAME_WORD_RECOVERED: found by a
 * scan), innermost first: the first is the interrupted pc, the others are return addresses, or, with
 * bit 62, an interrupted pc again (a signal frame); then the new Python frames, innermost first. */
#define ST_FRAME_WORD_RECOVERED (1ull << 63)
#define ST_FRAME_WORD_EXACT (1ull << 62)
enum { ST_SAMPLE_FRAMES_MAX = 4095 };

struct st_sample_counts {
	uint32_t native_new, native_kept, python_new, python_kept; /* <= ST_SAMPLE_FRAMES_MAX */
};

static inline uint64_t st_word_sample(uint32_t flags, const struct st_sample_counts *counts)
{
	return (uint64_t)(flags & 0xffff) | (uint64_t)counts->native_new << 16 |
	       (uint64_t)counts->native_kept << 28 | (uint64_t)counts->python_new << 40 |
	       (uint64_t)counts->python_kept << 52;
}

/* A Python frame is one word: code id (u32) | position << 32 (24 bits) | ST_PYTHON_FRAME_* << 56. The position
 * is f_lasti in its own unit (bytes up to 3.9, code units of 2 bytes from 3.10 on). Code 0: too many code objects. */
enum {
	ST_PYTHON_FRAME_ENTRY = 1, /* outermost one of its native evaluation frame */
	/* No frame, only the place of one: of a native evaluation frame whose Python frame has not begun or is
	 * gone. With ENTRY, code 0. */
	ST_PYTHON_FRAME_EMPTY = 2,
};
enum { ST_PYTHON_POSITION_NONE = 0xffffff };

static inline uint64_t st_word_python_frame(uint32_t code, uint32_t position, uint32_t flags)
{
	return code | (uint64_t)(position & 0xffffff) << 32 | (uint64_t)flags << 56;
}

/* ST_EXT_PYTHON_CODE, before the first sample of this ring that uses an id which this thread defined; another
 * thread's ring may use it earlier. word 0 = id | first line << 32; word 1 = file bytes | name bytes << 32;
 * word 2 = line table bytes | ST_PYTHON_CODE_* << 32; then file, (qualified) name and line table, each padded to
 * words. Ids are of the process, counted up from 1; texts are UTF-8. */
enum { ST_PYTHON_CODE_TABLE_CUT = 1, ST_PYTHON_CODE_TEXT_CUT = 2 };

/* ST_EXT_PYTHON_RUNTIME, before the first sample with Python frames of each thread's ring: word 0 = PY_VERSION_HEX | flags << 32;
 * then start and end of the evaluation function, start and end of its cold part (0: none). */
enum { ST_PYTHON_FREE_THREADED = 1 };

#endif
