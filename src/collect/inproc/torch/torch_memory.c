/* SPDX-License-Identifier: Apache-2.0
 *
 * The framework's allocator. c10 asks one exported function whether anybody wants to know, and reports to another; both
 * are looked up in the global scope, where a preloaded library comes first. What the real ones do is still done: a
 * program that profiles its own memory gets its own numbers. Blocks that c10 did not report when they were allocated it
 * does not report when they are freed, and says so on the program's standard error: in a program that was started under
 * strata, whether we want to know is therefore decided before the first block and never changed. One that records itself for
 * a while (strata.profile) gets what the framework's own profiler would give it, that line included; where we came too late
 * to be found by name, the libraries' pointers to the two functions are changed for that while.
 *
 * What the program's profiler would not be told without us it is not told with us (torch_told.c). That needs to be
 * known from the first block it is told of, so not where we come late.
 */
#include <dlfcn.h>
#include <stdatomic.h>

#include "collect/inproc/core/thread.h"
#include "collect/inproc/torch/torch.h"
#include "collect/inproc/torch/torch_enlist.h"
#include "collect/inproc/torch/torch_library.h"
#include "collect/inproc/torch/torch_got.h"
#include "format/ring_record.h"

/* c10::Device, passed in one register. */
struct device {
	int8_t type; /* 0: CPU */
	int8_t index;
};

typedef bool (*enabled_function)(void);
typedef void (*report_function)(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
				struct device device);

static _Atomic(enabled_function) real_enabled;
static _Atomic(report_function) real_report;
static _Atomic uint32_t resolved;
static atomic_bool came_late; /* pointers are or were changed */

bool _ZN3c1022memoryProfilingEnabledEv(void);
void _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void *block, int64_t bytes,
							   int64_t allocated, int64_t reserved,
							   struct device device);
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes,
							   uint64_t allocated, uint64_t reserved,
							   struct device device);

static void resolve(void)
{
	void *library = st_torch_library("libc10.so", NULL, 0), *found;
	enabled_function enabled = NULL;
	report_function report = NULL;

	if (library) {
		found = dlsym(library, "_ZN3c1022memoryProfilingEnabledEv");
		if (found != (void *)_ZN3c1022memoryProfilingEnabledEv)
			*(void **)&enabled = found;
		found = dlsym(library, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
		if (!found)
			found = dlsym(library,
				      "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
		if (found != (void *)_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE &&
		    found != (void *)_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE)
			*(void **)&report = found;
	}
	atomic_store_explicit(&real_enabled, enabled, memory_order_relaxed);
	atomic_store_explicit(&real_report, report, memory_order_relaxed);
	/* Pairs with the acquire load in ready. */
	atomic_store_explicit(&resolved, 1, memory_order_release);
}

static inline void ready(void)
{
	if (ST_UNLIKELY(!atomic_load_explicit(&resolved, memory_order_acquire)))
		resolve();
}

static bool program_wants(void)
{
	enabled_function enabled = atomic_load_explicit(&real_enabled, memory_order_relaxed);

	return enabled && enabled();
}

static bool counting(void)
{
	return st_config.active && st_torch_config.operators && st_torch_config.memory;
}

/* The number of a CPU means nothing. */
static uint32_t place_of(struct device device)
{
	return device.type ? ST_MEMORY_PLACE(device.type, device.index) : 0;
}

static void report(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
		   struct device device)
{
	report_function theirs;

	ready();
	if (device.type != 0)
		st_torch_come_by();
	if (bytes && counting() && st_torch_installed())
		st_operator_block(block, bytes, place_of(device));
	if (!program_wants())
		return;
	if (bytes && device.type == 0 && !atomic_load_explicit(&came_late, memory_order_relaxed) &&
	    !st_torch_told(block, &bytes, &allocated))
		return;
	theirs = atomic_load_explicit(&real_report, memory_order_relaxed);
	if (theirs)
		theirs(block, bytes, allocated, reserved, device);
}

__attribute__((visibility("default"))) bool _ZN3c1022memoryProfilingEnabledEv(void)
{
	ready();
	if (ST_UNLIKELY(st_torch_awaited()))
		st_torch_trigger();
	st_torch_come_by();
	st_torch_itt_allocated();
	return counting() || program_wants();
}

__attribute__((visibility("default"))) void
_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void *block, int64_t bytes, int64_t allocated,
						      int64_t reserved, struct device device)
{
	report(block, bytes, (uint64_t)allocated, (uint64_t)reserved, device);
}

__attribute__((visibility("default"))) void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(
	void *block, int64_t bytes, uint64_t allocated, uint64_t reserved, struct device device)
{
	report(block, bytes, allocated, reserved, device);
}

/* The libraries that allocate: c10 and, where there are devices, its companions. */
static uint32_t change(const char *symbol, void *from, void *to)
{
	return st_got_change(&(struct st_got_change){
		.prefix = "libc10", .symbol = symbol, .from = from, .to = to});
}

bool st_torch_memory_enter(bool on)
{
	static const char asks[] = "_ZN3c1022memoryProfilingEnabledEv";
	static const char tells_l[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE";
	static const char tells_m[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
	void *our_asks = (void *)_ZN3c1022memoryProfilingEnabledEv;
	void *our_l = (void *)_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE;
	void *our_m = (void *)_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE;
	static bool changed;
	void *real_asks, *real_tells;

	if (!on && !changed)
		return true;
	resolve();
	real_asks = (void *)atomic_load_explicit(&real_enabled, memory_order_relaxed);
	real_tells = (void *)atomic_load_explicit(&real_report, memory_order_relaxed);
	if (!on) {
		change(asks, our_asks, real_asks);
		change(tells_l, our_l, real_tells);
		change(tells_m, our_m, real_tells);
		changed = false;
		return true;
	}
	if (!real_asks || !real_tells)
		return false;
	/* Whoever asks is then told: first the teller, then the question. */
	if (!changed)
		atomic_store(&came_late, true);
	if (change(tells_m, real_tells, our_m) + change(tells_l, real_tells, our_l) == 0) {
		if (!changed)
			atomic_store(&came_late, false);
		return false;
	}
	changed = change(asks, real_asks, our_asks) > 0;
	return changed;
}
