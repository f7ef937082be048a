// SPDX-License-Identifier: Apache-2.0
//
// Which threads are looked at from outside (collect/host/looker.h), and what becomes of it. A thread that waits and does not say
// for what is looked at once in each wait; what was seen is told when the wait is over. Of one that does say it only
// the stack is wanted, in case that it never comes back to tell it.
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/map.h"
#include "base/vec.h"
#include "collect/host/looker.h"
#include "collect/host/switches.h"
#include "collect/launch/run/run.h"
#include "format/off_cpu.h"
#include "format/sample_record.h"

enum {
	LOOKS_PER_SECOND = 200,
	LOOKS_AT_ONCE = 8,
	CODES_FROM =
		1
		<< 30, /* Python functions that strata found; those of the process are counted from 1 on */
};

/* For how long a thread has waited that is looked at; of one that says what for. */
static const uint64_t long_ns = 5000000, long_told_ns = 50000000;

struct seen {
	uint32_t tid;
	uint64_t since_ns;   /* of the wait that was last looked at */
	uint64_t told_begin; /* ticks: the wait it was in by its own word; 0: none */
	uint64_t still_ns; /* by the kernel's counts alone: since when it has not run; 0: it has */
	struct st_look *look; /* NULL: not yet, or nothing was to be seen */
};

struct st_looks {
	struct st_looker *looker;
	struct seen *seen;
	uint32_t count, capacity;
	struct st_id_map seen_of; /* tid */
	uint64_t polled_ns;
	double credit;
	uint64_t told;
};

struct st_looks *st_looks_create(void)
{
	struct st_looks *looks = calloc(1, sizeof(*looks));

	if (!looks)
		return NULL;
	looks->looker = st_looker_create();
	if (!looks->looker) {
		free(looks);
		return NULL;
	}
	return looks;
}

void st_looks_destroy(struct st_looks *looks)
{
	if (!looks)
		return;
	st_looker_destroy(looks->looker);
	for (uint32_t i = 0; i < looks->count; i++)
		st_look_free(looks->seen[i].look);
	free(looks->seen);
	st_id_map_fini(&looks->seen_of);
	free(looks);
}

static struct seen *find(const struct st_looks *looks, uint32_t tid)
{
	uint32_t at = st_id_map_get(&looks->seen_of, tid);

	return at == ST_ID_NONE ? NULL : &looks->seen[at];
}

/* NULL: no memory. */
static struct seen *find_or_add(struct st_looks *looks, uint32_t tid)
{
	struct seen *seen = find(looks, tid);

	if (seen)
		return seen;
	if (!ST_VEC_ROOM(looks->seen, looks->count, looks->capacity) ||
	    !st_id_map_put(&looks->seen_of, tid, looks->count))
		return NULL;
	seen = &looks->seen[looks->count++];
	*seen = (struct seen){.tid = tid};
	return seen;
}

static void forget(struct seen *seen)
{
	st_look_free(seen->look);
	seen->look = NULL;
}

struct walk {
	struct st_run *run;
	struct st_looks *looks;
	uint64_t now_ns;
};

static bool consider(void *arg, uint32_t pid, uint32_t tid, uint64_t since_ns)
{
	struct walk *walk = arg;
	struct st_looks *looks = walk->looks;
	const struct st_followed *process = st_followed_live(&walk->run->followed, (pid_t)pid);
	struct seen *seen = find(looks, tid);
	uint64_t told_begin;

	if (!process || !process->drain || !process->same_namespace ||
	    (seen && seen->since_ns == since_ns))
		return true;
	told_begin = st_drain_open_wait(process->drain, tid);
	if (told_begin && walk->now_ns - since_ns < long_told_ns)
		return true;
	seen = find_or_add(looks, tid);
	if (!seen || !st_looker_ask(looks->looker, pid, tid, since_ns))
		return false;
	forget(seen);
	seen->since_ns = since_ns;
	seen->told_begin = told_begin;
	looks->credit -= 1;
	return looks->credit >= 1;
}

static void take_done(struct st_run *run, struct st_looks *looks)
{
	struct st_look *look;

	while ((look = st_looker_take(looks->looker))) {
		struct seen *seen = find(looks, look->tid);
		struct st_followed *process = st_followed_live(&run->followed, (pid_t)look->pid);

		for (struct st_look_code *at = look->codes; at && process && process->drain;
		     at = at->next)
			st_drain_define_code(
				process->drain,
				&(struct st_drain_code){.id = at->code.id + CODES_FROM,
							.first_line = at->code.first_line,
							.flags = at->code.flags,
							.file = at->code.file,
							.file_bytes = at->code.file_bytes,
							.name = at->code.name,
							.name_bytes = at->code.name_bytes,
							.table = at->code.table,
							.table_bytes = at->code.table_bytes});
		if (!seen || seen->since_ns != look->since_ns || !look->kind) {
			st_look_free(look);
			continue;
		}
		forget(seen);
		seen->look = look;
	}
}

void st_looks_poll(struct st_run *run, struct st_looks *looks, const struct st_switches *switches)
{
	struct walk walk = {.run = run, .looks = looks, .now_ns = st_clock_mono_raw_ns()};

	if (!looks)
		return;
	take_done(run, looks);
	if (looks->polled_ns)
		looks->credit += (double)(walk.now_ns - looks->polled_ns) * LOOKS_PER_SECOND / 1e9;
	if (looks->credit > LOOKS_AT_ONCE)
		looks->credit = LOOKS_AT_ONCE;
	looks->polled_ns = walk.now_ns;
	if (switches && looks->credit >= 1 && !run->paused && !run->family_paused && !run->stopped)
		st_switches_each_waiting(switches, walk.now_ns - long_ns, consider, &walk);
}

void st_looks_still(struct st_run *run, struct st_looks *looks, const struct st_polled *polled,
		    bool is_still)
{
	struct walk walk = {.run = run, .looks = looks, .now_ns = polled->end_ns};
	struct seen *seen = looks ? find_or_add(looks, polled->tid) : NULL;

	if (!seen)
		return;
	if (is_still) {
		if (!seen->still_ns)
			seen->still_ns = polled->begin_ns;
		if (looks->credit >= 1)
			consider(&walk, polled->pid, polled->tid, seen->still_ns);
		return;
	}
	/* It was seen to be still up to the reading before. */
	if (seen->still_ns)
		st_looks_tell(run, looks,
			      &(struct st_off_cpu){.pid = polled->pid,
						   .tid = polled->tid,
						   .begin_ns = seen->still_ns,
						   .off_ns = polled->begin_ns - seen->still_ns});
	seen->still_ns = 0;
}

void st_looks_end(struct st_run *run, struct st_looks *looks, pid_t pid, uint64_t now_ns)
{
	for (uint32_t i = 0; looks && i < looks->count; i++) {
		struct seen *seen = &looks->seen[i];
		struct st_off_cpu off = {.pid = (uint32_t)pid,
					 .tid = seen->tid,
					 .begin_ns = seen->still_ns,
					 .off_ns = now_ns - seen->still_ns};

		if (!seen->look || seen->look->pid != (uint32_t)pid || !seen->still_ns)
			continue;
		if (seen->told_begin)
			off = (struct st_off_cpu){.pid = off.pid,
						  .tid = off.tid,
						  .begin_ns = now_ns,
						  .flags = ST_OFF_ENDED};
		st_looks_tell(run, looks, &off);
		seen->still_ns = 0;
	}
}

static void tell_stack(struct st_drain *drain, const struct st_look *look, uint64_t begin,
		       uint64_t end)
{
	struct st_drain_outside sample = {.tid = look->tid,
					  .flags = look->flags,
					  .ticks = end,
					  .weight_ns = end - begin,
					  .native = look->words,
					  .native_count = look->native_count,
					  .python_count = look->python_count,
					  .python_version = look->python_version};
	uint64_t *python = malloc(((size_t)look->python_count + 1) * sizeof(*python));

	if (!python)
		return;
	for (uint32_t i = 0; i < look->python_count; i++) {
		uint64_t word = look->words[look->native_count + i];

		python[i] = (uint32_t)word ? word + CODES_FROM : word;
	}
	sample.python = python;
	memcpy(sample.eval, look->eval, sizeof(sample.eval));
	st_drain_take_outside(drain, &sample);
	free(python);
}

void st_looks_tell(struct st_run *run, struct st_looks *looks, const struct st_off_cpu *off)
{
	struct seen *seen = looks ? find(looks, off->tid) : NULL;
	struct st_followed *process = st_followed_live(&run->followed, (pid_t)off->pid);
	uint64_t begin = st_run_ticks_at(run, off->begin_ns);
	uint64_t end = st_run_ticks_at(run, off->begin_ns + off->off_ns);

	if (!seen || !seen->look || !process || !process->drain)
		return;
	if (off->flags & ST_OFF_ENDED) {
		if (seen->told_begin &&
		    st_drain_open_wait(process->drain, off->tid) == seen->told_begin &&
		    begin > seen->told_begin)
			tell_stack(process->drain, seen->look, seen->told_begin, begin);
		forget(seen);
		return;
	}
	if (off->begin_ns != seen->since_ns || off->flags || seen->told_begin)
		return;
	st_drain_take_seen(process->drain, &(struct st_drain_seen){.tid = off->tid,
								   .kind = seen->look->kind,
								   .object = seen->look->object,
								   .begin = begin,
								   .end = end});
	tell_stack(process->drain, seen->look, begin, end);
	looks->told++;
	forget(seen);
}

void st_looks_put(struct st_looks *looks, struct st_json *json)
{
	struct st_looker_state state;

	if (!looks)
		return;
	state = st_looker_state(looks->looker);
	st_json_put_object(json, "looks");
	st_json_put_u64(json, "taken", state.looks);
	st_json_put_u64(json, "waits", looks->told);
	st_json_put_u64(json, "moved", state.moved);
	st_json_put_u64(json, "refused", state.refused);
	st_json_put_text(json, "why", state.why ? strerror(state.why) : "");
	st_json_object_end(json);
}
