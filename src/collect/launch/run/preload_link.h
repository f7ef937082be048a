/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the collector that LD_PRELOAD can hold and that every loader accepts, where its own is none.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_PRELOAD_LINK_H
#define ST_COLLECT_LAUNCH_RUN_PRELOAD_LINK_H

/* The path of the collector through a link that has no separator of LD_PRELOAD in its name; NULL when no such link can be
 * made. The caller frees it. */
char *st_preload_link(const char *collector);
/* A folder with a link to the collector and those of run/platforms.c, for an installation that has none; NULL when it
 * cannot be made. The caller frees it. */
char *st_preload_folder(const char *collector);

#endif
