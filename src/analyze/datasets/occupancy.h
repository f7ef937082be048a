/* SPDX-License-Identifier: Apache-2.0
 *
 * How full a kernel makes the processors of its device, by the limits of that: an estimate, as torch's profiler makes it.
 */
#ifndef ST_ANALYZE_DATASETS_OCCUPANCY_H
#define ST_ANALYZE_DATASETS_OCCUPANCY_H

#include <stdbool.h>

#include "store/devices.h"

struct st_occupancy {
	double blocks, warps; /* for each processor */
	double share;	      /* of the threads that fit into it: 0 to 1 */
};

/* False: the device's limits are not known, or it is no kernel. */
bool st_occupancy_of(const struct st_device_about *about, const struct st_device_item *kernel,
		     struct st_occupancy *out);

#endif
