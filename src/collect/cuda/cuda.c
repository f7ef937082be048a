/* SPDX-License-Identifier: Apache-2.0
 *
 * libstrata_cuda.so: what CUDA_INJECTION64_PATH names. The driver calls InitializeInjection when the program first uses
 * CUDA; from then on CUPTI fills buffers of ours with what devices do. A thread has it hand them over every tenth of a
 * second, so that a program that is killed loses no more than that, and looks whether recording was paused or stopped.
 * There is no subscription: the program's own profiler could not have one then.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collect/cuda/cupti.h"
#include "collect/inproc/device/device.h"
#include "format/shm.h"

enum {
	BUFFER_BYTES = 1 << 20,
	BUFFERS_MAX = 64,
	BUFFERS_OUT_MAX = 1024,
	ROUND_NS = 100000000,
	PAUSED_ROUND_NS = 10000000,
	STACK_BYTES = 256 << 10,
	END_WAIT_S = 1,	     /* for the watcher's round to end */
	RUNTIME_CALLS = 600, /* numbers that there may be; unknown ones are refused */
	DRIVER_CALLS = 900,
	BY_SYSTEM = 1, /* of cuptiSetThreadIdType: thread ids are the kernel's */
};

static struct cupti cupti;
static unsigned int mode;
static pid_t owner;				    /* the process that this was started in */
static _Atomic uint64_t devices_used, devices_told; /* a bit each */
static atomic_bool is_over;    /* the program ends: what comes now is nobody's */
static atomic_bool is_watched; /* there is a watcher */
static atomic_bool was_entered;
static atomic_bool is_wanted = true; /* strata.profile may record nothing but the CPU */

/* Held while CUPTI is switched, never in its callbacks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_on;      /* our kinds */
static uint64_t their_kinds;   /* of the program's profiler */
static uint64_t enabled_kinds; /* what CUPTI was told */
static uint64_t lasting_kinds; /* on from the start to the end, in pauses too */
static bool calls_chosen;      /* only calls that are wanted are told */

/* Held by the watcher while it asks CUPTI, which must not be asked while the program's end takes it down. */
static pthread_mutex_t round_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *free_buffers[BUFFERS_MAX], *buffers_out[BUFFERS_OUT_MAX];
static unsigned int free_count, out_count;

__attribute__((visibility("default"))) int InitializeInjection(void);
/* The same for who records the process from inside (strata.profile): CUDA may have been in use for long. False: it has not
 * begun, nor may it now. */
__attribute__((visibility("default"))) unsigned int strata_cuda_enter(unsigned int may_begin);
/* Also for them: what is done is handed over now, and CUPTI switched as the collector is. Else that takes until the next
 * round. */
__attribute__((visibility("default"))) void strata_cuda_look(void);
/* Whether any of what they record is to have devices. */
__attribute__((visibility("default"))) void strata_cuda_profile(unsigned int wanted);

static bool can_choose_calls(void)
{
	return cupti.enable_runtime_call && cupti.enable_driver_call;
}

/* Beside samples, all calls that CUPTI would tell are too many, unless it can be told which. */
static uint64_t our_kinds(void)
{
	uint64_t kinds = 1ull << CUPTI_KERNEL | 1ull << CUPTI_MEMCPY | 1ull << CUPTI_MEMCPY_PEER |
			 1ull << CUPTI_MEMSET | 1ull << CUPTI_WAIT;

	if (mode == ST_DEVICE_LIGHT)
		return can_choose_calls() ? kinds | 1ull << CUPTI_RUNTIME : kinds;
	kinds |= 1ull << CUPTI_RUNTIME | 1ull << CUPTI_DRIVER | 1ull << CUPTI_OVERHEAD;
	if (mode == ST_DEVICE_BYTES)
		kinds |= 1ull << CUPTI_MEMORY | 1ull << CUPTI_MEMORY_POOL;
	return kinds;
}

static struct cupti_reader our_reader(void)
{
	struct cupti_reader reader = {
		.cupti = &cupti, .calls = CUPTI_CALLS_USEFUL, .devices = &devices_used};

	if (mode == ST_DEVICE_API)
		reader.calls = CUPTI_CALLS_ALL;
	else if (mode == ST_DEVICE_LIGHT)
		reader.calls = CUPTI_CALLS_WAITING;
	return reader;
}

/* Lock of the buffers held. */
static uint8_t *fresh_buffer(void)
{
	void *fresh;

	if (free_count)
		return free_buffers[--free_count];
	fresh = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	return fresh == MAP_FAILED ? NULL : fresh;
}

/* Never without one, as long as there is memory: versions before 12.9 may crash then. */
static void request(uint8_t **buffer, size_t *size_bytes, size_t *records_max)
{
	*records_max = 0;
	pthread_mutex_lock(&buffer_lock);
	*buffer = out_count < BUFFERS_OUT_MAX ? fresh_buffer() : NULL;
	if (*buffer)
		buffers_out[out_count++] = *buffer;
	pthread_mutex_unlock(&buffer_lock);
	*size_bytes = *buffer ? BUFFER_BYTES : 0;
}

/* False: it is not one of ours, but of whoever had CUPTI before. */
static bool take_back(const uint8_t *buffer)
{
	unsigned int at = 0;
	bool is_ours;

	pthread_mutex_lock(&buffer_lock);
	while (at < out_count && buffers_out[at] != buffer)
		at++;
	is_ours = at < out_count;
	if (is_ours)
		buffers_out[at] = buffers_out[--out_count];
	pthread_mutex_unlock(&buffer_lock);
	return is_ours;
}

static void keep(uint8_t *buffer)
{
	bool kept;

	pthread_mutex_lock(&buffer_lock);
	kept = free_count < BUFFERS_MAX;
	if (kept)
		free_buffers[free_count++] = buffer;
	pthread_mutex_unlock(&buffer_lock);
	if (!kept)
		munmap(buffer, BUFFER_BYTES);
}

static void done(void *context, uint32_t stream, uint8_t *buffer, size_t size_bytes,
		 size_t valid_bytes)
{
	const struct cupti_reader reader = our_reader();
	size_t dropped = 0;

	(void)size_bytes;
	if (!buffer || !take_back(buffer))
		return;
	/* First: the program's profiler may be about to stop, and to read may take a while. */
	cupti_share_buffer(buffer, valid_bytes);
	if (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		cupti_read(&reader, buffer, valid_bytes);
		if (!cupti.dropped(context, stream, &dropped) && dropped)
			strata_device_lost(dropped);
	}
	keep(buffer);
}

/* With the kind on, each call that nobody wants is switched off; to switch single ones on brings nothing. */
static void choose_calls(bool chosen)
{
	const struct cupti_reader reader = our_reader();

	if (calls_chosen == chosen || !can_choose_calls())
		return;
	calls_chosen = chosen;
	for (uint32_t i = 1; i < RUNTIME_CALLS; i++)
		if (!cupti_call_is_wanted(&reader, CUPTI_DOMAIN_RUNTIME, i))
			cupti.enable_runtime_call(i, !chosen);
	for (uint32_t i = 1; i < DRIVER_CALLS; i++)
		if (!cupti_call_is_wanted(&reader, CUPTI_DOMAIN_DRIVER, i))
			cupti.enable_driver_call(i, !chosen);
}

/* CUPTI records what either wants. Lock held; the first error, and all others are as they can be. */
static int apply(void)
{
	const uint64_t calls = 1ull << CUPTI_RUNTIME | 1ull << CUPTI_DRIVER;
	uint64_t wanted = their_kinds | lasting_kinds | (is_on ? our_kinds() : 0);
	int error = CUPTI_SUCCESS;

	for (int kind = 0; kind < CUPTI_KINDS; kind++) {
		uint64_t bit = 1ull << kind;
		int one = CUPTI_SUCCESS;

		if (wanted & ~enabled_kinds & bit)
			one = cupti.enable(kind);
		else if (enabled_kinds & ~wanted & bit)
			one = cupti.disable(kind);
		else
			continue;
		if (one)
			error = error ? error : one;
		else
			enabled_kinds ^= bit;
	}
	if (enabled_kinds & calls)
		choose_calls(!(their_kinds & calls) && mode != ST_DEVICE_API);
	else
		calls_chosen = false;
	return error;
}

static int set_on(bool on)
{
	int error;

	pthread_mutex_lock(&lock);
	is_on = on;
	error = apply();
	pthread_mutex_unlock(&lock);
	return error;
}

static int they_want(uint64_t kinds)
{
	int error;

	pthread_mutex_lock(&lock);
	their_kinds = kinds;
	error = apply();
	pthread_mutex_unlock(&lock);
	return error;
}

static const struct cupti_sharer sharing = {.cupti = &cupti, .wants = they_want};

static void paused(void)
{
	if (owner != getpid())
		return;
	cupti.flush(0);
	set_on(false);
}

/* What came in the pause is judged by the pause that it came in, before there is another. */
static void resumed(void)
{
	if (owner != getpid())
		return;
	if (lasting_kinds)
		cupti.flush(0);
	set_on(is_wanted);
}

/* CUDA does not live on in a child, and CUPTI may hang there. */
static void forked(void)
{
	owner = 0;
	atomic_store_explicit(&is_over, true, memory_order_relaxed);
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&round_lock, NULL);
	pthread_mutex_init(&buffer_lock, NULL);
	cupti_share_forget();
}

static int count_libraries(struct dl_phdr_info *info, size_t size, void *closure)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof(info->dlpi_adds))
		*(unsigned long long *)closure = info->dlpi_adds;
	return 1;
}

/* A profiler may have come with a library since. */
static void look_for_sharers(void)
{
	static unsigned long long seen;
	unsigned long long now = 0;

	dl_iterate_phdr(count_libraries, &now);
	if (now == seen && now)
		return;
	seen = now;
	cupti_share(&sharing);
}

/* Once each, whether the driver answers or not. */
static void tell_about_devices(void)
{
	uint64_t fresh = devices_used & ~devices_told;

	for (unsigned int i = 0; fresh >> i; i++)
		if (fresh >> i & 1)
			cuda_tell_about(i);
	devices_told |= fresh;
}

/* What is recorded is asked here, where nobody else switches: an answer from before may be of a recording that is over. */
static void follow(void)
{
	bool on;

	pthread_mutex_lock(&lock);
	on = is_wanted && strata_device_state() == ST_DEVICE_RECORDING;
	if (is_on != on) {
		is_on = on;
		apply();
	}
	pthread_mutex_unlock(&lock);
}

static void look(void)
{
	if (is_on || lasting_kinds) {
		cupti.flush(0);
		tell_about_devices();
	}
	follow();
}

static void watch_recording(void)
{
	unsigned int state = strata_device_state();

	while (state != ST_DEVICE_SILENT && !atomic_load_explicit(&is_over, memory_order_relaxed)) {
		bool is_awaited = state == ST_DEVICE_PAUSED && is_wanted;
		const struct timespec round = {.tv_nsec = is_awaited ? PAUSED_ROUND_NS : ROUND_NS};

		nanosleep(&round, NULL);
		pthread_mutex_lock(&round_lock);
		state = strata_device_state();
		if (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
			look_for_sharers();
			look();
		}
		pthread_mutex_unlock(&round_lock);
	}
}

/* Until a recording is over, and on when another one has begun meanwhile. */
static void *watch(void *arg)
{
	(void)arg;
	do {
		watch_recording();
		atomic_store(&is_watched, false);
	} while (strata_device_state() != ST_DEVICE_SILENT &&
		 !atomic_load_explicit(&is_over, memory_order_relaxed) &&
		 !atomic_exchange(&is_watched, true));
	return NULL;
}

static void start_watching(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;

	if (atomic_exchange(&is_watched, true))
		return;
	if (pthread_attr_init(&attributes)) {
		atomic_store(&is_watched, false);
		return;
	}
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (!pthread_create(&thread, &attributes, watch, NULL))
		pthread_setname_np(thread, "strata-cuda");
	else
		atomic_store(&is_watched, false);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

/* The watcher ends with a recording; another one may follow in the same process. */
void strata_cuda_look(void)
{
	if (owner != getpid() || atomic_load_explicit(&is_over, memory_order_relaxed))
		return;
	look();
	if (is_on)
		start_watching();
}

/* Who wants it again comes to look. */
void strata_cuda_profile(unsigned int wanted)
{
	is_wanted = wanted;
	if (!wanted && owner == getpid() && !atomic_load_explicit(&is_over, memory_order_relaxed))
		follow();
}

/* What is not over by now has no end and says so. A watcher that does not come back may wait for this very thread. */
static void finish(void)
{
	struct timespec until;
	bool locked;

	if (owner != getpid())
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += END_WAIT_S;
	locked = pthread_mutex_clocklock(&round_lock, CLOCK_MONOTONIC, &until) == 0;
	if (locked) {
		cupti.flush(1);
		tell_about_devices();
	}
	atomic_store_explicit(&is_over, true, memory_order_relaxed);
	if (locked)
		pthread_mutex_unlock(&round_lock);
}

static void tell_trouble(int error)
{
	strata_device_trouble(error == CUPTI_TAKEN ? ST_NOTICE_CUPTI_TAKEN
						   : ST_NOTICE_CUPTI_REFUSED);
}

/* Graphs as a whole: their kind must be on before the first is made, and crashes the program if it is switched on later. So
 * it is on from the start, in pauses too. The driver calls us before there can be a graph; of others that is not known. */
static void choose_graphs(bool by_driver)
{
	if (mode != ST_DEVICE_GRAPH)
		return;
	if (by_driver)
		lasting_kinds = 1ull << CUPTI_GRAPH;
	else
		strata_device_trouble(ST_NOTICE_GRAPHS_LATE);
}

static void start(bool by_driver)
{
	static const struct st_device_hooks hooks = {
		.paused = paused, .resumed = resumed, .forked = forked};
	int error;

	mode = strata_device_start(&hooks);
	if (mode == ST_DEVICE_OFF)
		return;
	if (!cupti_find(&cupti)) {
		strata_device_trouble(ST_NOTICE_NO_CUPTI);
		return;
	}
	/* What somebody else has had recorded by now is theirs. */
	if (!by_driver)
		cupti.flush(0);
	/* The clock first: later it would mix two units in one result. */
	error = cupti.register_clock(strata_device_ticks);
	if (!error)
		error = cupti.register_callbacks(request, done);
	if (error) {
		tell_trouble(error);
		return;
	}
	cupti.thread_ids(BY_SYSTEM);
	owner = getpid();
	look_for_sharers();
	choose_graphs(by_driver);
	error = set_on(strata_device_state() == ST_DEVICE_RECORDING);
	lasting_kinds &= enabled_kinds; /* now or never */
	if (error)
		tell_trouble(error);
	start_watching();
	atexit(finish);
}

/* Another tool that the user has named comes first: it may want CUPTI for itself. */
static int start_chained(void)
{
	const char *path = strata_device_chained();
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*entry)(void) = NULL;

	if (library)
		*(void **)&entry = dlsym(library, "InitializeInjection");
	return entry ? entry() : 1;
}

static int enter(bool by_driver)
{
	int answer;

	if (atomic_exchange(&was_entered, true))
		return 1;
	answer = start_chained();
	start(by_driver);
	return answer;
}

int InitializeInjection(void)
{
	return enter(true);
}

unsigned int strata_cuda_enter(unsigned int may_begin)
{
	if (may_begin)
		enter(false);
	return atomic_load(&was_entered);
}
