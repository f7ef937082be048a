/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket of "strata -command": good requests come through whole, whatever else comes is answered
 * with an error, clients that say nothing are dropped, and nothing stays behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/launch/run/control.h"

static const uint64_t second_ns = 1000000000u;
static const char id_hex[] = "00112233445566778899aabbccddeeff";

struct fixture {
	char folder[64];
	char head[128]; /* of a good request */
	struct st_control *control;
	int folder_fd;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct stat about;

	assert_non_null(f);
	snprintf(f->folder, sizeof(f->folder), "/tmp/test_control-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	assert_int_equal(stat(f->folder, &about), 0);
	snprintf(f->head, sizeof(f->head), "%s %llu %llu ", ST_CONTROL_PROTOCOL,
		 (unsigned long long)about.st_dev, (unsigned long long)about.st_ino);
	assert_int_equal(st_control_create(&f->control, f->folder, id_hex, NULL), ST_OK);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	st_control_destroy(f->control);
	/* Fails when the socket is still there. */
	assert_int_equal(rmdir(f->folder), 0);
	free(f);
	return 0;
}

static int client(const struct fixture *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", f->folder);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Sends bytes and expects them to be refused with this sentence. */
static void refused(struct fixture *f, const void *bytes, size_t size, const char *sentence)
{
	struct st_control_request request;
	char answer[256] = "", expected[256];
	int fd = client(f);

	assert_int_equal(send(fd, bytes, size, 0), size);
	assert_false(st_control_next(f->control, second_ns, &request));
	assert_true(recv(fd, answer, sizeof(answer) - 1, 0) > 0);
	snprintf(expected, sizeof(expected), "error %s", sentence);
	assert_string_equal(answer, expected);
	close(fd);
}

static void test_request(void **state)
{
	struct fixture *f = *state;
	struct st_control_request request;
	char packet[256], answer[256] = "";
	int fd = client(f);

	snprintf(packet, sizeof(packet), "%smark epoch 3", f->head);
	assert_true(send(fd, packet, strlen(packet), 0) > 0);
	assert_true(st_control_next(f->control, second_ns, &request));
	assert_string_equal(request.verb, "mark");
	assert_string_equal(request.text, "epoch 3");
	st_control_answer(f->control, true, "marked");
	assert_int_equal(recv(fd, answer, sizeof(answer), 0), strlen("ok marked"));
	assert_string_equal(answer, "ok marked");
	assert_int_equal(recv(fd, answer, sizeof(answer), 0), 0);
	assert_false(st_control_next(f->control, second_ns, &request));
	close(fd);
}

static void test_refusals(void **state)
{
	static const char version[] = "this version of strata does not know this command";
	static char big[ST_CONTROL_REQUEST_MAX + 100];
	struct fixture *f = *state;
	size_t head = strlen(f->head);

	refused(f, "x", 1, version);
	refused(f, "\0\0\0", 3, version);
	refused(f, f->head, head, version);
	refused(f, f->head, 20, version);
	refused(f, "strata.command/1 1 1 stop", 25,
		"this folder is a copy: the collection writes to a different folder");
	refused(f, "strata.command/1 99999999999999999999999 1 stop", 47, version);
	memcpy(big, f->head, head);
	memset(big + head, 'v', sizeof(big) - head);
	refused(f, big, head + 40, version);
	refused(f, big, sizeof(big), "the text is too long");
	memcpy(big + head, "mark ", 5);
	refused(f, big, head + 5 + ST_CONTROL_TEXT_MAX + 1, "the text is too long");
	big[head + 10] = '\0';
	refused(f, big, head + 20, version);
}

/* Clients that connect and wait keep others out only for a while. */
static void test_silent_clients(void **state)
{
	struct fixture *f = *state;
	struct st_control_request request;
	int fds[20];
	char packet[256], answer[256] = "";

	for (int i = 0; i < 20; i++)
		fds[i] = client(f);
	assert_false(st_control_next(f->control, second_ns, &request));
	assert_false(st_control_next(f->control, second_ns, &request));
	assert_true(recv(fds[19], answer, sizeof(answer), 0) > 0);
	assert_non_null(strstr(answer, "too many commands"));
	assert_int_equal(recv(fds[0], answer, sizeof(answer), MSG_DONTWAIT), -1);
	assert_false(st_control_next(f->control, 7 * second_ns, &request));
	assert_int_equal(recv(fds[0], answer, sizeof(answer), 0), 0);
	for (int i = 0; i < 20; i++)
		close(fds[i]);
	fds[0] = client(f);
	snprintf(packet, sizeof(packet), "%sstop", f->head);
	assert_true(send(fds[0], packet, strlen(packet), 0) > 0);
	assert_true(st_control_next(f->control, 8 * second_ns, &request));
	assert_string_equal(request.text, "");
	st_control_answer(f->control, false, "no");
	close(fds[0]);
}

static void test_a_client_that_is_gone(void **state)
{
	struct fixture *f = *state;
	struct st_control_request request;
	char packet[256];
	int fd = client(f);

	snprintf(packet, sizeof(packet), "%sstatus", f->head);
	assert_true(send(fd, packet, strlen(packet), 0) > 0);
	close(fd);
	assert_true(st_control_next(f->control, second_ns, &request));
	st_control_answer(f->control, true, "nobody reads this");
	st_control_answer(f->control, true, "nor this");
	assert_false(st_control_next(f->control, second_ns, &request));
}

/* Where the name is taken, or the file system has no sockets, the result's id is the name. */
static void test_abstract(void **state)
{
	struct fixture *f = *state;
	struct st_control *second = NULL;
	struct st_control_request request;
	struct sockaddr_un address;
	socklen_t size = st_control_abstract_address(&address, id_hex);
	char packet[256];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(st_control_create(&second, f->folder, id_hex, NULL), ST_OK);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
	snprintf(packet, sizeof(packet), "%sresume", f->head);
	assert_true(send(fd, packet, strlen(packet), 0) > 0);
	assert_false(st_control_next(f->control, second_ns, &request));
	assert_true(st_control_next(second, second_ns, &request));
	assert_string_equal(request.verb, "resume");
	close(fd);
	st_control_destroy(second); /* leaves the first one's file alone */
	close(client(f));
}

static void test_no_descriptors(void **state)
{
	struct rlimit before, none;
	struct st_control *control = NULL;
	struct st_error err = {0};

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(st_control_create(&control, "/tmp", id_hex, &err), ST_EIO);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_null(control);
	assert_true(err.text[0] != '\0');
	assert_int_equal(st_control_create(&control, "/nonexistent", id_hex, &err), ST_EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_silent_clients, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_client_that_is_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_abstract, set_up, tear_down),
		cmocka_unit_test(test_no_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
