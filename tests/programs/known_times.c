// SPDX-License-Identifier: Apache-2.0
//
// Nested tasks of known lengths. Each task's length is measured from inside (after its begin, before its
// end) and from outside (before its begin, after its end) on CLOCK_MONOTONIC_RAW, so that the truth lies
// between two numbers; both are printed as JSON lines: {"name", "inside_ns", "outside_ns", "begin_ns"}.
// usage: known_times ROUNDS
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "itt_static_part.h"

static struct itt_domain *domain;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void busy(long long ns)
{
	long long end = now() + ns;

	while (now() < end)
		;
}

struct step {
	const char *name;
	long long before_ns; /* busy before and after the child */
	const struct step *child;
};

static const struct step leaf = {"leaf", 300000, NULL};
static const struct step middle = {"middle", 500000, &leaf};
static const struct step outer = {"outer", 1000000, &middle};

/* Lines are kept and printed at the end: printing is no part of what is measured. */
static char *lines;
static size_t lines_size, lines_used;

static void note(const char *name, long long inside, long long outside, long long begin)
{
	lines_used +=
		(size_t)snprintf(lines + lines_used, lines_size - lines_used,
				 "{\"name\": \"%s\", \"inside_ns\": %lld, \"outside_ns\": %lld, "
				 "\"begin_ns\": %lld}\n",
				 name, inside, outside, begin);
}

static void run(const struct step *step)
{
	struct itt_string_handle *name = itt_string_handle_create(step->name);
	long long outside_begin = now(), outside_end, inside_begin, inside_end;

	itt_task_begin(domain, name);
	inside_begin = now();
	busy(step->before_ns);
	if (step->child)
		run(step->child);
	busy(step->before_ns);
	inside_end = now();
	itt_task_end(domain);
	outside_end = now();
	note(step->name, inside_end - inside_begin, outside_end - outside_begin, outside_begin);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
	char name[32];

	lines_size = (size_t)(rounds * 3 + 110) * 160; /* a round has 3 lines, then the ladder */
	lines = malloc(lines_size);
	if (!lines)
		return 1;
	itt_part_load();
	domain = itt_domain_create("truth");
	/* One pass that loads and warms everything, under a name of its own. */
	run(&(struct step){"warm-up", 1000000, NULL});
	for (long i = 0; i < rounds; i++)
		run(&outer);
	/* A ladder of lengths, 1 to 100 units, for the percentiles. */
	for (int i = 1; i <= 100; i++) {
		snprintf(name, sizeof(name), "ladder");
		run(&(struct step){name, i * 20000, NULL});
	}
	fwrite(lines, 1, lines_used, stdout);
	free(lines);
	return 0;
}
