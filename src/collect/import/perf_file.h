/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses a perf.data file: its events, what its header says about the machine, and its records. Only bytes
 * inside the file are read, whatever its lengths say.
 */
#ifndef ST_COLLECT_IMPORT_PERF_FILE_H
#define ST_COLLECT_IMPORT_PERF_FILE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "format/definitions.h"

/* Of struct perf_event_attr, what a reader of records needs. */
struct st_perf_attr {
	struct perf_event_attr event;
	struct st_text name; /* "" where the file does not say */
};

struct st_perf_build_id {
	struct st_text path;
	const uint8_t *bytes;
	uint32_t size_bytes;
};

enum { ST_PERF_ATTRS_MAX = 256 };

struct st_perf_file {
	const char *path; /* for errors */
	const uint8_t *bytes;
	size_t size_bytes;
	struct st_perf_attr attrs[ST_PERF_ATTRS_MAX];
	uint32_t attr_count;
	struct st_id_map attr_of; /* event id -> attr */
	uint64_t data_offset, data_bytes;
	bool is_pipe; /* written to a pipe: what the header says stands in records */
	/* From the features; empty when the file does not say. */
	struct st_text host, os, arch, cpu;
	struct st_text arguments[64];
	uint32_t argument_count, cpu_count;
	struct st_perf_build_id *build_ids;
	uint32_t build_id_count, build_id_capacity;
	struct st_buf unpacked; /* records that were compressed */
};

bool st_perf_is_data(const void *bytes, size_t size_bytes);
enum st_status st_perf_file_open(struct st_perf_file *file, const char *path, const uint8_t *bytes,
				 size_t size_bytes, struct st_error *err);
void st_perf_file_close(struct st_perf_file *file);

struct st_perf_header {
	uint32_t type;
	uint16_t misc, size;
};

/* A record; its body is behind the header. */
struct st_perf_record_view {
	struct st_perf_header header;
	const uint8_t *body;
	size_t body_bytes;
	uint64_t number, offset; /* in the file; of an unpacked one: of what it was packed in */
};

/* Calls each for every record in order of the file, the compressed ones unpacked. What each returns, if not
 * ST_OK, ends the walk. */
typedef enum st_status (*st_perf_visit)(void *arg, const struct st_perf_record_view *record,
					struct st_error *err);
enum st_status st_perf_file_walk(struct st_perf_file *file, st_perf_visit visit, void *arg,
				 struct st_error *err);

/* An attr record of a pipe. */
enum st_status st_perf_file_add_attr(struct st_perf_file *file, const uint8_t *bytes,
				     size_t size_bytes, struct st_error *err);
/* NULL: no event has this id. */
const struct st_perf_attr *st_perf_file_attr(const struct st_perf_file *file, uint64_t id);
const struct st_perf_build_id *st_perf_file_build_id(const struct st_perf_file *file,
						     struct st_text path);

#endif
