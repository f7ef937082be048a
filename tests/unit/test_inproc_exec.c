/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that our library cannot enter are started without our preload, by every function of the exec
 * family; all others keep it, and the user's own entries stay in any case.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PROGRAMS ST_TEST_BUILD_DIR "/tests/programs/"
#define NORMAL PROGRAMS "itt_print_env"
#define OTHER PROGRAMS "itt_print_env_other"
#define MOVED PROGRAMS "itt_print_env_moved"
#define MOVED_LOADER PROGRAMS "ld-linux-moved.so.2"
#define USERS "libm.so.6"

static const char *const ways[] = {
	"execve",	"execv",	"execvp",	"execvpe",  "execl",
	"execle",	"execlp",	"fexecve",	"execveat", "posix_spawn",
	"posix_spawnp", "vfork+execve", "vfork+execvp",
};
enum { WAYS = sizeof(ways) / sizeof(*ways) };

/* The build folder by a name without spaces, which neither LD_PRELOAD nor the first line of a script can hold. */
static char folder[] = "/tmp/strata-test-XXXXXX", build[64], library[128];

static int make_link(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(build, sizeof(build), "%s/build", folder);
	snprintf(library, sizeof(library), "%s/lib/strata/libstrata_collector.so", build);
	return symlink(ST_TEST_BUILD_DIR, build);
}

static int remove_link(void **state)
{
	(void)state;
	unlink(build);
	return rmdir(folder);
}

/* What `itt_exec how program` prints, under the preload given; both streams. */
static void run(char *out, size_t size, const char *how, const char *program, const char *preload)
{
	size_t used = 0;
	ssize_t got;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		setenv("LD_PRELOAD", preload, 1);
		setenv("STRATA_SOCK", "/nonexistent/s", 1);
		setenv("PATH", "/nonexistent:" PROGRAMS ":/usr/bin", 1);
		execl(PROGRAMS "itt_exec", "itt_exec", how, program, (char *)NULL);
		_exit(126);
	}
	close(ends[1]);
	while (used + 1 < size && (got = read(ends[0], out + used, size - used - 1)) > 0)
		used += (size_t)got;
	out[used] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_every_way(void **state)
{
	char preload[1024], expected[2048], out[4096];

	(void)state;
	snprintf(preload, sizeof(preload), "%s:%s", library, USERS);
	snprintf(expected, sizeof(expected), "%s [one] [two]\n", preload);
	for (int i = 0; i < WAYS; i++) {
		run(out, sizeof(out), ways[i], NORMAL, preload);
		assert_string_equal(out, expected);
		run(out, sizeof(out), ways[i], OTHER, preload);
		assert_string_equal(out, USERS " [one] [two]\n");
	}
}

static void test_only_ours(void **state)
{
	char out[4096];

	(void)state;
	run(out, sizeof(out), "execv", OTHER, library);
	assert_string_equal(out, "(none) [one] [two]\n");
}

static void test_search(void **state)
{
	char out[4096];

	(void)state;
	run(out, sizeof(out), "execvp", "itt_print_env_other", library);
	assert_string_equal(out, "(none) [one] [two]\n");
	run(out, sizeof(out), "posix_spawnp", "itt_print_env_other", library);
	assert_string_equal(out, "(none) [one] [two]\n");
}

static void test_script(void **state)
{
	char path[64], expected[256], out[4096];
	FILE *script;

	(void)state;
	snprintf(path, sizeof(path), "%s/script", folder);
	script = fopen(path, "w");
	assert_non_null(script);
	fprintf(script, "#! %s/tests/programs/itt_print_env_other option\n", build);
	fclose(script);
	assert_int_equal(chmod(path, 0700), 0);
	run(out, sizeof(out), "execve", path, library);
	snprintf(expected, sizeof(expected), "(none) [option] [%s] [one] [two]\n", path);
	assert_string_equal(out, expected);
	unlink(path);
}

/* A copy of this machine's loader; `older` takes away the name of the version that the collector needs. */
static void put_loader(bool older)
{
	static const char *const places[] = {"/lib64/ld-linux-x86-64.so.2",
					     "/lib/ld-linux-aarch64.so.1"};
	static char bytes[4 << 20];
	FILE *from = fopen(places[0], "rb"), *to;
	char *name;
	size_t size;

	if (!from)
		from = fopen(places[1], "rb");
	assert_non_null(from);
	size = fread(bytes, 1, sizeof(bytes), from);
	fclose(from);
	name = memmem(bytes, size, "GLIBC_2.34", 10);
	assert_non_null(name);
	if (older)
		memcpy(name, "GLIBC_1.34", 10);
	unlink(MOVED_LOADER);
	to = fopen(MOVED_LOADER, "wb");
	assert_non_null(to);
	assert_int_equal(fwrite(bytes, 1, size, to), size);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(chmod(MOVED_LOADER, 0755), 0);
}

static void test_older_libc(void **state)
{
	char expected[1024], out[4096];

	(void)state;
	put_loader(false);
	run(out, sizeof(out), "execv", MOVED, library);
	snprintf(expected, sizeof(expected), "%s [one] [two]\n", library);
	assert_string_equal(out, expected);
	put_loader(true);
	run(out, sizeof(out), "execv", MOVED, library);
	assert_string_equal(out, "(none) [one] [two]\n");
	unlink(MOVED_LOADER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_way),  cmocka_unit_test(test_only_ours),
		cmocka_unit_test(test_search),	   cmocka_unit_test(test_script),
		cmocka_unit_test(test_older_libc),
	};

	return cmocka_run_group_tests(tests, make_link, remove_link);
}
