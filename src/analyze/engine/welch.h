/* SPDX-License-Identifier: Apache-2.0
 *
 * The difference of two means and how certain it is: Welch's t-test, which does not assume that both sides vary alike.
 */
#ifndef ST_ANALYZE_ENGINE_WELCH_H
#define ST_ANALYZE_ENGINE_WELCH_H

#include <stdbool.h>
#include <stddef.h>

struct st_mean {
	double value;
	double variance; /* of the mean, not of single values */
	double freedom;	 /* degrees of freedom of the variance; 0: it is not known */
	size_t count;	 /* of the values */
};

/* Of values that do not depend on each other, such as runs. */
struct st_mean st_mean_of(const double *values, size_t count);
/* Of values in the order of time, such as steps. A slow phase covers many of them, so the variance is that of the means
 * of consecutive blocks. */
struct st_mean st_mean_of_series(const double *values, size_t count);
/* Of a number of random events that add up to a value, such as samples: as many could have been fewer or more by the
 * root of their number. */
struct st_mean st_mean_of_samples(double value, double count, double one);

struct st_difference {
	double value;	   /* second minus first */
	double half_width; /* of the 95 % interval around it */
	double p;	   /* how likely a difference of this size is by chance alone */
	bool is_known;	   /* the variance of both sides is known; else only value is set */
};
struct st_difference st_welch(struct st_mean first, struct st_mean second);

#endif
