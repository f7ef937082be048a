// SPDX-License-Identifier: Apache-2.0
//
// An OpenMP program for a runtime that speaks ITT (LLVM's libomp): parallel regions, loops with a barrier,
// critical and single sections, a lock; with "fork" also a child that goes on (without the lock and the
// critical section: this runtime breaks there after a fork, whoever watches).
// usage: openmp_regions REGIONS [fork]
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long loops(long regions)
{
	long sum = 0;

	for (long region = 0; region < regions; region++) {
#pragma omp parallel for num_threads(2) reduction(+ : sum)
		for (long i = 0; i < 4096; i++)
			sum += i % 5;
	}
	return sum;
}

static long work(long regions)
{
	omp_lock_t lock;
	long sum = 0, singles = 0, locked = 0;

	omp_init_lock(&lock);
	for (long region = 0; region < regions; region++) {
#pragma omp parallel num_threads(2)
		{
#pragma omp for schedule(dynamic, 64) reduction(+ : sum)
			for (long i = 0; i < 4096; i++)
				sum += i % 7;
#pragma omp single
			singles++;
#pragma omp critical(adding)
			sum += 1;
			omp_set_lock(&lock);
			locked++;
			omp_unset_lock(&lock);
#pragma omp barrier
		}
	}
	omp_destroy_lock(&lock);
	return sum + 1000 * singles + locked;
}

int main(int argc, char **argv)
{
	long regions = strtol(argv[1], NULL, 10);
	int status = 0;

	printf("sum %ld\n", work(regions));
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[2], "fork")) {
		pid_t child = fork();

		if (!child) {
			printf("child %ld\n", loops(regions));
			fflush(stdout);
			_exit(5);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5)
			return 1;
		printf("sum %ld\n", work(regions));
	}
	return 3;
}
