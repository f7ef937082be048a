/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths as texts, without asking any file system: those of another machine, too.
 */
#ifndef ST_RESOLVE_PATHS_H
#define ST_RESOLVE_PATHS_H

/* Takes "//", "/./" and, of absolute paths, "/x/../" out, in place. */
void st_path_straighten(char *path);

#endif
