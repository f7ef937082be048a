// SPDX-License-Identifier: Apache-2.0
//
// Reports "kernels" and "device-gaps": what ran on devices, and when nothing did.
#include "analyze/reports/report_rows.h"

#define NO_DEVICE                                                                                  \
	"No device was used while this was recorded, or what devices did was not recorded "        \
	"(-knob device=off)."

const struct st_rows_report st_kernels_report = {
	.set = ST_ROWS_KERNELS,
	.defaults = {ST_BY_TASK_TYPE},
	.default_count = 1,
	.metrics = ST_LIST(ST_COUNT, ST_WALL_TOTAL, ST_WALL_AVG, ST_WALL_MIN, ST_WALL_MAX,
			   ST_LAUNCH_DELAY, ST_OCCUPANCY, ST_KERNEL_BYTES),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Count",
		   [ST_WALL_TOTAL] = "Device Time",
		   [ST_WALL_AVG] = "Average",
		   [ST_WALL_MIN] = "Minimum",
		   [ST_WALL_MAX] = "Maximum"},
	.empty = NO_DEVICE,
};

const struct st_rows_report st_gaps_report = {
	.rows_name = "gaps",
	.set = ST_ROWS_GAPS,
	.defaults = {ST_BY_DEVICE, ST_BY_GAP_REASON},
	.default_count = 2,
	.metrics = ST_LIST(ST_COUNT, ST_WALL_TOTAL, ST_WALL_AVG, ST_WALL_MAX),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Gaps",
		   [ST_WALL_TOTAL] = "Idle Time",
		   [ST_WALL_AVG] = "Average",
		   [ST_WALL_MAX] = "Longest"},
	.empty = NO_DEVICE,
};
