// SPDX-License-Identifier: Apache-2.0
//
// What threads are called. Several sources know names: a better one replaces a worse one, and a name is
// written once its thread has recorded something. A ring buffer has to tell it again in each file.
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "collect/launch/drain/drain_state.h"

enum { NAMES_MAX = 16 << 10, NAME_BYTES_MAX = 4096 };

void st_thread_names_fini(struct st_thread_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->entries[i].text);
	free(names->entries);
	st_id_map_fini(&names->entry_of);
	memset(names, 0, sizeof(*names));
}

static struct st_thread_name *find(const struct st_thread_names *names, uint32_t tid)
{
	uint32_t at = st_id_map_get(&names->entry_of, tid);

	return at == ST_ID_NONE ? NULL : &names->entries[at];
}

/* NULL: no memory. */
static struct st_thread_name *entry_for(struct st_thread_names *names, uint32_t tid)
{
	struct st_thread_name *entry = find(names, tid);

	if (entry)
		return entry;
	if (names->count >= NAMES_MAX) /* threads that have come and gone: begin anew */
		st_thread_names_fini(names);
	if (!ST_VEC_ROOM(names->entries, names->count, names->capacity) ||
	    !st_id_map_put(&names->entry_of, tid, names->count))
		return NULL;
	names->entries[names->count] = (struct st_thread_name){.tid = tid};
	return &names->entries[names->count++];
}

static void write_name(struct st_drain *drain, const struct st_thread_name *name)
{
	struct st_definition_batch *batch = st_drain_passing(drain);
	size_t record = st_drain_define(drain, batch, ST_DEF_THREAD_NAME);

	st_buf_append_u32(&batch->records, name->tid);
	st_definition_text(&batch->records, name->text, name->size_bytes);
	st_drain_defined(batch, record);
}

/* False: nothing new. */
static bool keep(struct st_thread_name *name, enum st_name_source source, const void *text,
		 size_t size_bytes)
{
	char *copy;

	if (size_bytes > NAME_BYTES_MAX || source < name->source ||
	    (name->text && name->size_bytes == size_bytes &&
	     memcmp(name->text, text, size_bytes) == 0))
		return false;
	copy = malloc(size_bytes + 1);
	if (!copy)
		return false;
	memcpy(copy, text, size_bytes);
	free(name->text);
	name->text = copy;
	name->size_bytes = (uint32_t)size_bytes;
	name->source = source;
	return true;
}

void st_drain_keep_name(struct st_drain *drain, uint32_t tid, const void *text, size_t size_bytes)
{
	struct st_thread_name *name = entry_for(&drain->names, tid);

	if (name)
		keep(name, ST_NAME_PROGRAM, text, size_bytes);
}

void st_drain_name_thread(struct st_drain *drain, uint32_t tid, enum st_name_source source,
			  const void *text, size_t size_bytes)
{
	struct st_thread_name *name = tid && size_bytes ? entry_for(&drain->names, tid) : NULL;

	if (name && keep(name, source, text, size_bytes) && name->records)
		write_name(drain, name);
}

void st_drain_tell_name(struct st_drain *drain, uint32_t tid)
{
	struct st_thread_name *name = entry_for(&drain->names, tid);

	if (!name)
		return;
	name->records = true;
	if (name->text)
		write_name(drain, name);
}

void st_drain_each_nameless(const struct st_drain *drain, enum st_name_source source,
			    void (*each)(void *arg, uint32_t tid), void *arg)
{
	for (uint32_t i = 0; i < drain->names.count; i++)
		if (drain->names.entries[i].records && drain->names.entries[i].source <= source)
			each(arg, drain->names.entries[i].tid);
}

/* Two looks, as for slots: what a thread wrote right before its end may still come. */
void st_drain_reap_names(struct st_drain *drain, int pid)
{
	struct st_thread_names *names = &drain->names;
	uint32_t kept = 0;

	st_id_map_clear(&names->entry_of);
	for (uint32_t i = 0; i < names->count; i++) {
		struct st_thread_name name = names->entries[i];
		bool was_gone = name.gone;

		name.gone = st_drain_thread_gone(pid, name.tid);
		if (was_gone && name.gone) {
			free(name.text);
			continue;
		}
		(void)st_id_map_put(&names->entry_of, name.tid, kept);
		names->entries[kept++] = name;
	}
	names->count = kept;
}

/* Which library starts threads of its own, by the file that its threads begin in. */
static const struct {
	const char *part; /* of the path */
	const char *name;
} pools[] = {
	{"/libgomp", "OpenMP worker"}, {"/libiomp", "OpenMP worker"},
	{"/libomp", "OpenMP worker"},  {"openblas", "OpenBLAS worker"},
	{"/libblis", "BLIS worker"},   {"/libmkl", "MKL worker"},
	{"/libtbb", "TBB worker"},     {"/libtorch", "PyTorch thread"},
	{"/libc10", "PyTorch thread"}, {"tensorflow", "TensorFlow thread"},
	{"/jaxlib/", "XLA thread"},    {"/libarrow", "Arrow worker"},
	{"/libnccl", "NCCL thread"},   {"/libcuda", "CUDA thread"},
};
/* What stands below the first function of a thread. */
static const char *const starters[] = {"/libc.so",  "/libc-",	  "/libpthread",
				       "/ld-linux", "/libstdc++", "/libstrata"};

static const char *path_at(const struct st_code_maps *maps, uint64_t address)
{
	uint32_t at = ST_SEARCH(i, 0, maps->count, maps->ranges[i].end <= address);

	if (at == maps->count || maps->ranges[at].start > address || !maps->ranges[at].path_at)
		return NULL;
	return maps->paths + maps->ranges[at].path_at;
}

static bool is_starter(const char *path)
{
	for (size_t i = 0; i < sizeof(starters) / sizeof(*starters); i++)
		if (strstr(path, starters[i]))
			return true;
	return false;
}

const char *st_thread_pool(const char *path, bool *look_further)
{
	*look_further = is_starter(path);
	for (size_t i = 0; !*look_further && i < sizeof(pools) / sizeof(*pools); i++)
		if (strstr(path, pools[i].part))
			return pools[i].name;
	return NULL;
}

static const char *pool_of(const struct st_drain *drain, const struct st_sample_reader *reader)
{
	bool further = true;
	const char *name = NULL;

	for (uint32_t i = 0; further && i < reader->outer_count; i++) {
		const char *path = path_at(&drain->maps, reader->outer[i]);

		if (!path)
			return NULL;
		name = st_thread_pool(path, &further);
	}
	return name;
}

static void name_pool(struct st_drain *drain, const struct st_slot_reader *slot, uint32_t pid)
{
	uint32_t tid = slot->samples && slot->samples->track ? (uint32_t)slot->samples->owner : 0;
	const struct st_thread_name *known = tid ? find(&drain->names, tid) : NULL;
	const char *name;

	if (!known || known->text || tid == pid)
		return;
	name = pool_of(drain, slot->samples);
	if (name)
		st_drain_name_thread(drain, tid, ST_NAME_POOL, name, strlen(name));
}

void st_drain_name_pools(struct st_drain *drain, uint32_t pid)
{
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t j = 0; j < drain->segments[i].slot_count; j++)
			name_pool(drain, &drain->segments[i].slots[j], pid);
	for (uint32_t i = 0; i < drain->outside.count; i++)
		name_pool(drain, drain->outside.slots[i], pid);
}
