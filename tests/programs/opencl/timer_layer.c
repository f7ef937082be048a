/* SPDX-License-Identifier: Apache-2.0
 *
 * A layer of OpenCL's loader below strata's: devices whose clock can be read, which PoCL's cannot, and which bring the program
 * down when that is asked of a part that was released.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SUCCESS = 0,
	INVALID_VALUE = -30,
	API_VERSION = 0x4240,
	NAME = 0x4241,
	RETAIN_DEVICE = 94, /* places in the table */
	RELEASE_DEVICE = 95,
	TIMERS = 140,
	PLACES = 256,
	KNOWN_MAX = 64,
};

typedef void *handle;

#pragma GCC visibility push(default)
int32_t clGetLayerInfo(uint32_t what, size_t size, void *out, size_t *needed);
int32_t clInitLayer(uint32_t count, void *const *target, uint32_t *count_out, void *const **layer);
#pragma GCC visibility pop

static void *table[PLACES];
static int32_t (*retain)(handle), (*release)(handle);

/* Devices that were retained or released, and how often more than released; one that nobody has is gone. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	handle device;
	int references;
} known[KNOWN_MAX];
static unsigned int known_count;

/* How many there are then. A part is made with one. */
static int count(handle device, int change)
{
	unsigned int at = 0;
	int now;

	pthread_mutex_lock(&lock);
	while (at < known_count && known[at].device != device)
		at++;
	if (at == KNOWN_MAX)
		abort();
	if (at == known_count) {
		known[known_count].device = device;
		known[known_count++].references = 1;
	}
	now = known[at].references += change;
	pthread_mutex_unlock(&lock);
	return now;
}

static int32_t retain_device(handle device)
{
	count(device, 1);
	return retain(device);
}

static int32_t release_device(handle device)
{
	count(device, -1);
	return release(device);
}

/* PoCL's stamps are of this clock. */
static int32_t timers(handle device, uint64_t *there, uint64_t *here)
{
	struct timespec now;

	if (count(device, 0) < 1) {
		fputs("the clock of a device that is gone\n", stderr);
		abort();
	}
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	*there = *here = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return SUCCESS;
}

int32_t clGetLayerInfo(uint32_t what, size_t size, void *out, size_t *needed)
{
	static const char name[] = "timers";
	static const uint32_t version = 100;
	const void *value = what == NAME ? (const void *)name : &version;
	size_t bytes = what == NAME ? sizeof(name) : sizeof(version);

	if ((what != NAME && what != API_VERSION) || (out && size < bytes))
		return INVALID_VALUE;
	if (out)
		memcpy(out, value, bytes);
	if (needed)
		*needed = bytes;
	return SUCCESS;
}

int32_t clInitLayer(uint32_t count, void *const *target, uint32_t *count_out, void *const **layer)
{
	if (count <= TIMERS || count > PLACES)
		return INVALID_VALUE;
	memcpy(table, target, count * sizeof(*target));
	*(void **)&retain = target[RETAIN_DEVICE];
	*(void **)&release = target[RELEASE_DEVICE];
	table[RETAIN_DEVICE] = (void *)retain_device;
	table[RELEASE_DEVICE] = (void *)release_device;
	table[TIMERS] = (void *)timers;
	*count_out = count;
	*layer = table;
	return SUCCESS;
}
