/* SPDX-License-Identifier: Apache-2.0
 *
 * What the collector shows to and needs from the programs it enters: exactly the symbols of its version
 * script, and of libc only what is safe in handlers and after fork (plus what the constructor needs).
 */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "inproc_server.h"

static const char *const exported[] = {
	"__itt_api_fini",
	"__itt_api_init",
	"execl",
	"execle",
	"execlp",
	"execv",
	"execve",
	"execveat",
	"execvp",
	"execvpe",
	"fexecve",
	"posix_spawn",
	"posix_spawnp",
	"prctl",
	"zeInit",
	"zeInitDrivers",
	"strata_device_about",
	"strata_device_chained",
	"strata_device_lost",
	"strata_device_name",
	"strata_device_put",
	"strata_device_start",
	"strata_device_state",
	"strata_device_ticks",
	"strata_device_ticks_are_tsc",
	"strata_device_trouble",
	"strata_jit_notify",
	"strata_profile_join",
	"strata_profile_spawn",
	"strata_profile_state",
	"strata_profile_switch",
	"strata_profile_trace",
	"strata_region_end",
	"strata_region_go_on",
	"strata_region_leave",
	"strata_region_missed",
	"strata_region_stay",
	"strata_region_taken",
	"strata_region_told_by",
	"strata_region_wait",
	"strata_region_work",
	"strata_wait_begin",
	"strata_wait_end",
	"strata_wait_gil",
	"strata_wait_gil_signal",
	"strata_wait_gone",
	"strata_wait_locked_up",
	"strata_wait_made",
	"strata_wait_ticks",
	"strata_wait_wake",
	"sigaction",
	"signal",
	"bsd_signal",
	"ssignal",
	"sysv_signal",
	"__sysv_signal",
	"sigset",
	"sigignore",
	"siginterrupt",
	"sigaltstack",
	"pthread_sigmask",
	"sigprocmask",
	"sigtimedwait",
	"sigwaitinfo",
	"sigwait",
	"signalfd",
	"setitimer",
	"pthread_create",
	"_ZN3c1022memoryProfilingEnabledEv",
	"_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",
	"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
};

static const char *const allowed[] = {
	/* signal-safe, or pure functions of their arguments */
	"clock_gettime",
	"clone", /* profile.c, of a call from Python */
	"memcmp",
	"memcpy",
	"memmem",
	"memmove",
	"memset",
	"strchr",
	"strchrnul",
	"strcmp",
	"strcspn",
	"strlen",
	"strncmp",
	"strnlen",
	"strrchr",
	"strstr",
	"getenv",
	"environ",
	"__environ",
	"__errno_location",
	"pthread_self",
	"pthread_setspecific",
	"getauxval",
	"__stack_chk_fail",
	/* weak: whether there is a CPython */
	"Py_IsInitialized",
	/* in the constructor only */
	"dladdr1",
	"dlsym",
	"pthread_key_create",
	/* where PyTorch was found */
	"dl_iterate_phdr",
	"dlopen",
	"__register_atfork",
	"__cxa_atexit",
	/* the compiler's start files; all weak */
	"__cxa_finalize",
	"__gmon_start__",
	"_ITM_deregisterTMCloneTable",
	"_ITM_registerTMCloneTable",
};

static bool is_in(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

static const uint8_t *library(void)
{
	int fd = open(server_library(), O_RDONLY | O_CLOEXEC);
	const uint8_t *map;
	struct stat status;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(map != MAP_FAILED);
	close(fd);
	return map;
}

static const Elf64_Shdr *section(const uint8_t *map, uint32_t type)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)map;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(map + head->e_shoff);

	for (unsigned int i = 0; i < head->e_shnum; i++)
		if (sections[i].sh_type == type)
			return &sections[i];
	fail_msg("no such section");
	return NULL;
}

static void test_symbols(void **state)
{
	const uint8_t *map = library();
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)map;
	const Elf64_Shdr *table = section(map, SHT_DYNSYM);
	const Elf64_Shdr *strings = (const Elf64_Shdr *)(map + head->e_shoff) + table->sh_link;
	const Elf64_Sym *symbols = (const Elf64_Sym *)(map + table->sh_offset);
	size_t found = 0;

	(void)state;
	for (size_t i = 1; i < table->sh_size / sizeof(*symbols); i++) {
		const char *name = (const char *)map + strings->sh_offset + symbols[i].st_name;

		if (symbols[i].st_shndx == SHN_UNDEF) {
			if (!is_in(name, allowed, sizeof(allowed) / sizeof(*allowed)))
				fail_msg("the collector needs %s", name);
			continue;
		}
		if (!is_in(name, exported, sizeof(exported) / sizeof(*exported)))
			fail_msg("the collector exports %s", name);
		found++;
	}
	assert_int_equal(found, sizeof(exported) / sizeof(*exported));
}

static uint64_t dynamic(const uint8_t *map, int64_t tag)
{
	const Elf64_Shdr *table = section(map, SHT_DYNAMIC);
	const Elf64_Dyn *entry = (const Elf64_Dyn *)(map + table->sh_offset);

	for (; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag)
			return entry->d_un.d_val;
	return 0;
}

static void test_flags(void **state)
{
	const uint8_t *map = library();

	(void)state;
	assert_true(dynamic(map, DT_FLAGS_1) & DF_1_NODELETE);
	assert_true(dynamic(map, DT_FLAGS_1) & DF_1_NOW);
	assert_true(dynamic(map, DT_FLAGS) & DF_STATIC_TLS);
}

/* A late dlopen has to find room for our TLS in what libc keeps in reserve. */
static void test_tls_is_tiny(void **state)
{
	const uint8_t *map = library();
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)map;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(map + head->e_phoff);
	bool found = false;

	(void)state;
	for (unsigned int i = 0; i < head->e_phnum; i++)
		if (segments[i].p_type == PT_TLS) {
			/* pointers to the thread's states, a few marks */
			assert_true(segments[i].p_memsz <= 64);
			found = true;
		}
	assert_true(found);
}

/* exec_check.c keeps the preload from programs whose C library is older than this. */
static void test_needs_no_newer_libc(void **state)
{
	const uint8_t *map = library();
	struct stat status;
	size_t size;

	(void)state;
	assert_int_equal(stat(server_library(), &status), 0);
	size = (size_t)status.st_size;
	for (const uint8_t *at = map; (at = memmem(at, size - (size_t)(at - map), "GLIBC_2.", 8));
	     at += 8)
		assert_true(strtol((const char *)at + 8, NULL, 10) <= 34);
	munmap((void *)map, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_tls_is_tiny),
		cmocka_unit_test(test_needs_no_newer_libc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
