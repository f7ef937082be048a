// SPDX-License-Identifier: Apache-2.0
//
// What is known of threads by their ids: names, which a ring buffer has to tell again in each file, and what must go
// when a thread has gone, so that a program that creates threads for ever does not make us grow.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"
#include "collect/launch/drain/clock.h"
#include "collect/launch/drain/drain_state.h"

enum { NAMES_MAX = 4096, NAME_BYTES_MAX = 4096 };

void st_thread_names_fini(struct st_thread_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->entries[i].text);
	free(names->entries);
	memset(names, 0, sizeof(*names));
}

static struct st_thread_name *find(const struct st_thread_names *names, uint32_t tid)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (names->entries[i].tid == tid)
			return &names->entries[i];
	return NULL;
}

static struct st_thread_name *add(struct st_thread_names *names, uint32_t tid)
{
	if (names->count >= NAMES_MAX || !ST_VEC_PUSH(names->entries, names->count, names->capacity,
						      (struct st_thread_name){.tid = tid}))
		return NULL;
	return &names->entries[names->count - 1];
}

void st_drain_keep_name(struct st_drain *drain, uint32_t tid, const void *text, size_t size_bytes)
{
	struct st_thread_name *name = find(&drain->names, tid);
	char *copy;

	if (!drain->shared->ring_buffer || size_bytes > NAME_BYTES_MAX)
		return;
	copy = malloc(size_bytes + 1);
	if (copy && !name)
		name = add(&drain->names, tid);
	if (!copy || !name) {
		free(copy);
		return;
	}
	memcpy(copy, text, size_bytes);
	free(name->text);
	*name = (struct st_thread_name){
		.tid = tid, .size_bytes = (uint32_t)size_bytes, .text = copy};
}

void st_drain_tell_name(struct st_drain *drain, uint32_t tid)
{
	struct st_definition_batch *batch = &drain->passing;
	const struct st_thread_name *name = find(&drain->names, tid);
	size_t record;

	if (!name)
		return;
	record = st_drain_define(drain, batch, ST_DEF_THREAD_NAME);
	st_buf_append_u32(&batch->records, tid);
	st_definition_text(&batch->records, name->text, name->size_bytes);
	st_drain_defined(batch, record);
}

bool st_drain_thread_gone(int pid, uint32_t tid)
{
	return tid == 0 || tid > INT32_MAX ||
	       (syscall(SYS_tgkill, pid, (int)tid, 0) != 0 && errno == ESRCH);
}

/* Two looks, as for slots: what a thread wrote right before its end may still come. */
static void reap_names(struct st_thread_names *names, int pid)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < names->count; i++) {
		struct st_thread_name name = names->entries[i];
		bool was_gone = name.gone;

		name.gone = st_drain_thread_gone(pid, name.tid);
		if (was_gone && name.gone)
			free(name.text);
		else
			names->entries[kept++] = name;
	}
	names->count = kept;
}

static void reap_outside(struct st_drain *drain, int pid)
{
	struct st_outside_slots *outside = &drain->outside;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < outside->count; i++) {
		struct st_slot_reader *slot = outside->slots[i];
		bool was_gone = slot->gone_ticks != 0;

		slot->gone_ticks = st_drain_thread_gone(pid, slot->tid)
					   ? st_launch_clock_now(drain->shared->clock)
					   : 0;
		if (was_gone && slot->gone_ticks) {
			st_drain_end_samples(drain, slot);
			free(slot);
		} else {
			outside->slots[kept++] = slot;
		}
	}
	outside->count = kept;
}

void st_drain_reap_known(struct st_drain *drain, int pid)
{
	reap_names(&drain->names, pid);
	st_drain_reap_creators(drain, pid);
	reap_outside(drain, pid);
}
