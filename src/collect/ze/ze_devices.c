/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices and their clocks. A device counts ticks of its own, of which kernels tell the lower bits only, often 32: they
 * come around after minutes. Both are read together with the collector's clock once a second, and a kernel's time is
 * what lies next to the last reading.
 */
#include <string.h>

#include "collect/devices/host_clock.h"
#include "collect/inproc/device/device.h"
#include "collect/ze/ze.h"

enum { READINGS = 3, DRIVERS_MAX = 16 };

static const uint64_t read_round_ns = 1000000000;
static const uint64_t slope_ns = 50000000; /* long enough for the measured one */
static const uint64_t rate_ns = 10000000;  /* the same, for that of the host's two clocks */
static const double fit_ns = 50e3,
		    nominal_fit_ns = 1e6; /* of times by the measured rate, and by the driver's */
static const double ns_per_second = 1e9;
static const uint64_t slowest = 100000; /* ticks a second; below it is nanoseconds a tick */

static struct st_host_clock host;
static struct device {
	ze_any *handle;
	bool is_used, is_told;
	char name[256];
	uint64_t counter_mask, kernel_mask;
	double ns_per_tick;
	double measured; /* ticks of the collector's to one of the device's; 0: not yet */
	uint64_t first_ticks, passed; /* since then, of the device's */
	uint64_t ticks, count;	      /* the last reading; 0: none */
	uint64_t read_ns;
} devices[ZE_DEVICES_MAX];
static uint32_t device_count;
static bool is_started;

static uint64_t mask_of(uint32_t bits)
{
	return bits && bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

static void add(ze_any *handle)
{
	struct ze_device_about about = {.type = ZE_TYPE_DEVICE_1_2};
	struct device *device = &devices[device_count];

	if (device_count == ZE_DEVICES_MAX)
		return;
	for (uint32_t i = 0; i < device_count; i++)
		if (devices[i].handle == handle)
			return;
	memset(device, 0, sizeof(*device));
	device->handle = handle;
	device_count++;
	if (ze.device_about(handle, &about) != ZE_SUCCESS)
		return;
	about.name[sizeof(about.name) - 1] = '\0';
	memcpy(device->name, about.name, sizeof(device->name));
	device->counter_mask = mask_of(about.counter_bits);
	device->kernel_mask = mask_of(about.kernel_bits) & device->counter_mask;
	if (about.timer)
		device->ns_per_tick = about.timer < slowest ? (double)about.timer
							    : ns_per_second / (double)about.timer;
}

/* In the order of drivers and devices; a part of one is behind them. */
static void add_all(void)
{
	ze_any *drivers[DRIVERS_MAX], *found[ZE_DEVICES_MAX];
	uint32_t driver_count = DRIVERS_MAX;

	if (ze.driver_get(&driver_count, drivers) != ZE_SUCCESS)
		return;
	for (uint32_t i = 0; i < driver_count && i < DRIVERS_MAX; i++) {
		uint32_t count = ZE_DEVICES_MAX;

		if (ze.device_get(drivers[i], &count, found) != ZE_SUCCESS)
			continue;
		for (uint32_t j = 0; j < count && j < ZE_DEVICES_MAX; j++)
			add(found[j]);
	}
}

static void read_clock(struct device *device)
{
	uint64_t best = UINT64_MAX, before_ticks = device->ticks, before = device->count;

	for (unsigned int i = 0; i < READINGS; i++) {
		uint64_t begin = strata_device_ticks(), theirs, count, took;

		if (ze.device_times(device->handle, &theirs, &count) != ZE_SUCCESS)
			return;
		took = strata_device_ticks() - begin;
		if (took >= best)
			continue;
		best = took;
		device->ticks = begin + took / 2;
		device->count = count & device->counter_mask;
	}
	device->read_ns = host.ns;
	if (!before_ticks) {
		device->first_ticks = device->ticks;
		device->passed = 0;
	} else {
		device->passed += (device->count - before) & device->counter_mask;
	}
	if (device->passed && (double)device->passed * device->ns_per_tick > (double)slope_ns)
		device->measured =
			(double)(device->ticks - device->first_ticks) / (double)device->passed;
}

static void tell(struct device *device)
{
	uint32_t number = (uint32_t)(device - devices);

	if (!device->is_told)
		device->is_told = strata_device_about((uint16_t)number, ST_DEVICE_ZE, device->name,
						      strnlen(device->name, sizeof(device->name)));
}

static void use(struct device *device)
{
	bool is_read = device->is_used && device->ticks;

	device->is_used = true;
	if (!is_started)
		return;
	if (!is_read) {
		st_host_clock_read(&host);
		read_clock(device);
	}
	tell(device);
}

uint32_t ze_device_number(ze_any *handle)
{
	uint32_t at = 0;

	if (!device_count)
		add_all();
	while (at < device_count && devices[at].handle != handle)
		at++;
	if (at == device_count)
		add(handle);
	if (at == device_count)
		return ZE_DEVICES_MAX;
	use(&devices[at]);
	return at;
}

void ze_devices_read_clocks(void)
{
	if (!device_count || !is_started)
		return;
	st_host_clock_read(&host);
	for (uint32_t i = 0; i < device_count; i++)
		if (devices[i].is_used && host.ns - devices[i].read_ns >= read_round_ns)
			read_clock(&devices[i]);
}

/* How far a kernel's count is from the last reading, the nearer way around. */
static int64_t distance(const struct device *device, uint64_t count)
{
	uint64_t ahead = (count - device->count) & device->kernel_mask;

	if (ahead > device->kernel_mask / 2)
		return -(int64_t)((device->count - count) & device->kernel_mask);
	return (int64_t)ahead;
}

static double ticks_per_count(const struct device *device)
{
	if (device->measured > 0)
		return device->measured;
	if (host.ns - host.first_ns < rate_ns)
		st_host_clock_read(&host);
	return device->ns_per_tick * host.ticks_per_ns;
}

void ze_devices_start(void)
{
	is_started = true;
	st_host_clock_read(&host);
	for (uint32_t i = 0; i < device_count; i++) {
		devices[i].is_told = false;
		if (devices[i].is_used)
			use(&devices[i]);
	}
}

void ze_device_ticks(uint32_t number, const struct ze_times *times, struct st_device_record *out)
{
	const struct device *device = &devices[number];
	double rate = ticks_per_count(device);
	uint64_t lasted = (times->end - times->begin) & device->kernel_mask;

	out->begin =
		device->ticks + (uint64_t)(int64_t)((double)distance(device, times->begin) * rate);
	out->end = out->begin + (uint64_t)((double)lasted * rate);
}

uint64_t ze_device_slack(uint32_t number)
{
	double ns = devices[number].measured > 0 ? fit_ns : nominal_fit_ns;

	return (uint64_t)(ns * host.ticks_per_ns);
}

void ze_devices_forget(void)
{
	device_count = 0;
	is_started = false;
	memset(&host, 0, sizeof(host));
}
