/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions of OpenMP within each other, also in a thread of OpenMP's own, whose stack OMP_STACKSIZE may make small.
 */
#include <omp.h>
#include <stdio.h>

int main(void)
{
	int sum = 0;

	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
	__atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
	printf("%d\n", sum);
	return 0;
}
