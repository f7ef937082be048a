// SPDX-License-Identifier: Apache-2.0
//
// What strata does while the program runs: it wakes every few milliseconds, takes in news of the
// family and hellos, empties the rings, and keeps time limits. The order of a round matters: first it
// learns who ended or executed another program, then it takes in all hellos, and only then it closes
// those processes, because their last hello may have come right before their end.
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/launch/family/armed.h"
#include "collect/launch/family/family.h"
#include "collect/launch/family/rendezvous.h"
#include "collect/launch/run/run.h"
#include "collect/launch/drain/tables.h"
#include "format/shm.h"
#include "format/slices.h"
#include "store/writer.h"

enum {
	POLL_MS = 5,
	POLL_QUICK_MS = 2,
	POLL_BUSY_MS = 1,
	POLL_IDLE_MS = 20,
	QUICK_PERCENT = 10, /* about 1 M pairs a second into a ring of the default size */
	BUSY_PERCENT = 25,
	TRICKLE_PERCENT = 4,
	TRIM_SECONDS = 60,
	EVENTS_MAX = 64,
	PAIR_TRIES = 50,
	INTERRUPTS_TO_STOP = 2,
	INTERRUPTS_TO_LEAVE = 3,
};

static const uint64_t second_ns = 1000000000u;
/* Left-over processes: how long they may be silent, and how long we stay in all. */
static const uint64_t silence_max_ns = 1000000000u;
static const uint64_t stay_max_ns = 5000000000u;
static const uint64_t look_period_ns = 100000000u;
static const uint64_t devices_late_ns = 200000000u;
/* In which a process that has just come finds out which code it has. */
static const uint64_t fresh_ns = 300000000u;

/* Devices tell what they did a tenth of a second late, which is waited for here; the program goes on. */
void st_run_end(struct st_run *run, const char *reason)
{
	const struct timespec a_while = {.tv_nsec = POLL_MS * 1000000};
	uint64_t now_ns = st_clock_mono_raw_ns(), until_ns = now_ns + devices_late_ns;
	bool was_stopped = run->stopped;

	st_run_stop(run, reason);
	while (!was_stopped && now_ns < until_ns && st_followed_uses_devices(&run->followed)) {
		struct st_drain_activity activity = {0};

		nanosleep(&a_while, NULL);
		now_ns = st_clock_mono_raw_ns();
		st_followed_cycle(&run->followed, now_ns, &activity);
	}
	st_run_finish(run);
}

static void on_interrupt(struct st_run *run)
{
	run->interrupts++;
	if (run->interrupts == INTERRUPTS_TO_STOP) {
		st_run_end(run, "interrupt");
		st_run_say(run, "second Ctrl-C: collection ended and the result is complete; "
				"waiting for the program (a third one stops waiting)");
	} else if (run->interrupts >= INTERRUPTS_TO_LEAVE) {
		run->abandoned = true;
	}
}

/* Ctrl-C and its like reach the program by themselves. What somebody sends to strata with kill is
 * meant for the program, which is what they see running. */
static void take_signals(struct st_run *run)
{
	int number;
	bool sent;

	while (st_signals_next(&run->signals, &number, &sent)) {
		if (run->joined)
			continue; /* whoever sends them means the program */
		if (run->attach)  /* none of them is meant for the program */
			st_run_stop(run, "interrupt");
		else if (number == SIGINT)
			on_interrupt(run);
		else if (number != SIGQUIT && sent && !run->child_gone)
			kill(run->spawn.pid, number);
	}
}

/* -no-follow-child: a process that is not the program itself is told to record nothing, and forgotten. */
static bool turn_away(struct st_run *run, const struct st_arrival *arrival)
{
	struct st_drain *drain = NULL;

	if (!run->config->no_follow_child || arrival->pid == run->spawn.pid)
		return false;
	if (!arrival->arms && arrival->fd >= 0 &&
	    st_drain_create(&drain, &run->shared, 0, NULL) == ST_OK) {
		if (st_drain_add_segment(drain, arrival->fd, arrival->hello.segment_bytes, NULL) ==
		    ST_OK)
			st_drain_control(drain, ST_CONTROL_STOPPED, 0);
		st_drain_destroy(drain);
	}
	if (arrival->fd >= 0)
		close(arrival->fd);
	if (arrival->pidfd >= 0)
		close(arrival->pidfd);
	if (arrival->arms) /* closing its event is all it takes */
		return true;
	run->not_followed += arrival->hello.segment_index == 0;
	st_run_log(run, "pid %d is not followed", (int)arrival->pid);
	return true;
}

static void take_arm(struct st_run *run, const struct st_arrival *arrival)
{
	st_run_log(run, "pid %d is sampled: %s, rung %u, errors %d %d %d", (int)arrival->pid,
		   st_rung_name(arrival->arm.rung), arrival->arm.rung, arrival->arm.errors[1],
		   arrival->arm.errors[2], arrival->arm.errors[3]);
	st_followed_arm(&run->followed, arrival);
}

static uint64_t sent_ns(const struct st_run *run, const struct st_arrival *arrival, uint64_t now_ns)
{
	uint64_t sent = now_ns;

	if (!arrival->layout_differs)
		sent = arrival->arms ? st_launch_clock_ns_at(&run->last, run->ticks_per_second,
							     arrival->arm.ticks)
				     : arrival->hello.mono_raw_ns;
	return sent < now_ns ? sent : now_ns;
}

void st_run_take_arrivals(struct st_run *run, uint64_t now_ns)
{
	struct st_arrival arrival;

	while (!run->finished && st_rendezvous_next(run->rendezvous, now_ns, &arrival)) {
		struct st_error err = {0};

		run->arrived_ns = now_ns;
		/* A sampler that gave up records nothing. */
		if (arrival.layout_differs || !arrival.arms || arrival.arm.rung != ST_RUNG_NONE)
			st_family_entered(run->family, arrival.pid, sent_ns(run, &arrival, now_ns));
		if (turn_away(run, &arrival))
			continue;
		if (arrival.layout_differs) {
			st_run_cannot_record(run, arrival.pid, ST_NOT_ENTERED_LAYOUT);
			continue;
		}
		if (arrival.arms) {
			take_arm(run, &arrival);
			continue;
		}
		if (arrival.hello.flags & ST_HELLO_NO_MEMORY) {
			st_run_cannot_record(run, arrival.pid, ST_NOT_ENTERED_MEMORY);
			if (arrival.pidfd >= 0)
				close(arrival.pidfd);
			continue;
		}
		if (st_followed_arrive(&run->followed, &arrival, now_ns, &err) == ST_OK) {
			st_run_log(run, "pid %d records (segment %u)", (int)arrival.pid,
				   arrival.hello.segment_index);
			st_run_tell_threads(run, arrival.pid);
			continue;
		}
		if (err.status == ST_EVERSION)
			st_run_cannot_record(run, arrival.pid, ST_NOT_ENTERED_LAYOUT);
		else
			st_run_error(run, err.text);
	}
}

static void reap_child(struct st_run *run, uint64_t now_ns)
{
	struct rusage usage = {0};
	int status;

	if ((run->attach || run->joined) && !run->child_gone && st_run_attached_gone(run)) {
		run->child_gone = run->followed.attached_gone = true;
		run->program_ended_ns = now_ns;
		st_machine_end(&run->machine, 0);
		st_run_log(run, "pid %d ended", (int)run->spawn.pid);
	}
	if (run->attach || run->joined || run->child_gone ||
	    wait4(run->spawn.pid, &status, WNOHANG, &usage) != run->spawn.pid)
		return;
	run->child_gone = true;
	run->target_cpu_ns =
		(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
		(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
	st_machine_end(&run->machine, run->target_cpu_ns);
	run->wait_status = status;
	run->program_ended_ns = now_ns;
	st_run_log(run, "pid %d ended with wait status 0x%04x", (int)run->spawn.pid,
		   (unsigned int)status);
	st_followed_direct_gone(&run->followed, status);
	run->busy_ns = now_ns;
}

/* Collecting began paused: -resume-after lets everybody go, and the first process that resumes by
 * itself ends the pause of the family in the books. */
static void keep_pause(struct st_run *run, uint64_t now_ns)
{
	const struct st_collect_config *config = run->config;
	struct st_drain_counts totals;

	if (!run->paused || run->stopped)
		return;
	if (config->resume_after_s >= 0 &&
	    (double)(now_ns - run->program_began_ns) >= config->resume_after_s * 1e9) {
		run->paused = false;
		run->followed.resumed_ns = now_ns;
		st_followed_control(&run->followed, 0, ST_CONTROL_PAUSED_SELF);
		if (!run->family_paused)
			st_run_family_control(run, st_launch_clock_now(run->clock), ST_MARK_RESUME);
		return;
	}
	st_followed_totals(&run->followed, &totals);
	if (totals.resumes) {
		run->paused = false;
		if (!run->family_paused)
			st_run_family_control(run, totals.first_resume_time, ST_MARK_RESUME);
	}
}

static void keep_limits(struct st_run *run, uint64_t now_ns)
{
	const struct st_collect_config *config = run->config;

	if (run->stopped || !run->writer)
		return;
	if (config->duration_s >= 0 &&
	    (double)(now_ns - run->program_began_ns) >= config->duration_s * 1e9) {
		st_run_stop(run, "duration");
		if (!config->quiet && !run->child_gone)
			st_run_say(run,
				   "collection stopped after %g s (-duration); the program keeps "
				   "running",
				   config->duration_s);
	} else if (st_store_writer_over_limit(run->writer)) {
		st_run_stop(run, "data-limit");
		st_run_say(
			run,
			"collection stopped at %llu bytes (-data-limit); the program keeps running",
			(unsigned long long)st_store_writer_bytes(run->writer));
	}
}

/* A full disk or a deleted folder ends collecting, never the program. */
static void check_health(struct st_run *run)
{
	struct st_error failure = {0};

	if (run->told_failure || !run->writer || !st_store_writer_health(run->writer, &failure))
		return;
	run->told_failure = true;
	st_run_error(run, failure.text);
	st_run_stop(run, "error");
	st_run_say(run, "collection stopped: %s; the program keeps running", failure.text);
	st_run_write_json(run);
}

static void check_crowd(struct st_run *run)
{
	static const char text[] =
		"the limit on open files (ulimit -n) is too low: not all processes are recorded";

	if (run->told_crowded || !st_rendezvous_crowded(run->rendezvous))
		return;
	run->told_crowded = true;
	st_run_error(run, text);
	st_run_say(run, "%s", text);
}

static void each_second(struct st_run *run, uint64_t now_ns)
{
	if (now_ns - run->second_ns < second_ns || run->finished || !run->writer)
		return;
	run->second_ns = now_ns;
	run->last = st_launch_clock_pair(run->clock, PAIR_TRIES);
	st_store_writer_calibration(run->writer, run->last.ticks, run->last.mono_raw_ns,
				    run->last.error_ticks);
	st_followed_upkeep(&run->followed);
	st_run_write_json(run);
	/* What a burst took is not kept for the hours that come. */
	if (++run->seconds % TRIM_SECONDS == 0)
		malloc_trim(0);
}

/* What the program left behind may be about to say hello: as long as it uses the processor it is
 * given time. */
static void look_at_others(struct st_run *run, uint64_t now_ns)
{
	uint64_t ticks;

	if (run->looked_ns && now_ns - run->looked_ns < look_period_ns)
		return;
	run->looked_ns = now_ns;
	run->others_alive = st_family_alive(run->family, &ticks) > 0;
	if (ticks > run->busy_ticks)
		run->busy_ns = now_ns;
	run->busy_ticks = ticks;
}

/* Whether the program is gone and nobody records any more, or we have stayed long enough. */
static bool is_over(struct st_run *run, uint64_t now_ns)
{
	uint64_t active;

	if (run->abandoned || (run->attach && (run->stopped || run->child_gone)) ||
	    st_run_joined_over(run))
		return true;
	if (!run->child_gone)
		return false;
	if (run->finished || run->stopped || run->config->no_follow_child)
		return true;
	look_at_others(run, now_ns);
	if (!run->followed.live_count && !run->others_alive)
		return true;
	active = st_followed_last_active(&run->followed);
	if (active < run->busy_ns)
		active = run->busy_ns;
	return now_ns - active >= silence_max_ns || now_ns - run->program_ended_ns >= stay_max_ns;
}

/* A new file of a ring buffer begins between two rounds, when nothing is held back, so that what is open
 * at its beginning is exactly what the drains know. */
static void keep_ring(struct st_run *run)
{
	uint64_t now = st_launch_clock_now(run->clock);

	if (!run->writer || !st_store_writer_wants_file(run->writer, now))
		return;
	st_followed_before_file(&run->followed);
	st_store_writer_rotate(run->writer, now);
	st_followed_after_file(&run->followed);
}

static void one_round(struct st_run *run, const struct epoll_event *events, int event_count,
		      struct st_drain_activity *activity)
{
	uint64_t now_ns = st_clock_mono_raw_ns();

	take_signals(run);
	reap_child(run, now_ns);
	if (run->finished) {
		st_run_close_control(run);
		return;
	}
	for (int i = 0; i < event_count; i++)
		if (events[i].data.u64 && events[i].data.u64 <= run->followed.count)
			st_followed_gone(&run->followed, (uint32_t)events[i].data.u64);
	st_family_poll(run->family, now_ns);
	st_run_take_arrivals(run, now_ns);
	st_run_take_tables(run);
	st_run_poll_kernel(run, false);
	st_run_poll_switches(run, false);
	st_run_poll_attached(run, false);
	st_followed_cycle(&run->followed, now_ns, activity);
	st_run_apply_execs(run);
	st_run_name_threads(run, now_ns);
	st_run_tell_mappings(run);
	st_followed_end_gone(&run->followed, now_ns);
	keep_ring(run);
	keep_pause(run, now_ns);
	keep_limits(run, now_ns);
	st_followed_look_at_armed(&run->followed, now_ns);
	check_health(run);
	check_crowd(run);
	each_second(run, now_ns);
	st_run_watch_demand(run, now_ns);
	st_run_serve_commands(run, now_ns);
}

/* Busy rings are looked at often, silent ones seldom. */
static int next_timeout_ms(const struct st_run *run, const struct st_drain_activity *activity,
			   int timeout_ms)
{
	if (run->finished || !run->writer)
		return run->child_watched ? -1 : POLL_IDLE_MS;
	if (activity->fill_percent >= BUSY_PERCENT)
		return POLL_BUSY_MS;
	if (activity->fill_percent >= QUICK_PERCENT)
		return POLL_QUICK_MS;
	/* Stacks are cut short as long as an unwind table is missing. */
	if (run->shared.tables && (st_tables_waiting(run->shared.tables) ||
				   st_clock_mono_raw_ns() - run->arrived_ns < fresh_ns))
		return POLL_QUICK_MS;
	/* A program that waits for its own resume is let go soon. A trickle, like samples, is looked at no more often
	 * than silence: a ring holds far more than may come in that time. */
	if (activity->fill_percent >= TRICKLE_PERCENT || run->followed.has_switched_off)
		return POLL_MS;
	timeout_ms = timeout_ms < POLL_MS ? POLL_MS : timeout_ms + timeout_ms / 2;
	return timeout_ms < POLL_IDLE_MS ? timeout_ms : POLL_IDLE_MS;
}

void st_run_loop(struct st_run *run)
{
	struct epoll_event child = {.events = EPOLLIN, .data.u64 = 0};
	struct epoll_event events[EVENTS_MAX];
	int timeout_ms = POLL_MS;
	uint32_t left;

	/* Data 0: only wakes us, reaping is part of every round. */
	run->child_watched = epoll_ctl(run->epoll_fd, EPOLL_CTL_ADD, run->spawn.pidfd, &child) == 0;
	run->second_ns = run->program_began_ns;
	for (;;) {
		struct st_drain_activity activity = {0};
		int n = epoll_wait(run->epoll_fd, events, EVENTS_MAX, timeout_ms);

		one_round(run, events, n > 0 ? n : 0, &activity);
		if (run->child_gone && run->spawn.pidfd >= 0) {
			close(run->spawn.pidfd); /* stays readable: it would wake us for ever */
			run->spawn.pidfd = -1;
		}
		if (is_over(run, st_clock_mono_raw_ns()))
			break;
		timeout_ms = next_timeout_ms(run, &activity, timeout_ms);
	}
	if (run->finished)
		st_run_write_json(run); /* with the program's end */
	if (run->abandoned)
		run->wait_status = SIGINT;
	if (run->joined)
		return;
	st_run_finish(run);
	left = st_followed_left(&run->followed);
	if (left && !run->config->quiet)
		st_run_say(run, "%u process%s of the program still run%s and %s left running", left,
			   left == 1 ? "" : "es", left == 1 ? "s" : "", left == 1 ? "is" : "are");
}
