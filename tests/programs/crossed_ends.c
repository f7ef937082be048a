// SPDX-License-Identifier: Apache-2.0
//
// Tasks of two domains whose ends cross: "left" ends while "right", begun inside it, goes on, with a task
// inside that. An end closes the innermost task of its domain, so "left" is shorter than what is in it.
// usage: crossed_ends COUNT
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "itt_static_part.h"

/* Two events a tick apart on any clock: what must not end together does not. */
static void pass_time(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 20000);
}

int main(int argc, char **argv)
{
	struct itt_domain *left, *right;
	long count;

	if (argc < 2)
		return 2;
	count = strtol(argv[1], NULL, 10);
	itt_part_load();
	left = itt_domain_create("left side");
	right = itt_domain_create("right side");
	for (long i = 0; i < count; i++) {
		itt_task_begin(left, itt_string_handle_create("left"));
		itt_task_begin(right, itt_string_handle_create("right"));
		pass_time();
		itt_task_end(left);
		itt_task_begin(right, itt_string_handle_create("inside right"));
		pass_time();
		itt_task_end(right);
		itt_task_end(right);
	}
	printf("%ld\n", count);
	return 0;
}
