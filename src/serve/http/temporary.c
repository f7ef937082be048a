/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary folders: made, locked, removed.
 */
#include "serve/http/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEPTH = 64, /* three are needed: the folder of a server, of a worker, of an answer */
	BASE_MAX = 150,
	TRIES = 8,
	LEFT_MAX = 256, /* of the folders of others that are looked at */
};

static const char prefix[] = "strata-serving-";

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH levels. */
static void remove_below(int parent_fd, const char *name, int depth)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *one;

	while (list && (one = readdir(list))) {
		if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, one->d_name, 0) && depth > 0)
			remove_below(fd, one->d_name, depth - 1);
	}
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	unlinkat(parent_fd, name, AT_REMOVEDIR);
}

void st_temporary_remove(const char *path)
{
	if (path[0])
		remove_below(AT_FDCWD, path, DEPTH);
}

void st_temporary_remove_at(int folder_fd, const char *name)
{
	remove_below(folder_fd, name, DEPTH);
}

/* A folder of ours that nobody holds: its server was killed. */
static void remove_if_left(int base_fd, const char *name)
{
	int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat about;

	if (fd < 0)
		return;
	if (fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		remove_below(base_fd, name, DEPTH);
	close(fd);
}

void st_temporary_remove_left(int folder_fd, const char *begins)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	unsigned int looked_at = 0;
	struct dirent *one;

	while (list && looked_at < LEFT_MAX && (one = readdir(list))) {
		if (strncmp(one->d_name, begins, strlen(begins)) != 0)
			continue;
		looked_at++;
		remove_if_left(fd, one->d_name);
	}
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
}

/* Whether the folder is held now. Before it was, a server that starts at the same time may have taken it for one that was
 * left behind. */
static bool hold(const char *path, int *lock_fd)
{
	struct stat held, named;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return false;
	/* Where there are no locks, nothing is ever taken for left behind either. */
	if ((flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) || fstat(fd, &held) ||
	    lstat(path, &named) || held.st_ino != named.st_ino || held.st_dev != named.st_dev) {
		close(fd);
		return false;
	}
	*lock_fd = fd;
	return true;
}

bool st_temporary_hold(char *path, int *lock_fd)
{
	static const char places[] = "XXXXXX";
	size_t at = strlen(path) - strlen(places);

	*lock_fd = -1;
	for (unsigned int i = 0; i < TRIES; i++) {
		memcpy(path + at, places, strlen(places));
		if (!mkdtemp(path))
			return false;
		if (hold(path, lock_fd))
			return true;
	}
	return false;
}

enum st_status st_temporary_make(char *path, size_t path_size, int *lock_fd, struct st_error *err)
{
	const char *base = getenv("TMPDIR");
	int base_fd;

	if (!base || base[0] != '/' || strlen(base) > BASE_MAX)
		base = "/tmp";
	base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	st_temporary_remove_left(base_fd, prefix);
	if (base_fd >= 0)
		close(base_fd);
	snprintf(path, path_size, "%s/%sXXXXXX", base, prefix);
	if (st_temporary_hold(path, lock_fd))
		return ST_OK;
	path[0] = '\0';
	return st_error_set(err, ST_EIO, errno, "%s: cannot create a temporary folder", base);
}
