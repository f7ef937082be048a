/* SPDX-License-Identifier: Apache-2.0
 *
 * The page that strata bottleneck prints: the most important rows of several reports, in about 60
 * lines.
 */
#ifndef ST_EXPORT_REPORT_BOTTLENECK_H
#define ST_EXPORT_REPORT_BOTTLENECK_H

#include <stdint.h>

#include "base/error.h"

struct st_result;
struct st_sink;

/* What is known of the run beside the result. */
struct st_bottleneck {
	const char *python;	 /* "Python 3.11.2" */
	const char *omp_threads; /* OMP_NUM_THREADS; NULL: not set */
	uint64_t resident_bytes; /* of the largest process at its largest; 0: not known */
};

enum st_status st_bottleneck_write(const struct st_result *result,
				   const struct st_bottleneck *facts, struct st_sink *sink,
				   struct st_error *err);

#endif
