// SPDX-License-Identifier: Apache-2.0
//
// Finds libraries as the dynamic loader does, without loading them. Its cache is a file of names and paths, each with a
// zero byte behind it: nothing more of it is needed.
#include "collect/launch/run/device_loaders.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char cache_path[] = "/etc/ld.so.cache";

static bool is_in(const char *folder, size_t folder_bytes, const char *name, char path[PATH_MAX])
{
	return folder_bytes &&
	       snprintf(path, PATH_MAX, "%.*s/%s", (int)folder_bytes, folder, name) < PATH_MAX &&
	       access(path, R_OK) == 0;
}

static bool is_in_list(const char *list, const char *name, char path[PATH_MAX])
{
	while (list && *list) {
		size_t bytes = strcspn(list, ":;");

		if (is_in(list, bytes, name, path))
			return true;
		list += bytes + (list[bytes] != '\0');
	}
	return false;
}

/* A path of the cache that ends in "/name" and is there. */
static bool is_among(const char *cache, size_t cache_bytes, const char *name, char path[PATH_MAX])
{
	char wanted[128];
	size_t wanted_bytes = (size_t)snprintf(wanted, sizeof(wanted), "/%s", name) + 1;
	const char *at = cache, *end = cache + cache_bytes;

	while ((at = memmem(at, (size_t)(end - at), wanted, wanted_bytes))) {
		const char *begin = at;

		while (begin > cache && begin[-1])
			begin--;
		if (*begin == '/' && snprintf(path, PATH_MAX, "%s", begin) < PATH_MAX &&
		    access(path, R_OK) == 0)
			return true;
		at++;
	}
	return false;
}

/* A whole file, or MAP_FAILED. */
static const char *map_file(const char *path, size_t *size_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about = {0};
	void *bytes = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 0)
		bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	*size_bytes = (size_t)about.st_size;
	return bytes;
}

static bool is_in_cache(const char *name, char path[PATH_MAX])
{
	size_t size_bytes;
	const char *cache = map_file(cache_path, &size_bytes);
	bool found;

	if (cache == MAP_FAILED)
		return false;
	found = is_among(cache, size_bytes, name, path);
	munmap((void *)cache, size_bytes);
	return found;
}

bool st_device_loader_mentions(const char *path, const char *text)
{
	size_t size_bytes;
	const char *library = map_file(path, &size_bytes);
	bool found;

	if (library == MAP_FAILED)
		return false;
	found = memmem(library, size_bytes, text, strlen(text)) != NULL;
	munmap((void *)library, size_bytes);
	return found;
}

bool st_device_loader_find(const char *name, char *path, size_t size_bytes)
{
	const char *conda = getenv("CONDA_PREFIX");
	char folder[PATH_MAX], found[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/lib", conda ? conda : "");
	if (!is_in_list(getenv("LD_LIBRARY_PATH"), name, found) &&
	    !(conda && is_in(folder, strlen(folder), name, found)) && !is_in_cache(name, found) &&
	    !is_in_list("/lib64:/usr/lib64:/lib:/usr/lib", name, found))
		return false;
	return snprintf(path, size_bytes, "%s", found) < (int)size_bytes;
}

bool st_ze_tracing_wanted(void)
{
	const char *older = getenv("IPEX_ZE_TRACING");

	return !getenv("ZE_ENABLE_TRACING_LAYER") && !(older && strcmp(older, "0") == 0);
}
