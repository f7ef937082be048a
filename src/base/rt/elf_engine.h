/* SPDX-License-Identifier: Apache-2.0
 *
 * Engines: programs that run the code of another program themselves, by translating or replaying it. They take
 * every signal for one of the program inside, so a trigger of ours ends them, and they hand their environment on
 * to it, so that our library would run translated. They are known by the name of the file and a text in it that
 * only they have. System calls and a little stack only, because the collector asks between vfork and exec.
 */
#ifndef ST_BASE_RT_ELF_ENGINE_H
#define ST_BASE_RT_ELF_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/rt/elf_text.h"
#include "base/rt/syscall.h"

enum { ST_ENGINE_PATH_BYTES = 512, ST_ENGINE_FILE_MAX = 64 << 20 };

/* The text to look for in a file of this name; NULL: not the name of an engine. */
static inline const char *st_engine_text(const char *name)
{
	static const struct {
		const char *begin, *end, *text;
	} engines[] = {
		{"valgrind", "", "VALGRIND_LAUNCHER"}, /* and Debian's valgrind.bin */
		{"", "-linux", "VALGRIND_LAUNCHER"},   /* its tools: memcheck-amd64-linux */
		{"qemu-", "", "QEMU_LD_PREFIX"},       /* user mode alone has this text */
		{"rr", "rr", "librrpreload"},
		{"drrun", "", "libdynamorio"},
		{"pin", "", "pinbin"},
	};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
		size_t begin = strlen(engines[i].begin), end = strlen(engines[i].end);

		if (length >= begin && length >= end && !memcmp(name, engines[i].begin, begin) &&
		    !memcmp(name + length - end, engines[i].end, end))
			return engines[i].text;
	}
	return NULL;
}

static inline const char *st_engine_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether the file that is open here is an engine, whatever it was called by. */
static inline bool st_engine_is(int fd)
{
	char link[32] = "/proc/self/fd/", path[ST_ENGINE_PATH_BYTES], digits[12];
	size_t at = strlen(link), count = 0;
	const char *text;
	long length;

	for (unsigned int left = (unsigned int)fd; left || !count; left /= 10)
		digits[count++] = (char)('0' + left % 10);
	while (count)
		link[at++] = digits[--count];
	length = st_syscall(SYS_readlinkat, -100 /* AT_FDCWD */, link, path, sizeof(path) - 1);
	if (length <= 0)
		return false;
	path[length] = '\0';
	text = st_engine_text(st_engine_name(path));
	return text && st_elf_holds(fd, text, ST_ENGINE_FILE_MAX);
}

#endif
