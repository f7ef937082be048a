/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a binary and its separate debug file are on this machine. A file that is not the one that ran (by
 * its build ID) is never used.
 */
#ifndef ST_RESOLVE_FIND_FILE_H
#define ST_RESOLVE_FIND_FILE_H

#include "resolve/elf_file.h"
#include "resolve/named.h"

enum st_found { ST_FOUND = 0, ST_FOUND_MISSING, ST_FOUND_CHANGED };

struct st_wanted {
	struct st_text path, build_id;
	int64_t not_after_s; /* of a file without a build id: when it was changed at the latest; 0: any */
};

/* At its own place, else in the search folders; *file is open when found. */
enum st_found st_find_binary(struct st_elf_file *file, const struct st_wanted *wanted,
			     const struct st_named_options *options);
/* The file with the symbols and lines of a stripped one: by build id, then by its debug link. */
bool st_find_debug(struct st_elf_file *debug, const struct st_elf_file *file,
		   const struct st_named_options *options);

#endif
