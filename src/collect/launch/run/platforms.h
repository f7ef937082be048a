/* SPDX-License-Identifier: Apache-2.0
 *
 * The folders by which every loader accepts our preload.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_PLATFORMS_H
#define ST_COLLECT_LAUNCH_RUN_PLATFORMS_H

#include <stdbool.h>

/* In the folder of the collector, or of a link to it. What is there already is fine. false: errno says why not. */
bool st_platforms_make(const char *folder);

#endif
