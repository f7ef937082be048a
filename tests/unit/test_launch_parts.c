/* SPDX-License-Identifier: Apache-2.0
 *
 * The small parts of the launcher: ids of texts, the look at program files, the environment, the clock
 * and the rendezvous.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/launch/drain/clock.h"
#include "collect/launch/drain/drain_state.h"
#include "collect/launch/family/elf_look.h"
#include "collect/launch/run/environment.h"
#include "collect/launch/family/rendezvous.h"
#include "fake_segment.h"

static void test_text_ids(void **state)
{
	struct st_text_ids texts;
	uint32_t first, again, last = 0;
	bool fresh;
	char text[32];

	(void)state;
	st_text_ids_init(&texts);
	first = st_text_ids_get(&texts, "a", 1, &fresh);
	assert_true(fresh);
	assert_int_equal(first, ST_TEXT_ID_FIRST);
	assert_int_equal(st_text_ids_get(&texts, "a", 1, &fresh), first);
	assert_false(fresh);
	/* A NUL at the end is another text, and so is the empty one. */
	assert_int_not_equal(st_text_ids_get(&texts, "a\0", 2, &fresh), first);
	assert_int_not_equal(st_text_ids_get(&texts, "", 0, &fresh), first);
	for (int i = 0; i < 3 * ST_TEXT_IDS_MAX; i++) {
		int n = snprintf(text, sizeof(text), "label %d", i);
		uint32_t id = st_text_ids_get(&texts, text, (size_t)n, &fresh);

		assert_true(fresh && id > last);
		last = id;
		assert_true(texts.hashes.count <= ST_TEXT_IDS_MAX);
	}
	assert_true(texts.hashes.map.slot_count <=
		    4 * ST_TEXT_IDS_MAX); /* bounded, whatever comes */
	again = st_text_ids_get(&texts, "a", 1, &fresh);
	assert_true(fresh && again > first); /* forgotten meanwhile: defined anew */
	st_text_ids_fini(&texts);
}

static void write_file(const char *path, const void *bytes, size_t size_bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
	assert_int_equal(fclose(file), 0);
}

static void test_elf_look(void **state)
{
	char path[] = "/tmp/strata-test-elf-XXXXXX";
	char script[128];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(st_elf_look("/proc/self/exe"), ST_ELF_NATIVE);
	assert_int_equal(st_elf_look("/no/such/file"), ST_ELF_UNKNOWN);
	write_file(path, "plain text", 10);
	assert_int_equal(st_elf_look(path), ST_ELF_UNKNOWN);
	write_file(path, "\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0", 20);
	assert_int_equal(st_elf_look(path), ST_ELF_OTHER_CLASS);
	snprintf(script, sizeof(script), "#! /proc/self/exe -x\n");
	write_file(path, script, strlen(script));
	assert_int_equal(st_elf_look(path), ST_ELF_SCRIPT);
	assert_int_equal(st_elf_look_through(path), ST_ELF_NATIVE);
	snprintf(script, sizeof(script), "#!%s\n", path); /* its own interpreter */
	write_file(path, script, strlen(script));
	assert_int_equal(st_elf_look_through(path), ST_ELF_SCRIPT);
	assert_int_equal(chmod(path, 04755), 0);
	assert_true(st_elf_raises_rights(path, getuid() + 1, getgid()));
	assert_false(st_elf_raises_rights(path, getuid(), getgid()));
	unlink(path);
}

static const char *variable(char **environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

static void test_environment(void **state)
{
	struct st_environment_options options = {.collector = "/lib/ours.so",
						 .socket_path = "/run/s",
						 .abstract_name = "abs",
						 .token_hex = "00ff",
						 .config = "clock=tsc",
						 .preload = true};
	char **environment;

	(void)state;
	setenv("STRATA_TEST_KEPT", "yes", 1);
	setenv("STRATA_SOCK", "stale", 1);
	setenv("LD_PRELOAD", "", 1);
	environment = st_environment_create(&options);
	assert_string_equal(variable(environment, "LD_PRELOAD"), "/lib/ours.so");
	assert_string_equal(variable(environment, "INTEL_LIBITTNOTIFY64"), "/lib/ours.so");
	assert_string_equal(variable(environment, "STRATA_SOCK"), "/run/s");
	assert_string_equal(variable(environment, "STRATA_CONFIG"), "clock=tsc");
	assert_string_equal(variable(environment, "STRATA_TEST_KEPT"), "yes");
	st_environment_destroy(environment);
	setenv("LD_PRELOAD", "/lib/theirs.so", 1);
	environment = st_environment_create(&options);
	assert_string_equal(variable(environment, "LD_PRELOAD"), "/lib/theirs.so:/lib/ours.so");
	st_environment_destroy(environment);
	options.preload = false;
	environment = st_environment_create(&options);
	assert_string_equal(variable(environment, "LD_PRELOAD"), "/lib/theirs.so");
	st_environment_destroy(environment);
	unsetenv("LD_PRELOAD");
	setenv("INTEL_JIT_PROFILER64", "/lib/theirs.so", 1);
	environment = st_environment_create(&options);
	assert_null(variable(environment, "LD_PRELOAD"));
	/* There is no libstrata_jit.so beside that collector. */
	assert_string_equal(variable(environment, "INTEL_JIT_PROFILER64"), "/lib/theirs.so");
	st_environment_destroy(environment);
	options.collector = ST_TEST_BUILD_DIR "/lib/strata/libstrata_collector.so";
	environment = st_environment_create(&options);
	assert_string_equal(variable(environment, "INTEL_JIT_PROFILER64"),
			    ST_TEST_BUILD_DIR "/lib/strata/libstrata_jit.so");
	st_environment_destroy(environment);
	unsetenv("INTEL_JIT_PROFILER64");
	assert_true(st_environment_can_preload("/opt/strata/lib.so"));
	assert_false(st_environment_can_preload("/opt/my strata/lib.so"));
}

static void test_find_program(void **state)
{
	struct st_error err = {0};
	char *path = NULL;

	(void)state;
	assert_int_equal(st_environment_find_program("sh", false, &path, &err), ST_OK);
	assert_int_equal(path[0], '/');
	free(path);
	assert_int_equal(st_environment_find_program("no-such-program", false, &path, &err),
			 ST_ENOTFOUND);
	assert_int_equal(st_environment_find_program("/no/such", false, &path, &err), ST_ENOTFOUND);
	assert_int_equal(st_environment_find_program("", false, &path, &err), ST_ENOTFOUND);
	assert_int_equal(st_environment_find_program("/tmp", false, &path, &err), ST_EIO);
	assert_int_equal(st_environment_find_program("/etc/passwd", false, &path, &err), ST_EIO);
	assert_null(path);
}

/* A moment in the past is told from any later one alike, and lies before the present. */
static void test_wall_clock(void **state)
{
	uint64_t moment = st_clock_mono_raw_ns() - 5000000000u;
	uint64_t first = st_launch_clock_wall_ns(moment, 100), second;
	struct timespec now;

	(void)state;
	second = st_launch_clock_wall_ns(moment, 100);
	clock_gettime(CLOCK_REALTIME, &now);
	assert_true(llabs((long long)(first - second)) < 1000000);
	assert_in_range((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - first,
			4999000000u, 15000000000u);
}

static void test_clock(void **state)
{
	enum st_clock clock = st_launch_clock_choose();
	struct st_clock_pair a = st_launch_clock_pair(clock, 100), b;
	uint64_t rate;

	(void)state;
	while (st_clock_mono_raw_ns() - a.mono_raw_ns < 20000000u)
		;
	b = st_launch_clock_pair(clock, 100);
	assert_true(b.ticks > a.ticks && b.mono_raw_ns > a.mono_raw_ns);
	rate = st_launch_clock_rate(&a, &b);
	assert_true(rate > 1000000u && rate < 20000000000u);
	/* Forth and back within a microsecond. */
	assert_true(llabs((long long)(st_launch_clock_ticks_at(&a, rate, b.mono_raw_ns) -
				      b.ticks)) < (long long)(rate / 1000000u));
	assert_true(st_launch_clock_ticks_at(&b, rate, a.mono_raw_ns) < b.ticks);
	assert_true(st_launch_clock_pair_cost_ns(clock) > 0);
	assert_true(st_launch_fresh_mib_ns() > 100);
}

/* Says hello like a collector; any message, any number of descriptors. */
static int say_hello(const struct st_rendezvous *rendezvous, const void *message, size_t size_bytes,
		     int memfd, unsigned int fd_count)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), fds[8];
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {0};
	struct iovec part = {.iov_base = (void *)message, .iov_len = size_bytes};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", st_rendezvous_path(rendezvous));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (fd_count) {
		struct cmsghdr *c;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		for (unsigned int i = 0; i < fd_count; i++)
			fds[i] = memfd;
		memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
	}
	if (size_bytes)
		assert_int_equal(sendmsg(fd, &msg, 0), size_bytes);
	return fd;
}

static void good_hello(const struct st_rendezvous *rendezvous, struct st_shm_hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	hello->magic = ST_SHM_MAGIC;
	hello->layout_hash = ST_SHM_LAYOUT_HASH;
	hello->process_token = 99;
	for (int i = 0; i < 16; i++) {
		char digits[3] = {st_rendezvous_token(rendezvous)[2 * i],
				  st_rendezvous_token(rendezvous)[2 * i + 1], '\0'};

		hello->token[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A sampler is armed with one descriptor or none. */
static void arm_samplers(struct st_rendezvous *rendezvous, int fd)
{
	struct st_shm_arm arm = {0};
	struct st_shm_hello hello;
	struct st_arrival arrival;

	good_hello(rendezvous, &hello);
	arm.magic = ST_SHM_ARM_MAGIC;
	arm.layout_hash = ST_SHM_LAYOUT_HASH;
	memcpy(arm.token, hello.token, sizeof(arm.token));
	arm.rung = ST_RUNG_SIGTRAP;
	close(say_hello(rendezvous, (void *)&arm, sizeof(arm), fd, 1));
	assert_true(st_rendezvous_next(rendezvous, 4, &arrival));
	assert_true(arrival.arms && arrival.fd >= 0 && arrival.pidfd >= 0);
	assert_int_equal(arrival.arm.rung, ST_RUNG_SIGTRAP);
	close(arrival.fd);
	close(arrival.pidfd);
	close(say_hello(rendezvous, (void *)&arm, sizeof(arm), -1, 0));
	assert_true(st_rendezvous_next(rendezvous, 4, &arrival));
	assert_true(arrival.arms && arrival.fd == -1);
	close(arrival.pidfd);
	close(say_hello(rendezvous, (void *)&arm, sizeof(arm), fd, 2));
	close(say_hello(rendezvous, (void *)&arm, sizeof(hello), fd, 1));
	assert_false(st_rendezvous_next(rendezvous, 4, &arrival));
}

static void test_rendezvous(void **state)
{
	struct st_rendezvous *rendezvous;
	struct fake_segment segment;
	struct st_arrival arrival;
	struct st_shm_hello hello;
	struct st_error err = {0};
	char path[128];
	int before, fd, silent;

	(void)state;
	assert_true(fake_segment_create(&segment, 1, 4096));
	before = open_descriptors();
	assert_int_equal(st_rendezvous_create(&rendezvous, &err), ST_OK);
	snprintf(path, sizeof(path), "%s", st_rendezvous_path(rendezvous));
	good_hello(rendezvous, &hello);
	silent = say_hello(rendezvous, &hello, 0, -1, 0);
	assert_false(st_rendezvous_next(rendezvous, 1, &arrival));
	close(say_hello(rendezvous, &hello, sizeof(hello), segment.fd, 1));
	assert_true(st_rendezvous_next(rendezvous, 1, &arrival));
	assert_int_equal(arrival.pid, getpid());
	assert_int_equal(arrival.hello.process_token, 99);
	assert_true(arrival.fd >= 0 && arrival.pidfd >= 0);
	close(arrival.fd);
	close(arrival.pidfd);
	/* Refused, every descriptor closed: too many, none, too short, a wrong token. */
	close(say_hello(rendezvous, &hello, sizeof(hello), segment.fd, 2));
	close(say_hello(rendezvous, &hello, sizeof(hello), segment.fd, 8));
	close(say_hello(rendezvous, &hello, sizeof(hello), -1, 0));
	close(say_hello(rendezvous, &hello, sizeof(hello) - 8, segment.fd, 1));
	hello.token[3] ^= 1;
	close(say_hello(rendezvous, &hello, sizeof(hello), segment.fd, 1));
	assert_false(st_rendezvous_next(rendezvous, 2, &arrival));
	assert_int_equal(st_rendezvous_refused(rendezvous), 5);
	/* One that has no room to record into brings nothing, and nothing else does. */
	good_hello(rendezvous, &hello);
	hello.flags = ST_HELLO_NO_MEMORY;
	close(say_hello(rendezvous, &hello, sizeof(hello), segment.fd, 1));
	assert_false(st_rendezvous_next(rendezvous, 2, &arrival));
	assert_int_equal(st_rendezvous_refused(rendezvous), 6);
	close(say_hello(rendezvous, &hello, sizeof(hello), -1, 0));
	assert_true(st_rendezvous_next(rendezvous, 2, &arrival));
	assert_true(arrival.fd == -1 && arrival.hello.flags & ST_HELLO_NO_MEMORY);
	close(arrival.pidfd);
	hello.layout_hash++;
	fd = say_hello(rendezvous, &hello, 24, segment.fd, 1);
	assert_true(st_rendezvous_next(rendezvous, 3, &arrival));
	assert_true(arrival.layout_differs);
	close(fd);
	arm_samplers(rendezvous, segment.fd);
	assert_int_equal(st_rendezvous_refused(rendezvous), 8);
	/* One that says nothing is dropped after five seconds. */
	assert_false(st_rendezvous_next(rendezvous, 6000000000u, &arrival));
	assert_int_equal(st_rendezvous_refused(rendezvous), 9);
	close(silent);
	st_rendezvous_destroy(rendezvous);
	assert_int_equal(open_descriptors(), before);
	assert_int_not_equal(access(path, F_OK), 0);
	fake_segment_destroy(&segment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_ids),    cmocka_unit_test(test_elf_look),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_find_program),
		cmocka_unit_test(test_wall_clock),  cmocka_unit_test(test_clock),
		cmocka_unit_test(test_rendezvous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
