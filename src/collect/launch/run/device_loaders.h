/* SPDX-License-Identifier: Apache-2.0
 *
 * Which loaders of devices' interfaces (Level Zero, OpenCL) programs on this machine would find. Only files are looked at:
 * to load one would start drivers.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_DEVICE_LOADERS_H
#define ST_COLLECT_LAUNCH_RUN_DEVICE_LOADERS_H

#include <stdbool.h>
#include <stddef.h>

#define ST_ZE_LOADER "libze_loader.so.1"
#define ST_ZE_TRACING_LAYER "libze_tracing_layer.so.1"
#define ST_OPENCL_LOADER "libOpenCL.so.1"

/* Where the dynamic loader would find a library of that name: LD_LIBRARY_PATH, a conda environment, its cache, and the
 * usual folders. */
bool st_device_loader_find(const char *name, char *path, size_t size_bytes);
/* Whether a text stands in a library, as the name of a variable that it reads would. */
bool st_device_loader_mentions(const char *path, const char *text);
/* Whether the tracing layer of Level Zero is to be switched on: the user has not said otherwise. */
bool st_ze_tracing_wanted(void);

#endif
