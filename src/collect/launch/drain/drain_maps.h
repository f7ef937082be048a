/* SPDX-License-Identifier: Apache-2.0
 *
 * The executable mappings of a process, read on demand: addresses of callers are looked up, and if
 * one is in no known mapping, /proc/PID/maps is read again, within limits.
 */
#ifndef ST_COLLECT_LAUNCH_DRAIN_DRAIN_MAPS_H
#define ST_COLLECT_LAUNCH_DRAIN_DRAIN_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	ST_MAPS_MAX = 16 << 10,	  /* executable mappings of one process */
	ST_MAPS_MISSING_MAX = 64, /* addresses that wait for their map at once */
	ST_BUILD_ID_MAX = 64,
};

struct st_code_range { /* [start, end) */
	uint64_t start, end, file_offset, inode;
	uint32_t device;
	bool is_new; /* was not there when the maps were last read */
	bool is_file;
	uint32_t path_at; /* into paths; 0: anonymous */
};

struct st_code_span {
	uint64_t start, end;
};

enum { ST_MAPS_GONE_MAX = 256 }; /* spans that wait to be told */

struct st_code_maps {
	struct st_code_range *ranges; /* ascending */
	uint32_t count, hit;	      /* hit: where the last address was found */
	char *paths;		      /* of the last reading, terminated; the first is empty */
	size_t paths_bytes;
	struct {
		uint64_t address;
		bool waits; /* false: was not in the maps when they were read */
	} missing[ST_MAPS_MISSING_MAX];
	uint32_t missing_count; /* runs on: the table is a ring */
	uint32_t waiting;
	bool asked;	  /* to be read whether somebody waits or not */
	uint64_t unknown; /* addresses that no reading explained */
	uint64_t first_read_ns, reads;
	uint64_t read_ns; /* CLOCK_MONOTONIC_RAW right before the last reading */
	struct st_code_span gone[ST_MAPS_GONE_MAX]; /* since the caller last set gone_count to 0 */
	uint32_t gone_count;
};

void st_code_maps_fini(struct st_code_maps *maps);
/* Looks an address up; an unknown one waits for the next reading. */
void st_code_maps_want(struct st_code_maps *maps, uint64_t address);
/* Whether something other than anonymous memory is mapped between these addresses, as far as is known. */
bool st_code_maps_has_file(const struct st_code_maps *maps, uint64_t start, uint64_t end);
/* Whether something waits and reading is allowed now: eight times at once, then once a second. */
bool st_code_maps_due(const struct st_code_maps *maps, uint64_t now_ns);
/* Takes in the text of a maps file; ranges that were not there before are marked. */
void st_code_maps_take(struct st_code_maps *maps, const char *text, size_t size_bytes);
/* Reads those of a process; false when they cannot be read. */
bool st_code_maps_read(struct st_code_maps *maps, pid_t pid, uint64_t now_ns);
/* Takes in one new mapping; what lies under it is gone. False: it is known already, or there is no room. */
bool st_code_maps_add(struct st_code_maps *maps, const struct st_code_range *range,
		      const char *path);
/* Bytes of the kernel's code in this very process; 0: not known. */
uint64_t st_code_maps_own_vdso(void);

struct st_build_id {
	uint8_t bytes[ST_BUILD_ID_MAX];
	size_t size_bytes; /* 0: none */
};

/* Opens the mapped file in the root of the process; -1 when the file there is another one, or none. */
int st_code_maps_open(pid_t pid, const char *path, uint64_t inode);
void st_code_maps_file_id(int fd, struct st_build_id *id);

#endif
