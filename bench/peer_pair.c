/* SPDX-License-Identifier: Apache-2.0
 *
 * The price of a begin+end pair under whatever collector INTEL_LIBITTNOTIFY64 names: for putting another
 * collector beside ours. Counted in thread CPU time, like micro_pair.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "../tests/programs/itt_static_part.h"

static double thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? strtol(argv[1], NULL, 10) : 200000;
	struct itt_string_handle *name;
	struct itt_domain *domain;
	double start;

	if (!itt_part_load()) {
		fprintf(stderr, "peer_pair: INTEL_LIBITTNOTIFY64 names no collector\n");
		return 1;
	}
	domain = itt_domain_create("peer");
	name = itt_string_handle_create("pair");
	for (long i = 0; i < 1000; i++) {
		itt_task_begin(domain, name);
		itt_task_end(domain);
	}
	start = thread_cpu_ns();
	for (long i = 0; i < pairs; i++) {
		itt_task_begin(domain, name);
		itt_task_end(domain);
	}
	printf("{\"pair_ns\": %.2f}\n", (thread_cpu_ns() - start) / (double)pairs);
	return 0;
}
