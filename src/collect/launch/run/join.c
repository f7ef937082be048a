// SPDX-License-Identifier: Apache-2.0
//
// A program that asks to be recorded by itself (strata.profile() in Python): it has started us, its collector says hello as
// in any run, and it switches itself on and off. Its results are windows, each in a folder of its own, begun and ended by
// a word on the control socket; in between nothing is kept but definitions, and we sleep. Nobody sees us: no output, no
// terminal, no signal. We end with the program, and the folder of all its windows with us.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "collect/launch/run/collect.h"
#include "collect/launch/run/control.h"
#include "collect/launch/drain/drain_state.h"
#include "collect/launch/family/family.h"
#include "collect/launch/family/rendezvous.h"
#include "collect/launch/run/run.h"
#include "collect/launch/run/target_config.h"
#include "format/definitions.h"
#include "store/writer.h"

enum {
	READY_MAX_BYTES = 64 << 10,
	KEPT_MAX_BYTES = 256 << 20,
	RECORD_HEAD_BYTES = 8,
	PAIR_TRIES = 50,
	FOLDER_DEPTH_MAX = 8,
};

struct st_joined {
	struct st_buf kept; /* definitions that every window needs: { u32 process, record } */
	bool over;
};

static uint32_t read_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Not those that are said of one window only, or that st_drain_renew says again. */
static bool is_lasting(const uint8_t *record, uint32_t body_bytes)
{
	uint16_t type;

	memcpy(&type, record, sizeof(type));
	switch (type) {
	case ST_DEF_THREAD:
	case ST_DEF_THREAD_CREATOR:
	case ST_DEF_LOSS:
	case ST_DEF_SAMPLER_LOSS:
	case ST_DEF_PROCESS_END:
		return false;
	case ST_DEF_STRING:
		return body_bytes < 4 || read_u32(record + RECORD_HEAD_BYTES) < ST_TEXT_ID_FIRST;
	default:
		return true;
	}
}

void st_run_keep_definitions(struct st_run *run, uint32_t process, const struct st_buf *payload)
{
	size_t at = 0;

	while (run->joined && at + RECORD_HEAD_BYTES <= payload->size_bytes) {
		const uint8_t *record = payload->data + at;
		uint32_t body_bytes = read_u32(record + 4);

		at += RECORD_HEAD_BYTES + (size_t)body_bytes;
		if (at > payload->size_bytes || !is_lasting(record, body_bytes))
			continue;
		st_buf_append_u32(&run->joined->kept, process);
		st_buf_append(&run->joined->kept, record, RECORD_HEAD_BYTES + (size_t)body_bytes);
	}
}

static void repeat_definitions(struct st_run *run)
{
	const struct st_buf *kept = &run->joined->kept;
	uint64_t now = st_launch_clock_now(run->clock);
	struct st_buf batch;
	uint32_t count = 0, process = 0;
	size_t at = 0;

	st_buf_init(&batch, ST_CHUNK_RAW_MAX);
	while (at + 4 + RECORD_HEAD_BYTES <= kept->size_bytes) {
		uint32_t of = read_u32(kept->data + at);
		size_t bytes = RECORD_HEAD_BYTES + (size_t)read_u32(kept->data + at + 8);

		if (count && (of != process || batch.size_bytes + bytes > ST_CHUNK_RAW_MAX / 2)) {
			st_store_writer_definitions(run->writer, process, now, count, &batch);
			st_buf_clear(&batch);
			count = 0;
		}
		process = of;
		st_buf_append(&batch, kept->data + at + 4, bytes);
		count++;
		at += 4 + bytes;
	}
	if (count)
		st_store_writer_definitions(run->writer, process, now, count, &batch);
	if (batch.failed || kept->failed)
		st_run_error(run, "not enough memory for all names");
	st_buf_fini(&batch);
}

static void take_pair(struct st_run *run)
{
	run->last = st_launch_clock_pair(run->clock, PAIR_TRIES);
	st_store_writer_calibration(run->writer, run->last.ticks, run->last.mono_raw_ns,
				    run->last.error_ticks);
}

static void set_path(struct st_run *run, const char *path)
{
	free(run->out->result_path);
	run->out->result_path = strdup(path);
}

static bool begin_window(struct st_run *run, const char *path, struct st_buf *answer)
{
	struct st_store_options options = {.path = path};
	struct st_error err = {0};

	if (run->writer || path[0] != '/') {
		st_buf_append_text(answer, run->writer ? "a window is open" : "no folder");
		return false;
	}
	/* What came since the last window belongs to none. */
	st_followed_flush(&run->followed, st_clock_mono_raw_ns());
	options.head.clock = (uint32_t)run->clock;
	options.head.start_ticks = run->start.ticks;
	options.head.start_mono_raw_ns = run->start.mono_raw_ns;
	options.head.start_wall_ns = run->start_wall_ns;
	options.head.ticks_per_second = run->ticks_per_second;
	if (st_store_writer_create(&run->writer, &options, &err)) {
		st_buf_append_text(answer, err.text);
		return false;
	}
	set_path(run, path);
	run->program_began_ns = run->second_ns = st_clock_mono_raw_ns();
	run->program_ended_ns = run->stopped_ns = 0;
	run->error_count = 0;
	/* A disk that was full, a folder that went away: the next window is another one. */
	if (run->stopped)
		st_followed_control(&run->followed, 0, ST_CONTROL_STOPPED);
	run->told_failure = run->stopped = false;
	run->stop_reason = "";
	st_store_writer_calibration(run->writer, run->start.ticks, run->start.mono_raw_ns,
				    run->start.error_ticks);
	take_pair(run);
	repeat_definitions(run);
	st_followed_renew(&run->followed);
	st_run_log(run, "window begins");
	st_run_write_json(run);
	return true;
}

/* The program goes on; what its result knows of it ends here. */
static void define_ends(struct st_run *run)
{
	struct st_buf record;
	size_t begin;

	for (uint32_t i = 0; i < run->followed.live_count; i++) {
		st_buf_init(&record, READY_MAX_BYTES);
		begin = st_definition_begin(&record, ST_DEF_PROCESS_END);
		st_buf_append_u64(&record, st_launch_clock_now(run->clock));
		st_buf_append_u32(&record, ST_END_LEFT_RUNNING);
		st_buf_append_u32(&record, 0);
		st_definition_end(&record, begin);
		if (!record.failed)
			st_store_writer_definitions(run->writer, run->followed.live[i],
						    st_launch_clock_now(run->clock), 1, &record);
		st_buf_fini(&record);
	}
}

static bool end_window(struct st_run *run, struct st_buf *answer)
{
	struct st_drain_counts totals;
	struct st_error failure = {0};
	bool done;

	if (!run->writer) {
		st_buf_append_text(answer, "no window is open");
		return false;
	}
	/* In a short window the program's hello comes in the same round as the end. */
	st_run_take_arrivals(run, st_clock_mono_raw_ns());
	st_followed_flush(&run->followed, st_clock_mono_raw_ns());
	run->program_ended_ns = st_clock_mono_raw_ns();
	st_followed_totals(&run->followed, &totals);
	st_run_tell_notices(run, &totals);
	define_ends(run);
	take_pair(run);
	st_run_log(run, "window ends: %llu tasks", (unsigned long long)totals.begins);
	done = !st_store_writer_health(run->writer, &failure);
	if (!done && !run->told_failure)
		st_run_error(run, failure.text);
	st_store_writer_finish(run->writer);
	run->finished = true;
	st_run_write_json(run);
	run->finished = false;
	st_store_writer_close(run->writer);
	run->writer = NULL;
	if (done)
		st_buf_printf(answer, "%llu", (unsigned long long)run->start.mono_raw_ns);
	else
		st_buf_append_text(answer, failure.text);
	return done;
}

bool st_run_joined_verb(struct st_run *run, const struct st_control_request *request,
			struct st_buf *answer, bool *done)
{
	*done = true;
	if (!run->joined)
		return false;
	if (strcmp(request->verb, "window") == 0) {
		*done = begin_window(run, request->text, answer);
	} else if (strcmp(request->verb, "end") == 0) {
		*done = end_window(run, answer);
	} else if (strcmp(request->verb, "quit") == 0) {
		run->joined->over = true;
	} else if (strcmp(request->verb, "flush") != 0 && strcmp(request->verb, "note") != 0 &&
		   strcmp(request->verb, "status") != 0) {
		st_buf_append_text(answer, "not a command of a profile");
		*done = false;
	} else {
		return false;
	}
	return true;
}

bool st_run_joined_over(const struct st_run *run)
{
	return run->joined && (run->joined->over || run->child_gone);
}

/* Everything in it: results, and what reports have put into them. */
static void remove_folder(int parent_fd, const char *name, int depth)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(stream)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(stream), entry->d_name, 0) != 0 && depth < FOLDER_DEPTH_MAX)
			remove_folder(dirfd(stream), entry->d_name, depth + 1);
	}
	closedir(stream);
	unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static enum st_status say_ready(struct st_run *run, const char *id_hex, struct st_error *err)
{
	struct st_target_config target = {.config = run->config,
					  .clock = st_launch_clock_name(run->clock),
					  .ticks_per_second = run->ticks_per_second};
	struct st_buf text, line;
	struct st_json json;
	bool said;

	st_buf_init(&text, READY_MAX_BYTES);
	st_buf_init(&line, READY_MAX_BYTES);
	st_target_config_text(&text, &target);
	st_json_init(&json, &line);
	st_json_object_begin(&json);
	st_json_put_text(&json, "socket", st_rendezvous_path(run->rendezvous));
	st_json_put_text(&json, "abstract", st_rendezvous_abstract(run->rendezvous));
	st_json_put_text(&json, "token", st_rendezvous_token(run->rendezvous));
	st_json_put_text(&json, "config", text.failed ? "" : (const char *)text.data);
	st_json_put_text(&json, "control", id_hex);
	st_json_put_u64(&json, "pid", (uint64_t)getpid());
	st_json_put_u64(&json, "start_mono_raw_ns", run->start.mono_raw_ns);
	st_json_object_end(&json);
	st_buf_append_u8(&line, '\n');
	said = !text.failed && !line.failed &&
	       write(run->config->ready_fd, line.data, line.size_bytes) == (ssize_t)line.size_bytes;
	st_buf_fini(&text);
	st_buf_fini(&line);
	close(run->config->ready_fd);
	return said ? ST_OK : st_error_set(err, ST_EIO, errno, "the program does not respond");
}

/* Standard error is the program's, too: a pipe it writes to must close with it. */
static void let_go(struct st_run *run)
{
	st_inherited_release(&run->inherited);
	dup3(STDOUT_FILENO, STDERR_FILENO, O_CLOEXEC);
	setsid();
}

static enum st_status open_control(struct st_run *run, char id_hex[33], struct st_error *err)
{
	uint64_t id[2] = {run->start.ticks, (uint64_t)getpid()};
	enum st_status status;

	if (getrandom(id, sizeof(id), GRND_NONBLOCK) < 0)
		id[1] ^= run->start_wall_ns;
	snprintf(id_hex, 33, "%016llx%016llx", (unsigned long long)id[0],
		 (unsigned long long)id[1]);
	status = st_control_create(&run->control, run->config->joined_dir, id_hex, err);
	return status ? status : st_run_watch(run, st_control_fd(run->control), UINT64_MAX, err);
}

static enum st_status run_joined(struct st_run *run, struct st_error *err)
{
	const struct st_collect_config *config = run->config;
	struct st_family_options family = {
		.pid = config->joined_pid, .unwatched = true, .collector = "", .arg = run};
	enum st_status status;
	char id_hex[33];

	st_inherited_begin(&run->inherited);
	st_run_start_clock(run);
	status = st_signals_begin(&run->signals, err);
	if (!status)
		status = st_run_set_up(run, err);
	if (!status)
		status = st_family_create(&run->family, &family, err);
	if (!status)
		status = open_control(run, id_hex, err);
	if (status)
		return status;
	run->spawn.pid = run->followed.direct_pid = config->joined_pid;
	run->spawn.pidfd = (int)syscall(SYS_pidfd_open, config->joined_pid, 0);
	if (run->spawn.pidfd < 0)
		return st_error_set(err, ST_EIO, errno, "process %d", config->joined_pid);
	run->followed.family = run->family;
	run->followed.no_maps = true;
	run->started = true;
	status = say_ready(run, id_hex, err);
	if (status)
		return status;
	let_go(run);
	st_run_loop(run);
	return ST_OK;
}

enum st_status st_collect_join(const struct st_collect_config *config, struct st_error *err)
{
	struct st_collect_outcome out = {0};
	struct st_joined joined = {0};
	struct st_run run = {.config = config,
			     .out = &out,
			     .stop_reason = "",
			     .epoll_fd = -1,
			     .joined = &joined};
	struct st_buf ignored;
	enum st_status status;

	run.spawn.pidfd = run.spawn.go_fd = run.spawn.error_fd = -1;
	st_buf_init(&joined.kept, KEPT_MAX_BYTES);
	st_buf_init(&ignored, READY_MAX_BYTES);
	status = run_joined(&run, err);
	if (run.writer)
		end_window(&run, &ignored);
	st_run_tear_down(&run);
	remove_folder(AT_FDCWD, config->joined_dir, 0);
	st_buf_fini(&joined.kept);
	st_buf_fini(&ignored);
	free(out.result_path);
	return status;
}
