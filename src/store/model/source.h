/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a result: its files mapped from a folder, or lying in memory (tests and fuzzing put the
 * same reader on top). Trace files are taken before definitions.strata, so that in a running result
 * every name used in what was taken is defined in what was taken.
 */
#ifndef ST_STORE_MODEL_SOURCE_H
#define ST_STORE_MODEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_notes;
struct st_result;
struct st_result_options;

struct st_source_file {
	char name[32];
	uint32_t number; /* of a trace file */
	bool exists;
	bool mapped; /* ours to unmap */
	const uint8_t *data;
	size_t size_bytes;
};

struct st_source {
	const char *path; /* borrowed */
	int dir_fd;	  /* -1: in memory only */
	struct st_source_file json, definitions;
	struct st_source_file *segments; /* ascending by number; freed by close */
	uint32_t segment_count;
	uint64_t missing_segments; /* between those that are there */
	uint32_t missing_first;	   /* before the first: gone, or dropped by a ring buffer */
	uint64_t size_bytes;	   /* of what was recorded: everything but the index */
};

/* ST_ENOTFOUND, naming what is missing, for what is not a result folder. */
enum st_status st_source_open(struct st_source *source, const char *path, struct st_notes *notes,
			      struct st_error *err);
void st_source_close(struct st_source *source);

/* st_result_open on a source that is there already; closes it in any case. */
enum st_status st_result_open_source(struct st_result **out, struct st_source *source,
				     const struct st_result_options *options, struct st_error *err);

#endif
