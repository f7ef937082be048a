// SPDX-License-Identifier: Apache-2.0
//
// Records one task for each of many distinct labels, and prints its own peak memory before and after.
// Labels are of three shapes: one family counted up, names without digits, and long ones.
// usage: many_labels COUNT ROUNDS
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "itt_static_part.h"

/* VmHWM, because ru_maxrss still knows what the process was before its exec. */
static long peak_kib(void)
{
	static const char key[] = "VmHWM:";
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long peak = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, sizeof(key) - 1))
			peak = strtol(line + sizeof(key) - 1, NULL, 10);
	if (file)
		fclose(file);
	return peak;
}

/* A number in letters, so that no two of these names share a family. */
static void letters(char *out, size_t size, unsigned long number)
{
	size_t at = 0;

	do {
		out[at++] = (char)('a' + number % 26);
		number /= 26;
	} while (number && at + 1 < size);
	out[at] = '\0';
}

static void label_of(char *out, size_t size, unsigned long number)
{
	char word[16];

	letters(word, sizeof(word), number);
	if (number % 3 == 0)
		snprintf(out, size, "step_%lu", number);
	else if (number % 3 == 1)
		snprintf(out, size, "word %s", word);
	else
		snprintf(
			out, size,
			"a.rather.long.name.as.of.a.module.path.in.some.model.%s.layer_%lu.forward",
			word, number);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	/* A short pause each thousand keeps the flood within what the rings are promised to hold. */
	const struct timespec breath = {0, 10000000};
	struct itt_domain *domain;
	char label[256];
	long before;

	itt_part_load();
	domain = itt_domain_create("many");
	before = peak_kib();
	for (unsigned long round = 0; round < rounds; round++) {
		for (unsigned long i = 0; i < count; i++) {
			label_of(label, sizeof(label), i);
			itt_task_begin(domain, itt_string_handle_create(label));
			itt_task_end(domain);
			if (i % 1000 == 999)
				nanosleep(&breath, NULL);
		}
	}
	printf("peak_kib_before %ld peak_kib_after %ld\n", before, peak_kib());
	return 0;
}
