/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampling state of threads: where it lies, how a thread comes to it in its first sample and leaves
 * it, and the settings of the process.
 */
#include "collect/inproc/sampler/sampler_state.h"

#include <string.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/choose.h"
#include "collect/inproc/python/python_frames.h"
#include "collect/inproc/sampler/sampler_signal.h"
#include "collect/inproc/sampler/sampler_trigger.h"
#include "format/sample_record.h"
#include "unwind/rt/walk.h"

struct st_sampler_settings st_sampler_settings = {
	.depth = ST_SAMPLER_DEPTH, .rung = ST_RUNG_SIGTRAP, .stacks = true};
struct st_sampling *st_sampling;

/* The handler's own pointer, because that of the collector says "busy" inside its slow paths, which are
 * sampled like any code. A thread that has left its slot is marked with `gone`. */
static __thread struct st_inproc_sampler *mine __attribute__((tls_model("initial-exec")));
static struct st_inproc_sampler gone;

static size_t page_up(size_t size_bytes)
{
	return (size_bytes + 4095) & ~(size_t)4095;
}

static size_t stack_bytes(void)
{
	return page_up(st_sampler_settings.depth * sizeof(uint64_t));
}

size_t st_sampler_stride(void)
{
	return ST_SAMPLER_HEAD_BYTES + 4 * stack_bytes() + ST_SAMPLER_SCRATCH_BYTES +
	       page_up(st_unwind_cache_bytes()) + page_up(st_python_thread_bytes());
}

uint64_t *st_sampler_native(struct st_inproc_sampler *sampler, uint32_t which)
{
	return (uint64_t *)((uint8_t *)sampler + ST_SAMPLER_HEAD_BYTES + which * stack_bytes());
}

uint64_t *st_sampler_python(struct st_inproc_sampler *sampler, uint32_t which)
{
	return st_sampler_native(sampler, which + 2);
}

void *st_sampler_scratch(struct st_inproc_sampler *sampler)
{
	return st_sampler_native(sampler, 4);
}

void *st_sampler_cache(struct st_inproc_sampler *sampler)
{
	return (uint8_t *)st_sampler_scratch(sampler) + ST_SAMPLER_SCRATCH_BYTES;
}

void *st_sampler_python_memory(struct st_inproc_sampler *sampler)
{
	return (uint8_t *)st_sampler_cache(sampler) + page_up(st_unwind_cache_bytes());
}

bool st_sampler_read(uint64_t address, void *out, size_t size_bytes)
{
	const struct {
		void *at;
		size_t size_bytes;
	} local = {out, size_bytes}, remote = {(void *)address, size_bytes};

	if (st_passive())
		return false;
	return st_syscall(SYS_process_vm_readv, st_sampling->pid, &local, 1, &remote, 1, 0) ==
	       (long)size_bytes;
}

void st_sampler_count_not_taken(void)
{
	struct st_shm_header *header = st_header();
	struct st_shm_unwind *unwind;

	if (!header) {
		atomic_fetch_add_explicit(&st_sampling->not_taken, 1, memory_order_relaxed);
		return;
	}
	unwind = (struct st_shm_unwind *)((char *)header + ST_SHM_HEADER_BYTES +
					  ST_SHM_DEFINITIONS_BYTES);
	atomic_fetch_add_explicit(
		&unwind->not_taken,
		1 + atomic_exchange_explicit(&st_sampling->not_taken, 0, memory_order_relaxed),
		memory_order_relaxed);
}

/* The cache stays: it knows addresses of the process, not of the thread. */
static void begin(struct st_inproc_sampler *sampler, const struct st_thread *thread)
{
	struct st_shm_slot *slot = thread->slot;
	const uint8_t *rings = (const uint8_t *)thread->hot.data;

	memset(sampler, 0, sizeof(*sampler));
	sampler->out.shared = &slot->ring[ST_RING_HANDLER];
	sampler->out.tid = thread->tid;
	sampler->out.generation = thread->generation;
	sampler->first = true;
	sampler->cpu_ns =
		thread->tid == st_sampling->tid ? st_sampling->arm_cpu_ns : st_phase_before_ns();
	sampler->out.hot.head_shared = &sampler->out.shared->head;
	sampler->out.hot.head =
		atomic_load_explicit(&sampler->out.shared->head, memory_order_relaxed);
	sampler->out.hot.byte_mask = ST_SHM_HANDLER_RING_BYTES - 1;
	sampler->out.hot.data = (uint64_t *)(rings + st_config.ring_bytes);
}

static struct st_inproc_sampler *attach(void)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);
	struct st_inproc_sampler *sampler;

	if (!thread)
		return NULL;
	sampler = thread->sampler;
	if (sampler)
		begin(sampler, thread);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	mine = sampler;
	return sampler;
}

struct st_inproc_sampler *st_sampler_mine(void)
{
	struct st_inproc_sampler *sampler = mine;

	if (sampler == &gone || st_tls == &st_hot_ignored)
		return NULL;
	if (!sampler || !sampler->out.hot.data) {
		sampler = attach();
		if (!sampler)
			st_sampler_count_not_taken();
	}
	return sampler;
}

bool st_sampler_has_samples(void)
{
	return mine && mine != &gone && !mine->first;
}

void st_sampler_leave(struct st_thread *thread)
{
	struct st_inproc_sampler *sampler = thread->sampler;

	if (!sampler || mine != sampler || !sampler->out.hot.data)
		return;
	/* From here on the handler touches nothing of this slot, which is about to get another owner. */
	if (!sampler->first)
		st_sampler_carry(sampler);
	mine = &gone;
	atomic_signal_fence(memory_order_seq_cst);
	sampler->out.time = st_ticks();
	if (sampler->out.identified)
		st_handler_put(&sampler->out, ST_EXT_THREAD_END, NULL, 0);
	sampler->out.hot.data = NULL;
	st_altstack_end();
}

static bool starts(const char *text, const char *key)
{
	return !strncmp(text, key, strlen(key));
}

void st_sampler_configure(const char *text)
{
	struct st_sampler_settings *to = &st_sampler_settings;

	if (strncmp(text, "sample_", 7) != 0)
		return;
	text += 7;
	if (starts(text, "ns="))
		to->period_ns = st_config_number(text + 3);
	else if (starts(text, "ticks="))
		to->period_ticks = st_config_number(text + 6);
	else if (starts(text, "trigger="))
		to->cycles = starts(text + 8, "cycles");
	else if (starts(text, "stacks="))
		to->stacks = text[7] != '0';
	else if (starts(text, "depth="))
		to->depth = (uint32_t)st_config_number(text + 6);
	else if (starts(text, "rung="))
		to->rung = (uint32_t)st_config_number(text + 5);
	else if (starts(text, "processes="))
		st_choose_processes(text + 10);
	else if (starts(text, "defer="))
		to->defer = text[6] == '1';
	else if (starts(text, "late="))
		to->late = text[5] == '1';
	else if (starts(text, "own="))
		to->own = text[4] == '1';
	else if (starts(text, "empty="))
		to->empty = text[6] == '1';
	if (to->depth < 1)
		to->depth = 1;
	if (to->depth > ST_SAMPLE_FRAMES_MAX)
		to->depth = ST_SAMPLE_FRAMES_MAX;
}
