/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths as texts, without asking any file system: those of another machine, too.
 */
#ifndef ST_RESOLVE_PATHS_H
#define ST_RESOLVE_PATHS_H

#include <limits.h>

/* Takes "//", "/./" and, of absolute paths, "/x/../" out, in place. */
void st_path_straighten(char *path);
/* The path of a file of a compilation unit, straightened: name may be relative to folder, where the compiler ran; folder
 * may be NULL. */
void st_path_of_unit(char out[PATH_MAX], const char *name, const char *folder);

#endif
