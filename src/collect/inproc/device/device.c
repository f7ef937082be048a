/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of devices: what a library of a maker's interface (collect/cuda) hands over goes into the ring of the thread
 * that hands it over. It comes up to a tenth of a second late, so that a pause is told by the record's own time.
 */
#include "collect/inproc/device/device.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/label.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/core/words.h"

#define ST_EXPORT __attribute__((visibility("default")))

enum { LIBRARIES_MAX = 4, NAME_BYTES_MAX = 256 };

static uint32_t mode; /* enum st_device_mode */
static char chained[1024], ze_library[1024];
/* One for each library. */
static _Atomic(const struct st_device_hooks *) hooks[LIBRARIES_MAX];
/* The last pause; an end of 0: it lasts. */
static _Atomic uint64_t pause_begin, pause_end;

static unsigned int digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'A' + 10);
}

/* Bytes that STRATA_CONFIG cannot hold stand as %XX. */
static void take_path(const char *text, char *out, size_t out_bytes)
{
	size_t at = 0;

	for (; *text && *text != ';' && at + 1 < out_bytes; at++) {
		bool is_coded = text[0] == '%' && text[1] && text[2];

		out[at] = is_coded ? (char)(digit(text[1]) << 4 | digit(text[2])) : text[0];
		text += is_coded ? 3 : 1;
	}
	out[at] = '\0';
}

static void configure(const char *text)
{
	static const char key[] = "device=", chain[] = "device_chained=", ze[] = "device_ze=";

	if (strncmp(text, key, sizeof(key) - 1) == 0)
		mode = (uint32_t)st_config_number(text + sizeof(key) - 1);
	else if (strncmp(text, chain, sizeof(chain) - 1) == 0)
		take_path(text + sizeof(chain) - 1, chained, sizeof(chained));
	else if (strncmp(text, ze, sizeof(ze) - 1) == 0)
		take_path(text + sizeof(ze) - 1, ze_library, sizeof(ze_library));
}

static void note_pause(void)
{
	atomic_store_explicit(&pause_end, 0, memory_order_relaxed);
	atomic_store_explicit(&pause_begin, st_ticks(), memory_order_relaxed);
}

static const struct st_device_hooks *library(unsigned int at)
{
	return atomic_load_explicit(&hooks[at], memory_order_acquire);
}

static void paused(void)
{
	note_pause();
	for (unsigned int i = 0; i < LIBRARIES_MAX && library(i); i++)
		library(i)->paused();
}

static void resumed(void)
{
	atomic_store_explicit(&pause_end, st_ticks(), memory_order_relaxed);
	for (unsigned int i = 0; i < LIBRARIES_MAX && library(i); i++)
		library(i)->resumed();
}

/* Whoever rests may never come to say that it is over. */
static _Atomic uint64_t rest_until;

static bool can_rest(void)
{
	return library(0) != NULL;
}

static void rest(uint64_t until)
{
	atomic_store_explicit(&rest_until, until, memory_order_relaxed);
	for (unsigned int i = 0; i < LIBRARIES_MAX && library(i); i++)
		(until ? library(i)->paused : library(i)->resumed)();
}

static bool is_resting(void)
{
	uint64_t until = atomic_load_explicit(&rest_until, memory_order_relaxed);

	return until && st_ticks() < until;
}

static void forked(void)
{
	/* The child may use a device itself, if the parent has not: then the library comes again. */
	for (unsigned int i = 0; i < LIBRARIES_MAX; i++) {
		const struct st_device_hooks *now = library(i);

		atomic_store_explicit(&hooks[i], NULL, memory_order_relaxed);
		if (now)
			now->forked();
	}
}

static uint32_t control_word(void)
{
	const struct st_shm_header *header = st_process ? st_header() : NULL;

	if (header)
		return atomic_load_explicit(&header->control, memory_order_relaxed);
	return st_process && st_starts_paused() ? ST_CONTROL_PAUSED_SELF : 0;
}

/* Recording may begin paused, and some devices cannot be kept from telling. */
static void note_first_pause(void)
{
	if (control_word() && (!atomic_load_explicit(&pause_begin, memory_order_relaxed) ||
			       atomic_load_explicit(&pause_end, memory_order_relaxed)))
		note_pause();
}

ST_EXPORT unsigned int strata_device_start(const struct st_device_hooks *wanted)
{
	if (!st_config.active || mode == ST_DEVICE_OFF || st_passive())
		return ST_DEVICE_OFF;
	note_first_pause();
	for (unsigned int i = 0; i < LIBRARIES_MAX; i++) {
		const struct st_device_hooks *none = NULL;

		/* Pairs with the acquire loads above. */
		if (atomic_compare_exchange_strong(&hooks[i], &none, wanted))
			return mode;
		if (none == wanted)
			return ST_DEVICE_OFF;
	}
	return ST_DEVICE_OFF;
}

/* Strata resumes without a word to us, too. Who asks first says when that was, where strata does not: what asked before
 * it switched a device on has asked in time. */
static uint64_t end_pause(uint64_t from)
{
	uint64_t to = atomic_load_explicit(&st_header()->resumed, memory_order_relaxed);

	to = to > from ? to : st_ticks();
	atomic_store_explicit(&pause_end, to, memory_order_relaxed);
	return to;
}

ST_EXPORT unsigned int strata_device_state(void)
{
	uint32_t control = control_word();
	uint64_t from = atomic_load_explicit(&pause_begin, memory_order_relaxed);

	if (st_process && st_header() && !control && from &&
	    !atomic_load_explicit(&pause_end, memory_order_relaxed))
		end_pause(from);
	if (!st_config.active || st_passive() ||
	    control & (ST_CONTROL_STOPPED | ST_CONTROL_DETACHED) ||
	    atomic_load_explicit(&st_process->state, memory_order_relaxed) == ST_PROCESS_OFF)
		return ST_DEVICE_SILENT;
	return control || is_resting() ? ST_DEVICE_PAUSED : ST_DEVICE_RECORDING;
}

ST_EXPORT uint64_t strata_device_ticks(void)
{
	return st_ticks();
}

ST_EXPORT unsigned int strata_device_ticks_are_tsc(void)
{
	return st_config.clock == ST_CLOCK_TSC;
}

const char *st_device_ze_library(void)
{
	return ze_library[0] ? ze_library : NULL;
}

ST_EXPORT const char *strata_device_chained(void)
{
	return chained[0] ? chained : NULL;
}

ST_EXPORT unsigned int strata_device_about(uint16_t device, unsigned int maker, const char *name,
					   size_t length)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);
	bool told = false;

	if (!thread)
		return false;
	if (length > NAME_BYTES_MAX)
		length = NAME_BYTES_MAX;
	if (st_process_lock()) {
		told = st_define(ST_DEFINE_DEVICE, device | (uint32_t)maker << 16, name,
				 (uint32_t)length);
		st_process_unlock();
	}
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	return told;
}

ST_EXPORT uint32_t strata_device_name(const char *text, size_t length)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);
	bool shared;
	uint32_t id;

	if (!thread)
		return 0;
	id = st_name_or_family(text, length, &shared);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	return id;
}

/* Strata pauses without a word to us: its pause begins when it is first seen here. */
static bool is_wanted(uint64_t begin, uint32_t control)
{
	uint64_t from = atomic_load_explicit(&pause_begin, memory_order_relaxed);
	uint64_t to = atomic_load_explicit(&pause_end, memory_order_relaxed);

	if (control && (!from || to)) {
		note_pause();
		return true;
	}
	if (control)
		return begin < from;
	if (from && !to)
		to = end_pause(from);
	return begin < from || begin >= to;
}

static const struct itt_domain *domain_of(uint32_t kind, bool is_communication)
{
	static const char *const others[ST_DEVICE_KINDS] = {
		[ST_DEVICE_CALL] = ST_RUNTIME_DOMAIN,
		[ST_DEVICE_WAIT] = ST_RUNTIME_DOMAIN,
		[ST_DEVICE_ABOUT] = ST_RUNTIME_DOMAIN,
		[ST_DEVICE_OVERHEAD] = ST_OVERHEAD_DOMAIN,
		[ST_DEVICE_MEMORY] = ST_DEVICE_MEMORY_DOMAIN,
	};

	if (kind < ST_DEVICE_KINDS && others[kind])
		return st_domain_create(others[kind]);
	if (kind != ST_DEVICE_KERNEL)
		return st_domain_create(ST_COPY_DOMAIN);
	return st_domain_create(is_communication ? ST_COMMUNICATION_DOMAIN : ST_KERNEL_DOMAIN);
}

static bool put(struct st_thread *thread, const struct st_device_record *record)
{
	uint64_t words[ST_DEVICE_WORDS];
	uint32_t count = st_device_to_words(record, words);

	/* 16 bytes for an absolute time in front of it, 8 for its head. */
	if (!st_thread_tell(thread) || st_ring_room(thread) < 24 + (int64_t)count * 8)
		return false;
	return st_ring_put(thread, ST_EXT_DEVICE, 0, words, count);
}

/* What was before the end of the recording, and could not be told in time. What a device is belongs to all of it. */
static bool was_in_time(const struct st_device_record *record)
{
	return record->kind == ST_DEVICE_ABOUT ||
	       record->begin < atomic_load_explicit(&st_header()->stopped, memory_order_relaxed);
}

ST_EXPORT unsigned int strata_device_put(struct st_device_record *record,
					 unsigned int is_communication)
{
	const uint32_t ends = ST_CONTROL_STOPPED | ST_CONTROL_DETACHED;
	const struct itt_domain *domain = domain_of(record->kind, is_communication);
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);
	unsigned int done = ST_DEVICE_UNWANTED;
	uint32_t control;

	if (!thread)
		return ST_DEVICE_UNWANTED;
	/* Pairs with who has ended it. */
	control = atomic_load_explicit(thread->hot.control, memory_order_acquire);
	if ((!(control & ends) || was_in_time(record)) &&
	    is_wanted(record->begin, control & ~ends)) {
		record->domain = st_domain_of(domain);
		if (record->kind == ST_DEVICE_CALL && !record->where)
			record->where = thread->tid;
		done = record->domain && put(thread, record) ? ST_DEVICE_PUT : ST_DEVICE_FULL;
		/* Nobody may be there any more to make room. */
		if (done == ST_DEVICE_FULL && control & ends) {
			atomic_fetch_add_explicit(&thread->ring->events_dropped, 1,
						  memory_order_relaxed);
			done = ST_DEVICE_UNWANTED;
		}
	}
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	return done;
}

ST_EXPORT void strata_device_lost(uint64_t count)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return;
	atomic_fetch_add_explicit(&thread->ring->events_dropped, count, memory_order_relaxed);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

ST_EXPORT void strata_device_trouble(unsigned int notice)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return; /* nobody is there to be told */
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	st_notice(notice);
}

const struct st_inproc_backend st_backend_device = {
	.name = "device",
	.configure = configure,
	.pause = paused,
	.resume = resumed,
	.can_rest = can_rest,
	.rest = rest,
	.forked = forked,
};
