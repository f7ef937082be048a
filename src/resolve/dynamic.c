// SPDX-License-Identifier: Apache-2.0
//
// Which files tell of dynamic code, and what they say of an address (resolve/dynamic.h). Both kinds of file
// grow as the program runs and have no end of a piece: what comes later replaces what it overlaps.
#include "resolve/dynamic.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "resolve/dynamic_state.h"
#include "resolve/jit_sites.h"
#include "store/events.h"

struct st_dynamic {
	const struct st_result *result;
	struct st_dynamic_codes codes;
	uint8_t *looked;     /* by process */
	uint32_t code_count; /* of the result: numbers of ours follow them */
	bool failed;
};

typedef bool read_file(struct st_dynamic_codes *codes, uint32_t process, const uint8_t *bytes,
		       size_t size_bytes);

struct st_dynamic *st_dynamic_create(const struct st_result *result)
{
	struct st_dynamic *dynamic = calloc(1, sizeof(*dynamic));
	uint32_t processes;

	if (!dynamic)
		return NULL;
	st_result_processes(result, &processes);
	st_result_code(result, &dynamic->code_count);
	dynamic->result = result;
	dynamic->looked = calloc((size_t)processes + 1, 1);
	if (!dynamic->looked || !st_text_table_init(&dynamic->codes.texts)) {
		st_dynamic_destroy(dynamic);
		return NULL;
	}
	return dynamic;
}

void st_dynamic_destroy(struct st_dynamic *dynamic)
{
	if (!dynamic)
		return;
	st_text_table_fini(&dynamic->codes.texts);
	st_ranges_fini(&dynamic->codes.ranges);
	free(dynamic->codes.items);
	free(dynamic->codes.lines);
	free(dynamic->looked);
	free(dynamic);
}

bool st_dynamic_add(struct st_dynamic_codes *codes, uint32_t process,
		    const struct st_dynamic_code *code)
{
	/* The order in which they are told stands for the time. */
	const struct st_range range = {.start = code->start,
				       .end = code->start + code->size_bytes,
				       .from_ns = codes->count,
				       .until_ns = INT64_MAX,
				       .process = process,
				       .index = codes->count};

	if (!code->size_bytes || range.end < range.start)
		return true;
	if (!ST_VEC_ROOM(codes->items, codes->count, codes->capacity) ||
	    !st_ranges_add(&codes->ranges, &range))
		return false;
	codes->items[codes->count++] = *code;
	return true;
}

/* Lines of "START SIZE name", both in hex. */
bool st_perf_map_read(struct st_dynamic_codes *codes, uint32_t process, const char *text,
		      size_t size_bytes)
{
	const char *end = text + size_bytes;

	while (text < end) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));
		struct st_dynamic_code code = {0};
		char number[64], *at = number;
		size_t length = (size_t)((line_end ? line_end : end) - text);
		size_t head = length < sizeof(number) - 1 ? length : sizeof(number) - 1;

		memcpy(number, text, head);
		number[head] = '\0';
		code.start = strtoull(at, &at, 16);
		code.size_bytes = *at == ' ' ? strtoull(at, &at, 16) : 0;
		if (*at == ' ' && code.size_bytes) {
			const char *name = text + (at - number) + 1;

			if (!st_text_table_add(&codes->texts, name, length - (size_t)(name - text),
					       &code.name) ||
			    !st_dynamic_add(codes, process, &code))
				return false;
		}
		text += length + 1;
	}
	return true;
}

static bool read_map(struct st_dynamic_codes *codes, uint32_t process, const uint8_t *bytes,
		     size_t size_bytes)
{
	return st_perf_map_read(codes, process, (const char *)bytes, size_bytes);
}

/* False: there is no such file. No memory is noted. */
static bool take_file(struct st_dynamic *dynamic, uint32_t process, const char *path,
		      read_file *read)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat status;
	void *bytes;

	if (fd < 0)
		return false;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
		close(fd);
		return false;
	}
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return false;
	if (!read(&dynamic->codes, process, bytes, (size_t)status.st_size))
		dynamic->failed = true;
	munmap(bytes, (size_t)status.st_size);
	return true;
}

/* Programs map a page of their jitdump for execution, to tell where it is. */
static void take_jitdump(struct st_dynamic *dynamic, uint32_t process, const char *folder,
			 uint32_t pid)
{
	uint32_t count;
	const struct st_code_map *maps = st_result_code_maps(dynamic->result, &count);
	char path[PATH_MAX], name[64];

	snprintf(name, sizeof(name), "/jit-%u.dump", pid);
	if (snprintf(path, sizeof(path), "%s%s", folder, name) < PATH_MAX &&
	    take_file(dynamic, process, path, st_jitdump_read))
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct st_text mapped = st_result_text(dynamic->result, maps[i].path);
		size_t length = strlen(name);

		if (maps[i].process == process && mapped.size_bytes > length &&
		    memcmp(mapped.bytes + mapped.size_bytes - length, name, length) == 0 &&
		    take_file(dynamic, process, mapped.bytes, st_jitdump_read))
			return;
	}
}

static void look(struct st_dynamic *dynamic, uint32_t process)
{
	const char *folder = st_result_info(dynamic->result)->path;
	uint32_t count, pid;
	char path[PATH_MAX];

	pid = st_result_processes(dynamic->result, &count)[process].pid;
	take_jitdump(dynamic, process, folder ? folder : ".", pid);
	if (snprintf(path, sizeof(path), "%s/perf-%u.map", folder ? folder : ".", pid) >=
		    PATH_MAX ||
	    !take_file(dynamic, process, path, read_map)) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
		take_file(dynamic, process, path, read_map);
	}
	st_ranges_sort(&dynamic->codes.ranges);
}

static void set_line(const struct st_dynamic *dynamic, const struct st_dynamic_code *code,
		     uint64_t address, struct st_names *names, struct st_site *site)
{
	const struct st_dynamic_codes *codes = &dynamic->codes;

	for (uint32_t i = 0; i < code->line_count; i++) {
		const struct st_dynamic_line *line = &codes->lines[code->first_line + i];
		struct st_text file = st_text_table_get(&codes->texts, line->file);

		if (line->address > address)
			break;
		site->line = line->line;
		site->source = st_names_source(names, file.bytes, file.size_bytes);
	}
}

uint32_t st_dynamic_site(struct st_dynamic *dynamic, struct st_jit_work *work, uint32_t process,
			 uint64_t address)
{
	const struct st_text no_module = {"", 0};
	const struct st_dynamic_code *code;
	const struct st_range *found;
	struct st_site site = {0};
	bool is_new;
	uint32_t at;

	if (!dynamic->looked[process]) {
		dynamic->looked[process] = 1;
		look(dynamic, process);
	}
	work->names->failed |= dynamic->failed;
	found = st_ranges_find(&dynamic->codes.ranges, process, address, INT64_MAX - 1);
	if (!found)
		return 0;
	code = &dynamic->codes.items[found->index];
	site.offset = site.address = address - code->start;
	at = st_sites_get_code(work->sites, dynamic->code_count + found->index,
			       (uint32_t)site.offset, &is_new);
	if (!is_new)
		return at;
	set_line(dynamic, code, address, work->names, &site);
	site.function = st_jit_function(
		work, no_module, st_text_table_get(&dynamic->codes.texts, code->name), site.source);
	site.module = work->names->functions[site.function].module;
	work->sites->items[at] = site;
	return at;
}
