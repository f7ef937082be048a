// SPDX-License-Identifier: Apache-2.0
//
// Read again whenever an address is in no known mapping: a file that is loaded later shows up with its first
// sample. Mappings that went away stay known until something else takes their place.
#include "collect/host/outside_maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/search.h"
#include "base/vec.h"
#include "base/rt/clock.h"
#include "unwind/cache.h"
#include "unwind/elf_view.h"

enum { LINE_BYTES = 4608, MODULES_MAX = 16 << 10, VDSO_MAX_BYTES = 64 << 10 };

struct line {
	uint64_t start, end, offset;
	bool executable;
	char path[4096];
};

bool st_outside_read(pid_t pid, uint64_t address, void *out, size_t size_bytes)
{
	struct iovec local = {out, size_bytes};
	struct iovec remote = {(void *)(uintptr_t)address, size_bytes};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size_bytes;
}

void st_outside_path(pid_t pid, const char *path, char *out, size_t out_size)
{
	if (snprintf(out, out_size, "/proc/%d/root%s", (int)pid, path) >= (int)out_size)
		out[0] = '\0';
	if (access(out, R_OK) != 0)
		snprintf(out, out_size, "%s", path);
}

enum st_status st_outside_maps_init(struct st_outside_maps *maps, pid_t pid, struct st_error *err)
{
	*maps = (struct st_outside_maps){.pid = pid};
	return st_unwind_cache_open(&maps->folder, NULL, err);
}

void st_outside_maps_fini(struct st_outside_maps *maps)
{
	for (uint32_t i = 0; i < maps->table_count; i++)
		st_unwind_unmap(maps->tables[i]);
	free(maps->tables);
	free(maps->modules);
	st_unwind_cache_close(maps->folder);
}

/* "start-end rwxp offset dev inode   path"; false for a line that is none. */
static bool parse_line(char *text, struct line *out)
{
	char *at = text, *end;

	out->start = strtoull(at, &end, 16);
	if (*end != '-')
		return false;
	out->end = strtoull(end + 1, &end, 16);
	if (*end != ' ' || strlen(end) < 6 || out->end <= out->start)
		return false;
	out->executable = end[3] == 'x';
	out->offset = strtoull(end + 6, &end, 16);
	for (int fields = 0; fields < 2 && *end; fields++) { /* device, inode */
		end += strspn(end, " ");
		end += strcspn(end, " \n");
	}
	end += strspn(end, " ");
	snprintf(out->path, sizeof(out->path), "%.*s", (int)strcspn(end, "\n"), end);
	return true;
}

static bool keep_table(struct st_outside_maps *maps, const struct st_unwind_table *table)
{
	return ST_VEC_PUSH(maps->tables, maps->table_count, maps->table_capacity, table);
}

/* The table of a mapping, or NULL; *bias with it. */
static const struct st_unwind_table *find_table(struct st_outside_maps *maps,
						const struct line *line, uint64_t *bias)
{
	static uint8_t vdso[VDSO_MAX_BYTES];
	char path[ST_OUTSIDE_PATH_BYTES];
	struct st_unwind_found found;
	struct st_unwind_want want = {
		.path = path, .start = line->start, .file_offset = line->offset};
	const struct st_unwind_table *table;

	if (strcmp(line->path, "[vdso]") == 0) {
		want.memory_bytes = (size_t)(line->end - line->start);
		want.memory = vdso;
		if (want.memory_bytes > sizeof(vdso) ||
		    !st_outside_read(maps->pid, line->start, vdso, want.memory_bytes))
			return NULL;
		snprintf(path, sizeof(path), "[vdso]");
	} else {
		st_outside_path(maps->pid, line->path, path, sizeof(path));
	}
	if (st_unwind_cache_get(maps->folder, &want, &found, NULL))
		return NULL;
	maps->built += found.built;
	maps->cached += !found.built;
	maps->build_ns += found.build_ns;
	table = st_unwind_map(found.path);
	if (table && !keep_table(maps, table)) {
		st_unwind_unmap(table);
		table = NULL;
	}
	*bias = found.bias;
	return table;
}

static void tell(struct st_outside_maps *maps, const struct line *line)
{
	struct st_outside_map map = {.start = line->start,
				     .end = line->end,
				     .file_offset = line->offset,
				     .mono_raw_ns = st_clock_mono_raw_ns(),
				     .path = line->path};
	struct st_elf_view view;
	char path[ST_OUTSIDE_PATH_BYTES];
	bool open = false;

	if (!maps->each)
		return;
	if (line->path[0] == '/') {
		st_outside_path(maps->pid, line->path, path, sizeof(path));
		open = st_elf_view_open(&view, path, NULL) == ST_OK;
	}
	if (open) {
		map.build_id = view.build_id;
		map.build_id_bytes = view.build_id_bytes;
	}
	maps->each(maps->arg, &map);
	if (open)
		st_elf_view_close(&view);
}

static bool same(const struct st_unwind_module *module, const struct line *line)
{
	return module->start == line->start && module->end == line->end;
}

/* Index of the first module that ends behind start. */
static uint32_t place_of(const struct st_outside_maps *maps, uint64_t start)
{
	return ST_SEARCH(i, 0, maps->count, maps->modules[i].end <= start);
}

static void add(struct st_outside_maps *maps, const struct line *line)
{
	uint32_t at = place_of(maps, line->start), over = 0;
	struct st_unwind_module module = {.start = line->start, .end = line->end};

	if (at < maps->count && same(&maps->modules[at], line))
		return;
	while (at + over < maps->count && maps->modules[at + over].start < line->end)
		over++;
	if (!over && (maps->count >= MODULES_MAX ||
		      !ST_VEC_ROOM(maps->modules, maps->count, maps->capacity)))
		return;
	module.table = find_table(maps, line, &module.bias);
	memmove(&maps->modules[at + 1], &maps->modules[at + over],
		(maps->count - at - over) * sizeof(module));
	maps->modules[at] = module;
	maps->count = maps->count + 1 - over;
	maps->generation++;
	tell(maps, line);
}

bool st_outside_maps_read(struct st_outside_maps *maps)
{
	char name[64], text[LINE_BYTES];
	struct line line;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)maps->pid);
	file = fopen(name, "re");
	if (!file)
		return false;
	while (fgets(text, sizeof(text), file))
		/* Code that no file holds was made at run time; the walker knows what to do about it. */
		if (parse_line(text, &line) && line.executable && line.path[0] &&
		    line.start < UINT64_C(1) << 63)
			add(maps, &line);
	fclose(file);
	return true;
}

bool st_outside_maps_knows(const struct st_outside_maps *maps, uint64_t address)
{
	uint32_t at = place_of(maps, address);

	return at < maps->count && maps->modules[at].start <= address;
}
