// SPDX-License-Identifier: Apache-2.0
//
// Records one task per label of a file of NUL-terminated labels, any bytes. Around them: ends that
// close nothing, a task without a name, a task in a domain with an odd name, and tasks that never end.
// usage: odd_labels FILE EXTRA-ENDS UNENDED
#include <stdio.h>
#include <stdlib.h>

#include "itt_static_part.h"

static char *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	long length = 0;

	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (length = ftell(file)) > 0 && !fseek(file, 0, SEEK_SET))
		data = malloc((size_t)length);
	if (data)
		*size = fread(data, 1, (size_t)length, file);
	fclose(file);
	return data;
}

int main(int argc, char **argv)
{
	struct itt_domain *domain, *odd;
	size_t size = 0, at = 0;
	long extra_ends, unended, count = 0;
	char *labels;

	if (argc < 4)
		return 2;
	extra_ends = strtol(argv[2], NULL, 10);
	unended = strtol(argv[3], NULL, 10);
	labels = read_all(argv[1], &size);
	if (!labels || labels[size - 1] != '\0')
		return 2;
	itt_part_load();
	domain = itt_domain_create("labels");
	odd = itt_domain_create("odd \"domain\"\n\xff\xfe\t");
	for (long i = 0; i < extra_ends; i++)
		itt_task_end(domain);
	while (at < size) {
		itt_task_begin(domain, itt_string_handle_create(labels + at));
		itt_task_end(domain);
		at += strlen(labels + at) + 1;
		count++;
	}
	itt_task_begin(domain, NULL);
	itt_task_end(domain);
	itt_task_begin(odd, itt_string_handle_create("in the odd domain"));
	itt_task_end(odd);
	for (long i = 0; i < extra_ends; i++)
		itt_task_end(domain);
	for (long i = 0; i < unended; i++)
		itt_task_begin(domain, itt_string_handle_create("never ended"));
	printf("%ld\n", count);
	free(labels);
	return 0;
}
