/* SPDX-License-Identifier: Apache-2.0
 *
 * Four arrays, one of them current. A reader counts itself into the current one; a writer, of which there is one
 * at a time, fills an array that nobody reads, and gives up when there is none. Tables are mapped a few
 * at a time and stay mapped: entries are never reused, and another thread may be walking by them.
 */
#include "collect/inproc/sampler/sampler_modules.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/rt/syscall.h"
#include "collect/inproc/sampler/sampler_state.h"
#include "unwind/rt/table.h"

enum {
	BUFFERS = 4,
	MAPS_PER_SAMPLE = 16,
	TABLE_BYTES_MAX = 1 << 30,
};

/* In tables[]: not a table, and never will be. */
#define NO_TABLE ((const struct st_unwind_table *)1)

struct buffer {
	_Atomic uint32_t readers;
	uint32_t count;
	uint32_t seen; /* entries of strata's array that are in */
	uint32_t unmapped;
	uint32_t serial;
	struct st_unwind_module modules[ST_SHM_MODULES_MAX];
	uint16_t entry[ST_SHM_MODULES_MAX]; /* of strata's array */
};

static struct modules {
	_Atomic uint32_t lock;
	_Atomic uint32_t current; /* buffer + 1; 0: none yet */
	uint32_t serial;
	_Atomic uint32_t taken; /* generation of strata's array that the current buffer shows */
	const struct st_unwind_table *tables[ST_SHM_MODULES_MAX]; /* by entry; NULL: not tried */
	struct buffer buffers[BUFFERS];
} * state;

bool st_modules_init(void)
{
	state = st_map_wiped((sizeof(*state) + 4095) & ~4095ul);
	return state != NULL;
}

static struct st_shm_unwind *published(void)
{
	return (struct st_shm_unwind *)((char *)st_header() + ST_SHM_HEADER_BYTES +
					ST_SHM_DEFINITIONS_BYTES);
}

static uint32_t state_of(const struct st_shm_unwind *from, uint32_t entry)
{
	return atomic_load_explicit(&from->modules[entry].state, memory_order_acquire);
}

static const struct st_unwind_table *map_file(const char *path)
{
	const struct st_unwind_table *table = NULL;
	struct stat status;
	long fd = st_above_standard(
		st_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
	long at;

	if (fd < 0)
		return NULL;
	if (!st_syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) &&
	    S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size < TABLE_BYTES_MAX) {
		size_t size_bytes = (size_t)status.st_size;

		at = st_syscall(SYS_mmap, 0, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (!st_syscall_failed(at)) {
			/* A forked child has to map its own: it does not know about these. */
			st_syscall(SYS_madvise, at, size_bytes, MADV_DONTFORK);
			st_syscall(SYS_madvise, at, size_bytes, MADV_DONTDUMP);
			table = st_unwind_table_check((const void *)at, size_bytes);
			if (!table)
				st_syscall(SYS_munmap, at, size_bytes);
		}
	}
	st_syscall(SYS_close, fd);
	return table;
}

/* Mappings of one file have one path, and one table. */
static const struct st_unwind_table *table_of(const struct st_shm_unwind *from, uint32_t entry,
					      uint32_t seen)
{
	uint32_t path = from->modules[entry].path;
	const struct st_unwind_table *table = NULL;

	for (uint32_t i = 0; i < seen && !table; i++)
		if (from->modules[i].path == path && state->tables[i])
			table = state->tables[i];
	if (!table && path < sizeof(from->paths))
		table = map_file(from->paths + path);
	return table ? table : NO_TABLE;
}

static const struct st_unwind_table *ready(uint32_t entry)
{
	const struct st_unwind_table *table = state->tables[entry];

	return table == NO_TABLE ? NULL : table;
}

/* Where an address is or would be: the first module that ends behind it. */
static uint32_t place(const struct st_unwind_module *modules, uint32_t count, uint64_t address)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (modules[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A later entry replaces whatever it overlaps. */
static void insert(struct buffer *to, const struct st_shm_module *module, uint32_t entry)
{
	uint32_t at = place(to->modules, to->count, module->start), end = at;
	size_t behind;

	if (module->start >= module->end)
		return;
	while (end < to->count && to->modules[end].start < module->end)
		end++;
	if (to->count - (end - at) >= ST_SHM_MODULES_MAX)
		return;
	behind = to->count - end;
	memmove(&to->modules[at + 1], &to->modules[end], behind * sizeof(*to->modules));
	memmove(&to->entry[at + 1], &to->entry[end], behind * sizeof(*to->entry));
	to->modules[at] =
		(struct st_unwind_module){module->start, module->end, module->bias, ready(entry)};
	to->entry[at] = (uint16_t)entry;
	to->count = to->count - (end - at) + 1;
}

static void copy_live(struct buffer *to, const struct buffer *from,
		      const struct st_shm_unwind *shared)
{
	to->count = 0;
	to->seen = from ? from->seen : 0;
	for (uint32_t i = 0; from && i < from->count; i++) {
		if (state_of(shared, from->entry[i]) == ST_MODULE_GONE)
			continue;
		to->modules[to->count] = from->modules[i];
		to->modules[to->count].table = ready(from->entry[i]);
		to->entry[to->count++] = from->entry[i];
	}
}

static struct buffer *free_buffer(uint32_t current)
{
	for (uint32_t i = 0; i < BUFFERS; i++)
		/* Pairs with the release in st_modules_release: its reads are over. */
		if (i + 1 != current &&
		    !atomic_load_explicit(&state->buffers[i].readers, memory_order_acquire))
			return &state->buffers[i];
	return NULL;
}

/* Maps what is ready and not yet mapped, up to the limit; the number of those left. */
static uint32_t map_some(struct buffer *to, const struct st_shm_unwind *shared)
{
	uint32_t left = 0, done = 0;

	for (uint32_t i = 0; i < to->count; i++) {
		uint32_t entry = to->entry[i];

		if (state->tables[entry] || state_of(shared, entry) != ST_MODULE_READY)
			continue;
		if (done++ < MAPS_PER_SAMPLE)
			state->tables[entry] = table_of(shared, entry, to->seen);
		else
			left++;
		to->modules[i].table = ready(entry);
	}
	return left;
}

static void rebuild(uint32_t generation)
{
	const struct st_shm_unwind *shared = published();
	uint32_t current = atomic_load_explicit(&state->current, memory_order_relaxed);
	struct buffer *to = free_buffer(current);
	uint32_t count;

	if (!to)
		return;
	copy_live(to, current ? &state->buffers[current - 1] : NULL, shared);
	/* Pairs with strata's release: entries before the count. */
	count = atomic_load_explicit(&shared->count, memory_order_acquire);
	if (count > ST_SHM_MODULES_MAX)
		count = ST_SHM_MODULES_MAX;
	for (; to->seen < count; to->seen++)
		if (state_of(shared, to->seen) != ST_MODULE_GONE)
			insert(to, &shared->modules[to->seen], to->seen);
	to->unmapped = map_some(to, shared);
	to->serial = ++state->serial;
	/* Not up to date while tables are left: the next sample goes on. */
	atomic_store_explicit(&state->taken, to->unmapped ? generation - 1 : generation,
			      memory_order_relaxed);
	/* Pairs with the acquire of readers. */
	atomic_store_explicit(&state->current, (uint32_t)(to - state->buffers) + 1,
			      memory_order_release);
}

static void bring_up_to_date(void)
{
	uint32_t generation = atomic_load_explicit(&published()->generation, memory_order_acquire);

	if (atomic_load_explicit(&state->taken, memory_order_relaxed) == generation ||
	    atomic_exchange_explicit(&state->lock, 1, memory_order_acquire))
		return;
	rebuild(generation);
	atomic_store_explicit(&state->lock, 0, memory_order_release);
}

void st_modules_acquire(struct st_modules_view *view)
{
	struct buffer *buffer;
	uint32_t current;

	*view = (struct st_modules_view){.buffer = BUFFERS};
	if (!state)
		return;
	bring_up_to_date();
	for (;;) {
		current = atomic_load_explicit(&state->current, memory_order_acquire);
		if (!current)
			return;
		buffer = &state->buffers[current - 1];
		atomic_fetch_add_explicit(&buffer->readers, 1, memory_order_seq_cst);
		if (atomic_load_explicit(&state->current, memory_order_seq_cst) == current)
			break;
		atomic_fetch_sub_explicit(&buffer->readers, 1, memory_order_release);
	}
	view->buffer = current - 1;
	view->modules = (struct st_unwind_modules){buffer->modules, buffer->count};
	view->generation = buffer->serial;
	view->complete = !buffer->unmapped;
}

void st_modules_release(const struct st_modules_view *view)
{
	if (view->buffer < BUFFERS)
		atomic_fetch_sub_explicit(&state->buffers[view->buffer].readers, 1,
					  memory_order_release);
}

bool st_modules_known(const struct st_modules_view *view, uint64_t address)
{
	const struct st_unwind_modules *modules = &view->modules;
	uint32_t at = place(modules->modules, modules->count, address);
	struct st_shm_unwind *shared = published();

	if (at < modules->count && modules->modules[at].start <= address)
		return true;
	/* Strata looks once for each place, not for each sample in it. */
	if (atomic_exchange_explicit(&shared->wanted_address, address, memory_order_relaxed) !=
	    address)
		atomic_fetch_add_explicit(&shared->wanted, 1, memory_order_release);
	return false;
}
