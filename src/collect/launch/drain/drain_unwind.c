// SPDX-License-Identifier: Apache-2.0
//
// Publishes unwind tables to a sampled process, in its own shared memory (struct st_shm_unwind). That memory is
// the target's to spoil: what was written there is remembered here and never read back.
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/launch/drain/drain_state.h"
#include "collect/launch/drain/tables.h"

static struct st_shm_unwind *area(const struct st_drain *drain)
{
	for (uint32_t i = 0; i < drain->segment_count; i++)
		if (drain->segments[i].index == 0)
			return (struct st_shm_unwind *)(drain->segments[i].map +
							ST_SHM_HEADER_BYTES +
							ST_SHM_DEFINITIONS_BYTES);
	return NULL;
}

static void changed(struct st_shm_unwind *unwind)
{
	atomic_fetch_add_explicit(&unwind->generation, 1, memory_order_release);
}

/* Names stand once in the area; each of ours lives as long as the service. 0: no room. */
static uint32_t path_offset(struct st_publisher *publisher, struct st_shm_unwind *unwind,
			    const char *path)
{
	size_t size = strlen(path) + 1;
	uint32_t offset;

	for (uint32_t i = 0; i < publisher->count; i++)
		if (publisher->entries[i].path == path)
			return publisher->entries[i].path_offset;
	if (!publisher->paths_used)
		publisher->paths_used = 1; /* 0 is no path */
	if (size > sizeof(unwind->paths) - publisher->paths_used)
		return 0;
	offset = publisher->paths_used;
	memcpy(unwind->paths + offset, path, size);
	publisher->paths_used += (uint32_t)size;
	return offset;
}

/* Appends an entry; UINT32_MAX when there is no room. */
static uint32_t publish(struct st_drain *drain, const struct st_module_entry *entry, uint64_t bias)
{
	struct st_publisher *publisher = &drain->publisher;
	struct st_shm_unwind *unwind = area(drain);
	struct st_shm_module *module;
	uint32_t at = publisher->count;

	if (!unwind || at >= ST_SHM_MODULES_MAX)
		return UINT32_MAX;
	if (!publisher->entries)
		publisher->entries = calloc(ST_SHM_MODULES_MAX, sizeof(*publisher->entries));
	if (!publisher->entries)
		return UINT32_MAX;
	module = &unwind->modules[at];
	st_drain_jit_covered(drain, entry->start, entry->end);
	publisher->entries[at] = *entry;
	if (entry->path) {
		publisher->entries[at].path_offset = path_offset(publisher, unwind, entry->path);
		if (!publisher->entries[at].path_offset)
			return UINT32_MAX;
	}
	module->start = entry->start;
	module->end = entry->end;
	module->bias = bias;
	module->path = publisher->entries[at].path_offset;
	atomic_store_explicit(&module->state, (uint32_t)entry->state, memory_order_relaxed);
	atomic_store_explicit(&unwind->count, ++publisher->count, memory_order_release);
	changed(unwind);
	if (entry->state == ST_MODULE_READY)
		drain->tables_ready = true;
	return at;
}

static void publish_known(struct st_drain *drain, uint64_t start, uint64_t end,
			  const struct st_table_known *known)
{
	struct st_module_entry entry = {.start = start,
					.end = end,
					.state = known->ok ? ST_MODULE_READY : ST_MODULE_NO_TABLE,
					.path = known->ok ? known->path : NULL};

	publish(drain, &entry, known->bias + start);
}

static void ask(struct st_drain *drain, const struct st_code_range *range,
		struct st_table_want *want)
{
	struct st_unwind_tables *tables = drain->shared->tables;
	struct st_module_entry pending = {
		.start = range->start, .end = range->end, .state = ST_MODULE_PENDING};
	struct st_table_known known;

	if (st_tables_find(tables, &want->key, &known)) {
		if (want->fd >= 0)
			close(want->fd);
		publish_known(drain, range->start, range->end, &known);
		drain->counts.tables_cached += known.ok;
		return;
	}
	want->process = drain->process;
	want->start = range->start;
	want->request = publish(drain, &pending, 0);
	if (want->request != UINT32_MAX) {
		st_tables_ask(tables, want);
		return;
	}
	if (want->fd >= 0)
		close(want->fd);
}

void st_drain_want_table(struct st_drain *drain, const struct st_code_range *range, int fd,
			 const struct st_build_id *id)
{
	struct st_table_want want = {.fd = fd,
				     .build_id = id->bytes,
				     .build_id_bytes = id->size_bytes,
				     .key = {.file_offset = range->file_offset}};
	struct stat about;

	if (!drain->shared->tables || fd < 0)
		return;
	if (fstat(fd, &about) != 0 || about.st_size <= 0) {
		close(fd);
		return;
	}
	want.key.device = (uint64_t)about.st_dev;
	want.key.inode = (uint64_t)about.st_ino;
	want.key.size_bytes = (uint64_t)about.st_size;
	want.key.changed_ns =
		(uint64_t)about.st_mtim.tv_sec * 1000000000u + (uint64_t)about.st_mtim.tv_nsec;
	ask(drain, range, &want);
}

/* All processes of a kernel have the same one: ours stands for theirs. */
void st_drain_want_vdso(struct st_drain *drain, const struct st_code_range *range)
{
	uint64_t size = range->end - range->start;
	struct st_table_want want = {.fd = -1,
				     .memory = (const void *)getauxval(AT_SYSINFO_EHDR),
				     .memory_bytes = (size_t)size,
				     .key = {.size_bytes = size}};

	if (drain->shared->tables && want.memory && drain->shared->vdso_bytes == size)
		ask(drain, range, &want);
}

/* Nothing is said of code without a table: it is left to the scan, as if nobody had told of it. */
static void publish_code(struct st_drain *drain, const struct st_table_answer *answer)
{
	struct st_module_entry entry = {.start = answer->code_start,
					.end = answer->code_end,
					.state = ST_MODULE_READY,
					.path = answer->known.path,
					.is_code = true};

	/* A file may have been mapped in between meanwhile. */
	if (answer->known.ok && !st_code_maps_has_file(&drain->maps, entry.start, entry.end))
		publish(drain, &entry, answer->known.bias + entry.start);
}

void st_drain_table_answer(struct st_drain *drain, const struct st_table_answer *answer)
{
	const struct st_module_entry *pending;

	drain->counts.build_ns += answer->build_ns;
	drain->counts.tables_built += answer->built;
	drain->counts.tables_cached += answer->known.ok && !answer->built;
	if (answer->code_end) {
		publish_code(drain, answer);
		return;
	}
	if (answer->request >= drain->publisher.count)
		return;
	pending = &drain->publisher.entries[answer->request];
	if (pending->state == ST_MODULE_PENDING)
		publish_known(drain, pending->start, pending->end, &answer->known);
}

void st_drain_modules_gone(struct st_drain *drain)
{
	struct st_publisher *publisher = &drain->publisher;
	struct st_shm_unwind *unwind = area(drain);
	bool any = false;

	for (uint32_t i = 0; unwind && i < drain->maps.gone_count; i++) {
		const struct st_code_span *gone = &drain->maps.gone[i];

		for (uint32_t j = 0; j < publisher->count; j++) {
			struct st_module_entry *entry = &publisher->entries[j];

			if (entry->state == ST_MODULE_GONE || entry->start != gone->start ||
			    entry->end != gone->end)
				continue;
			entry->state = ST_MODULE_GONE;
			atomic_store_explicit(&unwind->modules[j].state, ST_MODULE_GONE,
					      memory_order_release);
			any = true;
		}
	}
	drain->maps.gone_count = 0;
	if (any)
		changed(unwind);
}

/* An address that the walker could not explain: one look at the maps, if we do not know better. */
void st_drain_look_at_wanted(struct st_drain *drain)
{
	struct st_shm_unwind *unwind = area(drain);
	uint32_t wanted;

	if (!drain->shared->tables || !unwind)
		return;
	wanted = atomic_load_explicit(&unwind->wanted, memory_order_acquire);
	if (wanted == drain->publisher.wanted)
		return;
	drain->publisher.wanted = wanted;
	st_code_maps_want(&drain->maps,
			  atomic_load_explicit(&unwind->wanted_address, memory_order_relaxed));
}

uint64_t st_drain_not_taken(const struct st_drain *drain)
{
	struct st_shm_unwind *unwind = area(drain);

	return unwind ? atomic_load_explicit(&unwind->not_taken, memory_order_relaxed) : 0;
}
