// SPDX-License-Identifier: Apache-2.0
//
// A program that runs already (-target-pid): nothing of ours enters it. Samples come from the kernel with a
// copy of the stack (collect/host/outside.h) and go the way of all samples, as if a handler ring had held
// them.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/json_out.h"
#include "collect/host/outside.h"
#include "collect/launch/family/armed.h"
#include "collect/launch/family/family.h"
#include "collect/launch/run/run.h"
#include "format/sample_record.h"
#include "store/writer.h"

enum { RECORD_MAX_BYTES = 4096 };

struct st_attach {
	struct st_run *run;
	struct st_outside *outside;
	struct st_followed *process;
	bool on;
	const struct st_outside_sample *sample; /* that is being taken */
};

static uint32_t kernel_frames(void *arg, const struct st_kernel_ask *ask, const uint64_t **frames)
{
	const struct st_attach *attach = arg;

	(void)ask;
	*frames = attach->sample->kernel;
	return attach->sample->kernel_count;
}

static void on_sample(void *arg, const struct st_outside_sample *sample)
{
	struct st_attach *attach = arg;
	struct st_run *run = attach->run;
	struct st_drain_outside told = {
		.tid = sample->tid,
		.ticks = st_launch_clock_ticks_at(&run->last, run->ticks_per_second,
						  sample->mono_raw_ns),
		.weight_ns = sample->weight_ns,
		.flags = sample->flags & ~(uint32_t)ST_SAMPLE_KERNEL,
		.native = sample->native,
		.native_count = sample->native_count,
		.python = sample->python,
		.python_count = sample->python_count,
	};

	if (!attach->process || !attach->process->drain)
		return;
	attach->sample = sample;
	memcpy(told.eval, sample->eval, sizeof(told.eval));
	told.python_version = st_outside_state(attach->outside)->python_version;
	attach->process->active_ns = sample->mono_raw_ns;
	st_drain_take_outside(attach->process->drain, &told);
}

static void on_code(void *arg, const struct st_outside_code *code)
{
	struct st_attach *attach = arg;

	if (attach->process && attach->process->drain)
		st_drain_define_code(attach->process->drain,
				     &(struct st_drain_code){.id = code->id,
							     .first_line = code->first_line,
							     .flags = code->flags,
							     .file = code->file,
							     .file_bytes = code->file_bytes,
							     .name = code->name,
							     .name_bytes = code->name_bytes,
							     .table = code->table,
							     .table_bytes = code->table_bytes});
}

static void on_thread(void *arg, uint32_t tid, uint32_t creator, uint64_t mono_raw_ns)
{
	struct st_attach *attach = arg;
	struct st_run *run = attach->run;

	if (creator && attach->process && attach->process->drain)
		st_drain_thread_created(
			attach->process->drain, tid, creator,
			st_launch_clock_ticks_at(&run->last, run->ticks_per_second, mono_raw_ns));
}

static void ignore_program(void *arg, const struct st_family_program *program)
{
	(void)arg;
	(void)program;
}

static void define_sampler(const struct st_attach *attach)
{
	const struct st_run *run = attach->run;
	struct st_shm_arm arm = {.rung = ST_RUNG_OUTSIDE,
				 .trigger = ST_TRIGGER_CPU_CLOCK,
				 .period_ns = run->sampling.period_ns};
	uint64_t now = st_launch_clock_now(run->clock);
	struct st_buf record;

	st_buf_init(&record, RECORD_MAX_BYTES);
	st_armed_define(&arm, now, &record);
	if (!record.failed)
		st_store_writer_definitions(run->writer, attach->process->id, now, 1, &record);
	st_buf_fini(&record);
}

/* The process takes its place among the followed ones, with a drain that has no shared memory. */
static enum st_status follow(struct st_attach *attach, struct st_error *err)
{
	struct st_run *run = attach->run;
	pid_t pid = run->config->target_pid;
	struct st_family_options family = {
		.pid = pid, .collector = "", .not_entered = ignore_program, .arg = run};
	enum st_status status = st_family_create(&run->family, &family, err);

	if (status)
		return status;
	run->followed.family = run->family;
	run->followed.direct_pid = pid;
	st_followed_add_silent(&run->followed, pid, st_clock_mono_raw_ns());
	attach->process = st_followed_live(&run->followed, pid);
	if (!attach->process)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	status = st_drain_create(&attach->process->drain, &run->shared, attach->process->id, err);
	if (status)
		return status;
	attach->process->rung = ST_RUNG_OUTSIDE;
	attach->process->trigger = ST_TRIGGER_CPU_CLOCK;
	define_sampler(attach);
	st_drain_ask_for_maps(attach->process->drain);
	st_drain_read_maps(attach->process->drain, pid);
	return ST_OK;
}

static enum st_status open_outside(struct st_attach *attach, struct st_error *err)
{
	const struct st_collect_config *config = attach->run->config;
	struct st_outside_options options = {
		.pid = config->target_pid,
		.period_ns = attach->run->sampling.period_ns,
		.depth = config->sampling.depth,
		.stack_bytes = (uint32_t)config->sampling.stack_bytes,
		.no_stacks = config->sampling.stacks == ST_CHOICE_OFF,
		.sample = on_sample,
		.code = on_code,
		.thread = on_thread,
		.arg = attach,
	};

	return st_outside_create(&attach->outside, &options, err);
}

enum st_status st_run_attach(struct st_run *run, struct st_error *err)
{
	struct st_attach *attach = calloc(1, sizeof(*attach));
	const struct st_outside_state *state;
	enum st_status status;

	if (!attach)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	run->attach = attach;
	attach->run = run;
	run->spawn.pid = run->config->target_pid;
	run->spawn.pidfd = (int)syscall(SYS_pidfd_open, run->spawn.pid, 0);
	if (run->spawn.pidfd < 0)
		return st_error_set(err, ST_ENOTFOUND, errno, "process %d", (int)run->spawn.pid);
	status = open_outside(attach, err);
	if (!status)
		status = follow(attach, err);
	if (status)
		return status;
	run->shared.kernel_frames = kernel_frames;
	run->shared.kernel_arg = attach;
	state = st_outside_state(attach->outside);
	if (state->note[0])
		st_run_say(run, "%s", state->note);
	st_machine_begin(&run->machine);
	run->program_began_ns = st_clock_mono_raw_ns();
	run->started = true;
	st_run_log(run, "pid %d is sampled from outside", (int)run->spawn.pid);
	return ST_OK;
}

void st_run_detach(struct st_run *run)
{
	if (!run->attach)
		return;
	st_outside_destroy(run->attach->outside);
	free(run->attach);
	run->attach = NULL;
}

void st_run_poll_attached(struct st_run *run, bool all)
{
	struct st_attach *attach = run->attach;
	bool on = !run->paused && !run->family_paused && !run->stopped;

	if (!attach)
		return;
	if (on != attach->on) {
		st_outside_enable(attach->outside, on);
		attach->on = on;
	}
	if (attach->process->drain && st_drain_wants_maps(attach->process->drain))
		st_drain_read_maps(attach->process->drain, run->config->target_pid);
	st_outside_poll(attach->outside, all);
}

bool st_run_attached_gone(const struct st_run *run)
{
	struct pollfd gone = {.fd = run->spawn.pidfd, .events = POLLIN};

	return run->spawn.pidfd >= 0 && poll(&gone, 1, 0) == 1;
}

void st_run_put_attached(const struct st_run *run, struct st_json *json)
{
	const struct st_outside_state *state;

	if (!run->attach || !run->attach->outside)
		return;
	state = st_outside_state(run->attach->outside);
	st_json_put_object(json, "outside");
	st_json_put_u64(json, "pid", (uint64_t)run->config->target_pid);
	st_json_put_bool(json, "kernel", state->kernel);
	st_json_put_text(json, "python_frames", state->python ? "read at the sample" : "none");
	st_json_put_u64(json, "python_read", state->python_read);
	st_json_put_u64(json, "python_late", state->python_late);
	st_json_put_u64(json, "lost", state->lost);
	st_json_put_text(json, "note", state->note);
	st_json_object_end(json);
}
