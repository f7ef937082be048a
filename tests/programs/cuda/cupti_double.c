/* SPDX-License-Identifier: Apache-2.0
 *
 * libcupti.so.13 for machines without a device: the functions of CUPTI's activity interface that strata and torch's
 * profiler use, and a made-up device (cupti_double.h) whose records they get. Sizes and places in records are those of CUDA
 * 13.0. It has the ways of the real one: switching single calls on brings nothing as long as their kind is off, records of
 * what still runs come with a forced flush only and have no end then, one set of callbacks is all there is, and a graph that
 * was made before graphs are told as a whole brings the program down at its next launch.
 *
 * CUPTI_DOUBLE is a list of faults, separated by commas. taken: another tool has it. refuse: kinds cannot be switched on.
 * nodriver: nothing works for want of a driver. late: a flush hands over what
 * the one before would have. keep: a buffer is not handed over while something runs. nokind: synchronisation is a kind it does not know. slowend: the program's end takes as long as that of
 * large ones, and whoever asks CUPTI meanwhile brings the program down.
 */
#include "cupti_double.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	KIND_COPY = 1,
	KIND_FILL = 2,
	KIND_DRIVER = 4,
	KIND_RUNTIME = 5,
	KIND_KERNEL = 10,
	KIND_OVERHEAD = 17,
	KIND_WAIT = 38,
	KIND_MEMORY = 49,
	KIND_GRAPH = 51,
	KINDS = 64,
	CALLS = 1024,
	PENDING_MAX = 4096,
	RECORD_MAX = 216,
	SUCCESS = 0,
	BAD_PARAMETER = 1,
	END_OF_BUFFER = 12,
	TAKEN = 39,
	UNKNOWN = 999,
	LAUNCH_CALL = 211,
	COPY_CALL = 41,
	FILL_CALL = 51,
	WAIT_CALL = 131,
	WAIT_ALL_CALL = 165,
	GRAPH_CALL = 311,
	ASK_CALL = 17,
	ALLOCATE_CALL = 20,
	RELEASE_CALL = 22,
	LAZY_LOADING = 5 << 16,
	DRIVER_LAUNCH_CALL = 307,
	DRIVER = 1,
	RUNTIME = 2,
};

typedef void (*request_function)(uint8_t **buffer, size_t *size, size_t *records_max);
typedef void (*done_function)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			      size_t valid);
typedef uint64_t (*clock_function)(void);

#pragma GCC visibility push(default)
int cuptiActivityRegisterCallbacks(request_function request, done_function done);
int cuptiActivityRegisterTimestampCallback(clock_function function);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityEnableRuntimeApi(uint32_t call, uint8_t on);
int cuptiActivityEnableDriverApi(uint32_t call, uint8_t on);
int cuptiActivityFlushAll(uint32_t forced);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count);
int cuptiSetThreadIdType(int type);
int cuptiGetCallbackName(int domain, uint32_t call, const char **name);
int cuptiSubscribe(void *subscriber, void *function, void *data);
#pragma GCC visibility pop

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static request_function request_buffer;
static done_function buffer_done;
static clock_function now_of;
static uint8_t *buffer;
static size_t buffer_size, buffer_used;
static uint64_t kinds;
static uint8_t call_off[2][CALLS];
static uint32_t correlation;
static unsigned int subscriptions, thread_ids_by_system;
static atomic_uint flushes;
static int graph_is_made, graph_is_broken;

/* What has been launched and not been told. */
struct pending {
	uint8_t bytes[RECORD_MAX];
	uint32_t size;
	uint64_t end, end_ns;
	uint32_t start_at, end_at; /* places of the times */
};
static struct pending pending[PENDING_MAX];
static unsigned int pending_count;
static uint64_t stream_free_ns[16][64]; /* by device and stream */

/* Whether a word is in the list. */
static int has_fault(const char *word)
{
	const char *text = getenv("CUPTI_DOUBLE");
	size_t length = strlen(word);

	for (; text && *text; text += strcspn(text, ",") + (text[strcspn(text, ",")] == ','))
		if (strcspn(text, ",") == length && strncmp(text, word, length) == 0)
			return 1;
	return 0;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t stamp(void)
{
	return now_of ? now_of() : monotonic_ns();
}

static uint32_t size_of(uint32_t kind)
{
	switch (kind) {
	case KIND_KERNEL:
		return 216;
	case KIND_COPY:
		return 96;
	case KIND_FILL:
		return 88;
	case KIND_WAIT:
	case KIND_OVERHEAD:
	case KIND_GRAPH:
		return 56;
	case KIND_MEMORY:
		return 128;
	default:
		return 40;
	}
}

static void put(uint8_t *record, size_t at, const void *value, size_t size)
{
	memcpy(record + at, value, size);
}

#define PUT(record, at, type, ...) put(record, at, &(type){__VA_ARGS__}, sizeof(type))

/* Lock held. A full buffer is handed over by whoever fills it. */
static void append(const uint8_t *record, uint32_t size)
{
	size_t records_max = 0;

	if (buffer && buffer_used + size > buffer_size) {
		uint8_t *full = buffer;
		size_t full_size = buffer_size, used = buffer_used;

		buffer = NULL;
		pthread_mutex_unlock(&lock);
		buffer_done(NULL, 0, full, full_size, used);
		pthread_mutex_lock(&lock);
	}
	if (!buffer && request_buffer) {
		request_buffer(&buffer, &buffer_size, &records_max);
		buffer_used = 0;
	}
	if (!buffer || size > buffer_size)
		return;
	memcpy(buffer + buffer_used, record, size);
	buffer_used += size;
}

static int is_told(int kind, uint32_t call)
{
	if (!(kinds >> kind & 1))
		return 0;
	return kind != KIND_RUNTIME && kind != KIND_DRIVER ? 1
							   : !call_off[kind == KIND_DRIVER][call];
}

static void tell_call(int kind, uint32_t call, uint64_t begin, uint64_t end, uint32_t id)
{
	uint8_t record[RECORD_MAX] = {0};
	uint32_t thread = thread_ids_by_system ? (uint32_t)syscall(SYS_gettid)
					       : (uint32_t)(uintptr_t)pthread_self();

	PUT(record, 0, uint32_t, (uint32_t)kind);
	PUT(record, 4, uint32_t, call);
	PUT(record, 8, uint64_t, begin);
	PUT(record, 16, uint64_t, end);
	PUT(record, 24, uint32_t, (uint32_t)getpid());
	PUT(record, 28, uint32_t, thread);
	PUT(record, 32, uint32_t, id);
	if (is_told(kind, call))
		append(record, size_of((uint32_t)kind));
}

/* Both clocks, read at one moment: a thread that loses its CPU between two readings tries again. */
struct moment {
	clock_function clock;
	uint64_t ns, ticks;
};

static struct moment read_clocks(void)
{
	enum { TRIES = 8 };
	struct moment best = {.clock = now_of};
	uint64_t best_ticks = UINT64_MAX;

	for (unsigned int i = 0; i < TRIES; i++) {
		uint64_t before = stamp(), ns = monotonic_ns(), took = stamp() - before;

		if (took < best_ticks) {
			best_ticks = took;
			best.ns = ns;
			best.ticks = before + took / 2;
		}
	}
	return best;
}

/* Lock held: of the clock in use, from when it was first read until now, which is a millisecond at least. */
static double ticks_per_ns(struct moment *now)
{
	static struct moment first;

	*now = read_clocks();
	if (!first.ns || first.clock != now->clock)
		first = *now;
	while (now->ns - first.ns < 1000000)
		*now = read_clocks();
	return (double)(now->ticks - first.ticks) / (double)(now->ns - first.ns);
}

/* Lock held: it runs behind what the stream has, from two microseconds after the launch on. */
static void run(struct pending *one, uint32_t device, uint32_t stream, uint32_t run_us)
{
	struct moment now;
	double rate = ticks_per_ns(&now);
	uint64_t begin_ns = now.ns + 2000, begin;
	uint64_t *free_ns = &stream_free_ns[device % 16][stream % 64];

	if (begin_ns < *free_ns)
		begin_ns = *free_ns;
	*free_ns = begin_ns + run_us * 1000ull;
	begin = now.ticks + (uint64_t)((double)(begin_ns - now.ns) * rate);
	one->end_ns = *free_ns;
	one->end = begin + (uint64_t)(run_us * 1000.0 * rate);
	PUT(one->bytes, one->start_at, uint64_t, begin);
	PUT(one->bytes, one->end_at, uint64_t, one->end);
}

static struct pending *add_pending(int kind)
{
	struct pending *one = &pending[pending_count < PENDING_MAX ? pending_count++ : 0];

	memset(one, 0, sizeof(*one));
	one->size = size_of((uint32_t)kind);
	one->start_at = 16;
	one->end_at = 24;
	PUT(one->bytes, 0, uint32_t, (uint32_t)kind);
	return one;
}

static void add_kernel(const char *name, uint32_t device, uint32_t stream, uint32_t run_us,
		       uint32_t id, uint64_t node)
{
	struct pending *one;

	if (!is_told(KIND_KERNEL, 0))
		return;
	one = add_pending(KIND_KERNEL);
	PUT(one->bytes, 6, uint16_t, 32);
	PUT(one->bytes, 40, uint32_t, device);
	PUT(one->bytes, 44, uint32_t, device + 1);
	PUT(one->bytes, 48, uint32_t, stream);
	for (uint32_t i = 0; i < 3; i++) {
		PUT(one->bytes, 52 + 4 * i, uint32_t, i ? 1 : 128);
		PUT(one->bytes, 64 + 4 * i, uint32_t, i ? 1 : 256);
	}
	PUT(one->bytes, 76, uint32_t, 1024);
	PUT(one->bytes, 80, uint32_t, 512);
	PUT(one->bytes, 92, uint32_t, id);
	PUT(one->bytes, 104, const char *, name);
	PUT(one->bytes, 144, uint64_t, node);
	PUT(one->bytes, 156, uint32_t, node ? 3 : 0);
	run(one, device, stream, run_us);
}

/* Lock held: those that have run, and with `forced` also those that have not. */
static void tell_pending(int forced)
{
	uint64_t now_ns = monotonic_ns();
	unsigned int kept = 0, count = pending_count;

	pending_count = 0;
	for (unsigned int i = 0; i < count; i++) {
		struct pending one = pending[i];

		if (one.end_ns > now_ns && !forced) {
			pending[kept++] = one;
			continue;
		}
		if (one.end_ns > now_ns)
			PUT(one.bytes, one.end_at, uint64_t, 0);
		append(one.bytes, one.size);
	}
	pending_count = kept;
}

int cuptiActivityRegisterCallbacks(request_function request, done_function done)
{
	if (has_fault("taken"))
		return TAKEN;
	if (has_fault("nodriver"))
		return UNKNOWN;
	pthread_mutex_lock(&lock);
	request_buffer = request;
	buffer_done = done;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

int cuptiActivityRegisterTimestampCallback(clock_function function)
{
	now_of = function;
	return SUCCESS;
}

int cuptiActivityEnable(int kind)
{
	if (kind < 0 || kind >= KINDS)
		return BAD_PARAMETER;
	if (has_fault("refuse") || (kind == KIND_WAIT && has_fault("nokind")))
		return UNKNOWN;
	pthread_mutex_lock(&lock);
	if (kind == KIND_GRAPH)
		graph_is_broken |= graph_is_made;
	kinds |= 1ull << kind;
	if (kind == KIND_RUNTIME || kind == KIND_DRIVER)
		memset(call_off[kind == KIND_DRIVER], 0, CALLS);
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

int cuptiActivityDisable(int kind)
{
	if (kind < 0 || kind >= KINDS)
		return BAD_PARAMETER;
	pthread_mutex_lock(&lock);
	kinds &= ~(1ull << kind);
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

int cuptiActivityEnableRuntimeApi(uint32_t call, uint8_t on)
{
	if (call >= CALLS)
		return BAD_PARAMETER;
	call_off[0][call] = !on;
	return SUCCESS;
}

int cuptiActivityEnableDriverApi(uint32_t call, uint8_t on)
{
	if (call >= CALLS)
		return BAD_PARAMETER;
	call_off[1][call] = !on;
	return SUCCESS;
}

static atomic_int is_gone;

__attribute__((destructor)) static void go(void)
{
	if (!has_fault("slowend"))
		return;
	atomic_store(&is_gone, 1);
	nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
}

int cuptiActivityFlushAll(uint32_t forced)
{
	static int was_asked;
	uint8_t *full;
	size_t size, used;

	if (atomic_load(&is_gone))
		abort();
	pthread_mutex_lock(&lock);
	/* What is done is handed over with the next flush. */
	if (has_fault("late") && !forced && !(was_asked = !was_asked)) {
		pthread_mutex_unlock(&lock);
		return SUCCESS;
	}
	tell_pending((int)forced);
	if (has_fault("keep") && pending_count) {
		pthread_mutex_unlock(&lock);
		return SUCCESS;
	}
	full = buffer;
	size = buffer_size;
	used = buffer_used;
	buffer = NULL;
	pthread_mutex_unlock(&lock);
	if (full && buffer_done)
		buffer_done(NULL, 0, full, size, used);
	atomic_fetch_add(&flushes, 1);
	return SUCCESS;
}

int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, uint8_t **record)
{
	uint8_t *next = from;
	uint32_t kind;

	if (*record) {
		memcpy(&kind, *record, sizeof(kind));
		next = *record + size_of(kind);
	}
	if (next >= from + valid)
		return END_OF_BUFFER;
	*record = next;
	return SUCCESS;
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static int hold, is_held;

void double_hold(int on)
{
	pthread_mutex_lock(&hold_lock);
	hold = on;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&hold_lock);
}

int double_is_held(void)
{
	int now;

	pthread_mutex_lock(&hold_lock);
	now = is_held;
	pthread_mutex_unlock(&hold_lock);
	return now;
}

/* What strata asks behind each buffer. */
static void wait_while_held(void)
{
	char name[16] = "";

	if (pthread_getname_np(pthread_self(), name, sizeof(name)) ||
	    strcmp(name, "strata-cuda") != 0)
		return;
	pthread_mutex_lock(&hold_lock);
	is_held = hold;
	while (hold)
		pthread_cond_wait(&changed, &hold_lock);
	is_held = 0;
	pthread_mutex_unlock(&hold_lock);
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
	wait_while_held();
	(void)context;
	(void)stream;
	*count = 0;
	return SUCCESS;
}

int cuptiSetThreadIdType(int type)
{
	thread_ids_by_system = type == 1;
	return SUCCESS;
}

int cuptiGetCallbackName(int domain, uint32_t call, const char **name)
{
	static const struct {
		int domain;
		uint32_t call;
		const char *name;
	} names[] = {
		{RUNTIME, LAUNCH_CALL, "cudaLaunchKernel_v7000"},
		{RUNTIME, COPY_CALL, "cudaMemcpyAsync_v3020"},
		{RUNTIME, FILL_CALL, "cudaMemsetAsync_v3020"},
		{RUNTIME, WAIT_CALL, "cudaStreamSynchronize_v3020"},
		{RUNTIME, WAIT_ALL_CALL, "cudaDeviceSynchronize_v3020"},
		{RUNTIME, GRAPH_CALL, "cudaGraphLaunch_v10000"},
		{RUNTIME, ASK_CALL, "cudaGetDevice_v3020"},
		{RUNTIME, ALLOCATE_CALL, "cudaMalloc_v3020"},
		{RUNTIME, RELEASE_CALL, "cudaFree_v3020"},
		{DRIVER, DRIVER_LAUNCH_CALL, "cuLaunchKernel"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].domain == domain && names[i].call == call) {
			*name = names[i].name;
			return SUCCESS;
		}
	return BAD_PARAMETER;
}

int cuptiSubscribe(void *subscriber, void *function, void *data)
{
	(void)subscriber;
	(void)function;
	(void)data;
	subscriptions++;
	return SUCCESS;
}

uint64_t double_kinds(void)
{
	uint64_t now;

	pthread_mutex_lock(&lock);
	now = kinds;
	pthread_mutex_unlock(&lock);
	return now;
}

unsigned int double_flushes(void)
{
	return atomic_load(&flushes);
}

unsigned int double_subscriptions(void)
{
	return subscriptions;
}

void double_init(void)
{
	static int done;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library;
	int (*entry)(void) = NULL;

	if (done++ || !path)
		return;
	library = dlopen(path, RTLD_NOW);
	if (library)
		*(void **)&entry = dlsym(library, "InitializeInjection");
	if (entry)
		entry();
}

uint32_t double_launch(const char *kernel, uint32_t device, uint32_t stream, uint32_t run_us,
		       int by_driver)
{
	uint64_t begin;
	uint32_t id;

	double_init();
	pthread_mutex_lock(&lock);
	begin = stamp();
	id = ++correlation;
	add_kernel(kernel, device, stream, run_us, id, 0);
	if (by_driver)
		tell_call(KIND_DRIVER, DRIVER_LAUNCH_CALL, begin, stamp(), id);
	else
		tell_call(KIND_RUNTIME, LAUNCH_CALL, begin, stamp(), id);
	pthread_mutex_unlock(&lock);
	return id;
}

static uint32_t transfer(int kind, uint32_t call, uint32_t device, uint32_t stream,
			 const uint64_t size_and_time[2])
{
	uint64_t begin;
	uint32_t id;

	double_init();
	pthread_mutex_lock(&lock);
	begin = stamp();
	id = ++correlation;
	if (is_told(kind, 0)) {
		struct pending *one = add_pending(kind);

		if (kind == KIND_COPY) {
			static const uint8_t pageable_to_device[] = {1, 1, 3, 1};

			put(one->bytes, 4, pageable_to_device, sizeof(pageable_to_device));
		} else {
			PUT(one->bytes, 50, uint16_t, 3);
		}
		PUT(one->bytes, 8, uint64_t, size_and_time[0]);
		PUT(one->bytes, 32, uint32_t, device);
		PUT(one->bytes, 36, uint32_t, device + 1);
		PUT(one->bytes, 40, uint32_t, stream);
		PUT(one->bytes, 44, uint32_t, id);
		run(one, device, stream, (uint32_t)size_and_time[1]);
	}
	tell_call(KIND_RUNTIME, call, begin, stamp(), id);
	pthread_mutex_unlock(&lock);
	return id;
}

uint32_t double_copy(uint32_t device, uint32_t stream, uint64_t bytes, uint32_t run_us)
{
	return transfer(KIND_COPY, COPY_CALL, device, stream, (uint64_t[]){bytes, run_us});
}

uint32_t double_fill(uint32_t device, uint32_t stream, uint64_t bytes, uint32_t run_us)
{
	return transfer(KIND_FILL, FILL_CALL, device, stream, (uint64_t[]){bytes, run_us});
}

/* Lock held: in place of its kernels. */
static void add_graph(uint32_t device, uint32_t stream, uint32_t run_us, uint32_t id)
{
	struct pending *one = add_pending(KIND_GRAPH);

	one->start_at = 8;
	one->end_at = 16;
	PUT(one->bytes, 4, uint32_t, id);
	PUT(one->bytes, 24, uint32_t, device);
	PUT(one->bytes, 28, uint32_t, 3);
	PUT(one->bytes, 32, uint32_t, device + 1);
	PUT(one->bytes, 36, uint32_t, stream);
	run(one, device, stream, run_us);
}

uint32_t double_graph(uint32_t device, uint32_t stream, uint32_t nodes, uint32_t run_us)
{
	uint64_t begin;
	uint32_t id;

	double_init();
	pthread_mutex_lock(&lock);
	begin = stamp();
	id = ++correlation;
	if (graph_is_broken)
		abort();
	graph_is_made = 1;
	if (is_told(KIND_GRAPH, 0))
		add_graph(device, stream, nodes * run_us, id);
	for (uint32_t i = 0; i < nodes && !is_told(KIND_GRAPH, 0); i++)
		add_kernel("graph_node", device, stream, run_us, id, i + 1);
	tell_call(KIND_RUNTIME, GRAPH_CALL, begin, stamp(), id);
	pthread_mutex_unlock(&lock);
	return id;
}

/* Lock held. As CUPTI tells it: of the whole context, or of one stream. */
static void tell_wait(uint64_t begin, uint64_t end, uint32_t id, uint32_t device_and_stream[2])
{
	enum { A_STREAM = 3, A_CONTEXT = 4 };
	uint8_t record[RECORD_MAX] = {0};

	PUT(record, 0, uint32_t, KIND_WAIT);
	PUT(record, 4, uint32_t, device_and_stream[1] == UINT32_MAX ? A_CONTEXT : A_STREAM);
	PUT(record, 8, uint64_t, begin);
	PUT(record, 16, uint64_t, end);
	PUT(record, 24, uint32_t, id);
	PUT(record, 28, uint32_t, device_and_stream[0] + 1);
	PUT(record, 32, uint32_t, device_and_stream[1]);
	PUT(record, 36, uint32_t, UINT32_MAX);
	if (is_told(KIND_WAIT, 0))
		append(record, size_of(KIND_WAIT));
}

uint32_t double_wait_for(uint32_t device, uint32_t stream)
{
	uint64_t begin, end, last_ns = 0;
	uint32_t id;

	double_init();
	pthread_mutex_lock(&lock);
	begin = stamp();
	id = ++correlation;
	for (unsigned int i = 0; i < pending_count; i++)
		last_ns = pending[i].end_ns > last_ns ? pending[i].end_ns : last_ns;
	pthread_mutex_unlock(&lock);
	while (monotonic_ns() <= last_ns)
		;
	pthread_mutex_lock(&lock);
	end = stamp();
	tell_wait(begin, end, id, (uint32_t[]){device, stream});
	tell_call(KIND_RUNTIME, stream == UINT32_MAX ? WAIT_ALL_CALL : WAIT_CALL, begin, end, id);
	pthread_mutex_unlock(&lock);
	return id;
}

uint32_t double_wait(void)
{
	return double_wait_for(0, 7);
}

uint32_t double_memory(uint32_t device, uint64_t address, uint64_t bytes, int is_release)
{
	enum { ALLOCATED = 1, RELEASED = 2, OF_DEVICE = 3 };
	uint8_t record[RECORD_MAX] = {0};
	uint64_t begin;
	uint32_t id;

	double_init();
	pthread_mutex_lock(&lock);
	begin = stamp();
	id = ++correlation;
	PUT(record, 0, uint32_t, KIND_MEMORY);
	PUT(record, 4, uint32_t, is_release ? RELEASED : ALLOCATED);
	PUT(record, 8, uint32_t, OF_DEVICE);
	PUT(record, 12, uint32_t, id);
	PUT(record, 16, uint64_t, address);
	PUT(record, 24, uint64_t, bytes);
	PUT(record, 32, uint64_t, stamp());
	PUT(record, 52, uint32_t, device);
	PUT(record, 56, uint32_t, device + 1);
	PUT(record, 60, uint32_t, 7);
	if (is_told(KIND_MEMORY, 0))
		append(record, size_of(KIND_MEMORY));
	tell_call(KIND_RUNTIME, is_release ? RELEASE_CALL : ALLOCATE_CALL, begin, stamp(), id);
	pthread_mutex_unlock(&lock);
	return id;
}

void double_overhead(uint32_t run_us)
{
	enum { A_THREAD = 2 };
	uint8_t record[RECORD_MAX] = {0};
	uint64_t begin_ns;

	double_init();
	pthread_mutex_lock(&lock);
	begin_ns = monotonic_ns();
	PUT(record, 0, uint32_t, KIND_OVERHEAD);
	PUT(record, 4, uint32_t, LAZY_LOADING);
	PUT(record, 8, uint32_t, A_THREAD);
	PUT(record, 12, uint32_t, (uint32_t)getpid());
	PUT(record, 16, uint32_t, (uint32_t)syscall(SYS_gettid));
	PUT(record, 24, uint64_t, stamp());
	while (monotonic_ns() - begin_ns < run_us * 1000ull)
		;
	PUT(record, 32, uint64_t, stamp());
	if (is_told(KIND_OVERHEAD, 0))
		append(record, size_of(KIND_OVERHEAD));
	pthread_mutex_unlock(&lock);
}

void double_ask(void)
{
	uint64_t begin;

	double_init();
	pthread_mutex_lock(&lock);
	begin = stamp();
	tell_call(KIND_RUNTIME, ASK_CALL, begin, stamp(), ++correlation);
	pthread_mutex_unlock(&lock);
}
