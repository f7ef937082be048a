// SPDX-License-Identifier: Apache-2.0
//
// When the family's threads are on no CPU, of a run that records waits (collect/host/switches.h). What is told of a process
// before it says hello waits here until it does.
#include "collect/host/looker.h"
#include "collect/host/switches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/vec.h"
#include "collect/launch/run/run.h"
#include "format/analysis.h"
#include "format/off_cpu.h"

enum {
	WAITING_MAX = 64 << 10,
	SWITCH_COST_NS = 1200, /* of the kernel's two records, in a virtual machine */
};

/* Who has not said hello by then is not recorded. */
static const uint64_t patience_ns = 5000000000u;

struct st_switch_watch {
	struct st_switches *switches; /* NULL: refused */
	struct st_looks *looks;
	int no_looks; /* errno; 0: looks are possible */
	struct st_off_cpu *waiting;
	uint32_t waiting_count, waiting_capacity;
	uint64_t left_out; /* of processes that are recorded: there was no room */
	char why[160];	   /* it is refused; "" when it is not */
};

/* The process as it was then: not another program that it executed meanwhile. */
static struct st_followed *owner(struct st_run *run, const struct st_off_cpu *off)
{
	struct st_followed *process = st_followed_live(&run->followed, (pid_t)off->pid);

	if (!process || !process->drain || !process->same_namespace ||
	    process->hello_ns < off->process_born_ns)
		return NULL;
	return process;
}

static void hand_on(struct st_run *run, const struct st_followed *process,
		    const struct st_off_cpu *off)
{
	st_drain_take_off(process->drain,
			  &(struct st_drain_off){.tid = off->tid,
						 .flags = off->flags,
						 .count = off->count,
						 .begin = st_run_ticks_at(run, off->begin_ns),
						 .off_ns = off->off_ns});
}

static void on_told(void *arg, const struct st_off_cpu *off)
{
	struct st_run *run = arg;
	struct st_switch_watch *watch = run->switches;
	struct st_followed *process = owner(run, off);

	if (process) {
		st_looks_tell(run, watch->looks, off);
		hand_on(run, process, off);
	} else if (watch->waiting_count >= WAITING_MAX ||
		   !ST_VEC_PUSH(watch->waiting, watch->waiting_count, watch->waiting_capacity,
				*off)) {
		watch->left_out++;
	}
}

void st_run_open_switches(struct st_run *run)
{
	struct st_switch_options options = {.pid = run->spawn.pid,
					    .wakes = run->config->waits.wakes,
					    .told = on_told,
					    .arg = run};
	struct st_error err = {0};

	if (!(run->config->analysis->records & ST_RECORDS_WAITS))
		return;
	run->switches = calloc(1, sizeof(*run->switches));
	if (!run->switches)
		return;
	run->switches->no_looks = st_looker_refusal();
	if (!run->switches->no_looks)
		run->switches->looks = st_looks_create();
	if (st_switches_create(&run->switches->switches, &options, &err) == ST_OK)
		return;
	snprintf(run->switches->why, sizeof(run->switches->why), "no context switches: %s",
		 err.code == EACCES || err.code == EPERM ? "perf_event_open is not permitted"
							 : strerror(err.code));
	st_run_log(run, "%s", run->switches->why);
}

void st_run_close_switches(struct st_run *run)
{
	if (!run->switches)
		return;
	st_switches_destroy(run->switches->switches);
	st_looks_destroy(run->switches->looks);
	free(run->switches->waiting);
	free(run->switches);
	run->switches = NULL;
}

/* In their order: no process says hello between this and the news of the round. */
static void tell_waiting(struct st_run *run, uint64_t now_ns)
{
	struct st_switch_watch *watch = run->switches;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < watch->waiting_count; i++) {
		struct st_followed *process = owner(run, &watch->waiting[i]);

		if (process)
			hand_on(run, process, &watch->waiting[i]);
		else if (now_ns - watch->waiting[i].begin_ns < patience_ns)
			watch->waiting[kept++] = watch->waiting[i];
	}
	watch->waiting_count = kept;
}

void st_run_poll_switches(struct st_run *run, bool all)
{
	struct st_switch_watch *watch = run->switches;
	uint64_t now_ns = st_clock_mono_raw_ns();

	if (!watch)
		return;
	if (!watch->switches) {
		st_looks_poll(run, watch->looks, NULL);
		return;
	}
	tell_waiting(run, now_ns);
	if (all) {
		st_looks_poll(run, watch->looks, NULL);
		st_switches_finish(watch->switches, now_ns);
	} else {
		st_switches_poll(watch->switches);
		st_looks_poll(run, watch->looks, watch->switches);
	}
}

void st_run_put_switches(const struct st_run *run, struct st_json *json)
{
	const struct st_switch_watch *watch = run->switches;
	const struct st_switch_state *state;

	if (!watch)
		return;
	st_json_put_object(json, "threads");
	st_json_put_bool(json, "context_switches", watch->switches != NULL);
	st_json_put_text(json, "why", watch->why);
	if (watch->switches) {
		state = st_switches_state(watch->switches);
		st_json_put_u64(json, "switches", state->switches);
		st_json_put_u64(json, "switch_cost_ns", SWITCH_COST_NS);
		st_json_put_u64(json, "lost", state->lost);
		st_json_put_u64(json, "left_out", watch->left_out + state->threads_left_out);
		st_json_put_bool(json, "wakes", state->wakes);
		st_json_put_text(json, "no_wakes", state->no_wakes);
	}
	st_looks_put(watch->looks, json);
	st_json_object_end(json);
}

void st_run_waits_text(const struct st_run *run, char *out, size_t out_size)
{
	const struct st_switch_watch *watch = run->switches;
	bool has_switches = watch && watch->switches, has_looks = watch && watch->looks;
	bool has_wakes = has_switches && st_switches_state(watch->switches)->wakes;
	char missing[160] = "";
	size_t used = 0;

	*out = '\0';
	if (!(run->config->analysis->records & ST_RECORDS_WAITS) || !watch)
		return;
	if (!has_switches)
		used = (size_t)snprintf(missing, sizeof(missing), "%s; preemption by its totals",
					watch->why);
	if (!has_looks && used < sizeof(missing))
		used += (size_t)snprintf(missing + used, sizeof(missing) - used,
					 "%sno looks from outside: %s", used ? "; " : "",
					 watch->no_looks ? strerror(watch->no_looks) : "no memory");
	if (has_switches && run->config->waits.wakes && !has_wakes && used < sizeof(missing))
		snprintf(missing + used, sizeof(missing) - used, "%sno wake-ups: %s",
			 used ? "; " : "", st_switches_state(watch->switches)->no_wakes);
	snprintf(out, out_size, "waits by calls%s%s%s%s%s%s%s", has_wakes ? ", wake-ups" : "",
		 has_switches && has_looks ? ", context switches"
		 : has_switches		   ? " and context switches"
					   : "",
		 has_looks ? " and looks from outside" : "",
		 has_looks && !has_switches ? " 20 times a second" : "", *missing ? " (" : "",
		 missing, *missing ? ")" : "");
}

bool st_run_is_polled(const struct st_run *run)
{
	return run->switches && !run->switches->switches;
}

/* Its birth was not seen: it is recorded from the reading before on. */
void st_run_take_polled(struct st_run *run, const struct st_polled *polled)
{
	struct st_off_cpu off = {
		.pid = polled->pid, .tid = polled->tid, .begin_ns = polled->begin_ns};
	struct st_followed *process;

	if (!st_run_is_polled(run))
		return;
	process = owner(run, &off);
	if (!process)
		return;
	st_looks_still(run, run->switches->looks, polled, !polled->ran_ns && !polled->delay_ns);
	off.flags = ST_OFF_RAN;
	off.off_ns = polled->ran_ns;
	if (polled->is_new) {
		struct st_off_cpu born = {.tid = polled->tid, .flags = ST_OFF_BORN | ST_OFF_RAN};

		/* It has run and waited for a CPU since it was born, no more is known. */
		born.begin_ns = polled->end_ns - polled->ran_ns - polled->delay_ns;
		if (born.begin_ns < polled->begin_ns)
			born.begin_ns = polled->begin_ns;
		hand_on(run, process, &born);
	}
	off.begin_ns = polled->end_ns;
	hand_on(run, process, &off);
	off.flags |= ST_OFF_PREEMPTED;
	off.off_ns = polled->delay_ns;
	if (off.off_ns)
		hand_on(run, process, &off);
}

void st_run_polled_ends(struct st_run *run, const struct st_followed *process)
{
	uint64_t now_ns = st_clock_mono_raw_ns();

	if (!st_run_is_polled(run) || !process->drain)
		return;
	st_looks_end(run, run->switches->looks, process->pid, now_ns);
	st_drain_rest(process->drain, now_ns);
}
