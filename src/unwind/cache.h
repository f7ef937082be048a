/* SPDX-License-Identifier: Apache-2.0
 *
 * Table files, kept by build id in the user's cache folder and shared by all runs. From any one thread at a time
 * per struct (a helper thread of strata). Never fails for want of a folder: then tables are memory files of this
 * process, which last until close.
 */
#ifndef ST_UNWIND_CACHE_H
#define ST_UNWIND_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_unwind_folder;
struct st_unwind_code; /* unwind/code.h */

/* The mapping to find a table for. */
struct st_unwind_want {
	const char *path; /* of the ELF file, as this process can open it */
	/* Build id where it is known already (0 bytes: it is read out of the file). */
	const uint8_t *build_id;
	size_t build_id_bytes;
	/* Not NULL: the file's bytes in memory instead (vdso); path is then only its name. */
	const void *memory;
	size_t memory_bytes;
	uint64_t start;	      /* of the mapping */
	uint64_t file_offset; /* of its first byte */
};

struct st_unwind_found {
	char path
		[PATH_MAX]; /* a table file that other processes of this user (of root: any) can map */
	uint64_t bias;	    /* for struct st_shm_module and struct st_unwind_module */
	bool built;	    /* not out of the cache */
	bool kept;	    /* in the folder; false: a memory file */
	uint64_t build_ns;
};

/* $STRATA_CACHE_DIR, $XDG_CACHE_HOME/strata, for root /var/cache/strata, or ~/.cache/strata; false: none of them. */
bool st_unwind_cache_place(char *out, size_t size_bytes);
/* In the folder `folder`, or (NULL) in that place. */
enum st_status st_unwind_cache_open(struct st_unwind_folder **out, const char *folder,
				    struct st_error *err);
/* Finds or builds. An error means that there is nothing to unwind this mapping with: publish it as
 * ST_MODULE_NO_TABLE. */
enum st_status st_unwind_cache_get(struct st_unwind_folder *folder,
				   const struct st_unwind_want *want, struct st_unwind_found *found,
				   struct st_error *err);
/* Rules for code that lies in no file; a memory file, for it is never the same twice. `found` has its path, and bias 0. */
enum st_status st_unwind_cache_code(struct st_unwind_folder *folder,
				    const struct st_unwind_code *codes, size_t count,
				    struct st_unwind_found *found, struct st_error *err);
void st_unwind_cache_close(struct st_unwind_folder *folder);

/* Maps a table file read-only and checks it; NULL when it is not one. Until st_unwind_unmap. */
const struct st_unwind_table *st_unwind_map(const char *path);
void st_unwind_unmap(const struct st_unwind_table *table);

#endif
