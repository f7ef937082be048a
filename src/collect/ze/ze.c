/* SPDX-License-Identifier: Apache-2.0
 *
 * libstrata_ze.so: loaded by the collector when a program begins with Level Zero (collect/inproc/device), or by ze_entry.c
 * in a program that may record itself. A tracer of ours is registered with the loader's tracing layer: from then on
 * functions of Level Zero are seen before and after they run (ze_calls.c).
 */
#include "collect/ze/ze.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/devices/watcher.h"
#include "collect/inproc/device/device.h"
#include "format/shm.h"

#define ST_EXPORT __attribute__((visibility("default")))

/* Once a program has begun with Level Zero; with its loader. */
ST_EXPORT void strata_ze_start(void *library);
/* The same in a program that may record itself later (strata.profile): what it makes is known then. */
ST_EXPORT void strata_ze_prepare(void *library);
/* It records itself now: `by` is another number for each strata that does it; 0: no more. Answers what becomes of it, also
 * when asked again. */
ST_EXPORT unsigned int strata_ze_profile(unsigned int by);
/* What devices have done is handed over now. */
ST_EXPORT void strata_ze_look(void);

/* Of strata_ze_profile; python/strata/_level_zero.py has them too. */
enum {
	ZE_NOT_BEGUN = 0, /* the program has not begun with Level Zero, as far as is known */
	ZE_IS_SEEN = 1,
	ZE_CAME_LATE = 2,     /* what it made before is not known */
	ZE_CAME_TOO_LATE = 3, /* and nothing can be seen */
	ZE_IS_REFUSED = 4,
};

/* CUDA's begin at 1, OpenCL's at 2^30. */
enum { CORRELATIONS = 1 << 30 };
static const uint32_t first_correlation = 1u << 31;

struct ze_functions ze;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool is_inside;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool was_started, was_forked, came_late;
static unsigned int wanted_by; /* strata_ze_profile */
static atomic_bool is_on;      /* calls are seen */
static atomic_bool is_wanted;  /* and may be recorded */
static atomic_bool is_joined;  /* the collector knows us */
static unsigned int mode;      /* enum st_device_mode, before is_wanted */
static atomic_uint correlation;

void ze_lock(void)
{
	pthread_mutex_lock(&lock);
	is_inside = true;
}

void ze_unlock(void)
{
	is_inside = false;
	pthread_mutex_unlock(&lock);
}

bool ze_is_inside(void)
{
	return is_inside;
}

bool ze_is_on(void)
{
	return atomic_load_explicit(&is_on, memory_order_acquire) && !st_watcher_is_over();
}

bool ze_records(void)
{
	return ze_is_on() && atomic_load_explicit(&is_wanted, memory_order_acquire) &&
	       strata_device_state() == ST_DEVICE_RECORDING;
}

bool ze_records_waits_only(void)
{
	return mode == ST_DEVICE_LIGHT;
}

uint32_t ze_next_correlation(void)
{
	return first_correlation +
	       atomic_fetch_add_explicit(&correlation, 1, memory_order_relaxed) % CORRELATIONS;
}

void *ze_map(size_t size_bytes)
{
	void *at = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void ze_unmap(void *at, size_t size_bytes)
{
	if (at)
		munmap(at, size_bytes);
}

static void unmoved(void)
{
}

/* Level Zero does not live on in a child; one of a process that has not begun with it may. */
static void forked(void)
{
	atomic_store_explicit(&is_on, false, memory_order_relaxed);
	atomic_store_explicit(&is_wanted, false, memory_order_relaxed);
	atomic_store_explicit(&is_joined, false, memory_order_relaxed);
	was_forked = true;
	wanted_by = 0;
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&start_lock, NULL);
	is_inside = false;
	st_watcher_forked();
	ze_events_forget();
	ze_lists_forget();
	ze_names_forget();
	ze_devices_forget();
}

/* Threads of the program are kept waiting for a part of it at most, and never while this one waits for room. */
static bool look_with(void (*some)(struct ze_batch *))
{
	static struct ze_batch batch;
	bool awaits;

	do {
		ze_lock();
		ze_devices_read_clocks();
		some(&batch);
		awaits = ze_pending_count() > 0;
		ze_unlock();
		for (uint32_t i = 0; i < batch.count; i++)
			st_watcher_put(&batch.records[i], false);
	} while (!batch.is_all);
	return awaits;
}

static bool look(void)
{
	return look_with(ze_pending_look);
}

static void look_last(void)
{
	look_with(ze_pending_look);
	look_with(ze_pending_take);
}

static bool find_functions(void *library)
{
	const struct {
		void **function;
		const char *name;
	} functions[] = {
		{(void **)&ze.tracer_create, "zelTracerCreate"},
		{(void **)&ze.tracer_enable, "zelTracerSetEnabled"},
		{(void **)&ze.driver_get, "zeDriverGet"},
		{(void **)&ze.device_get, "zeDeviceGet"},
		{(void **)&ze.device_about, "zeDeviceGetProperties"},
		{(void **)&ze.device_times, "zeDeviceGetGlobalTimestamps"},
		{(void **)&ze.kernel_name, "zeKernelGetName"},
		{(void **)&ze.memory_about, "zeMemGetAllocProperties"},
		{(void **)&ze.pool_create, "zeEventPoolCreate"},
		{(void **)&ze.pool_destroy, "zeEventPoolDestroy"},
		{(void **)&ze.event_create, "zeEventCreate"},
		{(void **)&ze.event_destroy, "zeEventDestroy"},
		{(void **)&ze.event_reset, "zeEventHostReset"},
		{(void **)&ze.event_status, "zeEventQueryStatus"},
		{(void **)&ze.event_times, "zeEventQueryKernelTimestamp"},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].function = dlsym(library, functions[i].name);
		if (!*functions[i].function)
			return false;
	}
	return true;
}

static bool is_zero(const char *variable)
{
	const char *value = getenv(variable);

	return !value || strcmp(value, "1") != 0;
}

/* The tracer's argument must not be NULL, and is used for nothing. */
static bool trace(void *library)
{
	static int argument;
	const struct ze_tracer_wish wish = {.type = ZE_TYPE_TRACER, .argument = &argument};
	struct ze_tracer *tracer = NULL;
	int32_t (*late)(void);

	/* A loader that was started without its tracing layer may be told later, since 1.16. */
	*(void **)&late = dlsym(library, "zelEnableTracingLayer");
	if (late && is_zero("ZE_ENABLE_TRACING_LAYER"))
		late();
	return ze.tracer_create(&wish, &tracer) == ZE_SUCCESS && tracer &&
	       ze_register(library, tracer) && ze.tracer_enable(tracer, 1) == ZE_SUCCESS;
}

static bool prepare(void *library)
{
	bool works = find_functions(library) && ze_events_start() && ze_lists_start() &&
		     ze_names_start() && trace(library);

	atomic_store_explicit(&is_on, works, memory_order_release);
	return works;
}

static bool join_collector(void)
{
	static const struct st_device_hooks hooks = {
		.paused = unmoved, .resumed = unmoved, .forked = forked};

	if (!is_joined) {
		mode = strata_device_start(&hooks);
		is_joined = mode != ST_DEVICE_OFF;
	}
	return is_joined;
}

/* What the program has made so far is known; from now on it can be recorded. */
static void go(void)
{
	ze_lock();
	ze_names_renew();
	ze_calls_renew();
	ze_devices_start();
	ze_unlock();
	st_watcher_start(&(struct st_watcher_options){
		.name = "strata-ze", .round = look, .finish = look_last});
	atomic_store_explicit(&is_wanted, true, memory_order_release);
}

void strata_ze_start(void *library)
{
	pthread_mutex_lock(&start_lock);
	if (!was_started) {
		was_started = true;
		if (join_collector() && prepare(library))
			go();
		else if (mode != ST_DEVICE_OFF)
			strata_device_trouble(is_zero("ZE_ENABLE_TRACING_LAYER")
						      ? ST_NOTICE_ZE_OFF
						      : ST_NOTICE_ZE_REFUSED);
	}
	pthread_mutex_unlock(&start_lock);
}

/* start_lock held. */
static void follow(void)
{
	static unsigned int gone_on; /* for whom */

	if (!wanted_by || !ze_is_on() || !join_collector())
		return;
	if (gone_on != wanted_by)
		go();
	gone_on = wanted_by;
	atomic_store_explicit(&is_wanted, true, memory_order_release);
}

void strata_ze_prepare(void *library)
{
	pthread_mutex_lock(&start_lock);
	if (!was_started) {
		was_started = true;
		pthread_atfork(NULL, NULL, forked);
		prepare(library);
		follow();
	}
	pthread_mutex_unlock(&start_lock);
}

/* A loader that is there, and that the program has begun with; NULL: not yet. */
static void *loader_in_use(void)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
	int32_t (*drivers)(uint32_t *, ze_any **) = NULL;
	uint32_t count = 0;

	if (loader)
		*(void **)&drivers = dlsym(loader, "zeDriverGet");
	return drivers && drivers(&count, NULL) == ZE_SUCCESS ? loader : NULL;
}

/* start_lock held. */
static unsigned int state(void)
{
	if (!was_started || was_forked)
		return ZE_NOT_BEGUN;
	if (!ze_is_on())
		return came_late ? ZE_CAME_TOO_LATE : ZE_IS_REFUSED;
	return came_late ? ZE_CAME_LATE : ZE_IS_SEEN;
}

unsigned int strata_ze_profile(unsigned int by)
{
	void *loader = NULL;
	unsigned int answer;

	pthread_mutex_lock(&start_lock);
	wanted_by = by;
	if (!by)
		atomic_store_explicit(&is_wanted, false, memory_order_release);
	if (by && !was_started)
		loader = loader_in_use();
	if (loader) {
		was_started = came_late = true;
		pthread_atfork(NULL, NULL, forked);
		prepare(loader);
	}
	follow();
	answer = state();
	pthread_mutex_unlock(&start_lock);
	return answer;
}

void strata_ze_look(void)
{
	if (ze_is_on() && is_joined)
		st_watcher_round_now();
}
