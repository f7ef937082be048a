/* SPDX-License-Identifier: Apache-2.0
 *
 * What a device is: asked of the driver that the process has mapped, on our own thread, when something has run on it. No
 * context is needed for that, and none is made.
 */
#include <dlfcn.h>
#include <string.h>

#include "collect/cuda/cupti.h"
#include "collect/inproc/device/device.h"

/* Numbers of cuDeviceGetAttribute. */
enum {
	SHARED_PER_BLOCK = 8,
	WARP_SIZE = 10,
	REGISTERS_PER_BLOCK = 12,
	PROCESSORS = 16,
	THREADS_PER_PROCESSOR = 39,
	VERSION_MAJOR = 75,
	VERSION_MINOR = 76,
	SHARED_PER_PROCESSOR = 81,
	REGISTERS_PER_PROCESSOR = 82,
	BLOCKS_PER_PROCESSOR = 106,
	SHARED_RESERVED = 111,
	NAME_BYTES = 256,
};

struct driver {
	int (*device)(int *device, int number);
	int (*attribute)(int *value, int attribute, int device);
	int (*name)(char *name, int size_bytes, int device);
	int (*memory)(size_t *size_bytes, int device);
};

static bool find_driver(struct driver *out)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (!library)
		return false;
	*(void **)&out->device = dlsym(library, "cuDeviceGet");
	*(void **)&out->attribute = dlsym(library, "cuDeviceGetAttribute");
	*(void **)&out->name = dlsym(library, "cuDeviceGetName");
	*(void **)&out->memory = dlsym(library, "cuDeviceTotalMem_v2");
	return out->device && out->attribute && out->name && out->memory;
}

/* 0 where the driver does not know it. */
static uint32_t attribute(const struct driver *driver, int device, int number)
{
	int value = 0;

	return driver->attribute(&value, number, device) || value < 0 ? 0 : (uint32_t)value;
}

bool cuda_tell_about(unsigned int number)
{
	struct driver driver = {0};
	struct st_device_record record = {.kind = ST_DEVICE_ABOUT, .device = (uint16_t)number};
	char name[NAME_BYTES] = "";
	size_t memory = 0;
	int device = 0;

	if (!find_driver(&driver) || driver.device(&device, (int)number) ||
	    driver.name(name, sizeof(name), device) || driver.memory(&memory, device))
		return false;
	name[sizeof(name) - 1] = '\0';
	record.begin = record.end = strata_device_ticks();
	record.value = memory;
	record.grid[ST_ABOUT_PROCESSORS] = attribute(&driver, device, PROCESSORS);
	record.grid[ST_ABOUT_THREADS] = attribute(&driver, device, THREADS_PER_PROCESSOR);
	record.grid[ST_ABOUT_REGISTERS] = attribute(&driver, device, REGISTERS_PER_PROCESSOR);
	record.block[ST_ABOUT_BLOCKS] = (uint16_t)attribute(&driver, device, BLOCKS_PER_PROCESSOR);
	record.block[ST_ABOUT_WARP] = (uint16_t)attribute(&driver, device, WARP_SIZE);
	record.block[ST_ABOUT_VERSION] =
		(uint16_t)(attribute(&driver, device, VERSION_MAJOR) << 8 |
			   (attribute(&driver, device, VERSION_MINOR) & 255));
	record.registers = (uint16_t)attribute(&driver, device, SHARED_RESERVED);
	record.shared_static = attribute(&driver, device, SHARED_PER_PROCESSOR);
	record.shared_dynamic = attribute(&driver, device, SHARED_PER_BLOCK);
	record.graph = attribute(&driver, device, REGISTERS_PER_BLOCK);
	record.name = strata_device_name(name, strlen(name));
	return strata_device_put(&record, 0) != ST_DEVICE_FULL;
}
