/* SPDX-License-Identifier: Apache-2.0
 *
 * What string_handle_create costs for a name that exists, with 1,000 names in the table: PyTorch makes
 * a handle for every operator it records. Thread CPU time, one and two threads.
 * usage: micro_lookup [libstrata_collector.so]; prints one JSON object.
 */
#include <pthread.h>

#include "micro_collector.h"

enum { NAMES = 1000, ROUNDS = 400, PASSES = 10 };

static char names[NAMES][48];
static pthread_barrier_t barrier;

struct lane {
	pthread_t thread;
	double ns[ROUNDS];
};

static void *lane_main(void *arg)
{
	struct lane *lane = arg;
	uintptr_t sum = 0;

	pthread_barrier_wait(&barrier);
	for (int i = -5; i < ROUNDS; i++) {
		double start = micro_cpu_ns();

		for (int pass = 0; pass < PASSES; pass++)
			for (int k = 0; k < NAMES; k++)
				sum += (uintptr_t)itt_string_handle_create(names[k]);
		if (i >= 0)
			lane->ns[i] = (micro_cpu_ns() - start) / (PASSES * NAMES);
	}
	__asm__ volatile("" : : "r"(sum));
	pthread_barrier_wait(&barrier);
	return NULL;
}

static struct micro_stats run(unsigned int count)
{
	static struct lane lanes[2];
	static double all[2 * ROUNDS];

	pthread_barrier_init(&barrier, NULL, count);
	for (unsigned int i = 1; i < count; i++)
		if (pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]))
			micro_fail("thread");
	lane_main(&lanes[0]);
	for (unsigned int i = 1; i < count; i++)
		pthread_join(lanes[i].thread, NULL);
	pthread_barrier_destroy(&barrier);
	for (unsigned int i = 0; i < count; i++)
		memcpy(all + i * ROUNDS, lanes[i].ns, sizeof(lanes[i].ns));
	return micro_stats(all, count * ROUNDS);
}

int main(int argc, char **argv)
{
	struct micro_stats one, two;

	micro_load(micro_library(argc, argv));
	for (int i = 0; i < NAMES; i++) {
		switch (i % 4) {
		case 0:
			snprintf(names[i], sizeof(names[i]), "aten::convolution_%d", i);
			break;
		case 1:
			snprintf(names[i], sizeof(names[i]), "aten::add_%d", i);
			break;
		case 2:
			snprintf(names[i], sizeof(names[i]), "iteration_%d", i);
			break;
		default:
			snprintf(names[i], sizeof(names[i]), "Optimizer.step#SGD.step_%d", i);
		}
		if (!itt_string_handle_create(names[i]))
			micro_fail("handle");
	}
	one = run(1);
	two = run(2);
	printf("{\"bench\":\"micro_lookup\",\"names\":%d,"
	       "\"one_thread\":{\"ns\":%.2f,\"ns_p10\":%.2f,\"ns_p90\":%.2f},"
	       "\"two_threads\":{\"ns\":%.2f,\"ns_p10\":%.2f,\"ns_p90\":%.2f},\"ratio\":%.3f}\n",
	       NAMES, one.median, one.low, one.high, two.median, two.low, two.high,
	       two.median / one.median);
	return 0;
}
