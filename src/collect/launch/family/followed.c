// SPDX-License-Identifier: Apache-2.0
//
// Life of a followed process: hello, definitions of who it is, drain, end. Ids are never used again,
// so what was written about a process stays true whatever the kernel does with its pid.
#include "collect/launch/family/followed.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/vec.h"
#include "collect/launch/family/armed.h"
#include "collect/launch/drain/clock.h"
#include "collect/launch/family/family.h"
#include "collect/launch/family/proc_info.h"
#include "collect/launch/family/rendezvous.h"
#include "format/shm.h"

enum { LIVE_MAX = 4096, ALL_MAX = 256 << 10, PARENT_STEPS_MAX = 64, RECORD_MAX_BYTES = 64 << 10 };

void st_followed_fini(struct st_followed_table *table)
{
	st_followed_forget_waiting(table);
	st_young_fini(&table->young);
	for (uint32_t i = 0; i < table->count; i++) {
		st_drain_destroy(table->all[i]->drain);
		st_armed_destroy(table->all[i]->armed);
		free(table->all[i]->signatures.entries);
		if (table->all[i]->pidfd >= 0)
			close(table->all[i]->pidfd);
		free(table->all[i]);
	}
	free(table->all);
	free(table->live);
	table->all = NULL;
	table->live = NULL;
	table->count = table->live_count = 0;
}

static struct st_followed *get(const struct st_followed_table *table, uint32_t id)
{
	return id && id <= table->count ? table->all[id - 1] : NULL;
}

static struct st_followed *by_token(const struct st_followed_table *table, uint64_t token)
{
	for (uint32_t i = table->count; token && i > 0; i--)
		if (table->all[i - 1]->token == token)
			return table->all[i - 1];
	return NULL;
}

struct st_followed *st_followed_live(struct st_followed_table *table, pid_t pid)
{
	for (uint32_t i = 0; pid > 0 && i < table->live_count; i++) {
		struct st_followed *process = get(table, table->live[i]);

		if (process->pid == pid)
			return process;
	}
	return NULL;
}

/* The nearest ancestor that is in the result, by the pids of those between. */
static uint32_t find_parent(const struct st_followed_table *table, pid_t pid)
{
	pid_t parent = st_family_parent(table->family, pid);
	uint64_t start_time;

	if (!parent)
		st_proc_stat(pid, &parent, &start_time);
	for (int step = 0; parent > 1 && step < PARENT_STEPS_MAX; step++) {
		for (uint32_t i = table->count; i > 0; i--)
			if (table->all[i - 1]->pid == parent)
				return i;
		parent = st_family_parent(table->family, parent);
	}
	return 0;
}

static void write_record(const struct st_followed_table *table, uint32_t process,
			 const struct st_buf *record)
{
	const struct st_drain_sink *sink = &table->shared->sink;

	if (!record->failed)
		sink->definitions(sink->arg, process, st_launch_clock_now(table->shared->clock), 1,
				  record);
}

/* A line a person can read: arguments joined by blanks, cut to what fits. */
static void make_label(struct st_followed *process, const char *command, size_t size_bytes)
{
	size_t n =
		size_bytes < sizeof(process->label) - 1 ? size_bytes : sizeof(process->label) - 1;

	memcpy(process->label, command, n);
	for (size_t i = 0; i < n; i++)
		if (process->label[i] == '\0')
			process->label[i] = ' ';
	process->label[n] = '\0';
}

static void define_process(const struct st_followed_table *table, struct st_followed *process,
			   uint64_t first_time)
{
	size_t size_bytes = 0, begin;
	/* After an exec /proc speaks of the next program. */
	bool replaced = st_family_replaced(table->family, process->pid, process->hello_ns);
	char *command = replaced ? NULL : st_proc_command(process->pid, &size_bytes);
	char *executable = replaced ? NULL : st_proc_executable(process->pid);
	const char *known_command = command, *known_executable = executable;
	struct st_buf record;

	if (!known_command)
		known_command = st_family_command(table->family, process->pid, process->hello_ns,
						  &size_bytes);
	if (!known_executable)
		known_executable =
			st_family_executable(table->family, process->pid, process->hello_ns);
	if (!known_command)
		known_command = "";
	if (!known_executable)
		known_executable = "";
	make_label(process, known_command, size_bytes);
	st_buf_init(&record, RECORD_MAX_BYTES);
	begin = st_definition_begin(&record, ST_DEF_PROCESS);
	st_buf_append_u32(&record, (uint32_t)process->pid);
	st_buf_append_u32(&record, process->parent);
	st_buf_append_u64(&record, process->start_time);
	st_buf_append_u32(&record, process->incarnation);
	st_buf_append_u32(&record, process->flags);
	st_buf_append_u64(&record, first_time);
	st_definition_text(&record, known_command, size_bytes);
	st_definition_text(&record, known_executable, strlen(known_executable));
	st_definition_end(&record, begin);
	write_record(table, process->id, &record);
	st_buf_fini(&record);
	free(command);
	free(executable);
}

/* The ancestor's names go to disk first: the child's records use them. */
static void define_inherited(const struct st_followed_table *table, const struct st_followed *child,
			     struct st_followed *ancestor, const struct st_arrival *arrival)
{
	struct st_buf record;
	size_t begin;

	if (ancestor->drain)
		st_drain_definitions(ancestor->drain);
	st_buf_init(&record, RECORD_MAX_BYTES);
	begin = st_definition_begin(&record, ST_DEF_INHERIT);
	st_buf_append_u32(&record, ancestor->id);
	st_buf_append_u32(&record, arrival->hello.inherited_strings);
	st_buf_append_u32(&record, arrival->hello.inherited_domains);
	st_buf_append_u32(&record, arrival->hello.inherited_objects);
	st_definition_end(&record, begin);
	write_record(table, child->id, &record);
	st_buf_fini(&record);
}

static bool add_to_lists(struct st_followed_table *table, struct st_followed *process)
{
	if (!ST_VEC_ROOM(table->all, table->count, table->capacity) ||
	    !ST_VEC_ROOM(table->live, table->live_count, table->live_capacity))
		return false;
	process->id = table->count + 1;
	table->all[table->count++] = process;
	table->live[table->live_count++] = process->id;
	return true;
}

/* Whoever had this pid before: the same process before an exec, or one that is gone. */
static void end_predecessor(struct st_followed_table *table, struct st_followed *process,
			    uint64_t first_time, uint64_t now_ns)
{
	struct st_followed *before = st_followed_live(table, process->pid);
	bool same;

	if (!before) {
		for (uint32_t i = table->count; !before && process->pid && i > 0; i--)
			if (table->all[i - 1]->pid == process->pid)
				before = table->all[i - 1];
		if (!before || before->end != ST_END_EXEC)
			return;
	}
	same = !process->start_time || !before->start_time ||
	       process->start_time == before->start_time;
	if (before->drain)
		st_followed_end(table, before, same ? ST_END_EXEC : ST_END_GONE, first_time,
				now_ns);
	if (same) {
		process->incarnation = before->incarnation + 1;
		process->parent = before->parent;
	}
}

static struct st_followed *make_process(struct st_followed_table *table,
					const struct st_arrival *arrival, uint64_t now_ns)
{
	uint64_t now = st_launch_clock_now(table->shared->clock), first = arrival->hello.ticks;
	struct st_followed *process = calloc(1, sizeof(*process));
	struct st_followed *ancestor = by_token(table, arrival->hello.parent_token);
	pid_t parent_pid;

	if (!process)
		return NULL;
	if (first > now || first < table->shared->start_ticks)
		first = now;
	process->pid = arrival->pid;
	process->own_pid = arrival->hello.pid;
	process->pidfd = -1;
	process->token = arrival->hello.process_token;
	process->hello_ns = arrival->hello.mono_raw_ns;
	process->same_namespace = arrival->pid > 0 && arrival->hello.pid == (uint32_t)arrival->pid;
	process->active_ns = now_ns;
	st_proc_stat(process->pid, &parent_pid, &process->start_time);
	if (process->pid == table->direct_pid)
		process->flags |= ST_PROCESS_DIRECT;
	end_predecessor(table, process, first, now_ns);
	if (ancestor) {
		process->parent = ancestor->id;
		process->flags |= ST_PROCESS_FORKED;
	} else if (!process->parent) {
		process->parent = find_parent(table, process->pid);
	}
	if (!add_to_lists(table, process)) {
		free(process);
		return NULL;
	}
	define_process(table, process, first);
	if (ancestor)
		define_inherited(table, process, ancestor, arrival);
	return process;
}

static void watch_end(struct st_followed_table *table, struct st_followed *process, int pidfd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = process->id};

	if (process->flags & ST_PROCESS_DIRECT || process->pidfd >= 0 || pidfd < 0) {
		if (pidfd >= 0)
			close(pidfd); /* the run itself watches its own child */
		return;
	}
	process->pidfd = pidfd;
	epoll_ctl(table->epoll_fd, EPOLL_CTL_ADD, pidfd, &event);
}

static void drop_arrival(const struct st_arrival *arrival)
{
	if (arrival->fd >= 0)
		close(arrival->fd);
	if (arrival->pidfd >= 0)
		close(arrival->pidfd);
}

/* What the process assumed when it made its memory may be over by now: start-paused, or the pause of the
 * family. A pause of its own it keeps. */
static void set_control(const struct st_followed_table *table, const struct st_followed *process,
			const struct st_arrival *arrival)
{
	uint32_t clear = ST_CONTROL_PAUSED_FAMILY & ~table->control;

	if (table->resumed_ns && (arrival->hello.flags & ST_HELLO_PAUSED_AT_START))
		clear |= ST_CONTROL_PAUSED_SELF;
	st_drain_control(process->drain, table->control, clear);
}

static enum st_status start_drain(struct st_followed_table *table, struct st_followed *process,
				  struct st_error *err)
{
	enum st_status status = st_drain_create(&process->drain, table->shared, process->id, err);
	const struct st_followed *ancestor;

	if (status)
		return status;
	/* At once: a short process may be gone when its first caller is seen. */
	if (!table->no_maps)
		st_drain_ask_for_maps(process->drain);
	if (!(process->flags & ST_PROCESS_FORKED))
		return ST_OK;
	ancestor = table->all[process->parent - 1];
	if (!st_drain_inherit_signatures(process->drain,
					 ancestor->drain ? st_drain_signatures(ancestor->drain)
							 : &ancestor->signatures))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory");
	return status;
}

enum st_status st_followed_arrive(struct st_followed_table *table, const struct st_arrival *arrival,
				  uint64_t now_ns, struct st_error *err)
{
	struct st_followed *process = by_token(table, arrival->hello.process_token);
	enum st_status status;

	if (process && (process->pid != arrival->pid || !process->drain))
		process = NULL;
	if (!process && (table->live_count >= LIVE_MAX || table->count >= ALL_MAX)) {
		table->refused++;
		drop_arrival(arrival);
		return st_error_set(err, ST_ENOMEM, 0, "more than %d processes at once", LIVE_MAX);
	}
	if (!process)
		process = make_process(table, arrival, now_ns);
	if (!process) {
		drop_arrival(arrival);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	}
	status = process->drain ? ST_OK : start_drain(table, process, err);
	if (!status)
		status = st_drain_add_segment(process->drain, arrival->fd,
					      arrival->hello.segment_bytes, err);
	close(arrival->fd);
	watch_end(table, process, arrival->pidfd);
	if (process->drain)
		set_control(table, process, arrival);
	st_followed_adopt_armed(table, process, arrival->hello.pid);
	/* No descriptor of a visible process: it ended before we heard of it. */
	if (!(process->flags & ST_PROCESS_DIRECT) && process->pidfd < 0 && process->pid > 0)
		process->gone = true;
	return status;
}

/* After an exec /proc speaks of the next program. */
static void read_process(const struct st_followed_table *table, struct st_followed *process)
{
	bool maps = st_drain_wants_maps(process->drain), code = st_drain_wants_code(process->drain);

	if (process->pid <= 0 || process->gone || (!maps && !code) ||
	    st_family_replaced(table->family, process->pid, process->hello_ns))
		return;
	if (maps)
		st_drain_read_maps(process->drain, process->pid);
	if (code)
		st_drain_read_code(process->drain, process->pid);
}

void st_followed_cycle(struct st_followed_table *table, uint64_t now_ns,
		       struct st_drain_activity *activity)
{
	for (uint32_t i = 0; i < table->live_count; i++) {
		struct st_followed *process = get(table, table->live[i]);
		uint64_t before = activity->bytes;

		if (!process->drain)
			continue;
		st_drain_cycle(process->drain, now_ns, activity);
		read_process(table, process);
		if (activity->bytes != before)
			process->active_ns = now_ns;
	}
}

void st_followed_flush(struct st_followed_table *table, uint64_t now_ns)
{
	for (uint32_t i = 0; i < table->live_count; i++) {
		struct st_followed *process = get(table, table->live[i]);

		if (!process->drain)
			continue;
		st_drain_rest(process->drain, now_ns);
		read_process(table, process);
		st_drain_definitions(process->drain);
	}
}

void st_followed_renew(struct st_followed_table *table)
{
	for (uint32_t i = 0; i < table->live_count; i++) {
		struct st_followed *process = get(table, table->live[i]);

		if (process->drain)
			st_drain_renew(process->drain);
	}
}

void st_followed_before_file(struct st_followed_table *table)
{
	for (uint32_t i = 0; i < table->live_count; i++) {
		struct st_followed *process = get(table, table->live[i]);

		if (process->drain)
			st_drain_before_file(process->drain);
	}
}

void st_followed_after_file(struct st_followed_table *table)
{
	for (uint32_t i = 0; i < table->live_count; i++) {
		struct st_followed *process = get(table, table->live[i]);

		if (process->drain)
			st_drain_after_file(process->drain);
	}
}

void st_followed_upkeep(struct st_followed_table *table)
{
	for (uint32_t i = 0; i < table->live_count; i++) {
		struct st_followed *process = get(table, table->live[i]);

		if (!process->drain)
			continue;
		st_drain_write_loss(process->drain);
		/* Thread ids of another pid namespace mean other threads here. */
		if (process->same_namespace)
			st_drain_reap_threads(process->drain, process->pid);
	}
}

void st_followed_control(struct st_followed_table *table, uint32_t set, uint32_t clear)
{
	table->control = (table->control | set) & ~clear;
	for (uint32_t i = 0; i < table->live_count; i++) {
		struct st_followed *process = get(table, table->live[i]);

		if (process->drain)
			st_drain_control(process->drain, set, clear);
	}
	st_followed_set_events(table);
}

void st_followed_end(struct st_followed_table *table, struct st_followed *process,
		     enum st_process_end how, uint64_t time, uint64_t now_ns)
{
	struct st_buf record;
	size_t begin;

	if (process->end)
		return;
	st_followed_disarm(process);
	if (how == ST_END_LEFT_RUNNING && process->drain)
		st_drain_control(process->drain, ST_CONTROL_STOPPED, 0);
	if (process->drain) {
		st_drain_rest(process->drain, now_ns);
		st_drain_end_waits(process->drain);
		process->counts = *st_drain_counts(process->drain);
	}
	if (table->ending)
		table->ending(table->ending_arg, process);
	if (process->drain)
		st_drain_give_signatures(process->drain, &process->signatures);
	st_drain_destroy(process->drain);
	process->drain = NULL;
	process->end = how;
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->pidfd = -1;
	for (uint32_t i = 0; i < table->live_count; i++)
		if (table->live[i] == process->id) {
			table->live[i] = table->live[--table->live_count];
			break;
		}
	st_buf_init(&record, RECORD_MAX_BYTES);
	begin = st_definition_begin(&record, ST_DEF_PROCESS_END);
	st_buf_append_u64(&record, time ? time : st_launch_clock_now(table->shared->clock));
	st_buf_append_u32(&record, (uint32_t)how);
	st_buf_append_u32(&record, how == ST_END_EXITED ? (uint32_t)table->direct_status : 0);
	st_definition_end(&record, begin);
	write_record(table, process->id, &record);
	st_buf_fini(&record);
}

void st_followed_gone(struct st_followed_table *table, uint32_t id)
{
	struct st_followed *process = get(table, id);

	if (process)
		process->gone = true;
}

void st_followed_direct_gone(struct st_followed_table *table, int wait_status)
{
	table->direct_gone = true;
	table->direct_status = wait_status;
}

void st_followed_end_gone(struct st_followed_table *table, uint64_t now_ns)
{
	for (uint32_t i = table->live_count; i > 0; i--) {
		struct st_followed *process = get(table, table->live[i - 1]);

		if (process->flags & ST_PROCESS_DIRECT && table->direct_gone)
			st_followed_end(table, process, ST_END_EXITED, 0, now_ns);
		else if (process->gone)
			st_followed_end(table, process, ST_END_GONE, 0, now_ns);
	}
}

void st_followed_add_silent(struct st_followed_table *table, pid_t pid, uint64_t now_ns)
{
	struct st_followed *process;
	pid_t parent_pid;

	if (st_followed_live(table, pid) || table->live_count >= LIVE_MAX ||
	    table->count >= ALL_MAX)
		return;
	process = calloc(1, sizeof(*process));
	if (!process)
		return;
	process->pid = pid;
	process->pidfd = -1;
	process->hello_ns = process->active_ns = now_ns;
	st_proc_stat(pid, &parent_pid, &process->start_time);
	process->parent = find_parent(table, pid);
	if (!add_to_lists(table, process)) {
		free(process);
		return;
	}
	define_process(table, process, st_launch_clock_now(table->shared->clock));
}

uint32_t st_followed_end_all(struct st_followed_table *table, uint64_t now_ns)
{
	uint32_t running = 0;

	while (table->live_count) {
		struct st_followed *process = get(table, table->live[table->live_count - 1]);
		struct pollfd gone = {.fd = process->pidfd, .events = POLLIN};
		bool ended = process->gone || (process->pidfd >= 0 && poll(&gone, 1, 0) == 1) ||
			     (process->pid == table->direct_pid && table->attached_gone);

		running += !ended;
		st_followed_end(table, process, ended ? ST_END_GONE : ST_END_LEFT_RUNNING, 0,
				now_ns);
	}
	return running;
}

uint32_t st_followed_left(const struct st_followed_table *table)
{
	uint32_t running = 0;

	for (uint32_t i = 0; i < table->count; i++) {
		const struct st_followed *process = table->all[i];

		if (process->end == ST_END_LEFT_RUNNING &&
		    !(process->pid == table->direct_pid && table->direct_gone))
			running += kill(process->pid, 0) == 0 || errno == EPERM;
	}
	return running;
}

static void add_samples(struct st_drain_counts *totals, const struct st_drain_counts *counts)
{
	totals->samples += counts->samples;
	totals->sample_cpu_ns += counts->sample_cpu_ns;
	totals->handler_ticks += counts->handler_ticks;
	totals->samples_dropped += counts->samples_dropped;
	totals->samples_not_taken += counts->samples_not_taken;
	totals->before_tables += counts->before_tables;
	totals->nodes_refused += counts->nodes_refused;
	totals->build_ns += counts->build_ns;
	totals->tables_built += counts->tables_built;
	totals->tables_cached += counts->tables_cached;
}

bool st_followed_uses_devices(const struct st_followed_table *table)
{
	for (uint32_t i = 0; i < table->live_count; i++) {
		const struct st_followed *process = get(table, table->live[i]);

		if (process->drain && st_drain_has_devices(process->drain))
			return true;
	}
	return false;
}

void st_followed_totals(const struct st_followed_table *table, struct st_drain_counts *totals)
{
	memset(totals, 0, sizeof(*totals));
	for (uint32_t i = 0; i < table->count; i++) {
		const struct st_followed *process = table->all[i];
		const struct st_drain_counts *counts =
			process->drain ? st_drain_counts(process->drain) : &process->counts;

		totals->begins += counts->begins;
		totals->events += counts->events;
		totals->operators += counts->operators;
		totals->records += counts->records;
		totals->dropped += counts->dropped;
		totals->unmatched_ends += counts->unmatched_ends;
		totals->no_slot += counts->no_slot;
		totals->labels_cut += counts->labels_cut;
		totals->labels_unknown += counts->labels_unknown;
		if (!totals->suspect)
			memcpy(totals->refused_first, counts->refused_first,
			       sizeof(totals->refused_first));
		totals->suspect += counts->suspect;
		totals->events_dropped += counts->events_dropped;
		totals->events_cut += counts->events_cut;
		totals->callers_unknown += counts->callers_unknown;
		totals->open_unknown += counts->open_unknown;
		totals->tracks += counts->tracks;
		totals->notices |= counts->notices;
		totals->profiled += counts->profiled;
		totals->makers_forgotten += counts->makers_forgotten;
		add_samples(totals, counts);
		totals->resumes += counts->resumes;
		if (counts->resumes && (!totals->first_resume_time ||
					counts->first_resume_time < totals->first_resume_time))
			totals->first_resume_time = counts->first_resume_time;
	}
}

uint64_t st_followed_last_active(const struct st_followed_table *table)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < table->live_count; i++) {
		const struct st_followed *process = get(table, table->live[i]);

		if (process->active_ns > last)
			last = process->active_ns;
	}
	return last;
}
