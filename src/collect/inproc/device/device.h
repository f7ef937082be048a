/* SPDX-License-Identifier: Apache-2.0
 *
 * What libraries for devices (collect/cuda, collect/opencl, collect/ze) tell the collector that they find in the process, and ask of it. They come
 * when the program first uses a device, by the maker's own way in, and link the collector by its soname.
 */
#ifndef ST_COLLECT_INPROC_DEVICE_DEVICE_H
#define ST_COLLECT_INPROC_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "format/device_record.h"

struct st_inproc_backend;

enum st_device_mode {
	ST_DEVICE_OFF = 0,
	ST_DEVICE_AUTO = 1,
	ST_DEVICE_API = 2,   /* every call of the host */
	ST_DEVICE_GRAPH = 3, /* graphs as a whole, not their kernels */
	ST_DEVICE_LIGHT = 4, /* what runs, and of the calls only those that wait */
	ST_DEVICE_BYTES = 5, /* as auto, and device memory */
};

enum st_device_state {
	ST_DEVICE_SILENT = 0, /* for good */
	ST_DEVICE_PAUSED = 1,
	ST_DEVICE_RECORDING = 2,
};

/* What the collector calls, from whichever thread. */
struct st_device_hooks {
	void (*paused)(void); /* what was done up to now is still wanted */
	void (*resumed)(void);
	void (*forked)(
		void); /* in the child: nothing of the maker's may be called any more; to be started anew */
};

/* enum st_device_mode: whether devices are recorded, and how. hooks stays the caller's. */
unsigned int strata_device_start(const struct st_device_hooks *hooks);
/* enum st_device_state */
unsigned int strata_device_state(void);
/* The clock of all records, and whether it is the processor's. */
uint64_t strata_device_ticks(void);
unsigned int strata_device_ticks_are_tsc(void);
/* What CUDA_INJECTION64_PATH named before strata, or NULL. */
const char *strata_device_chained(void);
/* A device's name, in front of its first record; maker: ST_DEVICE_ZE, ST_DEVICE_OPENCL. False: not now. */
unsigned int strata_device_about(uint16_t device, unsigned int maker, const char *name,
				 size_t length);
/* The number of a text, for records; 0: not now. */
uint32_t strata_device_name(const char *text, size_t length);
enum st_device_put { ST_DEVICE_PUT = 0, ST_DEVICE_FULL = 1, ST_DEVICE_UNWANTED = 2 };
/* Into the ring of the calling thread; its domain is set here, and the thread of a call that names none. FULL: try again,
 * strata empties it. Of a record in a pause, or after the end of the recording: UNWANTED; its own time counts, however late it
 * comes. */
unsigned int strata_device_put(struct st_device_record *record, unsigned int is_communication);
/* So many records found no room in the end. */
void strata_device_lost(uint64_t count);
/* The user is to be told: ST_NOTICE_* (format/shm.h). */
void strata_device_trouble(unsigned int notice);

#pragma GCC visibility push(hidden)
extern const struct st_inproc_backend st_backend_device;
/* What strata has named as the library for Level Zero, or NULL. */
const char *st_device_ze_library(void);
#pragma GCC visibility pop

#endif
