/* SPDX-License-Identifier: Apache-2.0
 *
 * openat2 where the kernel has it, else part by part.
 */
#include "serve/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A kernel before 5.6, or a filter that does not know the call: each part opened without following it. */
static int open_by_parts(int folder_fd, const char *path, int flags)
{
	int at = dup(folder_fd);

	if (path[0] == '/') {
		close(at);
		errno = EXDEV;
		return -1;
	}
	while (at >= 0) {
		size_t length = strcspn(path, "/");
		char part[256];
		int next;

		if (length >= sizeof(part) || (length == 2 && memcmp(path, "..", 2) == 0)) {
			close(at);
			errno = EXDEV;
			return -1;
		}
		snprintf(part, sizeof(part), "%.*s", (int)length, length ? path : ".");
		path += length + strspn(path + length, "/");
		next = openat(at, part,
			      (*path ? O_PATH | O_DIRECTORY : flags) | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		if (!*path)
			return next;
		at = next;
	}
	return -1;
}

int st_beneath_open(int folder_fd, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					  RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_by_parts(folder_fd, path, flags);
	return (int)fd;
}

bool st_beneath_is_plain(int folder_fd)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	bool plain = folder != NULL;

	if (!folder && fd >= 0)
		close(fd);
	while (plain && (entry = readdir(folder))) {
		struct stat about;

		if (fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0)
			plain = !S_ISLNK(about.st_mode);
	}
	if (folder)
		closedir(folder);
	return plain;
}
