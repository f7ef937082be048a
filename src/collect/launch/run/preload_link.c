// SPDX-License-Identifier: Apache-2.0
//
// LD_PRELOAD separates its names by spaces and colons and has no way to quote them, so that a collector in a folder
// called "my project" cannot be named there. A link to its folder can. The link stays: programs that outlive the run
// still pass its name on to their children, and a loader would complain about one that is gone. A wheel, which cannot
// hold links, gets a whole folder of them.
#include "collect/launch/run/preload_link.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/launch/run/environment.h"
#include "collect/launch/run/platforms.h"
#include "format/chunk.h"
#include "unwind/cache.h"

/* Also other users may go through it: a program may become one of them. Only we may change what is in it. */
static bool make_folder(const char *path)
{
	struct stat about;

	if (mkdir(path, 0755) == 0)
		(void)chmod(path, 0755);
	return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
	       !(about.st_mode & (S_IWGRP | S_IWOTH));
}

static bool points_to(const char *link, const char *folder)
{
	char target[PATH_MAX];
	ssize_t size_bytes = readlink(link, target, sizeof(target) - 1);

	if (size_bytes < 0)
		return false;
	target[size_bytes] = '\0';
	return strcmp(target, folder) == 0;
}

static bool is_roots(const char *path)
{
	struct stat about;

	return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == 0 &&
	       (!(about.st_mode & (S_IWGRP | S_IWOTH)) || about.st_mode & S_ISVTX);
}

/* The folder in which links are made, with no link in its own name. What root's programs load must be for nobody else to
 * replace: whoever may rename a folder on the way there could. */
static bool make_place(char place[PATH_MAX])
{
	char above[PATH_MAX], part[PATH_MAX], *last;

	if (geteuid() != 0)
		return st_environment_can_preload(place) && make_folder(place);
	for (size_t length = strlen(place); length > 1 && place[length - 1] == '/';)
		place[--length] = '\0';
	last = strrchr(place, '/');
	if (!last || !last[1])
		return false;
	snprintf(part, sizeof(part), "%.*s", last == place ? 1 : (int)(last - place), place);
	if (!realpath(part, above) || !is_roots("/"))
		return false;
	for (const char *slash = above; slash && slash[1]; slash = strchr(slash + 1, '/')) {
		const char *end = strchrnul(slash + 1, '/');

		snprintf(part, sizeof(part), "%.*s", (int)(end - above), above);
		if (!is_roots(part))
			return false;
	}
	snprintf(part, sizeof(part), "%s", last + 1);
	return snprintf(place, PATH_MAX, "%s/%s", above[1] ? above : "", part) < PATH_MAX &&
	       st_environment_can_preload(place) && make_folder(place);
}

/* Another run may do the same at the same time: the link appears whole or not at all. */
static bool make_link(const char *link, const char *folder)
{
	char fresh[PATH_MAX];

	if (points_to(link, folder))
		return true;
	if (snprintf(fresh, sizeof(fresh), "%s.%d", link, (int)getpid()) >= (int)sizeof(fresh))
		return false;
	/* That of a run with the same number that was killed. */
	(void)unlink(fresh);
	if (symlink(folder, fresh) != 0)
		return false;
	if (rename(fresh, link) != 0)
		(void)unlink(fresh);
	return points_to(link, folder);
}

static char *link_in(char place[PATH_MAX], const char *folder, const char *name)
{
	char path[PATH_MAX], *out = NULL;

	if (!make_place(place) ||
	    snprintf(path, sizeof(path), "%s/lib-%08x", place,
		     st_crc32c(0, folder, strlen(folder))) >= (int)sizeof(path) ||
	    !make_link(path, folder))
		return NULL;
	return asprintf(&out, "%s/%s", path, name) < 0 ? NULL : out;
}

char *st_preload_link(const char *collector)
{
	const char *slash = strrchr(collector, '/');
	char *folder = slash ? strndup(collector, (size_t)(slash - collector)) : NULL;
	char place[PATH_MAX], *out = NULL;

	if (folder && st_unwind_cache_place(place, sizeof(place)) && place[0] == '/')
		out = link_in(place, folder, slash + 1);
	if (folder && !out) {
		(void)snprintf(place, sizeof(place), "/tmp/strata-%u", (unsigned int)geteuid());
		out = link_in(place, folder, slash + 1);
	}
	free(folder);
	return out;
}

/* Programs that root starts become other users: all of them have to get there. */
static bool others_reach(const char *path)
{
	char part[PATH_MAX];
	struct stat about;

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (stat(part, &about) != 0 || !(about.st_mode & S_IXOTH))
			return false;
	}
	return stat(path, &about) == 0 && about.st_mode & S_IXOTH;
}

/* The library of waits lies beside the collector, where there is one. */
static bool link_waits(const char *folder, const char *collector)
{
	static const char name[] = "libstrata_waits.so";
	char link[PATH_MAX], target[PATH_MAX];
	const char *slash = strrchr(collector, '/');

	return slash &&
	       snprintf(target, sizeof(target), "%.*s/%s", (int)(slash - collector), collector,
			name) < (int)sizeof(target) &&
	       snprintf(link, sizeof(link), "%s/%s", folder, name) < (int)sizeof(link) &&
	       make_link(link, target);
}

char *st_preload_folder(const char *collector)
{
	char place[PATH_MAX], folder[PATH_MAX], link[PATH_MAX];
	const char *slash = strrchr(collector, '/');

	if (!slash || !st_unwind_cache_place(place, sizeof(place)) || place[0] != '/' ||
	    !make_place(place) || (geteuid() == 0 && !others_reach(place)) ||
	    snprintf(folder, sizeof(folder), "%s/preload-%08x", place,
		     st_crc32c(0, collector, strlen(collector))) >= (int)sizeof(folder) ||
	    !make_folder(folder) ||
	    snprintf(link, sizeof(link), "%s%s", folder, slash) >= (int)sizeof(link) ||
	    !make_link(link, collector) || !link_waits(folder, collector) ||
	    !st_platforms_make(folder))
		return NULL;
	return strdup(folder);
}
