/* SPDX-License-Identifier: Apache-2.0
 *
 * What importers fill: processes, threads and other tracks, mapped files, names, stacks, samples and slices, all in
 * memory, and then written as a result. Calls come in time order. A failed allocation sets no_memory and does nothing.
 */
#ifndef ST_COLLECT_IMPORT_OUT_H
#define ST_COLLECT_IMPORT_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "collect/import/import.h"
#include "format/samples.h"
#include "store/key_table.h"
#include "store/text_table.h"

struct st_store_writer;

enum { ST_IMPORT_NONE = UINT32_MAX };

struct st_import_map { /* sorted by start, disjoint */
	uint64_t start, end, offset, time;
	st_string_id path, build_id;
	uint32_t module; /* for the unwinder: number + 1; 0: not looked for yet */
};

struct st_import_symbol {
	st_string_id name, module;
};

struct st_import_creator {
	uint32_t tid, creator_tid;
	uint64_t time;
};

/* Texts that a process has numbered from 1, as its records name them. */
struct st_import_ids {
	struct st_id_map of; /* number by text */
	st_string_id *texts;
	uint32_t count, capacity;
};

/* What a process says of its slices. */
struct st_import_slice_names {
	struct st_import_ids names, domains;
	struct st_import_ids signatures; /* bytes of format/operator.h */
	struct st_import_ids codes; /* of Python: file, NUL, name, NUL, first line as a decimal */
	bool has_operators, has_inputs;
	st_string_id framework;
};

struct st_import_process {
	uint32_t pid, incarnation;
	uint32_t parent; /* index, or ST_IMPORT_NONE */
	uint64_t first, end;
	bool has_end, ends_by_exec, was_forked;
	st_string_id name;
	struct st_key_table nodes;     /* (parent, kind, value); id is number + 1 */
	struct st_import_map *maps;    /* as they are now */
	struct st_import_map *history; /* as they were told */
	uint32_t map_count, map_capacity, history_count, history_capacity;
	uint32_t map_generation; /* +1 at every change */
	struct st_import_symbol *symbols;
	uint32_t symbol_count, symbol_capacity;
	struct st_id_map symbol_index; /* (name, module) */
	struct st_import_creator *creators;
	uint32_t creator_count, creator_capacity;
	uint32_t thread_count;
	uint64_t sample_count, slice_count;
	struct st_import_slice_names slices;
	uint32_t id; /* in the files; 0: not written */
};

/* One record of a track, in the order in which they are written: times never go back. */
enum st_import_op_kind {
	ST_IMPORT_BEGIN,
	ST_IMPORT_END,
	ST_IMPORT_FLOW_OUT, /* value: id; the innermost open slice is its end */
	ST_IMPORT_FLOW_IN,
	ST_IMPORT_BLOCK, /* value: bytes, below 0 when freed; address; place */
	ST_IMPORT_CALL,	 /* of a Python function, by name; calls nest among themselves */
	ST_IMPORT_RETURN,
};

struct st_import_op {
	uint64_t time, address;
	int64_t value; /* of the begin of an operator its sequence number, or -1 */
	enum st_import_op_kind kind;
	uint32_t domain, name, signature, stack;
	uint32_t place; /* ST_MEMORY_PLACE */
};

struct st_import_thread {
	uint32_t process, tid, track;
	uint64_t first, last;
	st_string_id name;
	enum st_track_kind kind;
	struct st_sample_record *samples; /* by time; weight 0: to be found out */
	uint32_t sample_count, sample_capacity;
	struct st_import_op *ops;
	uint32_t op_count, op_capacity;
	uint64_t out_since; /* left the processor then; 0: it is on it */
	bool out_preempted;
};

struct st_import_out {
	struct st_import_process *processes;
	uint32_t process_count, process_capacity;
	struct st_id_map process_of; /* pid -> the present one */
	struct st_import_thread *threads;
	uint32_t thread_count, thread_capacity;
	struct st_id_map thread_of; /* (process, tid) */
	struct st_text_table texts;
	/* For result.json; ids of texts, 0: not known. */
	st_string_id command, host, os, cpu, event, format;
	const char *type, *clock; /* of the result: "hotspots"; whose clock the times are of */
	uint32_t cpu_count;
	uint64_t nominal_ns;   /* from sample to sample; 0: not known */
	uint64_t captured_ns;  /* CLOCK_REALTIME of the last record; 0: not known */
	uint64_t wall_base_ns; /* CLOCK_REALTIME at time 0 of the file's clock; 0: not known */
	uint32_t trigger;      /* enum st_sampler_trigger */
	struct st_import_counts counts;
	bool no_memory;
};

bool st_import_out_init(struct st_import_out *out);
void st_import_out_fini(struct st_import_out *out);
st_string_id st_import_text(struct st_import_out *out, const void *bytes, size_t size_bytes);

/* The present process of a pid, made if need be; ST_IMPORT_NONE: no memory. */
uint32_t st_import_process_of(struct st_import_out *out, uint32_t pid, uint64_t time);
/* The pid goes on as another program. */
uint32_t st_import_exec(struct st_import_out *out, uint32_t pid, uint64_t time);
/* The pid begins as a copy of another. */
void st_import_fork(struct st_import_out *out, uint32_t pid, uint32_t parent_pid, uint64_t time);
void st_import_exit(struct st_import_out *out, uint32_t pid, uint64_t time);
uint32_t st_import_thread_of(struct st_import_out *out, uint32_t pid, uint32_t tid, uint64_t time);
void st_import_creator(struct st_import_out *out, uint32_t pid, const struct st_import_creator *by);
void st_import_map(struct st_import_out *out, uint32_t pid, const struct st_import_map *map);
/* The mapping that holds an address now; NULL: none. */
struct st_import_map *st_import_map_at(struct st_import_process *process, uint64_t address);
/* A made-up address that stands for a name; 0: no memory. */
uint64_t st_import_symbol(struct st_import_out *out, uint32_t process, st_string_id name,
			  st_string_id module);
/* Id of a frame below parent (0: outermost); 0: no memory. */
uint32_t st_import_node(struct st_import_out *out, uint32_t process, uint32_t parent, uint8_t kind,
			uint64_t value);
void st_import_sample(struct st_import_out *out, uint32_t thread,
		      const struct st_sample_record *sample);

/* A track of its own that is no thread of the operating system, or another row of one; ST_IMPORT_NONE: no memory. */
uint32_t st_import_track(struct st_import_out *out, uint32_t process, enum st_track_kind kind,
			 uint32_t tid);
/* The number of a text among those; 0: no memory. */
uint32_t st_import_id(struct st_import_out *out, struct st_import_ids *ids, st_string_id text);
void st_import_op(struct st_import_out *out, uint32_t thread, const struct st_import_op *op);

/* out_slices.c: the definitions of a process, and the records of a track. */
struct st_import_sink {
	struct st_import_out *out;
	struct st_store_writer *writer;
	struct st_buf records; /* definitions that are not written yet */
	uint32_t record_count, process_id;
	uint64_t first, last;
};
/* A definition of the process begins; what was gathered is written first where it is much. */
size_t st_import_define(struct st_import_sink *sink, enum st_definition_type type);
void st_import_put_text(struct st_import_sink *sink, st_string_id id);
void st_import_write_names(struct st_import_sink *sink, const struct st_import_process *process);
void st_import_write_ops(struct st_import_sink *sink, const struct st_import_thread *thread);

/* out_write.c: finds weights that are not known, then writes the folder. */
void st_import_weigh(struct st_import_out *out);
enum st_status st_import_write(struct st_import_out *out, const struct st_import_options *options,
			       const char *folder, struct st_error *err);

/* The importers. */
enum st_status st_import_perf_data(struct st_import_out *out,
				   const struct st_import_options *options, const uint8_t *bytes,
				   size_t size_bytes, struct st_error *err);
enum st_status st_import_perf_script(struct st_import_out *out, const char *bytes,
				     size_t size_bytes, struct st_error *err);
enum st_status st_import_kineto(struct st_import_out *out, const struct st_import_options *options,
				const char *bytes, size_t size_bytes, struct st_error *err);

#endif
