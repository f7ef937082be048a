// SPDX-License-Identifier: Apache-2.0
//
// The kernel's side of a run in hardware mode (collect/host/kernel_side.h): its frames go onto the samples that
// were taken inside the program, waits become samples of their own.
#include "collect/host/kernel_side.h"

#include "base/json_out.h"
#include "collect/launch/run/run.h"
#include "format/analysis.h"

static const uint64_t second_ns = 1000000000u;

static uint64_t mono_raw_at(const struct st_run *run, uint64_t ticks)
{
	int64_t away = (int64_t)(ticks - run->last.ticks);
	double ns = (double)away * (double)second_ns / (double)run->ticks_per_second;

	return run->clock == ST_CLOCK_MONO_RAW
		       ? ticks
		       : (uint64_t)((int64_t)run->last.mono_raw_ns + (int64_t)ns);
}

static uint32_t frames_of(void *arg, const struct st_kernel_ask *ask, const uint64_t **frames)
{
	struct st_run *run = arg;

	return st_kernel_side_find(run->kernel, ask->tid, ask->pc, mono_raw_at(run, ask->ticks),
				   frames);
}

static void on_wait(void *arg, const struct st_kernel_wait *wait)
{
	struct st_run *run = arg;
	struct st_followed *process = st_followed_live(&run->followed, (pid_t)wait->pid);
	struct st_drain_wait told = {
		.tid = wait->tid, .off_ns = wait->off_ns, .preempted = wait->preempted};

	if (!process || !process->drain || run->paused || run->family_paused || run->stopped)
		return;
	told.begin = st_launch_clock_ticks_at(&run->last, run->ticks_per_second, wait->begin_ns);
	st_drain_take_wait(process->drain, &told);
}

void st_run_open_kernel(struct st_run *run)
{
	struct st_kernel_options options = {
		.pid = run->spawn.pid,
		.period_ns = run->sampling.period_ns,
		.stacks = true,
		.switches = !(run->config->analysis->records & ST_RECORDS_WAITS),
		.waited = on_wait,
		.arg = run};
	const struct st_kernel_state *state;

	if (!(run->config->analysis->records & ST_RECORDS_SAMPLES) ||
	    !run->config->sampling.hardware || st_kernel_side_create(&run->kernel, &options, NULL))
		return;
	state = st_kernel_side_state(run->kernel);
	if (state->why[0])
		st_run_log(run, "%s", state->why);
	if (state->stacks) {
		run->shared.kernel_frames = frames_of;
		run->shared.kernel_arg = run;
	}
}

void st_run_poll_kernel(struct st_run *run, bool all)
{
	if (run->kernel)
		st_kernel_side_poll(run->kernel, all);
}

void st_run_put_kernel(const struct st_run *run, struct st_json *json)
{
	const struct st_kernel_state *state;

	if (!run->kernel)
		return;
	state = st_kernel_side_state(run->kernel);
	st_json_put_object(json, "kernel");
	st_json_put_bool(json, "stacks", state->stacks);
	st_json_put_bool(json, "context_switches", state->switches);
	st_json_put_text(json, "why", state->why);
	st_json_put_u64(json, "samples", state->samples);
	st_json_put_u64(json, "joined", state->joined);
	st_json_put_u64(json, "lost", state->lost);
	st_json_object_end(json);
}
