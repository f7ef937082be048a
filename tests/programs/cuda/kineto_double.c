/* SPDX-License-Identifier: Apache-2.0
 *
 * A profiler inside the program, as torch's is: it takes CUPTI's buffers when it starts, switches its kinds on, and off
 * when it stops. What it counts must be what it would count without strata. Its buffers end where memory that nobody may
 * touch begins, and are such memory themselves once the program's end has destroyed it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { KINDS = 64, BUFFER_BYTES = 1 << 16, GUARD_BYTES = 1 << 16 };

#pragma GCC visibility push(default)
int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
				   void (*done)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityRegisterTimestampCallback(uint64_t (*function)(void));
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t forced);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);

void kineto_start(void);
void kineto_stop(void);
unsigned int kineto_count(int kind);
#pragma GCC visibility pop

static const int kinds[] = {1, 2, 4, 5, 10};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int counts[KINDS], unknown, out;
static uint8_t *buffers[256];
static int is_gone;

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
#endif
}

static void request(uint8_t **buffer, size_t *size, size_t *records_max)
{
	if (is_gone)
		abort();
	pthread_mutex_lock(&lock);
	*buffer = mmap(NULL, BUFFER_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(*buffer + BUFFER_BYTES, GUARD_BYTES, PROT_NONE);
	*size = BUFFER_BYTES;
	*records_max = 0;
	buffers[out++] = *buffer;
	pthread_mutex_unlock(&lock);
}

static void done(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint8_t *record = NULL;
	unsigned int at = 0;

	(void)context;
	(void)stream;
	(void)size;
	if (is_gone)
		abort();
	pthread_mutex_lock(&lock);
	while (at < out && buffers[at] != buffer)
		at++;
	if (at == out) { /* never one of ours */
		unknown++;
		pthread_mutex_unlock(&lock);
		return;
	}
	buffers[at] = buffers[--out];
	while (valid && !cuptiActivityGetNextRecord(buffer, valid, &record)) {
		uint32_t kind;

		memcpy(&kind, record, sizeof(kind));
		counts[kind % KINDS]++;
	}
	munmap(buffer, BUFFER_BYTES + GUARD_BYTES);
	pthread_mutex_unlock(&lock);
}

/* As the destructor of a static object of C++. */
static void destroy(void)
{
	pthread_mutex_lock(&lock);
	is_gone = 1;
	for (unsigned int i = 0; i < out; i++)
		mprotect(buffers[i], BUFFER_BYTES, PROT_NONE);
	pthread_mutex_unlock(&lock);
}

void kineto_start(void)
{
	static int is_made;

	if (!is_made++)
		atexit(destroy);
	cuptiActivityRegisterTimestampCallback(ticks);
	cuptiActivityRegisterCallbacks(request, done);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cuptiActivityEnable(kinds[i]);
}

/* Without a buffer out it believes that there is nothing to come. */
void kineto_stop(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cuptiActivityDisable(kinds[i]);
	if (out)
		cuptiActivityFlushAll(0);
}

/* -1: buffers that were not its own. */
unsigned int kineto_count(int kind)
{
	return kind < 0 ? unknown : counts[kind % KINDS];
}
