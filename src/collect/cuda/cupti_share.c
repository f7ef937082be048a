/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI has room for one who takes its buffers. torch's profiler (Kineto) takes them when it starts, and switches off at
 * its stop what others have switched on: one use of it in a script would end our records without a word, and ours in its
 * buffers spoil its own. So its library's pointers to four functions lead here, and it gets copies of all records of the
 * kinds it has asked for. Its clock is the processor's, like ours.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/cuda/cupti.h"
#include "collect/inproc/device/device.h"
#include "collect/inproc/torch/torch_got.h"

enum { WAITS_MAX = 500, WAIT_NS = 100000 };

static const struct cupti_sharer *sharer;
static atomic_uint shared_now; /* buffers that are being shared */

/* Held while their two functions are called, never while CUPTI's are. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	cupti_request request;
	cupti_done done;
	uint8_t *
		buffer; /* one of theirs is always with us: without one out they do not ask for the last records */
	size_t size_bytes, used;
	uint64_t kinds;	   /* that they want */
	bool may_have_new; /* of these, since they last stopped one */
} theirs;

/* Lock held. */
static void ask_for_buffer(void)
{
	size_t records_max = 0;

	theirs.buffer = NULL;
	theirs.size_bytes = theirs.used = 0;
	if (theirs.request)
		theirs.request(&theirs.buffer, &theirs.size_bytes, &records_max);
}

/* Lock held. */
static void hand_over(void)
{
	if (theirs.buffer && theirs.used) {
		theirs.done(NULL, 0, theirs.buffer, theirs.size_bytes, theirs.used);
		ask_for_buffer();
	}
}

/* Lock held. One too large for any buffer of theirs is left out, as CUPTI would do. */
static void give_record(const uint8_t *record, size_t size_bytes)
{
	if (theirs.used + size_bytes > theirs.size_bytes)
		hand_over();
	if (!theirs.buffer || theirs.used + size_bytes > theirs.size_bytes)
		return;
	memcpy(theirs.buffer + theirs.used, record, size_bytes);
	theirs.used += size_bytes;
}

/* Lock held. */
static void give_if_wanted(const uint8_t *record, const uint8_t *end)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	if (kind < CUPTI_KINDS && theirs.kinds >> kind & 1)
		give_record(record, (size_t)(end - record));
}

void cupti_share_buffer(uint8_t *buffer, size_t valid_bytes)
{
	uint8_t *at = NULL, *before = NULL;

	atomic_fetch_add(&shared_now, 1);
	pthread_mutex_lock(&lock);
	while (theirs.kinds && valid_bytes && !sharer->cupti->next(buffer, valid_bytes, &at)) {
		if (before)
			give_if_wanted(before, at);
		before = at;
	}
	if (before)
		give_if_wanted(before, buffer + valid_bytes);
	hand_over();
	pthread_mutex_unlock(&lock);
	atomic_fetch_sub(&shared_now, 1);
}

/* A buffer that another thread was handed over before our flush is theirs too. */
static void await_shared(void)
{
	const struct timespec a_while = {.tv_nsec = WAIT_NS};

	for (unsigned int i = 0; i < WAITS_MAX && atomic_load(&shared_now); i++)
		nanosleep(&a_while, NULL);
}

/* At the program's end, before theirs: then their buffers are gone, and so is whoever would take one. */
static void end_sharing(void)
{
	pthread_mutex_lock(&lock);
	memset(&theirs, 0, sizeof(theirs));
	pthread_mutex_unlock(&lock);
}

/* Whoever has callbacks has been made by now: what destroys it at the program's end is registered, and runs behind ours. */
static int their_callbacks(cupti_request request, cupti_done done)
{
	sharer->cupti->flush(0);
	pthread_mutex_lock(&lock);
	if (request != theirs.request)
		atexit(end_sharing);
	theirs.request = request;
	theirs.done = done;
	if (!theirs.buffer)
		ask_for_buffer();
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

static int their_clock(cupti_clock clock)
{
	(void)clock;
	return CUPTI_SUCCESS;
}

static uint64_t change_kinds(uint64_t add, uint64_t take)
{
	uint64_t kinds;

	pthread_mutex_lock(&lock);
	kinds = theirs.kinds = (theirs.kinds | add) & ~take;
	theirs.may_have_new = add ? true : theirs.may_have_new;
	pthread_mutex_unlock(&lock);
	return kinds;
}

static int their_enable(int kind)
{
	int error;

	if (kind < 0 || kind >= CUPTI_KINDS)
		return sharer->cupti->enable(kind);
	error = sharer->wants(change_kinds(1ull << kind, 0));
	if (error)
		change_kinds(0, 1ull << kind);
	return error;
}

/* What is done by now is theirs; they come for it only later. */
static int their_disable(int kind)
{
	bool flush;

	if (kind < 0 || kind >= CUPTI_KINDS)
		return sharer->cupti->disable(kind);
	pthread_mutex_lock(&lock);
	flush = theirs.may_have_new;
	theirs.may_have_new = false;
	pthread_mutex_unlock(&lock);
	if (flush) {
		sharer->cupti->flush(0);
		await_shared();
	}
	return sharer->wants(change_kinds(0, 1ull << kind));
}

void cupti_share(const struct cupti_sharer *by)
{
	static const char *const libraries[] = {"libtorch_cpu.so", "libkineto"};
	const struct {
		const char *name;
		void *ours;
	} functions[] = {
		{"cuptiActivityRegisterCallbacks", (void *)their_callbacks},
		{"cuptiActivityRegisterTimestampCallback", (void *)their_clock},
		{"cuptiActivityEnable", (void *)their_enable},
		{"cuptiActivityDisable", (void *)their_disable},
	};

	/* Their ticks are the processor's. */
	if (!strata_device_ticks_are_tsc())
		return;
	sharer = by;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		for (size_t j = 0; j < sizeof(functions) / sizeof(functions[0]); j++)
			st_got_change(&(struct st_got_change){.prefix = libraries[i],
							      .symbol = functions[j].name,
							      .to = functions[j].ours});
}

void cupti_share_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	atomic_store(&shared_now, 0);
	theirs.kinds = 0;
	theirs.buffer = NULL;
}
