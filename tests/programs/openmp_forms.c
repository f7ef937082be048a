/* SPDX-License-Identifier: Apache-2.0
 *
 * Every way in which a region of OpenMP begins and its threads meet. Prints sums that do not depend on who did what.
 */
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000 };

static long loops(void)
{
	long sum = 0;

#pragma omp parallel for schedule(static, 3) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel for schedule(guided) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel for schedule(monotonic : dynamic) ordered reduction(+ : sum)
	for (int i = 0; i < N; i++) {
#pragma omp ordered
		sum += i;
	}
	return sum;
}

static long parts(void)
{
	long sum = 0;

#pragma omp parallel sections reduction(+ : sum)
	{
#pragma omp section
		sum += 1;
#pragma omp section
		sum += 2;
#pragma omp section
		sum += 4;
	}
#pragma omp parallel num_threads(3)
	{
#pragma omp single
		for (int i = 0; i < 50; i++)
#pragma omp task shared(sum)
#pragma omp atomic
			sum += i;
#pragma omp taskwait
#pragma omp barrier
#pragma omp critical
#pragma omp atomic
		sum += 100;
#pragma omp critical(named)
#pragma omp atomic
		sum += 100;
#pragma omp for schedule(dynamic) nowait
		for (int i = 0; i < 30; i++)
#pragma omp atomic
			sum += i;
#pragma omp taskgroup
		{
#pragma omp task shared(sum)
#pragma omp atomic
			sum += 1;
		}
	}
	return sum;
}

static long nested(void)
{
	long sum = 0;

	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : sum)
	{
		long inner = 0;

#pragma omp parallel num_threads(2) reduction(+ : inner)
		inner += 1;
		sum += inner;
	}
	return sum;
}

int main(void)
{
	int status = 0;
	pid_t child;

	for (int i = 0; i < 20; i++)
		printf("%ld %ld %ld\n", loops(), parts(), nested());
	fflush(stdout);
	child = fork();
	if (!child) /* one thread is left of the team; a region of one needs no more */
		_exit(omp_get_max_threads() > 0 ? 7 : 8);
	waitpid(child, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	return 0;
}
