// SPDX-License-Identifier: Apache-2.0
//
// Pairs of helpers, one as the program was started and watched, one plain. Each creates the same number of
// processes or threads and ends; the kernel tells what it used. A few rounds by turns are summed up: what neighbours
// cost the one they cost the other, and the program as well.
#include "collect/launch/run/creation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rt/clock.h"
#include "collect/host/perf_rings.h"
#include "collect/launch/family/family_state.h"

enum {
	ROUNDS = 5,
	PROCESSES = 16,
	THREADS = 600, /* more than there are places for stacks, which have to be looked for then */
	/* What may matter: a hundredth of the CPU time at a guess that is rather high. */
	PROCESS_GUESS_NS = 500000,
	THREAD_GUESS_NS = 20000,
	MATTERS_SHARE = 100,
	PROCESSES_MIN = 10,
	THREADS_MIN = 200,
	TIME_MAX_MS = 3000, /* no round goes on after it: the user waits */
	FAILED = 127,
};

static const char marker[] = "strata-creation";
static const char small_program[] = "/bin/true";

enum work { NO_THREADS, SOME_THREADS, SOME_PROCESSES, WORKS };

extern char **environ;

static void create_processes(char *const *environment)
{
	char *const argv[] = {(char *)small_program, NULL};

	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid;
		int status;

		if (posix_spawn(&pid, small_program, NULL, NULL, argv, environment) != 0)
			_exit(FAILED);
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
			_exit(FAILED);
	}
	_exit(0);
}

static _Noreturn void help(enum work work, char *const *environment, int go_fd)
{
	char count[16], go;
	char *const argv[] = {(char *)marker, count, NULL};
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (nothing < 0 || (nothing != fd && dup2(nothing, fd) < 0))
			_exit(FAILED);
	if (read(go_fd, &go, 1) != 1)
		_exit(FAILED);
	if (work == SOME_PROCESSES)
		create_processes(environment);
	snprintf(count, sizeof(count), "%d", work == SOME_THREADS ? THREADS : 0);
	execve("/proc/self/exe", argv, environment);
	_exit(FAILED);
}

struct waiting {
	int signal_fd;
	uint64_t until_ns;
};

/* Kills the helper when a signal came for strata, or when it is late. */
static void await(pid_t pid, const struct waiting *waiting)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[] = {{.fd = pidfd, .events = POLLIN},
			       {.fd = waiting->signal_fd, .events = POLLIN}};
	uint64_t now = st_clock_mono_raw_ns();
	int left_ms = now < waiting->until_ns ? (int)((waiting->until_ns - now) / 1000000) : 0;

	if (pidfd < 0 || poll(fds, 2, left_ms) <= 0 || fds[1].revents)
		kill(pid, SIGKILL);
	if (pidfd >= 0)
		close(pidfd);
}

/* CPU time of one helper with all it creates; 0 when it failed. */
static uint64_t use_of(enum work work, char *const *environment, bool watched,
		       const struct waiting *waiting)
{
	struct st_perf_rings *events = NULL;
	struct rusage usage = {0};
	int go[2], status = -1;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) != 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		help(work, environment, go[0]);
	}
	close(go[0]);
	if (pid > 0 && watched)
		events = st_family_perf_create(pid);
	if (pid > 0 && write(go[1], "g", 1) != 1)
		pid = kill(pid, SIGKILL) ? -1 : pid;
	close(go[1]);
	if (pid > 0)
		await(pid, waiting);
	while (pid > 0 && wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	st_perf_rings_destroy(events);
	if (pid <= 0 || status != 0)
		return 0;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

static bool matters(const struct st_creation *creation, uint64_t cpu_ns)
{
	if (creation->processes < PROCESSES_MIN && creation->threads < THREADS_MIN)
		return false;
	return creation->processes * PROCESS_GUESS_NS + creation->threads * THREAD_GUESS_NS >
	       cpu_ns / MATTERS_SHARE;
}

static uint64_t more(uint64_t with, uint64_t without)
{
	return with > without ? with - without : 0;
}

/* The constructors of a library that the user has preloaded may do anything: once in each process of the program. */
static bool user_preloads(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && preload[0];
}

/* CPU time of the helpers of each round, in order of size: the middle one counts, because a neighbour on the same core
 * can make a helper take three times as long. */
struct spent {
	uint64_t ns[WORKS][2][ROUNDS];
	unsigned int rounds;
};

static void put(uint64_t *sorted, unsigned int count, uint64_t value)
{
	for (; count && sorted[count - 1] > value; count--)
		sorted[count] = sorted[count - 1];
	sorted[count] = value;
}

static uint64_t middle(const struct spent *spent, enum work work, bool with)
{
	return spent->ns[work][with][spent->rounds / 2];
}

/* False, and nothing added, when a helper failed or was killed. */
static bool add_round(const struct st_creation *creation, char *const *environment,
		      const struct waiting *waiting, struct spent *spent)
{
	uint64_t used[WORKS][2] = {{0}};

	for (unsigned int i = 0; i < 2u * WORKS; i++) {
		enum work work = (enum work)(i / 2);
		bool with = i & 1;

		if (work == SOME_PROCESSES ? creation->processes < PROCESSES_MIN
					   : creation->threads < THREADS_MIN)
			continue;
		used[work][with] = use_of(work, with ? environment : environ, with, waiting);
		if (!used[work][with])
			return false;
	}
	for (unsigned int i = 0; i < 2u * WORKS; i++)
		put(spent->ns[i / 2][i & 1], spent->rounds, used[i / 2][i & 1]);
	spent->rounds++;
	return true;
}

void st_creation_measure(struct st_creation *creation, char *const *environment, uint64_t cpu_ns,
			 int signal_fd)
{
	struct waiting waiting = {signal_fd,
				  st_clock_mono_raw_ns() + (uint64_t)TIME_MAX_MS * 1000000u};
	struct spent spent = {0};

	if (!cpu_ns || user_preloads() || !matters(creation, cpu_ns))
		return;
	while (spent.rounds < ROUNDS && add_round(creation, environment, &waiting, &spent))
		;
	if (!spent.rounds)
		return;
	creation->process_ns =
		more(middle(&spent, SOME_PROCESSES, true), middle(&spent, SOME_PROCESSES, false)) /
		PROCESSES;
	creation->thread_ns =
		more(more(middle(&spent, SOME_THREADS, true), middle(&spent, NO_THREADS, true)),
		     more(middle(&spent, SOME_THREADS, false), middle(&spent, NO_THREADS, false))) /
		THREADS;
}

bool st_creation_is_asked(int argc, char *const *argv)
{
	return argc == 2 && strcmp(argv[0], marker) == 0;
}

static void *do_nothing(void *arg)
{
	return arg;
}

int st_creation_run(char *const *argv)
{
	for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, do_nothing, NULL))
			return FAILED;
		pthread_join(thread, NULL);
	}
	return 0;
}
