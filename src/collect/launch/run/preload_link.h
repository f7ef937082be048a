/* SPDX-License-Identifier: Apache-2.0
 *
 * A name of the collector's folder that LD_PRELOAD can hold.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_PRELOAD_LINK_H
#define ST_COLLECT_LAUNCH_RUN_PRELOAD_LINK_H

/* The path of the collector through a link that has no separator of LD_PRELOAD in its name; NULL when no such link can be
 * made. The caller frees it. */
char *st_preload_link(const char *collector);

#endif
