// SPDX-License-Identifier: Apache-2.0
//
// Samples are kept as stacks until a table is asked for, so that all addresses that are new are named at once.
#include "live/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "base/rt/clock.h"
#include "collect/host/outside_python.h"
#include "format/sample_record.h"
#include "live/take.h"

/* ENDED_MAX: with more threads than that, those that have ended are forgotten. */
enum {
	ENDED_MAX = 1000,
	PERIOD_NS = 10000000,
	STACKS_MAX = 64 << 10,
	FRAMES_MAX = 4096,
	ROWS_MAX = 64 << 10
};
/* How often the names of threads and the GIL are looked at. */
static const uint64_t names_ns = 500000000u;

struct stack {
	uint32_t first, count; /* of frames, outermost first */
	uint32_t tid;
	uint64_t weight_ns;
};

struct st_live_watch {
	pid_t pid;
	bool all;
	struct st_outside *outside;
	struct st_live_names *names;
	struct st_outside_python *python; /* our own: that of outside belongs to its threads */
	struct st_outside_options nobody;
	struct stack *stacks;
	uint32_t stack_count, stack_capacity;
	struct st_merged_frame *frames;
	uint32_t frame_count, frame_capacity;
	struct st_live_row *rows;
	uint32_t row_count, row_capacity, *seen; /* of a row: the stack it was last counted in */
	uint32_t seen_capacity, stacks_counted;
	struct st_id_map row_of;
	struct st_live_thread_row *threads;
	uint32_t thread_count, thread_capacity;
	struct st_live_table table;
	uint64_t began_ns, table_ns, names_ns, looks, held, samples, lost_before, late_before,
		dropped;
	struct st_merged_frame merged[FRAMES_MAX];
};

static void on_map(void *arg, const struct st_outside_map *map)
{
	st_live_names_map(((struct st_live_watch *)arg)->names, map);
}

static void on_code(void *arg, const struct st_outside_code *code)
{
	st_live_names_code(((struct st_live_watch *)arg)->names, code);
}

static struct st_live_thread_row *thread_of(struct st_live_watch *watch, uint32_t tid)
{
	for (uint32_t i = 0; i < watch->thread_count; i++)
		if (watch->threads[i].tid == tid)
			return &watch->threads[i];
	if (!ST_VEC_PUSH(watch->threads, watch->thread_count, watch->thread_capacity,
			 (struct st_live_thread_row){.tid = tid, .alive = true}))
		return NULL;
	watch->table.threads = watch->threads; /* they may have moved */
	watch->names_ns = 0;		       /* a new one: its name is looked up soon */
	return &watch->threads[watch->thread_count - 1];
}

/* False: no room. */
static bool add_stack(struct st_live_watch *watch, const struct st_outside_sample *sample,
		      const struct st_merge_input *input)
{
	uint32_t flags, count, first = watch->frame_count;

	if (watch->stack_count >= STACKS_MAX ||
	    input->native_count + input->python_count + sample->kernel_count > FRAMES_MAX)
		return false;
	count = st_merge_frames(input, watch->merged, &flags);
	for (uint32_t i = sample->kernel_count; i > 0; i--)
		watch->merged[count++] = (struct st_merged_frame){.value = sample->kernel[i - 1],
								  .kind = ST_FRAME_KERNEL};
	for (uint32_t i = 0; i < count; i++)
		if (!ST_VEC_PUSH(watch->frames, watch->frame_count, watch->frame_capacity,
				 watch->merged[i]))
			return false;
	return ST_VEC_PUSH(watch->stacks, watch->stack_count, watch->stack_capacity,
			   (struct stack){.first = first,
					  .count = count,
					  .tid = sample->tid,
					  .weight_ns = sample->weight_ns});
}

static void on_sample(void *arg, const struct st_outside_sample *sample)
{
	struct st_live_watch *watch = arg;
	struct st_live_thread_row *thread = thread_of(watch, sample->tid);
	struct st_merge_input input = {.native = sample->native,
				       .python = sample->python,
				       .native_count = sample->native_count,
				       .python_count = sample->python_count,
				       .flags = sample->flags};

	memcpy(input.eval, sample->eval, sizeof(input.eval));
	watch->samples++;
	watch->table.total_ns += sample->weight_ns;
	watch->table.recent_ns += sample->weight_ns;
	if (thread) {
		if (!thread->alive)
			watch->names_ns = 0; /* a late sample, or a new thread with its number */
		thread->alive = true;
		thread->cpu_ns += sample->weight_ns;
		thread->recent_ns += sample->weight_ns;
	}
	watch->dropped += !add_stack(watch, sample, &input);
}

static void look_for_python(struct st_live_watch *watch)
{
	uint32_t version = 0;
	uint64_t eval[4];

	if (watch->python)
		return;
	watch->python = st_outside_python_create(watch->pid, &watch->nobody, &version);
	watch->table.python_version = version;
	watch->table.has_python = watch->python != NULL;
	if (!watch->python)
		return;
	st_outside_python_eval(watch->python, eval);
	st_live_names_python(watch->names, version, eval[0]);
}

enum st_status st_live_watch_create(struct st_live_watch **out, pid_t pid, bool all,
				    struct st_error *err)
{
	struct st_live_watch *watch = calloc(1, sizeof(*watch));
	struct st_outside_options options = {.pid = pid,
					     .period_ns = PERIOD_NS,
					     .sample = on_sample,
					     .map = on_map,
					     .code = on_code,
					     .arg = watch};
	enum st_status status;

	*out = NULL;
	if (watch)
		watch->names = st_live_names_create(pid, false);
	if (!watch || !watch->names) {
		free(watch);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	}
	watch->pid = pid;
	watch->all = all;
	status = st_outside_create(&watch->outside, &options, err);
	if (status) {
		st_live_watch_destroy(watch);
		return status;
	}
	look_for_python(watch);
	st_live_watch_reset(watch);
	st_outside_enable(watch->outside, true);
	*out = watch;
	return ST_OK;
}

void st_live_watch_destroy(struct st_live_watch *watch)
{
	if (!watch)
		return;
	st_outside_destroy(watch->outside);
	st_outside_python_destroy(watch->python);
	st_live_names_destroy(watch->names);
	st_id_map_fini(&watch->row_of);
	free(watch->stacks);
	free(watch->frames);
	free(watch->rows);
	free(watch->seen);
	free(watch->threads);
	free(watch);
}

static void name_thread(void *arg, uint32_t tid, const char *name, uint32_t name_bytes)
{
	struct st_live_watch *watch = arg;

	for (uint32_t i = 0; i < watch->thread_count; i++)
		if (watch->threads[i].tid == tid)
			snprintf(watch->threads[i].name, sizeof(watch->threads[i].name), "%.*s",
				 (int)name_bytes, name);
}

static void name_threads(struct st_live_watch *watch)
{
	char own[64] = "", comm[64];

	(void)st_live_comm(watch->pid, (uint32_t)watch->pid, own, sizeof(own));
	for (uint32_t i = 0; i < watch->thread_count; i++) {
		struct st_live_thread_row *thread = &watch->threads[i];

		if (!thread->alive)
			continue;
		thread->alive = st_live_comm(watch->pid, thread->tid, comm, sizeof(comm));
		if (thread->alive && thread->tid != (uint32_t)watch->pid && strcmp(own, comm) != 0)
			snprintf(thread->name, sizeof(thread->name), "%s", comm);
	}
	if (watch->python)
		st_outside_python_names(watch->python, name_thread, watch);
}

void st_live_watch_poll(struct st_live_watch *watch)
{
	uint64_t now = st_clock_mono_raw_ns();

	st_outside_poll(watch->outside, false);
	if (now >= watch->names_ns) {
		watch->names_ns = now + names_ns;
		look_for_python(watch);
		name_threads(watch);
	}
	if (!watch->python)
		return;
	watch->looks++;
	watch->table.lock_holder = st_outside_python_holder(watch->python);
	watch->held += watch->table.lock_holder != 0;
}

/* The row of a function; NULL: no room. */
static struct st_live_row *row_of(struct st_live_watch *watch, const struct st_live_frame *frame)
{
	uint64_t key = (uint64_t)frame->key << 2 | (frame->key ? 0 : 1 + frame->kernel);
	uint32_t at = st_id_map_get(&watch->row_of, key);

	if (at == ST_ID_NONE) {
		at = watch->row_count;
		if (at >= ROWS_MAX ||
		    !ST_VEC_ROOM(watch->rows, watch->row_count, watch->row_capacity) ||
		    !ST_VEC_ROOM(watch->seen, watch->row_count, watch->seen_capacity) ||
		    !st_id_map_put(&watch->row_of, key, at))
			return NULL;
		watch->rows[at] = (struct st_live_row){0};
		watch->seen[at] = 0;
		watch->row_count++;
	}
	watch->rows[at].frame = *frame;
	return &watch->rows[at];
}

static bool is_shown(const struct st_live_watch *watch, const struct st_merged_frame *merged,
		     const struct st_live_frame *frame)
{
	return watch->all || (!(merged->kind & ST_FRAME_EVAL) && !frame->interpreter);
}

static void name_by_pool(struct st_live_watch *watch, const struct stack *stack)
{
	struct st_live_thread_row *thread = thread_of(watch, stack->tid);
	const char *name;

	if (!thread || thread->name[0] || thread->tid == (uint32_t)watch->pid)
		return;
	name = st_live_names_pool(watch->names, &watch->frames[stack->first], stack->count);
	if (name)
		snprintf(thread->name, sizeof(thread->name), "%s", name);
}

static void count_stack(struct st_live_watch *watch, const struct stack *stack)
{
	struct st_live_row *last = NULL;

	name_by_pool(watch, stack);

	watch->stacks_counted++;
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct st_merged_frame *merged = &watch->frames[stack->first + i];
		struct st_live_frame frame;
		struct st_live_row *row;

		st_live_names_frame(watch->names, merged, &frame);
		row = is_shown(watch, merged, &frame) ? row_of(watch, &frame) : NULL;
		if (!row)
			continue;
		last = row;
		if (watch->seen[row - watch->rows] == watch->stacks_counted)
			continue; /* it calls itself */
		watch->seen[row - watch->rows] = watch->stacks_counted;
		row->total_ns += stack->weight_ns;
		row->recent_total_ns += stack->weight_ns;
	}
	if (last) {
		last->self_ns += stack->weight_ns;
		last->recent_self_ns += stack->weight_ns;
	}
}

static void begin_recent(struct st_live_watch *watch)
{
	for (uint32_t i = 0; i < watch->row_count; i++)
		watch->rows[i].recent_self_ns = watch->rows[i].recent_total_ns = 0;
}

const struct st_live_table *st_live_watch_table(struct st_live_watch *watch)
{
	const struct st_outside_state *state = st_outside_state(watch->outside);
	uint64_t now = st_clock_mono_raw_ns();
	struct st_live_table *table = &watch->table;

	begin_recent(watch);
	for (uint32_t i = 0; i < watch->stack_count; i++)
		st_live_names_want(watch->names, &watch->frames[watch->stacks[i].first],
				   watch->stacks[i].count);
	st_live_names_find(watch->names);
	for (uint32_t i = 0; i < watch->stack_count; i++)
		count_stack(watch, &watch->stacks[i]);
	watch->stack_count = watch->frame_count = 0;
	name_threads(watch); /* which of them are still there */
	table->rows = watch->rows;
	table->row_count = watch->row_count;
	table->threads = watch->threads;
	table->thread_count = watch->thread_count;
	table->samples = watch->samples;
	table->late = state->python_late - watch->late_before;
	table->lost = state->lost - watch->lost_before;
	table->dropped = watch->dropped;
	table->elapsed_ns = now - watch->began_ns;
	table->recent_wall_ns = now - watch->table_ns;
	table->lock_ratio = watch->looks ? (double)watch->held / (double)watch->looks : 0;
	table->note = state->note;
	watch->table_ns = now;
	watch->looks = watch->held = 0;
	return table;
}

static void forget_ended(struct st_live_watch *watch)
{
	uint32_t kept = 0;

	if (watch->thread_count <= ENDED_MAX)
		return;
	for (uint32_t i = 0; i < watch->thread_count; i++)
		if (watch->threads[i].alive || watch->threads[i].recent_ns)
			watch->threads[kept++] = watch->threads[i];
	watch->thread_count = watch->table.thread_count = kept;
}

void st_live_watch_next(struct st_live_watch *watch)
{
	forget_ended(watch);
	watch->table.recent_ns = 0;
	for (uint32_t i = 0; i < watch->thread_count; i++)
		watch->threads[i].recent_ns = 0;
}

void st_live_watch_reset(struct st_live_watch *watch)
{
	const struct st_outside_state *state = st_outside_state(watch->outside);

	st_id_map_clear(&watch->row_of);
	watch->row_count = watch->stack_count = watch->frame_count = 0;
	watch->thread_count = 0;
	watch->samples = watch->dropped = watch->table.total_ns = watch->table.recent_ns = 0;
	watch->late_before = state->python_late;
	watch->lost_before = state->lost;
	watch->began_ns = watch->table_ns = st_clock_mono_raw_ns();
	watch->looks = watch->held = 0;
	watch->names_ns = 0;
}
