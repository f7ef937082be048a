// SPDX-License-Identifier: Apache-2.0
//
// result.json: what users and reports need to know about a run in addition to its data. The keys are
// described in docs/format/result_json.md.
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "base/quote.h"
#include "collect/launch/family/family.h"
#include "collect/launch/family/proc_info.h"
#include "collect/launch/run/run.h"
#include "format/analysis.h"
#include "store/writer.h"

enum { JSON_MAX_BYTES = 8 << 20, PROCESSES_SHOWN_MAX = 64, INDENT_DEPTH_MAX = 2 };

static void put_command(struct st_json *json, const struct st_collect_config *config)
{
	char folder[PATH_MAX] = "";
	struct st_buf command;

	st_buf_init(&command, JSON_MAX_BYTES / 4);
	st_quote_command(&command, config->argc, config->argv);
	st_json_put_bytes(json, "command", command.data, command.size_bytes);
	st_buf_fini(&command);
	st_json_put_array(json, "argv");
	for (int i = 0; config->argv[i]; i++)
		st_json_text(json, config->argv[i]);
	st_json_array_end(json);
	if (config->app_working_dir && config->app_working_dir[0] == '/')
		snprintf(folder, sizeof(folder), "%s", config->app_working_dir);
	else if (getcwd(folder, sizeof(folder)) && config->app_working_dir)
		snprintf(folder + strlen(folder), sizeof(folder) - strlen(folder), "/%s",
			 config->app_working_dir);
	st_json_put_text(json, "working_dir", folder);
	st_json_put_text(json, "collect_command", config->collect_command);
}

/* The value of the first line "key<sep>value" of a file, without quotes around it. */
static void file_value(const char *path, const char *key, char separator, char *out, size_t size)
{
	FILE *file = fopen(path, "re");
	char line[512];

	out[0] = '\0';
	if (!file)
		return;
	while (!out[0] && fgets(line, sizeof(line), file)) {
		char *at = strchr(line, separator);

		if (strncmp(line, key, strlen(key)) != 0 || !at)
			continue;
		at += 1 + strspn(at + 1, " \t\"");
		at[strcspn(at, "\"\n")] = '\0';
		snprintf(out, size, "%s", at);
	}
	fclose(file);
}

static void put_machine(struct st_json *json, const struct st_run *run)
{
	char os[256], cpu[256];
	struct utsname name = {0};
	cpu_set_t allowed;

	uname(&name);
	file_value("/etc/os-release", "PRETTY_NAME", '=', os, sizeof(os));
	file_value("/proc/cpuinfo", "model name", ':', cpu, sizeof(cpu));
	st_json_put_text(json, "host", name.nodename);
	st_json_put_text(json, "os", os[0] ? os : name.sysname);
	st_json_put_text(json, "kernel", name.release);
	st_json_put_text(json, "cpu", cpu[0] ? cpu : name.machine);
	CPU_ZERO(&allowed);
	st_json_put_u64(json, "cpu_count",
			sched_getaffinity(0, sizeof(allowed), &allowed) == 0
				? (uint64_t)CPU_COUNT(&allowed)
				: (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	st_machine_put(&run->machine, json);
	st_json_put_text(json, "clock", st_launch_clock_name(run->clock));
	st_json_put_u64(json, "clock_ticks_per_second", run->ticks_per_second);
}

static void put_strata(struct st_json *json, const struct st_run *run)
{
	const uint8_t *id = st_store_writer_result_id(run->writer);
	uint64_t start_time;
	char hex[33];
	pid_t parent;

	st_proc_stat(getpid(), &parent, &start_time);
	for (int i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	st_json_put_text(json, "strata_version", run->config->strata_version);
	st_json_put_u64(json, "strata_pid", (uint64_t)getpid());
	st_json_put_u64(json, "strata_start_time", start_time);
	st_json_put_text(json, "result_id", hex);
}

static void put_times(struct st_json *json, const struct st_run *run)
{
	time_t seconds = (time_t)(run->start_wall_ns / 1000000000u);
	uint64_t now = st_clock_mono_raw_ns();
	uint64_t ended = run->program_ended_ns ? run->program_ended_ns : now;
	uint64_t stopped = run->stopped_ns ? run->stopped_ns : ended;
	char date[32], text[48];
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%03uZ", date,
		 (unsigned int)(run->start_wall_ns / 1000000u % 1000u));
	st_json_put_text(json, "started_at", text);
	st_json_put_u64(json, "elapsed_ns",
			run->program_began_ns ? ended - run->program_began_ns : 0);
	st_json_put_u64(json, "collected_ns",
			run->program_began_ns && stopped > run->program_began_ns
				? stopped - run->program_began_ns
				: 0);
}

static void put_exit(struct st_json *json, const struct st_run *run)
{
	st_json_put_text(json, "stop_reason", run->stop_reason);
	if (!run->child_gone || run->attach)
		return;
	st_json_put_i64(json, "wait_status", run->wait_status);
	st_json_put_object(json, "exit");
	if (WIFEXITED(run->wait_status))
		st_json_put_u64(json, "code", (uint64_t)WEXITSTATUS(run->wait_status));
	if (WIFSIGNALED(run->wait_status))
		st_json_put_u64(json, "signal", (uint64_t)WTERMSIG(run->wait_status));
	st_json_object_end(json);
}

static void put_config(struct st_json *json, const struct st_collect_config *config)
{
	const char *groups_variable = getenv("INTEL_ITTNOTIFY_GROUPS");

	st_json_put_object(json, "config");
	st_json_put_bool(json, "start_paused", config->start_paused);
	if (config->resume_after_s >= 0) {
		st_json_key(json, "resume_after_s");
		st_json_double(json, config->resume_after_s);
	}
	if (config->duration_s >= 0) {
		st_json_key(json, "duration_s");
		st_json_double(json, config->duration_s);
	}
	st_json_put_u64(json, "data_limit_bytes", config->data_limit_bytes);
	st_json_put_u64(json, "ring_kib", config->ring_kib);
	if (config->ring_buffer_s > 0) {
		st_json_key(json, "ring_buffer_s");
		st_json_double(json, config->ring_buffer_s);
	}
	st_json_put_bool(json, "follow_child", !config->no_follow_child);
	if (config->itt_domains)
		st_json_put_text(json, "itt_domains", config->itt_domains);
	if (config->has_itt_groups)
		st_json_put_u64(json, "itt_groups", config->itt_groups);
	else if (groups_variable && groups_variable[0])
		st_json_put_text(json, "itt_groups_variable", groups_variable);
	st_json_object_end(json);
}

static bool given_before(const struct st_collect_config *config, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(config->options[i].name, config->options[at].name) == 0)
			return true;
	return false;
}

/* All values of an option that may be given more than once. */
static void put_values(struct st_json *json, const struct st_collect_config *config,
		       const char *name)
{
	st_json_array_begin(json);
	for (size_t i = 0; i < config->option_count; i++)
		if (strcmp(config->options[i].name, name) == 0)
			st_json_text(json, config->options[i].value);
	st_json_array_end(json);
}

/* What was given on the command line, as it was written there. The last one of a flag counts. */
static void put_options(struct st_json *json, const struct st_collect_config *config)
{
	st_json_put_object(json, "options");
	for (size_t i = 0; i < config->option_count; i++) {
		const struct st_collect_option *option = &config->options[i];

		if (given_before(config, i))
			continue;
		st_json_key(json, option->name);
		if (option->repeatable) {
			put_values(json, config, option->name);
			continue;
		}
		if (option->value) {
			st_json_text(json, option->value);
			continue;
		}
		for (size_t j = i; j < config->option_count; j++)
			if (strcmp(config->options[j].name, option->name) == 0)
				option = &config->options[j];
		st_json_bool(json, option->on);
	}
	st_json_object_end(json);
}

/* What a ring buffer has let go of. */
static void put_ring(struct st_json *json, const struct st_run *run)
{
	struct st_store_dropped dropped = st_store_writer_dropped(run->writer);
	struct st_drain_counts totals;

	if (run->config->ring_buffer_s <= 0)
		return;
	st_followed_totals(&run->followed, &totals);
	st_json_put_object(json, "ring_buffer");
	st_json_key(json, "seconds");
	st_json_double(json, run->config->ring_buffer_s);
	st_json_put_u64(json, "files_dropped", dropped.files);
	st_json_put_u64(json, "records_dropped", dropped.records);
	st_json_put_u64(json, "bytes_dropped", dropped.bytes);
	st_json_put_u64(json, "open_slices_unknown", totals.open_unknown);
	st_json_object_end(json);
}

static const char *end_name(const struct st_followed *process)
{
	switch (process->end) {
	case ST_END_EXITED:
		return "exited";
	case ST_END_GONE:
		return "gone";
	case ST_END_EXEC:
		return "exec";
	case ST_END_LEFT_RUNNING:
		return "left running";
	default:
		return "running";
	}
}

static void put_processes(struct st_json *json, const struct st_followed_table *table)
{
	uint32_t shown = table->count < PROCESSES_SHOWN_MAX ? table->count : PROCESSES_SHOWN_MAX;

	st_json_put_u64(json, "process_count", table->count);
	st_json_put_array(json, "processes");
	for (uint32_t i = 0; i < shown; i++) {
		const struct st_followed *process = table->all[i];

		st_json_object_begin(json);
		st_json_put_u64(json, "pid", (uint64_t)process->pid);
		st_json_put_text(json, "command", process->label);
		st_json_put_text(json, "end", end_name(process));
		st_json_object_end(json);
	}
	st_json_array_end(json);
}

static void put_loss_and_cost(struct st_json *json, const struct st_run *run)
{
	struct st_drain_counts totals;
	struct rusage usage = {0};

	st_followed_totals(&run->followed, &totals);
	getrusage(RUSAGE_SELF, &usage);
	st_json_put_object(json, "loss");
	st_json_put_u64(json, "slices_dropped", totals.dropped);
	st_json_put_u64(json, "unmatched_ends", totals.unmatched_ends);
	st_json_put_u64(json, "no_slot", totals.no_slot);
	st_json_put_u64(json, "labels_cut", totals.labels_cut);
	st_json_put_u64(json, "labels_unknown", totals.labels_unknown);
	st_json_put_u64(json, "suspect", totals.suspect);
	st_json_put_u64(json, "events_dropped", totals.events_dropped);
	st_json_put_u64(json, "events_cut", totals.events_cut);
	st_json_put_u64(json, "callers_unknown", totals.callers_unknown);
	st_json_put_u64(json, "processes_refused", run->followed.refused);
	st_json_put_u64(json, "family_events_lost", run->family ? st_family_lost(run->family) : 0);
	st_json_object_end(json);
	if (totals.suspect)
		st_json_put_text(json, "refused_first", totals.refused_first);
	st_json_put_u64(json, "chunks_not_written", st_store_writer_lost_chunks(run->writer));
	st_json_put_u64(json, "events", totals.begins);
	st_json_put_u64(json, "other_events", totals.events);
	st_json_put_u64(json, "event_cost_ps", (uint64_t)(run->pair_cost_ns * 1000));
	st_json_put_text(json, "event_cost_source",
			 "estimate: two clock reads and two stores, measured at the start");
	st_json_put_u64(json, "fresh_mib_ns", (uint64_t)run->fresh_mib_ns);
	st_json_put_u64(json, "strata_cpu_ns",
			(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
				(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
					1000u);
	st_json_put_u64(json, "target_cpu_ns", run->target_cpu_ns);
	if (run->creation.process_ns || run->creation.thread_ns) {
		st_json_put_object(json, "creation");
		st_json_put_u64(json, "processes", run->creation.processes);
		st_json_put_u64(json, "threads", run->creation.threads);
		st_json_put_u64(json, "process_cost_ns", run->creation.process_ns);
		st_json_put_u64(json, "thread_cost_ns", run->creation.thread_ns);
		st_json_object_end(json);
	}
	st_json_put_u64(json, "peak_rss_bytes", st_proc_own_peak_bytes());
}

static void put_errors(struct st_json *json, const struct st_run *run)
{
	if (run->error_count)
		st_json_put_text(json, "problem", run->errors[0]);
	st_json_put_array(json, "errors");
	for (unsigned int i = 0; i < run->error_count; i++)
		st_json_text(json, run->errors[i]);
	st_json_array_end(json);
}

static void new_line(struct st_buf *out, unsigned int depth)
{
	st_buf_append_u8(out, '\n');
	while (depth--)
		st_buf_append_u8(out, '\t');
}

/* Strict JSON without blanks becomes JSON a person can read: one key or item a line, two levels deep. */
static void indent(struct st_buf *out, const struct st_buf *json)
{
	unsigned int depth = 0;
	bool in_text = false;

	for (size_t i = 0; i < json->size_bytes; i++) {
		char c = (char)json->data[i];
		bool closes = !in_text && (c == '}' || c == ']');

		if (closes && depth-- <= INDENT_DEPTH_MAX && i && json->data[i - 1] != '{' &&
		    json->data[i - 1] != '[')
			new_line(out, depth);
		st_buf_append_u8(out, (uint8_t)c);
		if (in_text && c == '\\') {
			st_buf_append_u8(out, json->data[++i]);
			continue;
		}
		if (c == '"')
			in_text = !in_text;
		if (in_text)
			continue;
		if (c == ':' || (c == ',' && depth > INDENT_DEPTH_MAX))
			st_buf_append_u8(out, ' ');
		if (c == '{' || c == '[')
			depth++;
		if ((c == '{' || c == '[' || c == ',') && depth <= INDENT_DEPTH_MAX &&
		    i + 1 < json->size_bytes && json->data[i + 1] != '}' &&
		    json->data[i + 1] != ']')
			new_line(out, depth);
	}
	st_buf_append_u8(out, '\n');
}

void st_run_write_json(struct st_run *run)
{
	struct st_buf compact, readable;
	struct st_json json;
	char source[320];

	st_buf_init(&compact, JSON_MAX_BYTES);
	st_buf_init(&readable, JSON_MAX_BYTES);
	st_json_init(&json, &compact);
	st_json_object_begin(&json);
	st_json_put_text(&json, "schema", "strata.result/1");
	st_json_put_text(&json, "state", run->finished ? "finished" : "running");
	st_json_put_text(&json, "type", run->config->analysis->name);
	put_command(&json, run->config);
	put_times(&json, run);
	put_exit(&json, run);
	st_run_source_text(run, source, sizeof(source));
	st_json_put_text(&json, "source", source);
	put_machine(&json, run);
	put_strata(&json, run);
	put_config(&json, run->config);
	st_run_put_sampling(run, &json);
	put_ring(&json, run);
	put_options(&json, run->config);
	st_json_put_text(&json, "family_source", run->family ? st_family_source(run->family) : "");
	put_processes(&json, &run->followed);
	st_json_put_u64(&json, "processes_not_followed", run->not_followed);
	put_loss_and_cost(&json, run);
	put_errors(&json, run);
	st_json_put_u64(&json, "size_bytes", st_store_writer_bytes(run->writer));
	st_json_object_end(&json);
	indent(&readable, &compact);
	if (!compact.failed && !readable.failed)
		st_store_writer_result_json(run->writer, &readable);
	st_buf_fini(&compact);
	st_buf_fini(&readable);
}
