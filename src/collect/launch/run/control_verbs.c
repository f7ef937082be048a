// SPDX-License-Identifier: Apache-2.0
//
// What "strata -command" may ask of a running collection. Everything acts on the family: all processes
// that are followed now, and those that come later. The program itself is never ended.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "collect/launch/run/control.h"
#include "collect/launch/family/rendezvous.h"
#include "collect/launch/run/run.h"
#include "format/shm.h"
#include "format/slices.h"
#include "store/writer.h"

enum { REQUESTS_MAX = 16 /* per round: the drain must go on */ };

static const char *state_name(const struct st_run *run)
{
	if (run->stopped)
		return "stopped";
	return run->paused || run->family_paused ? "paused" : "running";
}

/* First whoever comes later, then everybody who is here, and the time last: what is recorded after that
 * moment was not meant to be. */
static void pause_family(struct st_run *run, struct st_buf *answer)
{
	if (run->family_paused) {
		st_buf_append_text(answer, "already paused");
		return;
	}
	run->family_paused = true;
	st_rendezvous_flag(run->rendezvous, ST_FLAG_PAUSED, true);
	st_followed_control(&run->followed, ST_CONTROL_PAUSED_FAMILY, 0);
	if (!run->paused)
		st_run_family_control(run, st_launch_clock_now(run->clock), ST_MARK_PAUSE);
	st_buf_append_text(answer, "paused");
}

static void resume_family(struct st_run *run, struct st_buf *answer)
{
	if (!run->paused && !run->family_paused) {
		st_buf_append_text(answer, "not paused");
		return;
	}
	st_run_family_control(run, st_launch_clock_now(run->clock), ST_MARK_RESUME);
	st_rendezvous_flag(run->rendezvous, ST_FLAG_PAUSED, false);
	if (run->paused) {
		st_rendezvous_flag(run->rendezvous, ST_FLAG_RESUMED, true);
		run->paused = false;
		run->followed.resumed_ns = st_clock_mono_raw_ns();
		st_followed_control(&run->followed, 0, ST_CONTROL_PAUSED_SELF);
	}
	run->family_paused = false;
	st_followed_control(&run->followed, 0, ST_CONTROL_PAUSED_FAMILY);
	st_buf_append_text(answer, "resumed");
}

static void put_status_text(const struct st_run *run, const struct st_drain_counts *totals,
			    struct st_buf *out)
{
	double elapsed = (double)(st_clock_mono_raw_ns() - run->program_began_ns) / 1e9;

	st_buf_printf(out, "state       %s%s%s%s\n", state_name(run), run->stopped ? " (" : "",
		      run->stop_reason, run->stopped ? ")" : "");
	st_buf_printf(out, "elapsed     %.1f s\n", elapsed);
	st_buf_printf(out, "processes   %u recording, %u seen\n", run->followed.live_count,
		      run->followed.count);
	st_buf_printf(out, "threads     %u\n", totals->tracks);
	st_buf_append_text(out, "tasks       ");
	st_buf_append_count(out, totals->begins);
	st_buf_append_text(out, "\nrecords     ");
	st_buf_append_count(out, totals->records);
	st_buf_append_text(out, "\nbytes       ");
	st_buf_append_count(out, st_store_writer_bytes(run->writer));
	st_buf_append_text(out, "\nlost        ");
	st_buf_append_count(out, totals->dropped + totals->no_slot);
}

static void put_status_json(const struct st_run *run, const struct st_drain_counts *totals,
			    struct st_buf *out)
{
	struct st_json json;

	st_json_init(&json, out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "schema", "strata.status/1");
	st_json_put_text(&json, "state", state_name(run));
	st_json_put_text(&json, "stop_reason", run->stop_reason);
	st_json_put_text(&json, "result", run->out->result_path);
	st_json_put_u64(&json, "strata_pid", (uint64_t)getpid());
	st_json_put_u64(&json, "program_pid", (uint64_t)run->spawn.pid);
	st_json_put_u64(&json, "elapsed_ns", st_clock_mono_raw_ns() - run->program_began_ns);
	st_json_put_u64(&json, "processes", run->followed.live_count);
	st_json_put_u64(&json, "processes_seen", run->followed.count);
	st_json_put_u64(&json, "threads", totals->tracks);
	st_json_put_u64(&json, "tasks", totals->begins);
	st_json_put_u64(&json, "records", totals->records);
	st_json_put_u64(&json, "size_bytes", st_store_writer_bytes(run->writer));
	st_json_put_u64(&json, "lost", totals->dropped + totals->no_slot);
	st_json_object_end(&json);
}

static void tell_status(const struct st_run *run, const char *format, struct st_buf *answer)
{
	struct st_drain_counts totals;

	st_followed_totals(&run->followed, &totals);
	if (strcmp(format, "json") == 0)
		put_status_json(run, &totals, answer);
	else
		put_status_text(run, &totals, answer);
}

/* Answered when the result is complete: whoever asked may read it at once. */
static void end_collecting(struct st_run *run, const char *verb, struct st_buf *answer)
{
	bool detach = strcmp(verb, "detach") == 0;
	bool was_stopped = run->stopped;

	st_run_end(run, detach ? "detach" : "stop");
	st_buf_printf(answer, "the collection %s and the result is complete%s",
		      was_stopped ? "had already stopped" : "ended",
		      run->child_gone ? "" : "; the program keeps running");
	if (!run->config->quiet && !run->child_gone)
		st_run_say(run,
			   "collection ended by -command %s and the result is complete; waiting "
			   "for the program",
			   verb);
}

/* Everything recorded so far can be read when this is answered. The answer is where the clock of the result stands. */
static void flush(struct st_run *run, struct st_buf *answer)
{
	st_followed_flush(&run->followed, st_clock_mono_raw_ns());
	if (run->writer)
		st_run_write_json(run);
	st_buf_printf(answer, "%llu", (unsigned long long)run->start.mono_raw_ns);
}

/* False: refused, and why is in the answer. */
static bool obey(struct st_run *run, const struct st_control_request *request,
		 struct st_buf *answer)
{
	const char *verb = request->verb;
	bool pauses = strcmp(verb, "pause") == 0, resumes = strcmp(verb, "resume") == 0;
	bool marks = strcmp(verb, "mark") == 0, done;

	if (st_run_joined_verb(run, request, answer, &done))
		return done;
	if ((pauses || resumes || marks) && run->stopped) {
		st_buf_printf(answer, "the collection has already stopped (%s)", run->stop_reason);
		return false;
	}
	if (pauses) {
		pause_family(run, answer);
	} else if (resumes) {
		resume_family(run, answer);
	} else if (marks) {
		st_run_family_mark(run, st_launch_clock_now(run->clock), request->text);
		st_buf_append_text(answer, "marked");
	} else if (strcmp(verb, "flush") == 0) {
		flush(run, answer);
	} else if (strcmp(verb, "note") == 0) {
		st_run_note(run, request->text);
	} else if (strcmp(verb, "status") == 0) {
		tell_status(run, request->text, answer);
	} else if (strcmp(verb, "stop") == 0 || strcmp(verb, "detach") == 0) {
		end_collecting(run, verb, answer);
	} else {
		st_buf_append_text(answer, "this version of strata does not know this command");
		return false;
	}
	return true;
}

void st_run_serve_commands(struct st_run *run, uint64_t now_ns)
{
	struct st_control_request request;

	for (int i = 0; i < REQUESTS_MAX && run->control; i++) {
		struct st_buf answer;
		bool done;

		if (!st_control_next(run->control, now_ns, &request))
			return;
		st_buf_init(&answer, ST_CONTROL_ANSWER_MAX);
		done = obey(run, &request, &answer);
		st_run_log(run, "command %s: %s", request.verb, done ? "done" : "refused");
		st_buf_append_u8(&answer, '\0');
		if (answer.failed)
			st_control_answer(run->control, false, "strata is out of memory");
		else
			st_control_answer(run->control, done, (const char *)answer.data);
		st_buf_fini(&answer);
		if (run->finished)
			st_run_close_control(run);
	}
}

void st_run_open_control(struct st_run *run)
{
	const uint8_t *id = st_store_writer_result_id(run->writer);
	struct st_error err = {0};
	char hex[33];

	for (int i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	/* Without it only -command is lost. */
	if (st_control_create(&run->control, run->out->result_path, hex, &err))
		st_run_log(run, "-command is not available in this run: %s", err.text);
}

void st_run_close_control(struct st_run *run)
{
	st_control_destroy(run->control);
	run->control = NULL;
}
