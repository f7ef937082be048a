/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program decides about its own recording: pause, resume, detach, threads to be ignored; and the
 * names of its threads.
 */
#include "collect/inproc/itt/bind.h"

#include <string.h>

#include "collect/inproc/core/backend.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/label.h"
#include "collect/inproc/core/thread.h"

enum { SCOPE_HOST = 1 };

/* What the process itself decided lives in two places: the control word, which strata may change, and
 * st_shared, from which a forked child starts. */
static void control(enum st_ring_ext subkind, uint32_t what, bool set)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);
	_Atomic uint32_t *word;
	uint32_t before;

	if (!thread)
		return;
	word = &st_header()->control;
	if (!set)
		atomic_store_explicit(&st_process->resume_ticks, st_ticks(), memory_order_relaxed);
	else if (what == ST_CONTROL_DETACHED && !(atomic_load_explicit(word, memory_order_relaxed) &
						  (ST_CONTROL_STOPPED | ST_CONTROL_DETACHED)))
		atomic_store_explicit(&st_header()->stopped, st_ticks(), memory_order_relaxed);
	/* The release pairs with strata_device_put. */
	before = set ? atomic_fetch_or_explicit(word, what, memory_order_release)
		     : atomic_fetch_and_explicit(word, ~what, memory_order_relaxed);
	if (!(before & what) == set && !(before & ST_CONTROL_STOPPED) && st_thread_identify(thread))
		st_ring_put(thread, subkind, 0, NULL, 0);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

static void pause_self(void)
{
	control(ST_EXT_PAUSE, ST_CONTROL_PAUSED_SELF, true);
	atomic_store_explicit(&st_shared.self_paused, ST_SELF_PAUSED_BY_CALL, memory_order_relaxed);
	ST_BACKENDS_CALL(pause);
}

static void resume(void)
{
	control(ST_EXT_RESUME, ST_CONTROL_PAUSED_SELF, false);
	atomic_store_explicit(&st_shared.self_paused, ST_SELF_RUNNING, memory_order_relaxed);
	ST_BACKENDS_CALL(resume);
}

static void detach(void)
{
	control(ST_EXT_DETACH, ST_CONTROL_DETACHED, true);
	atomic_store_explicit(&st_shared.detached, 1, memory_order_relaxed);
	ST_BACKENDS_CALL(pause);
}

/* Only the host's part is ours; the rest is kept for whoever reads it. */
static void pause_scoped(int scope)
{
	st_event(&(struct st_record){.kind = ST_EVENT_SCOPE_PAUSE, .detail = (uint32_t)scope});
	if (scope & SCOPE_HOST)
		pause_self();
}

static void resume_scoped(int scope)
{
	if (scope & SCOPE_HOST)
		resume();
	st_event(&(struct st_record){.kind = ST_EVENT_SCOPE_RESUME, .detail = (uint32_t)scope});
}

static void thread_set_name(const char *name)
{
	if (name)
		st_label_thread(name, strlen(name));
}

static int thr_name_set(const char *name, int length)
{
	if (name && length > 0)
		st_label_thread(name, strnlen(name, (size_t)length));
	return 0;
}

static void thread_ignore(void)
{
	st_event(&(struct st_record){.kind = ST_EVENT_THREAD_IGNORE});
	st_thread_ignore();
}

static const struct st_binding rows[] = {
	ST_BIND("pause", pause_self),
	ST_BIND("resume", resume),
	ST_BIND("pause_scoped", pause_scoped),
	ST_BIND("resume_scoped", resume_scoped),
	ST_BIND("detach", detach),
	ST_BIND("thread_set_name", thread_set_name),
	ST_BIND("thr_name_set", thr_name_set),
	ST_BIND("thread_ignore", thread_ignore),
	ST_BIND("thr_ignore", thread_ignore),
};
const struct st_bindings st_calls_control = ST_BINDINGS(rows);
