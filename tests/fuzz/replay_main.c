// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target over kept inputs, without libFuzzer: every plain file of the folders (or every
// file) on the command line, once. Prints how many; a crash or a sanitizer report is the failure.
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

enum { INPUT_MAX_BYTES = 16 << 20 };

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "re");
	struct stat about;
	uint8_t *data;
	size_t size;

	if (!file || fstat(fileno(file), &about) != 0 || about.st_size > INPUT_MAX_BYTES) {
		fprintf(stderr, "%s: %s\n", path, file ? "too large" : strerror(errno));
		if (file)
			fclose(file);
		return -1;
	}
	/* Exactly as large as the file, so that a byte too far is seen. */
	data = malloc((size_t)about.st_size + !about.st_size);
	size = data ? fread(data, 1, (size_t)about.st_size, file) : 0;
	fclose(file);
	if (data)
		LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

static int replay_folder(const char *path)
{
	struct dirent *entry;
	int count = 0;
	DIR *dir = opendir(path);

	if (!dir)
		return replay_file(path);
	while ((entry = readdir(dir)) != NULL) {
		char name[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (replay_file(name) < 0) {
			count = -1;
			break;
		}
		count++;
	}
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++) {
		int more = replay_folder(argv[i]);

		if (more < 0)
			return 1;
		count += more;
	}
	printf("%d inputs replayed\n", count);
	return count ? 0 : 1;
}
