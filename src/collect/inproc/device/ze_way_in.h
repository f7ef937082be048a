/* SPDX-License-Identifier: Apache-2.0
 *
 * What the way into Level Zero (ze_way_in.c) asks of the library that it is built into.
 */
#ifndef ST_COLLECT_INPROC_DEVICE_ZE_WAY_IN_H
#define ST_COLLECT_INPROC_DEVICE_ZE_WAY_IN_H

/* A program has begun with Level Zero. loader: of dlopen, or NULL where there is none. */
void st_ze_began(void *loader);

#endif
