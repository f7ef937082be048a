// SPDX-License-Identifier: Apache-2.0
//
// The executable mappings of a followed process: definitions, so that names can be found later, and unwind
// tables when it is sampled. News come from /proc/PID/maps and, as they happen, from the kernel's events.
#include <string.h>
#include <unistd.h>

#include "collect/launch/drain/clock.h"
#include "collect/launch/drain/drain_state.h"

static void define(struct st_drain *drain, const struct st_code_range *range, const char *path,
		   const struct st_build_id *id)
{
	uint64_t time = drain->mapped_time ? drain->mapped_time : drain->now;
	struct st_buf *out = &drain->definitions.records;
	size_t record;

	/* A process that maps and unmaps for ever must not fill the disk. */
	if (drain->maps_defined >= ST_MAPS_DEFINED_MAX)
		return;
	drain->maps_defined++;
	record = st_drain_define(drain, &drain->definitions, ST_DEF_CODE_MAP);
	st_buf_append_u64(out, range->start);
	st_buf_append_u64(out, range->end);
	st_buf_append_u64(out, range->file_offset);
	st_buf_append_u64(out, time);
	st_definition_text(out, path, strlen(path));
	st_definition_text(out, id->bytes, id->size_bytes);
	st_drain_defined(&drain->definitions, record);
}

/* "/jit-PID.dump": a page of it is mapped for execution, to be seen. */
static bool is_jitdump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t length = strlen(path);

	return name && strncmp(name, "/jit-", 5) == 0 && length > 5 &&
	       strcmp(path + length - 5, ".dump") == 0;
}

const char *st_drain_jitdump(const struct st_drain *drain)
{
	return drain->jitdump;
}

static void take_new(struct st_drain *drain, const struct st_code_range *range, int pid)
{
	const char *path = range->path_at ? drain->maps.paths + range->path_at : "//anon";
	struct st_build_id id = {.size_bytes = 0};
	int fd = -1;

	if (range->is_file && range->path_at) {
		fd = st_code_maps_open(pid, path, range->inode);
		if (fd >= 0)
			st_code_maps_file_id(fd, &id);
	} else if (!drain->shared->tables) {
		return; /* nobody asks for the names of anonymous code */
	}
	define(drain, range, path, &id);
	if (!drain->jitdump && range->is_file && is_jitdump(path))
		drain->jitdump = strdup(path);
	if (strcmp(path, "[vdso]") == 0)
		st_drain_want_vdso(drain, range);
	else if (drain->shared->tables)
		st_drain_want_table(drain, range, fd, &id);
	else if (fd >= 0)
		close(fd);
}

void st_drain_ask_for_maps(struct st_drain *drain)
{
	drain->maps.asked = true;
}

bool st_drain_wants_maps(const struct st_drain *drain)
{
	return st_code_maps_due(&drain->maps, drain->now_ns);
}

void st_drain_read_maps(struct st_drain *drain, int pid)
{
	if (!st_code_maps_read(&drain->maps, pid, drain->now_ns))
		return;
	st_drain_modules_gone(drain);
	for (uint32_t i = 0; i < drain->maps.count; i++)
		if (drain->maps.ranges[i].is_new)
			take_new(drain, &drain->maps.ranges[i], pid);
}

void st_drain_mapped(struct st_drain *drain, int pid, const struct st_new_mapping *mapping)
{
	struct st_code_range range = {.start = mapping->start,
				      .end = mapping->end,
				      .file_offset = mapping->file_offset,
				      .inode = mapping->inode};

	/* Older than what we read ourselves: it may be gone again. Before the first reading all is new. */
	if (!mapping->early && (!drain->maps.reads || mapping->mono_raw_ns <= drain->maps.read_ns))
		return;
	if (!st_code_maps_add(&drain->maps, &range, mapping->path))
		return;
	drain->now = st_launch_clock_now(drain->shared->clock);
	drain->mapped_time = mapping->ticks < drain->now ? mapping->ticks : drain->now;
	st_drain_modules_gone(drain);
	for (uint32_t i = 0; i < drain->maps.count; i++)
		if (drain->maps.ranges[i].start == mapping->start)
			take_new(drain, &drain->maps.ranges[i], pid);
	drain->mapped_time = 0;
}

bool st_drain_has_maps(const struct st_drain *drain)
{
	return drain->maps.count > 0;
}
