// SPDX-License-Identifier: Apache-2.0
//
// Sampled processes among the followed ones. A process arms itself when it starts and says hello with its
// first record, which may be much later or never; until then its events wait here. Pausing, stopping
// and ending reach the events through this file.
#include "collect/launch/family/followed.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "collect/launch/family/armed.h"
#include "collect/launch/drain/clock.h"
#include "collect/launch/family/family.h"
#include "collect/launch/family/rendezvous.h"
#include "format/shm.h"

enum { RECORD_MAX_BYTES = 64 << 10, WAITING_MAX = 16 << 10 };

static const uint64_t look_period_ns = 50000000u;

static void count_rung(struct st_followed_table *table, const struct st_shm_arm *arm)
{
	char why[ST_FOLLOWED_WHY_BYTES];
	uint32_t at = 0;

	st_armed_why(arm, why, sizeof(why));
	while (at < table->rung_count &&
	       (table->rungs[at].rung != arm->rung || table->rungs[at].trigger != arm->trigger ||
		strcmp(table->rungs[at].why, why) != 0))
		at++;
	if (at == ST_FOLLOWED_RUNGS)
		at--;
	if (at == table->rung_count) {
		table->rungs[at] =
			(struct st_rung_seen){.rung = arm->rung, .trigger = arm->trigger};
		memcpy(table->rungs[at].why, why, sizeof(why));
		table->rung_count++;
	}
	table->rungs[at].processes++;
}

static void define(struct st_followed_table *table, struct st_followed *process)
{
	const struct st_drain_sink *sink = &table->shared->sink;
	uint64_t now = st_launch_clock_now(table->shared->clock);
	struct st_buf record;

	st_buf_init(&record, RECORD_MAX_BYTES);
	st_armed_define(&process->armed->arm, now, &record);
	if (!record.failed)
		sink->definitions(sink->arg, process->id, now, 1, &record);
	st_buf_fini(&record);
	count_rung(table, &process->armed->arm);
	process->rung = process->armed->arm.rung;
	process->trigger = process->armed->arm.trigger;
}

/* Of processes that we cannot see, the pid of their own namespace is all there is. */
static bool is_of(const struct st_armed *armed, pid_t pid, uint32_t own_pid)
{
	return armed->pid == pid && (pid > 0 || armed->arm.pid == own_pid);
}

static struct st_armed **find_waiting(struct st_followed_table *table, pid_t pid, uint32_t own_pid)
{
	struct st_armed **at = &table->waiting;

	while (*at && !is_of(*at, pid, own_pid))
		at = &(*at)->next;
	return at;
}

static void set_waiting(const struct st_followed_table *table, struct st_armed *armed)
{
	st_armed_enable(armed, table->control == 0 && (!table->start_paused || table->resumed_ns));
}

static void wait_for_hello(struct st_followed_table *table, const struct st_arrival *arrival)
{
	struct st_armed **at = find_waiting(table, arrival->pid, arrival->arm.pid);
	struct st_armed *armed;

	if (*at) { /* the same process again, or the number's next owner */
		if (arrival->pidfd >= 0) {
			if ((*at)->pidfd >= 0)
				close((*at)->pidfd);
			(*at)->pidfd = arrival->pidfd;
		}
		st_armed_again(*at, &arrival->arm, arrival->fd);
		set_waiting(table, *at);
		return;
	}
	armed = st_armed_create(&arrival->arm, arrival->pid, arrival->fd, arrival->pidfd);
	if (!armed)
		return;
	if (table->waiting_count >= WAITING_MAX) {
		st_armed_destroy(armed);
		table->refused++;
		return;
	}
	armed->next = table->waiting;
	table->waiting = armed;
	table->waiting_count++;
	set_waiting(table, armed);
}

static void hold(struct st_followed_table *table, const struct st_arrival *arrival)
{
	struct st_followed *process =
		arrival->pid > 0 ? st_followed_live(table, arrival->pid) : NULL;
	struct st_armed *armed = process ? process->armed : NULL;

	if (!armed)
		armed = *find_waiting(table, arrival->pid, arrival->arm.pid);
	if (armed)
		st_armed_hold(armed, arrival->arm.tid, arrival->fd);
	else if (arrival->fd >= 0)
		close(arrival->fd);
	if (arrival->pidfd >= 0)
		close(arrival->pidfd);
}

void st_followed_arm(struct st_followed_table *table, const struct st_arrival *arrival)
{
	struct st_followed *process = st_followed_live(table, arrival->pid);

	if (arrival->arm.flags & ST_ARM_ANCHOR) {
		hold(table, arrival);
		return;
	}
	if (arrival->pid <= 0)
		process = NULL;
	/* After an exec the arm is the new program's, which has not said hello yet. */
	if (!process || !process->drain ||
	    (process->armed && st_armed_is_next_program(process->armed, &arrival->arm)) ||
	    st_family_replaced(table->family, process->pid, process->hello_ns)) {
		wait_for_hello(table, arrival);
		return;
	}
	if (arrival->pidfd >= 0)
		close(arrival->pidfd);
	if (process->armed)
		st_armed_again(process->armed, &arrival->arm, arrival->fd);
	else
		process->armed = st_armed_create(&arrival->arm, arrival->pid, arrival->fd, -1);
	if (!process->armed)
		return;
	st_armed_enable(process->armed, st_drain_control_word(process->drain) == 0);
	/* One event a thread on this rung: the first says it all. */
	if (process->armed->arms == 1 || process->rung != process->armed->arm.rung)
		define(table, process);
}

void st_followed_adopt_armed(struct st_followed_table *table, struct st_followed *process,
			     uint32_t own_pid)
{
	struct st_armed **at = find_waiting(table, process->pid, own_pid);
	struct st_armed *armed = *at;

	if (!armed || process->armed)
		return;
	*at = armed->next;
	armed->next = NULL;
	table->waiting_count--;
	if (armed->pidfd >= 0)
		close(armed->pidfd);
	armed->pidfd = -1;
	process->armed = armed;
	define(table, process);
}

struct st_armed *st_followed_armed(struct st_followed_table *table, pid_t pid)
{
	struct st_followed *process = st_followed_live(table, pid);
	struct st_armed *armed = process && !process->gone ? process->armed : NULL;

	if (!armed || st_family_replaced(table->family, pid, armed->arm.mono_raw_ns))
		armed = *find_waiting(table, pid, 0);
	return armed && !st_family_replaced(table->family, pid, armed->arm.mono_raw_ns) ? armed
											: NULL;
}

void st_followed_disarm(struct st_followed *process)
{
	st_armed_destroy(process->armed);
	process->armed = NULL;
}

static void forget_gone(struct st_followed_table *table)
{
	struct st_armed **at = &table->waiting;

	while (*at) {
		struct st_armed *armed = *at;
		struct pollfd gone = {.fd = armed->pidfd, .events = POLLIN};
		bool ended = armed->pidfd >= 0 ? poll(&gone, 1, 0) == 1 : !st_armed_is_live(armed);

		if (!ended) {
			at = &armed->next;
			continue;
		}
		*at = armed->next;
		table->waiting_count--;
		st_armed_destroy(armed);
	}
}

void st_followed_set_events(struct st_followed_table *table)
{
	table->has_switched_off = false;
	for (uint32_t i = 0; i < table->live_count; i++) {
		struct st_followed *process = table->all[table->live[i] - 1];
		uint32_t control;

		if (!process->armed || !process->drain)
			continue;
		control = st_drain_control_word(process->drain);
		st_armed_enable(process->armed, control == 0);
		table->has_switched_off |= control == ST_CONTROL_PAUSED_SELF;
	}
	for (struct st_armed *armed = table->waiting; armed; armed = armed->next)
		set_waiting(table, armed);
}

void st_followed_look_at_armed(struct st_followed_table *table, uint64_t now_ns)
{
	st_followed_set_events(table);
	st_followed_arm_young(table, now_ns);
	if (!table->waiting || now_ns - table->waiting_looked_ns < look_period_ns)
		return;
	table->waiting_looked_ns = now_ns;
	forget_gone(table);
}

void st_followed_forget_waiting(struct st_followed_table *table)
{
	while (table->waiting) {
		struct st_armed *armed = table->waiting;

		table->waiting = armed->next;
		st_armed_destroy(armed);
	}
	table->waiting_count = 0;
}
