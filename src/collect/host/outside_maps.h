/* SPDX-License-Identifier: Apache-2.0
 *
 * The executable mappings of a process that is watched from outside, and the unwind tables for them.
 */
#ifndef ST_COLLECT_HOST_OUTSIDE_MAPS_H
#define ST_COLLECT_HOST_OUTSIDE_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/host/outside.h"
#include "unwind/rt/walk.h"

struct st_unwind_folder;
struct st_unwind_table;

enum { ST_OUTSIDE_PATH_BYTES = 4096 + 64 }; /* a path behind /proc/PID/root */

struct st_outside_maps {
	pid_t pid;
	struct st_unwind_folder *folder;
	struct st_unwind_module *modules; /* by start, disjoint */
	uint32_t count, capacity;
	uint32_t generation;
	const struct st_unwind_table **tables; /* all that were mapped, for the end */
	uint32_t table_count, table_capacity;
	uint64_t built, cached, build_ns;
	/* Told of every new mapping; may be NULL. */
	void (*each)(void *arg, const struct st_outside_map *map);
	void *arg;
};

enum st_status st_outside_maps_init(struct st_outside_maps *maps, pid_t pid, struct st_error *err);
void st_outside_maps_fini(struct st_outside_maps *maps);
/* Takes in /proc/PID/maps; false when it cannot be read. */
bool st_outside_maps_read(struct st_outside_maps *maps);
bool st_outside_maps_knows(const struct st_outside_maps *maps, uint64_t address);

/* Copies memory of the process. */
bool st_outside_read(pid_t pid, uint64_t address, void *out, size_t size_bytes);
/* A path inside the process as we can open it. */
void st_outside_path(pid_t pid, const char *path, char *out, size_t out_size);

#endif
