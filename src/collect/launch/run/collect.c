// SPDX-License-Identifier: Apache-2.0
//
// One collection from the first check to the closed result. Every possible error is checked before the
// folder is created and before the program starts; once it has started, failures are reported and
// recorded, and the program never notices.
#include "collect/launch/run/collect.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/host/kernel_side.h"
#include "collect/launch/run/control.h"
#include "collect/launch/drain/drain_maps.h"
#include "collect/launch/family/elf_look.h"
#include "collect/launch/run/environment.h"
#include "collect/launch/family/family.h"
#include "collect/launch/family/rendezvous.h"
#include "collect/launch/run/run.h"
#include "collect/launch/drain/tables.h"
#include "collect/launch/run/target_config.h"
#include "format/analysis.h"
#include "format/chunk.h"
#include "format/shm.h"
#include "format/slices.h"
#include "store/writer.h"

enum {
	EXIT_USAGE = 2,
	EXIT_STRATA_FAILED = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	CALIBRATION_TRIES = 200,
	NAME_TRIES = 16,
	/* Two pairs this far apart give the first rate to about 40 millionths. */
	RATE_BASE_NS = 1000000,
	RECORD_MAX_BYTES = 64 << 10,
	SLICE_NS = 100000,
};

void st_run_say(struct st_run *run, const char *fmt, ...)
{
	char line[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	st_run_log(run, "%s", line);
	if (run->config->say)
		run->config->say(run->config->say_arg, line);
}

void st_run_log(struct st_run *run, const char *fmt, ...)
{
	char line[1200];
	va_list args;
	int length;

	if (!run->writer)
		return;
	length = snprintf(line, sizeof(line), "%10.3f s  ",
			  (double)(st_clock_mono_raw_ns() - run->start.mono_raw_ns) / 1e9);
	va_start(args, fmt);
	vsnprintf(line + length, sizeof(line) - (size_t)length, fmt, args);
	va_end(args);
	for (char *c = line; *c; c++) /* names of programs may hold anything */
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	st_store_writer_log(run->writer, line);
}

void st_run_error(struct st_run *run, const char *text)
{
	st_run_log(run, "error: %s", text);
	if (run->error_count < ST_RUN_ERRORS_MAX)
		snprintf(run->errors[run->error_count++], ST_RUN_ERROR_BYTES, "%s", text);
}

void st_run_family_record(struct st_run *run, const struct st_buf *record)
{
	if (!record->failed && run->writer)
		st_store_writer_definitions(run->writer, 0, st_launch_clock_now(run->clock), 1,
					    record);
}

void st_run_family_control(struct st_run *run, uint64_t ticks, uint32_t kind)
{
	struct st_buf record;
	size_t begin;

	st_buf_init(&record, RECORD_MAX_BYTES);
	begin = st_definition_begin(&record, ST_DEF_FAMILY_CONTROL);
	st_buf_append_u64(&record, ticks);
	st_buf_append_u32(&record, kind);
	st_definition_end(&record, begin);
	st_run_family_record(run, &record);
	st_buf_fini(&record);
}

void st_run_family_mark(struct st_run *run, uint64_t ticks, const char *text)
{
	struct st_buf record;
	size_t begin;

	st_buf_init(&record, RECORD_MAX_BYTES);
	begin = st_definition_begin(&record, ST_DEF_FAMILY_MARK);
	st_buf_append_u64(&record, ticks);
	st_definition_text(&record, text, strlen(text));
	st_definition_end(&record, begin);
	st_run_family_record(run, &record);
	st_buf_fini(&record);
}

void st_run_stop(struct st_run *run, const char *reason)
{
	if (run->stopped)
		return;
	run->stopped = true;
	run->stop_reason = reason;
	run->stopped_ns = st_clock_mono_raw_ns();
	st_machine_end(&run->machine, 0);
	st_followed_control(&run->followed, ST_CONTROL_STOPPED, 0);
	st_run_family_control(run, st_launch_clock_now(run->clock), ST_MARK_DETACH);
}

/* Sinks of the drain: straight to the files. */
static void sink_trace(void *arg, struct st_chunk_header *header, const struct st_buf *payload)
{
	struct st_run *run = arg;

	if (run->writer) /* of a joined run: between two windows nothing is kept */
		st_store_writer_trace(run->writer, header, payload);
}

static void sink_definitions(void *arg, uint32_t process, uint64_t time, uint32_t record_count,
			     const struct st_buf *payload)
{
	struct st_run *run = arg;

	st_run_keep_definitions(run, process, payload);
	if (run->writer)
		st_store_writer_definitions(run->writer, process, time, record_count, payload);
}

uint64_t st_run_ticks_at(const struct st_run *run, uint64_t mono_raw_ns)
{
	return st_launch_clock_ticks_at(&run->last, run->ticks_per_second, mono_raw_ns);
}

static void on_not_entered(void *arg, const struct st_family_program *program)
{
	struct st_run *run = arg;
	struct st_buf record;
	size_t begin;

	if (run->config->no_follow_child && program->pid != run->spawn.pid)
		return;
	st_buf_init(&record, RECORD_MAX_BYTES);
	begin = st_definition_begin(&record, ST_DEF_NOT_ENTERED);
	st_buf_append_u32(&record, (uint32_t)program->pid);
	st_buf_append_u32(&record, (uint32_t)program->reason);
	st_buf_append_u64(&record, st_run_ticks_at(run, program->mono_raw_ns));
	st_definition_text(&record, program->executable, strlen(program->executable));
	st_definition_text(&record, program->command, program->command_bytes);
	st_buf_append_u64(&record, program->cpu_ns);
	st_definition_end(&record, begin);
	st_run_family_record(run, &record);
	st_buf_fini(&record);
	st_run_log(run, "pid %d is not recorded: %s", (int)program->pid, program->executable);
}

void st_run_cannot_record(struct st_run *run, pid_t pid, enum st_not_entered reason)
{
	uint64_t now_ns = st_clock_mono_raw_ns();
	const char *executable = st_family_executable(run->family, pid, now_ns);
	struct st_family_program program = {.pid = pid, .reason = reason, .mono_raw_ns = now_ns};

	program.executable = executable ? executable : "";
	program.command = st_family_command(run->family, pid, now_ns, &program.command_bytes);
	if (!program.command)
		program.command = "";
	on_not_entered(run, &program);
	run->cannot_record++;
}

/* Another program in the same process: what the one before recorded ends there, also when the new
 * one never says hello. */
void st_run_apply_execs(struct st_run *run)
{
	for (unsigned int i = 0; i < run->exec_count; i++) {
		const struct st_exec_news *news = &run->execs[i];
		struct st_followed *process = st_followed_live(&run->followed, news->pid);

		if (process && process->hello_ns < news->mono_raw_ns)
			st_followed_end(&run->followed, process, ST_END_EXEC,
					st_run_ticks_at(run, news->mono_raw_ns),
					st_clock_mono_raw_ns());
	}
	run->exec_count = 0;
}

static void on_executed(void *arg, pid_t pid, uint64_t mono_raw_ns)
{
	struct st_run *run = arg;

	if (run->exec_count == ST_RUN_EXECS_MAX)
		st_run_apply_execs(run);
	run->execs[run->exec_count++] = (struct st_exec_news){pid, mono_raw_ns};
}

static enum st_status refuse(struct st_run *run, int exit_status, enum st_status status)
{
	run->out->exit_status = exit_status;
	return status;
}

/* What can be known before anything is made. */
static enum st_status check_inputs(struct st_run *run, struct st_error *err)
{
	const struct st_collect_config *config = run->config;
	enum st_status status;
	struct stat st;

	if (config->app_working_dir) {
		int code = stat(config->app_working_dir, &st) != 0 ? errno : 0;

		if (code && code != ENOENT && code != ENOTDIR)
			return refuse(
				run, EXIT_USAGE,
				st_error_set(err, ST_EUSAGE, code, "%s", config->app_working_dir));
		if (code || !S_ISDIR(st.st_mode))
			return refuse(run, EXIT_USAGE,
				      st_error_set(err, ST_EUSAGE, 0, "%s: no such working folder",
						   config->app_working_dir));
	}
	status = st_environment_find_program(config->argv[0], config->app_working_dir != NULL,
					     &run->program, err);
	if (status == ST_ENOTFOUND)
		return refuse(run, EXIT_NOT_FOUND, status);
	if (status)
		return refuse(run, status == ST_ENOMEM ? EXIT_STRATA_FAILED : EXIT_NOT_EXECUTABLE,
			      status);
	status = st_environment_find_collector(&run->collector, err);
	return status ? refuse(run, EXIT_STRATA_FAILED, status) : ST_OK;
}

void st_run_start_clock(struct st_run *run)
{
	struct timespec rest = {.tv_nsec = RATE_BASE_NS};
	struct st_clock_pair first;

	run->clock = st_launch_clock_choose();
	first = st_launch_clock_pair(run->clock, CALIBRATION_TRIES);
	run->pair_cost_ns = st_launch_clock_pair_cost_ns(run->clock);
	run->fresh_mib_ns = st_launch_fresh_mib_ns();
	if (run->clock != ST_CLOCK_MONO_RAW)
		nanosleep(&rest, NULL);
	run->start = run->last = st_launch_clock_pair(run->clock, CALIBRATION_TRIES);
	run->start_wall_ns = st_launch_clock_wall_ns(run->start.mono_raw_ns, CALIBRATION_TRIES);
	run->ticks_per_second = run->clock == ST_CLOCK_MONO_RAW
					? 1000000000u
					: st_launch_clock_rate(&first, &run->start);
}

/* The folder: a taken name is refused, a taken number is tried again with the next. */
static enum st_status create_result(struct st_run *run, struct st_error *err)
{
	const struct st_collect_config *config = run->config;
	struct st_store_options options = {.limit_bytes = config->data_limit_bytes};
	enum st_status status = ST_EEXIST;
	char pattern[64], *path = NULL;

	snprintf(pattern, sizeof(pattern), "r@@@%s", config->analysis->suffix);
	options.ring_ticks = (uint64_t)(config->ring_buffer_s * (double)run->ticks_per_second);
	options.head.clock = (uint32_t)run->clock;
	options.head.start_ticks = run->start.ticks;
	options.head.start_mono_raw_ns = run->start.mono_raw_ns;
	options.head.start_wall_ns = run->start_wall_ns;
	options.head.ticks_per_second = run->ticks_per_second;
	for (int i = 0; status == ST_EEXIST && i < NAME_TRIES; i++) {
		status = st_result_name(config->result_dir ? config->result_dir : pattern, &path,
					err);
		if (status)
			break;
		options.path = path;
		status = st_store_writer_create(&run->writer, &options, err);
		if (!status)
			run->out->result_path = path;
		else
			free(path);
	}
	if (status)
		return refuse(run,
			      status == ST_EEXIST || status == ST_EUSAGE ? EXIT_USAGE
									 : EXIT_STRATA_FAILED,
			      status);
	st_store_writer_calibration(run->writer, run->start.ticks, run->start.mono_raw_ns,
				    run->start.error_ticks);
	return ST_OK;
}

/* What the user has CUDA's driver load; ours, left by a strata around this one, is none. */
static const char *cuda_chained(const char *collector)
{
	const char *theirs = getenv("CUDA_INJECTION64_PATH");
	char *ours = st_environment_cuda_library(collector);
	bool is_theirs = theirs && theirs[0] && !(ours && strcmp(theirs, ours) == 0);

	free(ours);
	return is_theirs ? theirs : NULL;
}

static char **make_environment(struct st_run *run)
{
	const struct st_collect_config *config = run->config;
	enum st_elf_kind kind = st_elf_look_through(run->program);
	bool refused = kind == ST_ELF_OTHER_LIBC || kind == ST_ELF_OTHER_CLASS ||
		       st_elf_is_sanitized(run->program) || st_elf_is_engine(run->program);
	struct st_environment_options options = {
		.collector = run->collector,
		.socket_path = st_rendezvous_path(run->rendezvous),
		.abstract_name = st_rendezvous_abstract(run->rendezvous),
		.token_hex = st_rendezvous_token(run->rendezvous),
		.preload = !refused && st_environment_can_preload(run->collector),
		.devices = st_target_config_devices(config) != 0,
		.waits = config->analysis->records & ST_RECORDS_WAITS,
	};
	struct st_target_config target = {.config = config,
					  .clock = st_launch_clock_name(run->clock),
					  .ticks_per_second = run->ticks_per_second,
					  .paused = run->paused,
					  .cuda_chained = cuda_chained(run->collector)};
	struct st_buf text;
	char **environment, *folder, *ze = NULL;

	if (options.devices)
		target.ze_library = ze = st_environment_ze_library(run->collector);
	options.has_ze = ze != NULL;

	if (config->resume_after_s >= 0)
		target.resume_at_ns =
			st_clock_mono_raw_ns() + (uint64_t)(config->resume_after_s * 1e9);
	if (config->analysis->records & ST_RECORDS_SAMPLES) {
		target.sampling = &run->sampling;
		run->followed.samples_all = !config->sampling.processes;
		/* Threads that wait often are not to pay for an event of their own, which the kernel stops and starts each
		 * time: inherited ones it exchanges. The events of their switches are inherited anyway. */
		target.own_events = run->followed.own_events =
			run->sampling.trigger == ST_TRIGGER_CPU_CLOCK &&
			!(config->analysis->records & ST_RECORDS_WAITS) &&
			st_own_events_possible(run->sampling.period_ns);
	}
	target.result = folder = realpath(run->out->result_path, NULL);
	st_buf_init(&text, RECORD_MAX_BYTES);
	st_target_config_text(&text, &target);
	options.config = (const char *)text.data;
	environment = text.failed ? NULL : st_environment_create(&options);
	st_buf_fini(&text);
	free(folder);
	free(ze);
	return environment;
}

/* Short turns on the processor when many threads want it: lateness fills rings. Not granted by old
 * kernels, and then nothing changes. */
static void ask_for_short_turns(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof(attr)};

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) != 0 || attr.policy != 0)
		return;
	attr.size = sizeof(attr);
	attr.runtime = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

static enum st_status spawn_program(struct st_run *run, struct st_error *err)
{
	char **environment = make_environment(run);
	struct st_spawn_options options = {.path = run->program,
					   .argv = run->config->argv,
					   .environment = environment,
					   .working_dir = run->config->app_working_dir,
					   .signals = &run->signals,
					   .inherited = &run->inherited};
	struct st_family_options family = {.collector = run->collector,
					   .not_entered = on_not_entered,
					   .executed = on_executed,
					   .mapped = st_run_mapped,
					   .created = st_run_created,
					   .renamed = st_run_renamed,
					   .arg = run};
	enum st_status status;

	if (!environment)
		return refuse(run, EXIT_STRATA_FAILED,
			      st_error_set(err, ST_ENOMEM, 0, "out of memory"));
	run->out->exit_status = EXIT_STRATA_FAILED;
	status = st_spawn_prepare(&run->spawn, &options, err);
	if (!status) {
		family.pid = run->spawn.pid;
		status = st_family_create(&run->family, &family, err);
		if (status)
			st_spawn_abandon(&run->spawn);
	}
	st_environment_destroy(environment);
	if (status)
		return status;
	run->followed.family = run->family;
	run->followed.direct_pid = run->spawn.pid;
	st_run_open_kernel(run);
	st_run_open_switches(run);
	st_machine_begin(&run->machine);
	run->program_began_ns = st_clock_mono_raw_ns();
	status = st_spawn_go(&run->spawn, run->config->argv[0], err);
	if (status)
		return refuse(run, status == ST_ENOTFOUND ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE,
			      status);
	st_run_log(run, "pid %d started: %s; clock %s, family by %s", (int)run->spawn.pid,
		   run->program, run->clock == ST_CLOCK_TSC ? "tsc" : "monotonic_raw",
		   st_family_source(run->family));
	ask_for_short_turns();
	st_inherited_release(&run->inherited);
	run->started = true;
	return ST_OK;
}

enum st_status st_run_watch(struct st_run *run, int fd, uint64_t data, struct st_error *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = data};

	if (epoll_ctl(run->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return st_error_set(err, ST_EIO, errno, "epoll");
	return ST_OK;
}

enum st_status st_run_set_up(struct st_run *run, struct st_error *err)
{
	struct st_drain_sink sink = {
		.trace = sink_trace, .definitions = sink_definitions, .arg = run};
	enum st_status status;

	st_drain_shared_init(&run->shared, &sink, run->clock, run->start.ticks);
	run->shared.ring_buffer = run->config->ring_buffer_s > 0;
	run->shared.ticks_per_second = run->ticks_per_second;
	run->followed.shared = &run->shared;
	run->followed.ending = st_run_keep_files;
	run->followed.ending_arg = run;
	/* Without tables stacks are short, and say so; nothing else is lost. */
	if ((run->config->analysis->records & ST_RECORDS_SAMPLES) &&
	    run->config->sampling.stacks != ST_CHOICE_OFF &&
	    st_tables_create(&run->shared.tables, err) == ST_OK)
		run->shared.vdso_bytes = st_code_maps_own_vdso();
	st_run_open_demand(run);
	run->out->exit_status = EXIT_STRATA_FAILED;
	run->epoll_fd = run->followed.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (run->epoll_fd < 0)
		return st_error_set(err, ST_EIO, errno, "epoll");
	status = st_rendezvous_create(&run->rendezvous, err);
	if (!status)
		status = st_run_watch(run, st_rendezvous_fd(run->rendezvous), UINT64_MAX, err);
	if (!status)
		status = st_run_watch(run, run->signals.fd, UINT64_MAX, err);
	return status;
}

/* A sentence that every report of the result shows. */
void st_run_note(struct st_run *run, const char *text)
{
	struct st_buf record;
	size_t begin;

	st_buf_init(&record, RECORD_MAX_BYTES);
	begin = st_definition_begin(&record, ST_DEF_NOTE);
	st_buf_append_u32(&record, 1);
	st_buf_append_u64(&record, st_launch_clock_now(run->clock));
	st_definition_text(&record, text, strlen(text));
	st_definition_end(&record, begin);
	st_run_family_record(run, &record);
	st_buf_fini(&record);
}

static void tell_not_followed(struct st_run *run)
{
	char text[128];

	if (!run->not_followed)
		return;
	snprintf(text, sizeof(text),
		 "%u process%s of the program %s not recorded (-no-follow-child)",
		 run->not_followed, run->not_followed == 1 ? "" : "es",
		 run->not_followed == 1 ? "was" : "were");
	st_run_note(run, text);
}

/* What collectors found out inside the programs, in the order in which it is told. */
static const struct {
	uint32_t notice;
	const char *text;
} notices[] = {
	{ST_NOTICE_NO_ITT,
	 "a Python program run with -I or -E imported itt, which strata cannot provide "
	 "there"},
	{ST_NOTICE_NO_LINES,
	 "tasks have no Python lines: cannot read the frames of this CPython (3.8 to 3.14 "
	 "are supported, unless process_vm_readv is forbidden)"},
	{ST_NOTICE_PYTHON_UNKNOWN,
	 "samples have no Python functions and lines: this CPython version is not "
	 "supported (3.8 to 3.14 are)"},
	{ST_NOTICE_PYTHON_FREE_THREADED,
	 "samples have no Python functions and lines: free-threaded CPython is not "
	 "supported"},
	{ST_NOTICE_PYTHON_UNREADABLE,
	 "samples have no Python functions and lines: a sandbox forbids process_vm_readv, "
	 "which is required to read frames"},
	{ST_NOTICE_NO_MODULES,
	 "nn.Module calls are not recorded: this CPython is not supported (3.8 to 3.14 "
	 "with the GIL are)"},
	{ST_NOTICE_NO_PYTHON_CALLS,
	 "Python function calls are not counted: this CPython is not supported (3.8 to "
	 "3.14 with the GIL are), or another tool uses its profiling hooks"},
	{ST_NOTICE_NO_STACKS,
	 "operators have no Python stacks: this CPython is not supported (3.8 to 3.14 "
	 "with the GIL are)"},
	{ST_NOTICE_NO_CUPTI,
	 "a program used CUDA, but what its devices did is not recorded: it has no "
	 "libcupti of CUDA 11.6 or newer"},
	{ST_NOTICE_CUPTI_TAKEN,
	 "a program used CUDA, but what its devices did is not recorded: another tool "
	 "(ncu, nsys, a debugger) has CUPTI"},
	{ST_NOTICE_CUPTI_REFUSED,
	 "a program used CUDA, but what its devices did is not recorded, or not all of "
	 "it: CUPTI refused"},
	{ST_NOTICE_GRAPHS_LATE,
	 "CUDA graphs are recorded kernel by kernel in spite of -knob device=graph: "
	 "recording of devices began when the program may already have been using CUDA"},
	{ST_NOTICE_ZE_OFF,
	 "a program used Level Zero, but what its devices did is not recorded: its "
	 "tracing layer is off (unset IPEX_ZE_TRACING=0, or set "
	 "ZE_ENABLE_TRACING_LAYER=1)"},
	{ST_NOTICE_ZE_REFUSED,
	 "a program used Level Zero, but what its devices did is not recorded: its loader "
	 "refused a tracer (is libze_tracing_layer.so.1 there?)"},
	{ST_NOTICE_OMPT_TAKEN,
	 "OpenMP regions of a program are not recorded: it has an OMPT tool of its own, and "
	 "there can be only one"},
	{ST_NOTICE_FREE_THREADED,
	 "a free-threaded CPython has no GIL to wait for; where it is turned on "
	 "(PYTHON_GIL=1), waits for it are told as waits for a condition variable"},
	{ST_NOTICE_NO_GIL,
	 "waits for Python's GIL are told as waits for a condition variable: this CPython "
	 "is not supported (3.8 to 3.13 are)"},
};

void st_run_tell_notices(struct st_run *run, const struct st_drain_counts *totals)
{
	char text[256];

	for (size_t i = 0; i < sizeof(notices) / sizeof(notices[0]); i++)
		if (totals->notices & notices[i].notice)
			st_run_note(run, notices[i].text);
	if (totals->makers_forgotten) {
		snprintf(text, sizeof(text),
			 "programs created more mutexes, condition variables and the like than "
			 "strata keeps in mind: for %llu of them it is not known where",
			 (unsigned long long)totals->makers_forgotten);
		st_run_note(run, text);
	}
	if (totals->profiled) {
		snprintf(text, sizeof(text),
			 "the program set its own profile function %llu time%s: while it was set, "
			 "Python function calls on that thread are not counted or recorded",
			 (unsigned long long)totals->profiled, totals->profiled == 1 ? "" : "s");
		st_run_note(run, text);
	}
}

static void name_silent(void *arg, pid_t pid)
{
	struct st_run *run = arg;

	st_followed_add_silent(&run->followed, pid, st_clock_mono_raw_ns());
}

/* The socket is still there: helpers are to find what the program has found. */
static void measure_creation(struct st_run *run)
{
	char **environment;

	if (run->attach || run->joined || !run->family || !run->child_gone)
		return;
	st_family_created(run->family, &run->creation.processes, &run->creation.threads);
	environment = make_environment(run);
	if (environment)
		st_creation_measure(&run->creation, environment, run->target_cpu_ns,
				    run->signals.fd);
	st_environment_destroy(environment);
}

void st_run_finish(struct st_run *run)
{
	struct st_clock_pair end;
	struct st_drain_counts totals;
	struct st_error failure = {0};

	if (run->finished)
		return;
	if (!run->config->no_follow_child)
		st_family_each_alive(run->family, name_silent, run);
	tell_not_followed(run);
	st_run_poll_kernel(run, true);
	st_run_poll_switches(run, true);
	st_run_poll_attached(run, true);
	st_followed_end_young(&run->followed);
	run->left_running = st_followed_end_all(&run->followed, st_clock_mono_raw_ns());
	st_followed_totals(&run->followed, &totals);
	st_run_tell_notices(run, &totals);
	st_family_finish(run->family, st_clock_mono_raw_ns());
	end = st_launch_clock_pair(run->clock, CALIBRATION_TRIES);
	st_store_writer_calibration(run->writer, end.ticks, end.mono_raw_ns, end.error_ticks);
	if (run->clock != ST_CLOCK_MONO_RAW)
		run->ticks_per_second = st_launch_clock_rate(&run->start, &end);
	if (st_store_writer_health(run->writer, &failure) && !run->told_failure) {
		run->told_failure = true;
		st_run_error(run, failure.text);
		st_run_say(run, "collection stopped: %s", failure.text);
	}
	st_run_log(run,
		   "finished: %u processes recorded %llu tasks and %llu other events, %u left "
		   "running",
		   run->followed.count, (unsigned long long)totals.begins,
		   (unsigned long long)totals.events, run->left_running);
	st_store_writer_finish(run->writer);
	run->finished = true;
	measure_creation(run);
	st_run_write_json(run);
}

void st_run_tear_down(struct st_run *run)
{
	st_run_close_control(run);
	st_followed_fini(&run->followed);
	st_run_detach(run);
	st_run_forget_names(run);
	st_family_destroy(run->family);
	st_kernel_side_destroy(run->kernel);
	st_run_close_demand(run);
	st_run_close_switches(run);
	st_rendezvous_destroy(run->rendezvous);
	if (run->spawn.pidfd >= 0)
		close(run->spawn.pidfd);
	if (run->epoll_fd >= 0)
		close(run->epoll_fd);
	st_tables_destroy(run->shared.tables);
	st_drain_shared_fini(&run->shared);
	free(run->threads);
	free(run->mappings);
	st_signals_end(&run->signals);
	free(run->collector);
	free(run->program);
}

static enum st_status run_program(struct st_run *run, struct st_error *err)
{
	const struct st_collect_config *config = run->config;
	enum st_status status = config->target_pid ? ST_OK : check_inputs(run, err);

	if (status)
		return status;
	run->inherited.kept = run->config->kept_fd;
	st_inherited_begin(&run->inherited);
	st_run_start_clock(run);
	run->paused = config->start_paused || config->resume_after_s > 0;
	run->followed.start_paused = run->paused;
	if (config->analysis->records & ST_RECORDS_SAMPLES) {
		st_sampling_plan(&run->sampling, &config->sampling,
				 config->sampling.hardware && st_sampling_has_cycles());
		if (run->sampling.note[0])
			st_run_say(run, "%s", run->sampling.note);
	}
	/* Before the first file: a file size limit must be an error, not a signal. */
	status = st_signals_begin(&run->signals, err);
	if (status)
		return refuse(run, EXIT_STRATA_FAILED, status);
	status = create_result(run, err);
	if (!status)
		status = st_run_set_up(run, err);
	if (!status)
		status = config->target_pid ? st_run_attach(run, err) : spawn_program(run, err);
	if (status)
		return status;
	if (run->paused)
		st_run_family_control(run, run->start.ticks, ST_MARK_PAUSE);
	/* Who finds the socket finds a result that can be asked. */
	st_run_write_json(run);
	st_run_open_control(run);
	if (run->control)
		st_run_watch(run, st_control_fd(run->control), UINT64_MAX, NULL);
	st_run_loop(run);
	return ST_OK;
}

enum st_status st_collect_run(const struct st_collect_config *config,
			      struct st_collect_outcome *out, struct st_error *err)
{
	struct st_run run = {.config = config, .out = out, .stop_reason = "", .epoll_fd = -1};
	enum st_status status;

	memset(out, 0, sizeof(*out));
	run.spawn.pidfd = run.spawn.go_fd = run.spawn.error_fd = -1;
	status = run_program(&run, err);
	out->started = run.started;
	out->wait_status = run.wait_status;
	out->interrupted = run.abandoned;
	if (!run.started) {
		st_store_writer_discard(run.writer);
		free(out->result_path);
		out->result_path = NULL;
	} else {
		out->exit_status = 0;
		st_store_writer_close(run.writer);
	}
	st_run_tear_down(&run);
	return status;
}
