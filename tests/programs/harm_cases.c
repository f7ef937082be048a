// SPDX-License-Identifier: Apache-2.0
//
// A program in situations where a careless collector would kill or disturb it. Each case sets up its
// situation, records tasks in it, and says on stdout that it lived through it.
// usage: harm_cases CASE [PROGRAM]
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "itt_static_part.h"

enum {
	MANY_VARIABLES = 5000,
	MANY_THREADS = 70,
	MANY_CHILDREN = 100,
	FILTER_MAX = 32,
	MANY_KIB = 8192,
	MANY_COUNTERS = 10000,
	COUNTERS_AT_ONCE = 100,
	COUNTER_NAME_BYTES = 1900,
};

extern char **environ;

static struct itt_domain *domain;
static const char *program;

static void record(const char *name)
{
	struct itt_string_handle *handle;

	if (!domain)
		domain = itt_domain_create("harm");
	handle = itt_string_handle_create(name);
	for (int i = 0; i < 10; i++) {
		itt_task_begin(domain, handle);
		itt_task_end(domain);
	}
}

static int say(const char *text)
{
	size_t length = strlen(text);

	return write(1, text, length) == (ssize_t)length ? 0 : 1;
}

static int limit(int resource, rlim_t value)
{
	const struct rlimit both = {value, value};

	if (setrlimit(resource, &both))
		return 2;
	record("limited");
	return say("alive\n");
}

static int limit_files(void)
{
	return limit(RLIMIT_FSIZE, 1 << 20);
}

static int limit_files_a_little(void)
{
	return limit(RLIMIT_FSIZE, 16 << 20);
}

/* Most of the limit is the program's own need. */
static int limit_memory(int resource)
{
	const size_t all = 256ul << 20, need = 216ul << 20;
	const struct rlimit both = {all, all};

	if (setrlimit(resource, &both))
		return 2;
	record("limited");
	if (mmap(NULL, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED)
		return say("no memory left\n");
	return say("alive\n");
}

static int limit_address_space(void)
{
	return limit_memory(RLIMIT_AS);
}

static int limit_data(void)
{
	return limit_memory(RLIMIT_DATA);
}

static int limit_descriptors(void)
{
	return limit(RLIMIT_NOFILE, 3);
}

static long status_kib(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	long value = -1;
	char line[128];

	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			value = strtol(line + strlen(name), NULL, 10);
	if (file)
		fclose(file);
	return value;
}

/* A real-time program locks all its memory, also what is mapped later: that must stay little. */
static int locked_memory(void)
{
	long before;

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return say("no right to lock\n");
	before = status_kib("VmRSS:");
	record("locked");
	return say(status_kib("VmRSS:") - before < MANY_KIB ? "little\n" : "much\n");
}

/* All of them alive at the same time: none leaves before the last has recorded. */
static int many_children(void)
{
	int ready[2], leave[2], status, failed = 0;
	char byte = 0;

	if (pipe(ready) || pipe(leave))
		return 2;
	for (int i = 0; i < MANY_CHILDREN; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 3;
		if (pid == 0) {
			close(leave[1]);
			record("child");
			_exit(write(ready[1], &byte, 1) != 1 || read(leave[0], &byte, 1) != 0);
		}
	}
	for (int i = 0; i < MANY_CHILDREN; i++)
		failed += read(ready[0], &byte, 1) != 1;
	close(leave[1]);
	while (wait(&status) > 0)
		failed += status != 0;
	return failed ? 4 : say("alive\n");
}

/* What a collector needs to meet its server, none of which this program calls. */
static const unsigned int forbidden[] = {
	SYS_memfd_create, SYS_socket,	   SYS_connect,	   SYS_sendmsg, SYS_ftruncate,
	SYS_gettid,	  SYS_sched_yield, SYS_getsockopt, SYS_fchmod,
};

static int install_filter(void)
{
	struct sock_filter code[FILTER_MAX] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog whole = {.filter = code};
	unsigned short used = 1;

	for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++) {
		code[used++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[i], 0, 1);
		code[used++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	whole.len = used;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 2;
	if (getenv("HARM_RAW"))
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &whole) ? 2 : 0;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) ? 2 : 0;
}

static int filter_first(void)
{
	int failed = install_filter();

	record("filtered");
	return failed ? failed : say("alive\n");
}

static void *record_in_thread(void *name)
{
	record(name);
	return NULL;
}

/* More new threads at a time than the first segment has room for, then a forked child. */
static int filter_later(void)
{
	pthread_t threads[MANY_THREADS];
	int status;

	record("before");
	if (install_filter())
		return 2;
	record("after");
	for (int i = 0; i < MANY_THREADS; i++)
		pthread_create(&threads[i], NULL, record_in_thread, "in a thread");
	for (int i = 0; i < MANY_THREADS; i++)
		pthread_join(threads[i], NULL);
	if (!fork()) {
		record("in a child");
		_exit(say("child alive\n"));
	}
	if (wait(&status) < 0 || status)
		return 3;
	return say("alive\n");
}

/* Strict mode also takes the cycle counter away: reading it is a SIGSEGV. */
static int strict(void)
{
	itt_task_begin(itt_domain_create("open"), itt_string_handle_create("open"));
	record("before");
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 2;
	record("before");
	itt_task_end(domain);
	say("alive\n");
	syscall(SYS_exit, 0);
	return 3;
}

static int no_counter(void)
{
	record("before");
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return 2;
	record("before");
	return say("alive\n");
}

static int many_variables(void)
{
	static char text[MANY_VARIABLES][16], *variables[MANY_VARIABLES + 2];
	char *argv[] = {(char *)program, NULL};

	for (int i = 0; i < MANY_VARIABLES; i++) {
		snprintf(text[i], sizeof(text[i]), "V%d=1", i);
		variables[i] = text[i];
	}
	for (char **one = environ; *one; one++)
		if (!strncmp(*one, "LD_PRELOAD=", 11))
			variables[MANY_VARIABLES] = *one;
	execve(program, argv, variables);
	return 2;
}

/* The path means something only in the folder that the child will be in. */
static int spawn_elsewhere(void)
{
	static char folder[4096];
	char *slash, name[256], *argv[] = {name, NULL};
	posix_spawn_file_actions_t actions;
	int status;
	pid_t pid;

	snprintf(folder, sizeof(folder), "%s", program);
	slash = strrchr(folder, '/');
	if (!slash || chdir("/"))
		return 2;
	snprintf(name, sizeof(name), "./%s", slash + 1);
	*slash = '\0';
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, folder);
	if (posix_spawn(&pid, name, &actions, NULL, argv, environ) || wait(&status) != pid)
		return 3;
	return status ? 4 : 0;
}

static void *exec_in_thread(void *unused)
{
	record("small");
	execl(program, program, (char *)NULL);
	return unused;
}

static int small_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
	if (pthread_create(&thread, &attributes, exec_in_thread, NULL))
		return 2;
	pthread_join(thread, NULL);
	return 3;
}

/* LTP-like: the kernel answers EFAULT; whoever looks first must not do worse. */
static int bad_pointers(void)
{
	char *argv[] = {"x", NULL};
	int bad = 0;

	bad += execve((const char *)8, argv, environ) != -1 || errno != EFAULT;
	bad += fexecve(-1, argv, environ) != -1 || errno != EINVAL;
	return bad ? 2 : say("alive\n");
}

/* More counters than are kept apart, with names that would fill all the memory there is for names. */
static int many_counters(void)
{
	void *(*create)(const char *, const char *) =
		ITT_CALL(void *(*)(const char *, const char *), counter_create);
	void (*inc)(void *) = ITT_CALL(void (*)(void *), counter_inc);
	char name[COUNTER_NAME_BYTES + 16];

	memset(name, 'c', COUNTER_NAME_BYTES);
	for (int i = 0; create && inc && i < MANY_COUNTERS; i++) {
		void *counter;

		snprintf(name + COUNTER_NAME_BYTES, sizeof(name) - COUNTER_NAME_BYTES, "%d", i);
		counter = create(name, "many");
		/* Definitions are not to be dropped: strata gets time to take them. */
		if (i % COUNTERS_AT_ONCE == 0)
			usleep(1000);
		inc(counter);
	}
	record("after counters");
	record("after counters, too");
	return say("alive\n");
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{"limit-files", limit_files},
	{"limit-files-a-little", limit_files_a_little},
	{"limit-address-space", limit_address_space},
	{"limit-data", limit_data},
	{"limit-descriptors", limit_descriptors},
	{"locked-memory", locked_memory},
	{"many-children", many_children},
	{"filter-first", filter_first},
	{"filter-later", filter_later},
	{"strict", strict},
	{"no-counter", no_counter},
	{"many-variables", many_variables},
	{"small-stack", small_stack},
	{"spawn-elsewhere", spawn_elsewhere},
	{"bad-pointers", bad_pointers},
	{"many-counters", many_counters},
};

int main(int argc, char **argv)
{
	if (argc < 2)
		return 99;
	itt_part_load();
	program = argc > 2 ? argv[2] : "/bin/true";
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name))
			return cases[i].run();
	return 99;
}
