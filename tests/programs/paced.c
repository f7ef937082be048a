// SPDX-License-Identifier: Apache-2.0
//
// Begins and ends tasks at a steady rate: every millisecond its share, however late the last one was, so
// that the number of pairs is exactly RATE times SECONDS. All of them lie in one task "whole run". With
// LABELS every pair has one of so many labels, as text made anew each time. Prints the pairs as JSON.
// usage: paced RATE SECONDS [LABELS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "itt_static_part.h"

static struct timespec at_millisecond(struct timespec start, long millisecond)
{
	long long ns = start.tv_nsec + (long long)(millisecond % 1000) * 1000000;
	struct timespec at = {.tv_sec =
				      start.tv_sec + millisecond / 1000 + (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000)};

	return at;
}

int main(int argc, char **argv)
{
	long rate = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	long milliseconds = argc > 2 ? (long)(strtod(argv[2], NULL) * 1000) : 1000;
	long labels = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	struct itt_string_handle *inner;
	struct itt_domain *domain;
	struct timespec start;
	long long done = 0;
	char text[64];

	itt_part_load();
	domain = itt_domain_create("paced");
	inner = itt_string_handle_create("inner");
	itt_task_begin(domain, itt_string_handle_create("whole run"));
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 1; i <= milliseconds; i++) {
		struct timespec next = at_millisecond(start, i);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		for (long long due = (long long)rate * i / 1000; done < due; done++) {
			if (labels) {
				snprintf(text, sizeof(text), "step number %lld", done % labels);
				inner = itt_string_handle_create(text);
			}
			itt_task_begin(domain, inner);
			itt_task_end(domain);
		}
	}
	itt_task_end(domain);
	printf("{\"pairs\": %lld}\n", done);
	return 0;
}
