/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a drain, shared by the files that make it up: segment.c (mapping), drain.c (positions
 * and rounds), decode.c (the words), drain_event.c (events, callers, objects), drain_jit.c (code made at run time), drain_loss.c (what was
 * lost), drain_open.c (open slices, for a ring buffer), drain_operators.c (operators of frameworks), drain_python.c (Python functions), drain_samples.c (handler rings), drain_threads.c (names, threads that have gone), text_ids.c (labels that
 * travel in records). Nobody else includes this.
 */
#ifndef ST_COLLECT_LAUNCH_DRAIN_DRAIN_STATE_H
#define ST_COLLECT_LAUNCH_DRAIN_DRAIN_STATE_H

#include "base/map.h"
#include "collect/launch/drain/drain.h"
#include "collect/launch/drain/drain_maps.h"
#include "collect/launch/drain/stack_tree.h"
#include "format/definitions.h"
#include "format/device.h"
#include "format/event.h"
#include "format/samples.h"
#include "format/shm.h"
#include "format/slices.h"

enum {
	ST_TEXT_ID_FIRST = 1 << 20, /* ids below are the collector's own */
	ST_TEXT_IDS_MAX = 64 << 10, /* remembered at once */
	ST_TRACKS_MAX = 1 << 20,
	ST_DEFINITIONS_MAX = 1 << 20, /* per process; beyond it is no honest collector */
	/* Modules and JIT code, per process; what comes later is counted as dropped. */
	ST_CODE_BYTES_MAX = 256 << 20,
	ST_MAPS_DEFINED_MAX = 64 << 10, /* per process */
	/* A slice deeper than this is not known any more when the files before are gone. */
	ST_OPEN_DEPTH_MAX = 4096,
	ST_OPEN_TEXT_MAX = 4096,       /* longer labels of open slices: their family's */
	ST_OPEN_TEXTS_MAX = 128 << 10, /* all those of a thread together */
	/* A time this much ahead of ours is skew between processors, not a lie. */
	ST_TIME_SLACK_TICKS = 8192,
};

/* A slice that has begun and not ended; kept only for a ring buffer. */
struct st_drain_slice {
	uint32_t domain, name;
	uint32_t family;     /* name to use when text is not kept */
	uint32_t text_bytes; /* of a label that travelled in a record */
	char *text;
	uint32_t signature; /* of an operator; 0: it is none */
	uint64_t begin;
};

struct st_open_slices {
	struct st_drain_slice *entries;
	uint32_t depth, capacity;
	uint32_t too_deep;   /* open beyond ST_OPEN_DEPTH_MAX */
	uint32_t text_bytes; /* kept in entries */
};

struct st_frame_words {
	uint64_t *words; /* innermost first */
	uint32_t count, capacity;
};

/* Our side of the handler ring of one slot, from its first sample to the end of its owner. */
enum { ST_OUTER_FRAMES = 6 };
struct st_sample_reader {
	uint64_t time, first_time, owner;
	uint32_t track; /* 0: none yet */
	bool ended;
	struct st_frame_words native, python; /* of the last sample */
	uint32_t *path;			      /* nodes of the last sample, outermost first */
	uint32_t path_count, path_capacity;
	struct st_sample_encoder encoder;
	struct st_sample_encoder
		waits;	    /* from the scheduler: of the same track, later or earlier */
	uint64_t oldest_ns; /* when the first sample came into the encoder */
	uint64_t outer[ST_OUTER_FRAMES]; /* addresses of a complete stack, outermost first */
	uint32_t outer_count;
};

enum { ST_OWNERS_KEPT = 64 };

/* Which track an owner of a slot has: its rings are read one after the other. */
struct st_owner {
	uint64_t key; /* tid | generation << 32; 0: none */
	uint32_t track;
};

/* An entry of struct st_shm_unwind as we wrote it. */
struct st_module_entry {
	uint64_t start, end;
	enum st_module_state state;
	uint32_t path_offset;
	const char *path; /* the service's */
	bool is_code;	  /* a table of JIT code that nothing later has covered */
};

/* Code that a JIT compiler made, as it told us. */
enum { ST_JIT_CODES_MAX = 4096, ST_JIT_TABLES_MAX = 256 };

struct st_jit_code {
	uint64_t start, end;
	uint64_t method;
	bool is_new; /* in no table yet */
};

struct st_jit_codes {
	struct st_jit_code *codes; /* ascending, disjoint; ST_JIT_CODES_MAX, or NULL */
	uint32_t count;
	uint32_t tables; /* asked for so far */
	bool waits;	 /* some are new, the first of them since: */
	uint64_t since_ns;
};

/* Who created which thread, as the kernel told; the last of each tid. */
struct st_creator {
	uint32_t tid, creator;
	uint64_t time;
	bool gone; /* the thread was, when last looked for */
};

struct st_creators {
	struct st_creator *entries;
	uint32_t count, capacity;
	struct st_id_map entry_of; /* tid */
	uint32_t gone;		   /* entries that are */
	uint32_t lived;		   /* were left when they were last looked through */
};

/* Of threads that live. */
struct st_thread_name {
	uint32_t tid, size_bytes;
	enum st_name_source source;
	bool gone, records; /* it has a track: its name is written */
	char *text;	    /* NULL: none is known */
};

struct st_thread_names {
	struct st_thread_name *entries;
	uint32_t count, capacity;
	struct st_id_map entry_of; /* tid */
};

/* Python functions as they were described; kept only for a ring buffer. */
enum { ST_KNOWN_CODES_MAX = 64 << 10, ST_KNOWN_CODES_BYTES_MAX = 64 << 20 };

struct st_known_code {
	uint32_t id;
	uint32_t told; /* the file that has it */
	uint32_t size_bytes;
	uint8_t *record;
};

struct st_known_codes {
	struct st_known_code *entries;
	uint32_t count, capacity;
	struct st_id_map entry_of; /* id */
	uint64_t bytes;
};

/* Threads of a process that is watched from outside. */
struct st_outside_slots {
	struct st_slot_reader **slots;
	uint32_t count;
	uint64_t *words; /* of one sample */
};

/* Whose records come late: a stream of a device, or a thread by the calls it makes (drain_devices.c). */
struct st_device_key {
	enum st_track_kind kind;
	uint32_t maker;			 /* ST_DEVICE_MAKERS, of a stream or queue */
	uint32_t device, context, where; /* where: stream, tid */
};

struct st_device_name;

struct st_device_tracks {
	struct st_device_track **entries;
	uint32_t count, capacity;
	struct st_device_name *names;
	uint32_t name_count, name_capacity;
};

/* Threads whose switches are watched from outside (drain_off_cpu.c). */
struct st_off_tracks {
	struct st_off_track **entries;
	uint32_t count, capacity, free_count;
	struct st_id_map entry_of; /* tid */
};

struct st_publisher {
	struct st_module_entry *entries; /* ST_SHM_MODULES_MAX, or NULL */
	uint32_t count, paths_used;
	uint32_t wanted; /* as last seen */
};

/* Our side of one slot. */
struct st_slot_reader {
	struct st_shm_ring *ring;		/* where cuts are counted; NULL: never read */
	uint64_t sample_tail, sample_head;	/* of its handler ring */
	struct st_sample_reader *samples;	/* NULL: none now */
	struct st_owner owners[ST_OWNERS_KEPT]; /* by generation */
	uint64_t tail, head;			/* bytes; ours, the shared tail is only an output */
	uint64_t time;				/* of the previous record */
	uint64_t first_time;			/* of the present owner */
	uint32_t track;				/* 0: none yet */
	uint32_t tid;
	uint32_t text_id; /* name for the next begin that says ST_BEGIN_TEXT */
	uint32_t text_bytes;
	const void *text; /* its text, valid while its words are decoded */
	bool ended;	  /* its thread said good-bye */
	bool has_caller;  /* the next begin's is next_caller */
	uint64_t next_caller;
	uint64_t callers[ST_CALLER_SLOTS];
	struct st_frame_words stack; /* of operators: Python frames, innermost first */
	uint32_t stack_node;
	bool stack_known; /* the node is that of the frames */
	struct st_open_slices open;
	struct st_slice_encoder encoder;
	struct st_slice_encoder calls; /* of Python functions */
	uint64_t oldest_ns;	       /* when the first record came into an encoder */
	/* The ring's counters run on over all owners of the slot; what earlier owners told in the
	 * stream is theirs, the rest is the present owner's. */
	uint64_t dropped_before, unmatched_before, dropped_told, unmatched_told;
	uint64_t dropped_written, unmatched_written;
	/* Dropped events are not told in the stream: when a new owner comes, all that were counted so
	 * far are the earlier one's. */
	uint64_t events_dropped_before, events_cut_before;
	uint64_t events_dropped_written, events_cut_written;
	/* For threads that vanish: what was seen when the thread was first found gone. */
	uint64_t silent_head, gone_ticks;
	uint32_t silent_generation;
};

struct st_shm_segment {
	uint8_t *map;
	size_t size_bytes;
	uint32_t index;
	uint32_t slot_count, slot_bytes, ring_bytes, handler_bytes;
	struct st_slot_reader *slots;
};

struct st_text_ids {
	struct st_pair_map hashes; /* of the texts; the first has the id next_id - hashes.count */
	uint32_t next_id;
};

/* Definitions that are not yet handed on. */
struct st_definition_batch {
	struct st_buf records;
	uint32_t count;
	uint64_t since_ns;
};

struct st_drain {
	struct st_drain_shared *shared;
	uint32_t process;
	struct st_shm_segment *segments;
	uint32_t segment_count;
	uint64_t definitions_tail;
	uint32_t definitions_seen;
	uint64_t now; /* ticks; read after the positions of this round */
	uint64_t now_ns;
	struct st_definition_batch definitions;
	/* Of a ring buffer: those that go into the trace file, because they are not needed longer. */
	struct st_definition_batch passing;
	struct st_text_ids texts;
	uint64_t code_bytes, code_dropped;
	struct st_code_maps maps;
	uint32_t maps_defined;
	char *jitdump;	      /* path, NULL: none */
	uint64_t mapped_time; /* of the mapping that is being taken in; 0: now */
	struct st_creators creators;
	struct st_thread_names names;
	struct st_known_signatures signatures;
	struct st_device_tracks devices;
	struct st_off_tracks off_cpu;
	/* Samples. */
	struct st_outside_slots outside;
	struct st_stack_tree tree;
	uint32_t nodes_written; /* of the tree's count */
	uint64_t python_runtime, python_eval[4];
	struct st_known_codes codes;
	uint32_t file;	   /* of a ring buffer: counted from 0 */
	bool tables_ready; /* an unwind table has been published */
	struct st_publisher publisher;
	struct st_jit_codes jit;
	struct st_drain_counts counts;
	struct st_drain_counts written;
	struct st_drain_counts lost_before; /* in results before this one (st_drain_renew) */
};

static inline struct st_shm_header *st_shm_segment_header(const struct st_shm_segment *segment)
{
	return (struct st_shm_header *)segment->map;
}

static inline struct st_shm_slot *st_shm_segment_slot(const struct st_shm_segment *segment,
						      uint32_t slot)
{
	return (struct st_shm_slot *)(segment->map + sizeof(struct st_shm_header)) + slot;
}

static inline const uint64_t *st_shm_segment_ring(const struct st_shm_segment *segment,
						  uint32_t slot)
{
	return (const uint64_t *)(segment->map + ST_SHM_RINGS_OFFSET +
				  (size_t)slot * segment->slot_bytes);
}

static inline const uint64_t *st_shm_segment_handler_ring(const struct st_shm_segment *segment,
							  uint32_t slot)
{
	return st_shm_segment_ring(segment, slot) + segment->ring_bytes / sizeof(uint64_t);
}

/* segment.c */
enum st_status st_shm_segment_map(struct st_shm_segment *segment, int fd, uint64_t segment_bytes,
				  enum st_clock clock, struct st_error *err);
void st_shm_segment_unmap(struct st_shm_segment *segment);

/* decode.c: words is a private copy. What cannot be is counted, and the rest of the copy left out. */
void st_drain_decode(struct st_drain *drain, struct st_shm_segment *segment, uint32_t slot_index,
		     const uint64_t *words, size_t word_count);
void st_drain_decode_definitions(struct st_drain *drain, const uint64_t *words, size_t word_count);

/* Counts a record that cannot be. What the first one was is kept for the result. */
void st_drain_refuse(struct st_drain *drain, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What cannot be is refused and becomes now; never before `previous`. */
uint64_t st_drain_bounded_time(struct st_drain *drain, uint64_t previous, uint64_t time);
/* The track of an owner of the slot (payload of ST_EXT_THREAD; 0: nobody knows), which is defined when it is
 * new. 0: there are too many. */
uint32_t st_drain_track_of(struct st_drain *drain, struct st_slot_reader *slot, uint64_t owner,
			   uint64_t first_time);

/* drain_outside.c: the thread is gone, its number may come again. */
void st_drain_end_outside(struct st_drain *drain, uint32_t tid);
void st_outside_slots_fini(struct st_outside_slots *slots);

/* drain_samples.c */
void st_drain_decode_samples(struct st_drain *drain, struct st_slot_reader *slot,
			     const uint64_t *words, size_t word_count);
/* After a gap in the ring: what was kept of stacks is not known any more. */
void st_drain_forget_stack(struct st_drain *drain, struct st_slot_reader *slot);
void st_drain_flush_samples(struct st_drain *drain, struct st_slot_reader *slot);
/* The same, and the owner is gone. */
void st_drain_end_samples(struct st_drain *drain, struct st_slot_reader *slot);
/* New nodes of the tree become definitions. */
void st_drain_define_nodes(struct st_drain *drain);
/* Of a ring buffer: the file they stand in is closed. Everything that uses them must be flushed. */
void st_drain_forget_nodes(struct st_drain *drain);
void st_sample_reader_destroy(struct st_sample_reader *reader);

/* drain_python.c. payload is what follows the header word; false: it cannot be one. */
bool st_drain_take_code(struct st_drain *drain, const uint64_t *payload, uint32_t payload_words);
void st_drain_take_runtime(struct st_drain *drain, const uint64_t *payload); /* 5 words */
/* A new node has it: the file must. */
void st_drain_use_code(struct st_drain *drain, uint32_t id);
void st_known_codes_fini(struct st_known_codes *codes);

/* drain_creators.c: defines who created the thread of a track, if that is known. */
void st_creators_fini(struct st_creators *creators);
void st_drain_define_creator(struct st_drain *drain, uint32_t tid);
void st_drain_reap_creators(struct st_drain *drain, int pid);

/* drain_names.c: a name that is being written already, and what is known of a thread that begins to record. */
void st_drain_keep_name(struct st_drain *drain, uint32_t tid, const void *text, size_t size_bytes);
void st_drain_tell_name(struct st_drain *drain, uint32_t tid);
void st_drain_reap_names(struct st_drain *drain, int pid);

/* drain_threads.c */
bool st_drain_thread_gone(int pid, uint32_t tid);
/* What is known of threads that have gone. */
void st_drain_reap_known(struct st_drain *drain, int pid);
void st_thread_names_fini(struct st_thread_names *names);

/* drain_unwind.c: fd is taken over. */
void st_drain_want_table(struct st_drain *drain, const struct st_code_range *range, int fd,
			 const struct st_build_id *id);
void st_drain_want_vdso(struct st_drain *drain, const struct st_code_range *range);
/* What maps.gone tells. */
void st_drain_modules_gone(struct st_drain *drain);
void st_drain_look_at_wanted(struct st_drain *drain);
uint64_t st_drain_not_taken(const struct st_drain *drain);

/* drain_devices.c. False: it cannot be one. */
bool st_drain_take_device(struct st_drain *drain, const uint64_t *payload, uint32_t payload_words);
/* ST_DEFINE_DEVICE: false when it cannot be. */
bool st_drain_name_device(struct st_drain *drain, uint32_t id, const void *text, size_t size_bytes);
void st_drain_flush_devices(struct st_drain *drain, bool all);
/* In a new file, or result. */
void st_drain_renew_devices(struct st_drain *drain);
/* The track that was made for a thread before it recorded anything itself; 0: none. */
uint32_t st_drain_device_thread(struct st_drain *drain, uint32_t tid);
/* The track of a thread that has one; 0: it has none. */
uint32_t st_drain_thread_track(const struct st_drain *drain, uint32_t tid);
void st_device_tracks_fini(struct st_device_tracks *tracks);

/* drain_off_cpu.c: the track that a thread has there; the thread begins to record, and defines it from now on; 0: none. */
uint32_t st_drain_off_track(const struct st_drain *drain, uint32_t tid);
uint32_t st_drain_off_thread(struct st_drain *drain, uint32_t tid);
void st_drain_renew_off_cpu(struct st_drain *drain);
void st_drain_flush_off_cpu(struct st_drain *drain, bool all);
void st_off_tracks_fini(struct st_off_tracks *tracks);

/* drain_jit.c */
void st_drain_jit_event(struct st_drain *drain, const struct st_event *event);
/* A new table is published for these addresses: the target drops those that it overlaps. */
void st_drain_jit_covered(struct st_drain *drain, uint64_t start, uint64_t end);

/* drain.c */
void st_drain_flush_slot(struct st_drain *drain, struct st_slot_reader *slot);
void st_drain_flush_definitions(struct st_drain *drain);
/* Begins and ends a definition record in a waiting batch. */
size_t st_drain_define(struct st_drain *drain, struct st_definition_batch *batch,
		       enum st_definition_type type);
void st_drain_defined(struct st_definition_batch *batch, size_t begin);
/* Where a definition belongs that is needed no longer than the records of the file. */
struct st_definition_batch *st_drain_passing(struct st_drain *drain);
void st_drain_define_thread(struct st_drain *drain, uint32_t track, uint32_t tid,
			    uint64_t first_time);

/* drain_open.c; all of them do nothing unless there is a ring buffer. text: of a label that travelled
 * in a record, else NULL. */
void st_open_begin(struct st_drain *drain, struct st_slot_reader *slot,
		   const struct st_drain_slice *slice, const void *text);
/* The innermost of its domain, or the one below so many. */
void st_open_end(struct st_drain *drain, struct st_slot_reader *slot, uint32_t domain,
		 uint32_t left);
void st_open_clear(struct st_slot_reader *slot);
void st_open_fini(struct st_slot_reader *slot);

/* drain_event.c. payload is what follows the header word. */
void st_drain_take_event(struct st_drain *drain, struct st_slot_reader *slot,
			 const uint64_t *payload, uint32_t payload_words);
void st_drain_tell_caller(struct st_slot_reader *slot, uint32_t ring_name, uint32_t name);

/* Right before a begin: ring_name is the name in the ring, name the one that is stored. Nearly always
 * the chunk knows the caller already. */
static inline void st_drain_take_begin_caller(struct st_slot_reader *slot, uint32_t ring_name,
					      uint32_t name)
{
	if (slot->has_caller || slot->callers[ring_name % ST_CALLER_SLOTS] !=
					slot->encoder.callers[name % ST_CALLER_SLOTS])
		st_drain_tell_caller(slot, ring_name, name);
}

void st_drain_forget_callers(struct st_slot_reader *slot);
/* Whether a definition's text can be an object, or its metadata. */
bool st_drain_object_ok(uint32_t id, const void *body, size_t size_bytes);
bool st_drain_object_metadata_ok(uint32_t id, const void *body, size_t size_bytes);

/* drain_operators.c. payload is what follows the header word. */
void st_drain_take_operator(struct st_drain *drain, struct st_slot_reader *slot,
			    const uint64_t *payload, uint32_t payload_words);
void st_drain_take_memory(struct st_drain *drain, struct st_slot_reader *slot,
			  const uint64_t *payload, uint32_t payload_words);
/* Whether a definition's text can be a signature; then it is known from here on. */
bool st_drain_signature_ok(struct st_drain *drain, uint32_t id, const void *body,
			   size_t size_bytes);
/* False: it cannot be one. */
bool st_drain_define_operator_source(struct st_drain *drain, uint32_t id, const void *text,
				     size_t size_bytes);

/* drain_operator_stacks.c: the stack of the operators that come next; what it is now as a node, 0: not known. */
void st_drain_take_stack(struct st_drain *drain, struct st_slot_reader *slot,
			 const uint64_t *payload, uint32_t payload_words);
uint32_t st_drain_operator_stack(struct st_drain *drain, struct st_slot_reader *slot);
void st_drain_forget_operator_stack(struct st_slot_reader *slot);

/* drain_samples.c: frames of which only the new ones are told. False: they cannot be. */
bool st_frame_words_restore(struct st_frame_words *frames, const uint64_t *fresh,
			    uint32_t new_count, uint32_t kept);

/* drain_python_calls.c: the same of functions and what their calls have come to. */
bool st_drain_define_python_function(struct st_drain *drain, uint32_t id, const void *text,
				     size_t size_bytes);
void st_drain_take_python_calls(struct st_drain *drain, const struct st_slot_reader *slot,
				const uint64_t *payload, uint32_t payload_words);

/* drain_loss.c: at the beginning of a file of a ring buffer; and when nothing more will come. */
void st_drain_renew_loss(struct st_drain *drain);
void st_drain_last_loss(struct st_drain *drain);
/* A new thread takes the slot over; what was lost so far is the old one's. */
void st_drain_settle_loss(struct st_drain *drain, struct st_shm_segment *segment,
			  uint32_t slot_index);

/* text_ids.c: the id of a text, or 0 when there is no more; *fresh when it must be defined. */
void st_text_ids_init(struct st_text_ids *texts);
void st_text_ids_fini(struct st_text_ids *texts);
/* The texts, not the ids: those are never used again. */
void st_text_ids_forget(struct st_text_ids *texts);
uint32_t st_text_ids_get(struct st_text_ids *texts, const void *bytes, size_t size_bytes,
			 bool *fresh);

#endif
