/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the records of one followed process out of its shared memory, checks them and passes them on
 * as chunks. Nothing in that memory is trusted: positions are copied once and tested, data is copied
 * out and only the copy is parsed, and no number found there is used as an index or a size untested.
 * One thread only.
 */
#ifndef ST_COLLECT_LAUNCH_DRAIN_DRAIN_H
#define ST_COLLECT_LAUNCH_DRAIN_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/rt/clock.h"

struct st_chunk_header;
struct st_drain;
struct st_merged_frame;
struct st_table_answer;
struct st_unwind_tables;

/* Where chunks go: the store writer, or a test. */
struct st_drain_sink {
	void (*trace)(void *arg, struct st_chunk_header *header, const struct st_buf *payload);
	void (*definitions)(void *arg, uint32_t process, uint64_t time, uint32_t record_count,
			    const struct st_buf *payload);
	void *arg;
};

enum { ST_HANDLER_BUCKETS = 33 * 4 };

/* A sample that the kernel may have been in. */
struct st_kernel_ask {
	uint32_t tid;
	uint64_t pc, ticks;
};

/* A thread was off the processor. */
struct st_drain_wait {
	uint32_t tid;
	uint64_t begin; /* ticks */
	uint64_t off_ns;
	bool preempted;
};

/* The same, as it is told of every thread (format/off_cpu.h). */
struct st_drain_off {
	uint32_t tid, flags, count;
	uint64_t begin; /* ticks */
	uint64_t off_ns;
};

/* A wait that strata has seen from outside. */
struct st_drain_seen {
	uint32_t tid, kind; /* enum st_wait_kind */
	uint64_t object;
	uint64_t begin, end; /* ticks */
};

/* A sample from outside; frames as words of format/sample_record.h. */
struct st_drain_outside {
	uint32_t tid, flags;
	uint64_t ticks,
		weight_ns; /* with ST_SAMPLE_WAITING: when the wait ended, and ticks that it took */
	const uint64_t *native, *python;
	uint32_t native_count, python_count;
	uint32_t python_version;
	uint64_t eval[4];
};

struct st_drain_code { /* a Python function */
	uint32_t id, first_line, flags;
	uint32_t file_bytes, name_bytes, table_bytes;
	const void *file, *name, *table;
};

enum { ST_DRAIN_KERNEL_FRAMES_MAX = 128 };

/* What all followed processes share; caller's memory. */
struct st_drain_shared {
	struct st_drain_sink sink;
	enum st_clock clock;
	uint64_t start_ticks; /* no record is older */
	bool ring_buffer;     /* earlier files will be deleted: what is open must be known */
	struct st_unwind_tables
		*tables;     /* unwind tables of sampled processes; NULL: no samples are taken */
	uint64_t vdso_bytes; /* of our own; 0: not known */
	uint64_t *words;     /* the private copy of a ring */
	size_t words_bytes;
	uint64_t handler_runs[ST_HANDLER_BUCKETS]; /* by time, four to the octave */
	uint64_t handler_run_count, handler_limit;
	uint64_t handler_whole_ticks, handler_whole_count; /* of runs within the limit */
	uint64_t ticks_per_second;			   /* 0: not known */
	struct st_merged_frame *merged; /* room for the longest stack; NULL: no sample yet */
	struct st_buf payload;
	/* The kernel's frames that belong on a sample, innermost first; NULL: nobody watches the kernel. */
	uint32_t (*kernel_frames)(void *arg, const struct st_kernel_ask *ask,
				  const uint64_t **frames);
	void *kernel_arg;
};

void st_drain_shared_init(struct st_drain_shared *shared, const struct st_drain_sink *sink,
			  enum st_clock clock, uint64_t start_ticks);
void st_drain_shared_fini(struct st_drain_shared *shared);

/* The usual time of the handler, in ticks, of all processes together; 0: no sample yet. */
uint64_t st_drain_usual_handler(const struct st_drain_shared *shared);

struct st_drain_activity {
	uint64_t bytes;	       /* taken in this cycle */
	uint32_t fill_percent; /* of the fullest ring */
};

enum { ST_FRAMEWORK_BYTES = 48, ST_REFUSED_BYTES = 96 };

struct st_drain_counts {
	uint64_t begins, events, records;
	uint64_t operators;		    /* of the begins */
	uint32_t operator_level;	    /* enum st_operator_level as last told; 0: none */
	char framework[ST_FRAMEWORK_BYTES]; /* printable, cut */
	uint64_t dropped, unmatched_ends, no_slot, labels_cut, labels_unknown, suspect;
	char refused_first[ST_REFUSED_BYTES]; /* what the first of the suspect ones was */
	uint64_t events_dropped, events_cut;
	uint64_t callers_unknown; /* code addresses that no mapping explained */
	uint64_t open_unknown;	  /* slices too deep to be kept as open */
	uint32_t tracks;
	uint32_t notices;	    /* ST_NOTICE_* */
	uint64_t profiled;	    /* of the program's own profile functions */
	uint64_t makers_forgotten;  /* of objects to wait for */
	uint32_t resumes;	    /* __itt_resume seen */
	uint64_t first_resume_time; /* ticks */
	uint64_t samples, sample_cpu_ns, handler_ticks;
	uint64_t samples_dropped, samples_not_taken, before_tables, nodes_refused;
	uint64_t build_ns, tables_built, tables_cached; /* unwind tables */
};

enum st_status st_drain_create(struct st_drain **out, struct st_drain_shared *shared,
			       uint32_t process, struct st_error *err);
void st_drain_destroy(struct st_drain *drain);

/* Checks and maps a segment the process handed over (the descriptor stays the caller's). ST_EVERSION
 * when it is of another layout or clock. */
enum st_status st_drain_add_segment(struct st_drain *drain, int fd, uint64_t segment_bytes,
				    struct st_error *err);

/* One round: all positions first, then definitions, then records up to those positions. Chunks that
 * are full or 250 ms old are handed on. */
void st_drain_cycle(struct st_drain *drain, uint64_t now_ns, struct st_drain_activity *activity);
/* Only the definitions, and at once: for a child that inherits them. */
void st_drain_definitions(struct st_drain *drain);
/* Until nothing moves any more; then everything is handed on. */
void st_drain_rest(struct st_drain *drain, uint64_t now_ns);
/* The process has ended, or is left: waits that are open become records, up to now. After st_drain_rest. */
void st_drain_end_waits(struct st_drain *drain);
/* Of a ring buffer, before and after a new trace file is begun: hands everything on; then writes what
 * the new file needs to be understood by itself. */
void st_drain_before_file(struct st_drain *drain);
void st_drain_after_file(struct st_drain *drain);
/* A new result begins, after everything was handed on: what is counted begins anew, and threads that live are defined
 * again. Other definitions are repeated by whoever began it. */
void st_drain_renew(struct st_drain *drain);
/* The maps are wanted whatever addresses come. */
void st_drain_ask_for_maps(struct st_drain *drain);
/* Whether it met code addresses that lie in no known mapping, and may read the maps now. */
bool st_drain_wants_maps(const struct st_drain *drain);
/* Reads /proc/PID/maps and defines what is new in it. pid is that of our namespace. */
void st_drain_read_maps(struct st_drain *drain, int pid);
/* Whether code made at run time waits for an unwind table; and asks for it, with its bytes out of the process. */
bool st_drain_wants_code(const struct st_drain *drain);
void st_drain_read_code(struct st_drain *drain, int pid);
/* The kernel told of a new executable mapping of the process, at that time (CLOCK_MONOTONIC_RAW). */
struct st_new_mapping {
	uint64_t start, end, file_offset, inode;
	uint64_t mono_raw_ns, ticks;
	const char *path;
	bool early; /* before the hello, and the maps could not be read */
};
/* Whether any reading found something: the maps of a process that has just ended are empty. */
bool st_drain_has_maps(const struct st_drain *drain);
void st_drain_mapped(struct st_drain *drain, int pid, const struct st_new_mapping *mapping);
/* Who gave a thread its name; the later ones know better. */
enum st_name_source {
	ST_NAME_UNKNOWN,
	ST_NAME_POOL,	/* the library that it begins in */
	ST_NAME_KERNEL, /* prctl, pthread_setname_np */
	ST_NAME_PYTHON,
	ST_NAME_PROGRAM /* __itt_thread_set_name and the like */
};
void st_drain_name_thread(struct st_drain *drain, uint32_t tid, enum st_name_source source,
			  const void *text, size_t size_bytes);
/* Names threads of which nothing better is known by what their stacks begin in, but the main thread, pid. */
void st_drain_name_pools(struct st_drain *drain, uint32_t pid);
/* What a thread is for whose outermost frames lie in this file; NULL: not known, or, with *look_further, the next frame
 * inwards tells. */
const char *st_thread_pool(const char *path, bool *look_further);
/* Threads that record, whose name is not of a better source than this one. */
void st_drain_each_nameless(const struct st_drain *drain, enum st_name_source source,
			    void (*each)(void *arg, uint32_t tid), void *arg);
uint32_t st_drain_tracks(const struct st_drain *drain);
/* The kernel told that a thread of it created another one; both tids are those of our namespace. */
void st_drain_thread_created(struct st_drain *drain, uint32_t tid, uint32_t creator,
			     uint64_t ticks);
/* Path of the jitdump that the process writes, NULL: none was seen. */
const char *st_drain_jitdump(const struct st_drain *drain);
/* The answer to a table it asked for. */
void st_drain_table_answer(struct st_drain *drain, const struct st_table_answer *answer);
/* Loss figures that changed become definitions. */
void st_drain_write_loss(struct st_drain *drain);
/* Gives back the slots of threads that ended without a word. pid is that of our namespace; call it
 * about once a second. */
void st_drain_reap_threads(struct st_drain *drain, int pid);

/* drain_outside.c: of a process that has no shared memory. */
void st_drain_take_outside(struct st_drain *drain, const struct st_drain_outside *sample);
void st_drain_flush_outside(struct st_drain *drain);
/* drain_python.c: a code object, described once. */
void st_drain_define_code(struct st_drain *drain, const struct st_drain_code *code);

/* The scheduler told of a wait; not taken while the process is paused, nor of a thread without samples. */
void st_drain_take_wait(struct st_drain *drain, const struct st_drain_wait *wait);

/* drain_off_cpu.c: the same of every thread, in a pause too. */
void st_drain_take_off(struct st_drain *drain, const struct st_drain_off *off);
/* A wait of a thread that is watched so; its stack is told beside it (st_drain_take_outside). */
void st_drain_take_seen(struct st_drain *drain, const struct st_drain_seen *seen);
/* When the wait began, in ticks, that a thread is in by its own word; 0: it is in none. */
uint64_t st_drain_open_wait(const struct st_drain *drain, uint32_t tid);

/* drain_operators.c: what the ids of signatures of a process stand for. */
struct st_known_signature {
	uint32_t domain, name;
};
struct st_known_signatures {
	struct st_known_signature *entries; /* by id - 1 */
	uint32_t count, capacity;
};
const struct st_known_signatures *st_drain_signatures(const struct st_drain *drain);
/* A forked child goes on with those of its ancestor. False: no memory. */
bool st_drain_inherit_signatures(struct st_drain *drain, const struct st_known_signatures *from);
/* Before the drain is destroyed: children may still come. The entries are the caller's then. */
void st_drain_give_signatures(struct st_drain *drain, struct st_known_signatures *out);

void st_drain_control(struct st_drain *drain, uint32_t set, uint32_t clear);
uint32_t st_drain_control_word(const struct st_drain *drain); /* of the process, now */
/* Whether it has had records of devices. */
bool st_drain_has_devices(const struct st_drain *drain);
const struct st_drain_counts *st_drain_counts(const struct st_drain *drain);

#endif
