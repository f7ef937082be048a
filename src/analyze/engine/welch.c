// SPDX-License-Identifier: Apache-2.0
//
// Welch's t-test: the variance of a difference is the sum of both variances, with the degrees of freedom of Welch and
// Satterthwaite. The distribution of t is an incomplete beta function, evaluated as a continued fraction.
#include "analyze/engine/welch.h"

#include <math.h>

enum { BLOCKS_MAX = 10, BLOCK_MIN = 3, BLOCKS_MIN = 3, FRACTION_TERMS = 300, HALVINGS = 80 };

static const double many = 1e6; /* degrees of freedom of a normal distribution */

struct st_mean st_mean_of(const double *values, size_t count)
{
	struct st_mean mean = {.count = count};
	double squares = 0.0;

	for (size_t i = 0; i < count; i++)
		mean.value += values[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - mean.value) * (values[i] - mean.value);
	if (count > 1) {
		mean.freedom = (double)count - 1.0;
		mean.variance = squares / mean.freedom / (double)count;
	}
	return mean;
}

struct st_mean st_mean_of_series(const double *values, size_t count)
{
	struct st_mean mean = st_mean_of(values, count), of_blocks;
	size_t blocks = count / BLOCK_MIN < BLOCKS_MAX ? count / BLOCK_MIN : BLOCKS_MAX;
	double means[BLOCKS_MAX];

	mean.freedom = 0.0;
	if (blocks < BLOCKS_MIN)
		return mean;
	for (size_t i = 0; i < blocks; i++) {
		size_t from = i * count / blocks, to = (i + 1) * count / blocks;

		means[i] = st_mean_of(values + from, to - from).value;
	}
	of_blocks = st_mean_of(means, blocks);
	mean.variance = of_blocks.variance;
	mean.freedom = of_blocks.freedom;
	return mean;
}

struct st_mean st_mean_of_samples(double value, double count, double one)
{
	return (struct st_mean){
		.value = value,
		.variance = count >= 1.0 ? value * value / count : one * one,
		.freedom = many,
		.count = (size_t)count,
	};
}

/* The continued fraction of the incomplete beta function (Lentz's method). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0), result;

	d = 1.0 / (fabs(d) < tiny ? tiny : d);
	result = d;
	for (int i = 1; i <= FRACTION_TERMS; i++) {
		double m = i, even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
		double steps[] = {even, odd}, factor = 1.0;

		for (int k = 0; k < 2; k++) {
			d = 1.0 + steps[k] * d;
			c = 1.0 + steps[k] / c;
			d = 1.0 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			factor = c * d;
			result *= factor;
		}
		if (fabs(factor - 1.0) < 1e-12)
			break;
	}
	return result;
}

static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0.0 || x >= 1.0)
		return x <= 0.0 ? 0.0 : 1.0;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1.0) / (a + b + 2.0))
		return front * beta_fraction(a, b, x) / a;
	return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

/* How likely a t of this size or more is, on either side. */
static double two_sided(double t, double freedom)
{
	return incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t));
}

/* The t that only 5 % are beyond. */
static double critical(double freedom)
{
	double low = 0.0, high = 1e4;

	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2.0;

		if (two_sided(middle, freedom) > 0.05)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct st_difference st_welch(struct st_mean first, struct st_mean second)
{
	struct st_difference out = {.value = second.value - first.value, .p = 1.0};
	double variance = first.variance + second.variance, freedom;

	if (first.freedom <= 0.0 || second.freedom <= 0.0)
		return out;
	out.is_known = true;
	if (variance <= 0.0) {
		out.p = out.value == 0.0 ? 1.0 : 0.0;
		return out;
	}
	freedom = variance * variance /
		  (first.variance * first.variance / first.freedom +
		   second.variance * second.variance / second.freedom);
	out.half_width = critical(freedom) * sqrt(variance);
	out.p = two_sided(out.value / sqrt(variance), freedom);
	return out;
}
