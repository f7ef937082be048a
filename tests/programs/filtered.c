/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program under a seccomp filter: filtered eperm|kill CALL … -- program [arguments]. The named
 * system calls are refused with EPERM, or kill the process that makes one.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS_MAX = 8 };

static const struct {
	const char *name;
	unsigned int number;
} known[] = {
	{"perf_event_open", SYS_perf_event_open},
	{"memfd_create", SYS_memfd_create},
	{"socket", SYS_socket},
	{"process_vm_readv", SYS_process_vm_readv},
	{"process_vm_writev", SYS_process_vm_writev},
};

static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0)
			return (int)known[i].number;
	return -1;
}

int main(int argc, char **argv)
{
	struct sock_filter code[2 * CALLS_MAX + 2];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;
	unsigned int action;
	int at = 2;

	if (argc < 4)
		return 2;
	action =
		strcmp(argv[1], "kill") == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (; at < argc && strcmp(argv[at], "--") != 0 && at - 2 < CALLS_MAX; at++) {
		int number = number_of(argv[at]);

		if (number < 0) {
			fprintf(stderr, "filtered: unknown call %s\n", argv[at]);
			return 2;
		}
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned int)number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	if (at + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("filtered");
		return 2;
	}
	execvp(argv[at + 1], argv + at + 1);
	perror("filtered");
	return 127;
}
