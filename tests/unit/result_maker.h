/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a result by hand, record by record, through the real encoder and packer, for the tests of the
 * store: in memory, or as a folder. Ticks are nanoseconds (ST_CLOCK_MONO_RAW) and count from 0 unless
 * a test changes head.
 */
#ifndef RESULT_MAKER_H
#define RESULT_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/chunk.h"
#include "format/event.h"
#include "format/samples.h"
#include "format/slices.h"
#include "store/result.h"

struct result_maker {
	struct st_file_head head;
	struct st_packer *packer;
	struct st_buf definitions, trace; /* the files */
	struct st_buf records;		  /* definitions not yet in a chunk */
	uint32_t record_count;
	uint32_t definitions_sequence, trace_sequence;
	struct st_slice_encoder slices;
	struct st_sample_encoder samples;
	const char *json; /* NULL: there is none */
};

void maker_init(struct result_maker *m); /* with file heads */
void maker_init_empty(struct result_maker *m);
void maker_heads(struct result_maker *m);
void maker_fini(struct result_maker *m);

/* Definitions; maker_define puts what was added since into one chunk of that process. */
void maker_process(struct result_maker *m, uint32_t pid, uint32_t parent, uint32_t flags,
		   uint64_t first_time);
void maker_process_as(struct result_maker *m, uint32_t pid, const char *arguments,
		      size_t arguments_bytes, const char *executable);
void maker_process_end(struct result_maker *m, uint64_t time, uint32_t how, uint32_t status);
void maker_text(struct result_maker *m, uint32_t type, uint32_t id, const char *text);
void maker_bytes(struct result_maker *m, uint32_t type, uint32_t id, const void *bytes,
		 size_t size_bytes);
void maker_numbers(struct result_maker *m, uint32_t type, const char *fields,
		   ...); /* 4 = u32, 8 = u64 */
void maker_define(struct result_maker *m, uint32_t process);

void maker_object(struct result_maker *m, uint32_t id, struct st_object_head head, const char *name,
		  const char *second);
void maker_code_event(struct result_maker *m, uint64_t time, const struct st_event *event);
void maker_code_map(struct result_maker *m, uint64_t start, uint64_t end, uint64_t file_offset,
		    const char *path);

/* Stack nodes get the ids first_id, first_id + 1 …; parents must be smaller, 0 is the empty stack. */
void maker_nodes(struct result_maker *m, uint32_t first_id, const struct st_stack_node *nodes,
		 uint32_t count);
/* The line table is that of a CPython of maker_python_runtime's version; NULL: none. */
void maker_python_code(struct result_maker *m, uint32_t id, uint32_t first_line, const char *file,
		       const char *name, const struct st_text *line_table);
void maker_python_runtime(struct result_maker *m, uint32_t version);
void maker_sampler(struct result_maker *m, uint32_t rung, uint32_t trigger, uint64_t period_ns,
		   const char *why);
void maker_thread(struct result_maker *m, uint32_t track, uint32_t tid);
void maker_thread_creator(struct result_maker *m, uint32_t tid, uint32_t creator_tid);

/* Samples: maker_sample adds one to the chunk that maker_samples then writes. */
void maker_sample(struct result_maker *m, uint64_t time, uint64_t weight_ns, uint32_t node,
		  uint32_t flags);
void maker_samples(struct result_maker *m, uint32_t process, uint32_t track);

/* Slices: m->slices is filled by the test; maker_chunk puts it into one chunk. */
void maker_chunk(struct result_maker *m, uint32_t process, uint32_t track);
void maker_raw_chunk(struct result_maker *m, struct st_chunk_header header, const void *payload,
		     size_t payload_bytes);
void maker_calibration(struct result_maker *m, uint64_t ticks, uint64_t mono_raw_ns);
void maker_end(struct result_maker *m);

/* One process (id 1, pid 100, domain 1 "d", strings 1 "a", 2 "b", 3 "c_12_3") with one thread. */
void maker_usual(struct result_maker *m);

/* Trace file 0, or another number: then those before it are gone. */
enum st_status maker_open_as(const struct result_maker *m, uint32_t number, struct st_result **out,
			     struct st_error *err);
enum st_status maker_open(const struct result_maker *m, struct st_result **out,
			  struct st_error *err);
void maker_write(const struct result_maker *m, const char *folder);

/* A fresh folder under the build folder's temporary place; removed with everything in it by remove. */
char *temporary_folder(void);
void remove_folder(const char *folder);
void write_file(const char *folder, const char *name, const void *data, size_t size_bytes);
bool has_note(const struct st_result *result, const char *part);
const char *label_name(const struct st_result *result, uint32_t row);
const char *label_domain(const struct st_result *result, uint32_t row);

#endif
