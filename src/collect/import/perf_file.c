// SPDX-License-Identifier: Apache-2.0
//
// The frame of a perf.data file (collect/import/perf_file.h): header, events, features.
#include "collect/import/perf_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "collect/import/perf_layout.h"

static const char magic[] = "PERFILE2", swapped[] = "2ELIFREP";

struct section {
	uint64_t offset, size;
};

bool st_perf_is_data(const void *bytes, size_t size_bytes)
{
	return size_bytes >= MAGIC_BYTES &&
	       (memcmp(bytes, magic, MAGIC_BYTES) == 0 || memcmp(bytes, swapped, MAGIC_BYTES) == 0);
}

static uint64_t u64_at(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static bool is_inside(const struct st_perf_file *file, const struct section *section)
{
	return section->offset <= file->size_bytes &&
	       section->size <= file->size_bytes - section->offset;
}

static struct section section_at(const uint8_t *at)
{
	return (struct section){.offset = u64_at(at), .size = u64_at(at + 8)};
}

static bool add_ids(struct st_perf_file *file, const uint8_t *bytes, uint64_t count, uint32_t attr)
{
	for (uint64_t i = 0; i < count; i++)
		if (!st_id_map_put(&file->attr_of, u64_at(bytes + 8 * i), attr))
			return false;
	return true;
}

static void read_attr(struct st_perf_attr *attr, const uint8_t *bytes, size_t size_bytes)
{
	memset(attr, 0, sizeof(*attr));
	memcpy(&attr->event, bytes,
	       size_bytes < sizeof(attr->event) ? size_bytes : sizeof(attr->event));
	attr->name = (struct st_text){"", 0};
}

enum st_status st_perf_file_add_attr(struct st_perf_file *file, const uint8_t *bytes,
				     size_t size_bytes, struct st_error *err)
{
	uint32_t attr_bytes;

	if (size_bytes < ATTR_SIZE_AT + 4)
		return st_error_set(err, ST_ECORRUPT, 0, "%s: an event is truncated", file->path);
	memcpy(&attr_bytes, bytes + ATTR_SIZE_AT, sizeof(attr_bytes));
	if (attr_bytes < ATTR_BYTES_MIN || attr_bytes > size_bytes)
		return st_error_set(err, ST_ECORRUPT, 0, "%s: invalid event of %" PRIu32 " bytes",
				    file->path, attr_bytes);
	if (file->attr_count == ST_PERF_ATTRS_MAX)
		return st_error_set(err, ST_ECORRUPT, 0, "%s: more than %d events", file->path,
				    ST_PERF_ATTRS_MAX);
	read_attr(&file->attrs[file->attr_count], bytes, attr_bytes);
	if (!add_ids(file, bytes + attr_bytes, (size_bytes - attr_bytes) / 8, file->attr_count))
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", file->path);
	file->attr_count++;
	return ST_OK;
}

static enum st_status read_attrs(struct st_perf_file *file, uint64_t attr_size,
				 const struct section *attrs, struct st_error *err)
{
	uint64_t count;

	if (!is_inside(file, attrs) || attr_size < ATTR_BYTES_MIN + SECTION_BYTES ||
	    attr_size > 4096)
		return st_error_set(err, ST_ECORRUPT, 0,
				    "%s: its event table lies outside the file", file->path);
	count = attrs->size / attr_size;
	if (!count || count > ST_PERF_ATTRS_MAX)
		return st_error_set(err, ST_ECORRUPT, 0, "%s: %" PRIu64 " events", file->path,
				    count);
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *at = file->bytes + attrs->offset + i * attr_size;
		struct section ids = section_at(at + attr_size - SECTION_BYTES);

		read_attr(&file->attrs[i], at, attr_size - SECTION_BYTES);
		if (!is_inside(file, &ids))
			return st_error_set(err, ST_ECORRUPT, 0,
					    "%s: the IDs of event %" PRIu64 " lie outside the file",
					    file->path, i);
		if (!add_ids(file, file->bytes + ids.offset, ids.size / 8, (uint32_t)i))
			return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", file->path);
	}
	file->attr_count = (uint32_t)count;
	return ST_OK;
}

/* Strings of features are padded with NULs. */
static struct st_text feature_text(struct st_cursor *at)
{
	struct st_text text = st_cursor_text(at);

	text.size_bytes = strnlen(text.bytes, text.size_bytes);
	return text;
}

static void read_arguments(struct st_perf_file *file, struct st_cursor *at)
{
	uint32_t count = st_cursor_u32(at);

	for (uint32_t i = 0; i < count && i < 64 && !at->failed; i++) {
		struct st_text text = feature_text(at);

		if (!at->failed)
			file->arguments[file->argument_count++] = text;
	}
}

static bool read_build_ids(struct st_perf_file *file, struct st_cursor *at)
{
	while (at->end - at->at >= BUILD_ID_HEAD_BYTES) {
		const uint8_t *record = at->at;
		struct st_perf_build_id id = {.bytes = record + BUILD_ID_AT, .size_bytes = 20};
		uint16_t misc, size;

		memcpy(&misc, record + 4, sizeof(misc));
		memcpy(&size, record + 6, sizeof(size));
		if (size < BUILD_ID_HEAD_BYTES || size > at->end - at->at)
			return true;
		if (misc & MISC_BUILD_ID_SIZE && record[BUILD_ID_AT + 20] <= 20)
			id.size_bytes = record[BUILD_ID_AT + 20];
		id.path.bytes = (const char *)record + BUILD_ID_HEAD_BYTES;
		id.path.size_bytes = strnlen(id.path.bytes, size - BUILD_ID_HEAD_BYTES);
		at->at += size;
		if (!ST_VEC_PUSH(file->build_ids, file->build_id_count, file->build_id_capacity,
				 id))
			return false;
	}
	return true;
}

static void read_event_names(struct st_perf_file *file, struct st_cursor *at)
{
	uint32_t count = st_cursor_u32(at), attr_bytes = st_cursor_u32(at);

	for (uint32_t i = 0; i < count && i < file->attr_count && !at->failed; i++) {
		uint32_t ids;
		struct st_text name;

		if (attr_bytes > (size_t)(at->end - at->at))
			return;
		at->at += attr_bytes;
		ids = st_cursor_u32(at);
		name = feature_text(at);
		if (at->failed || ids > (size_t)(at->end - at->at) / 8)
			return;
		at->at += (size_t)ids * 8;
		file->attrs[i].name = name;
	}
}

static bool read_feature(struct st_perf_file *file, unsigned int feature, struct st_cursor *at)
{
	switch (feature) {
	case FEATURE_BUILD_ID:
		return read_build_ids(file, at);
	case FEATURE_HOSTNAME:
		file->host = feature_text(at);
		break;
	case FEATURE_OSRELEASE:
		file->os = feature_text(at);
		break;
	case FEATURE_ARCH:
		file->arch = feature_text(at);
		break;
	case FEATURE_CPUDESC:
		file->cpu = feature_text(at);
		break;
	case FEATURE_NRCPUS:
		st_cursor_u32(at);
		file->cpu_count = st_cursor_u32(at);
		break;
	case FEATURE_CMDLINE:
		read_arguments(file, at);
		break;
	case FEATURE_EVENT_DESC:
		read_event_names(file, at);
		break;
	default:
		break;
	}
	return true;
}

/* A feature that is damaged is not known; nothing else hangs on it. */
static enum st_status read_features(struct st_perf_file *file, const uint8_t *bits,
				    struct st_error *err)
{
	struct section table = {.offset = file->data_offset + file->data_bytes};

	for (unsigned int feature = 0; feature < FEATURES_MAX; feature++) {
		struct section section;
		struct st_cursor at;

		if (!(bits[feature / 8] >> feature % 8 & 1))
			continue;
		table.size = SECTION_BYTES;
		if (!is_inside(file, &table))
			return ST_OK;
		section = section_at(file->bytes + table.offset);
		table.offset += SECTION_BYTES;
		if (!is_inside(file, &section))
			continue;
		at = (struct st_cursor){.at = file->bytes + section.offset,
					.end = file->bytes + section.offset + section.size};
		if (!read_feature(file, feature, &at))
			return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", file->path);
	}
	return ST_OK;
}

static enum st_status read_header(struct st_perf_file *file, struct st_error *err)
{
	uint64_t header_bytes = u64_at(file->bytes + 8);
	struct section attrs, data;
	enum st_status status;

	if (header_bytes == PIPE_HEADER_BYTES) {
		file->is_pipe = true;
		file->data_offset = PIPE_HEADER_BYTES;
		file->data_bytes = file->size_bytes - PIPE_HEADER_BYTES;
		return ST_OK;
	}
	if (header_bytes < FILE_HEADER_BYTES || file->size_bytes < FILE_HEADER_BYTES)
		return st_error_set(err, ST_ECORRUPT, 0, "%s: its header is truncated", file->path);
	attrs = section_at(file->bytes + HEADER_ATTRS_AT);
	data = section_at(file->bytes + HEADER_DATA_AT);
	if (!is_inside(file, &data))
		return st_error_set(err, ST_ECORRUPT, 0,
				    "%s: its records (%" PRIu64 " bytes at %" PRIu64
				    ") exceed its %zu bytes: the recording was truncated",
				    file->path, data.size, data.offset, file->size_bytes);
	file->data_offset = data.offset;
	file->data_bytes = data.size;
	/* Filled in when perf ends: a perf that was killed leaves 0. */
	if (!data.size)
		file->data_bytes = file->size_bytes - data.offset;
	status = read_attrs(file, u64_at(file->bytes + HEADER_ATTR_SIZE_AT), &attrs, err);
	if (!status && data.size)
		status = read_features(file, file->bytes + HEADER_FEATURES_AT, err);
	return status;
}

enum st_status st_perf_file_open(struct st_perf_file *file, const char *path, const uint8_t *bytes,
				 size_t size_bytes, struct st_error *err)
{
	memset(file, 0, sizeof(*file));
	file->path = path;
	file->bytes = bytes;
	file->size_bytes = size_bytes;
	file->host = file->os = file->arch = file->cpu = (struct st_text){"", 0};
	st_buf_init(&file->unpacked, UNPACKED_MAX_BYTES);
	if (size_bytes >= MAGIC_BYTES && memcmp(bytes, swapped, MAGIC_BYTES) == 0)
		return st_error_set(err, ST_EUNSUPPORTED, 0,
				    "%s was recorded on a machine with a different byte order",
				    path);
	if (size_bytes < PIPE_HEADER_BYTES || !st_perf_is_data(bytes, size_bytes))
		return st_error_set(err, ST_ECORRUPT, 0, "%s is not a perf.data file", path);
	return read_header(file, err);
}

void st_perf_file_close(struct st_perf_file *file)
{
	st_id_map_fini(&file->attr_of);
	free(file->build_ids);
	st_buf_fini(&file->unpacked);
	memset(file, 0, sizeof(*file));
}

const struct st_perf_attr *st_perf_file_attr(const struct st_perf_file *file, uint64_t id)
{
	uint32_t at = st_id_map_get(&file->attr_of, id);

	return at == ST_ID_NONE ? NULL : &file->attrs[at];
}

const struct st_perf_build_id *st_perf_file_build_id(const struct st_perf_file *file,
						     struct st_text path)
{
	for (uint32_t i = 0; i < file->build_id_count; i++) {
		const struct st_perf_build_id *id = &file->build_ids[i];

		if (id->path.size_bytes == path.size_bytes &&
		    memcmp(id->path.bytes, path.bytes, path.size_bytes) == 0)
			return id;
	}
	return NULL;
}
