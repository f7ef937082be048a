// SPDX-License-Identifier: Apache-2.0
//
// Pairs of helpers, one as the program was started and watched, one plain. Each executes strata again, so that the
// collector is in it like in any program, creates some processes, some threads or nothing, and ends; the kernel tells
// what it used. The two of a pair run one after the other: what neighbours cost the one they cost the other. The pair in the
// middle of a few counts.
#include "collect/launch/run/creation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
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
	ROUNDS = 7,
	PROCESSES = 24,
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

enum work { NOTHING, SOME_THREADS, SOME_PROCESSES, WORKS };

static const char *const work_words[WORKS] = {"nothing", "threads", "processes"};

extern char **environ;

static _Noreturn void help(enum work work, char *const *environment, int go_fd)
{
	char go;
	char *const argv[] = {(char *)marker, (char *)work_words[work], NULL};
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (nothing < 0 || (nothing != fd && dup2(nothing, fd) < 0))
			_exit(FAILED);
	if (read(go_fd, &go, 1) != 1)
		_exit(FAILED);
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
	bool of_all;
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
		events = st_family_perf_create(pid, &of_all);
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

/* The constructors of a library that the user has preloaded may do anything: once in each process of the program. */
static bool user_preloads(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && preload[0];
}

/* By how much the watched helper of a pair used more, in order of size: the middle one counts, because a neighbour on the
 * same core can make a helper take three times as long. */
struct spent {
	int64_t more_ns[WORKS][ROUNDS];
	unsigned int rounds;
};

static void put(int64_t *sorted, unsigned int count, int64_t value)
{
	for (; count && sorted[count - 1] > value; count--)
		sorted[count] = sorted[count - 1];
	sorted[count] = value;
}

/* For each of `count`, without what the helper itself has cost more. */
static uint64_t each(const struct spent *spent, enum work work, int count)
{
	int64_t more = spent->more_ns[work][spent->rounds / 2] -
		       spent->more_ns[NOTHING][spent->rounds / 2];

	return more > 0 ? (uint64_t)(more / count) : 0;
}

static bool is_needed(const struct st_creation *creation, enum work work)
{
	switch (work) {
	case SOME_THREADS:
		return creation->threads >= THREADS_MIN;
	case SOME_PROCESSES:
		return creation->processes >= PROCESSES_MIN;
	default:
		return true;
	}
}

/* False, and nothing added, when a helper failed or was killed. */
static bool add_round(const struct st_creation *creation, char *const *environment,
		      const struct waiting *waiting, struct spent *spent)
{
	uint64_t used[WORKS][2] = {{0}};

	for (unsigned int i = 0; i < 2u * WORKS; i++) {
		enum work work = (enum work)(i / 2);
		/* By turns: who comes second finds a warmer cache. */
		bool with = (i + spent->rounds) & 1;

		if (!is_needed(creation, work))
			continue;
		used[work][with] = use_of(work, with ? environment : environ, with, waiting);
		if (!used[work][with])
			return false;
	}
	for (unsigned int i = 0; i < WORKS; i++)
		put(spent->more_ns[i], spent->rounds, (int64_t)(used[i][1] - used[i][0]));
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
	if (is_needed(creation, SOME_PROCESSES))
		creation->process_ns = each(&spent, SOME_PROCESSES, PROCESSES);
	if (is_needed(creation, SOME_THREADS))
		creation->thread_ns = each(&spent, SOME_THREADS, THREADS);
}

bool st_creation_is_asked(int argc, char *const *argv)
{
	return argc == 2 && strcmp(argv[0], marker) == 0;
}

static void *do_nothing(void *arg)
{
	return arg;
}

static bool create_thread(void)
{
	pthread_t thread;

	return !pthread_create(&thread, NULL, do_nothing, NULL) && !pthread_join(thread, NULL);
}

static bool create_process(void)
{
	char *const argv[] = {(char *)small_program, NULL};
	int status;
	pid_t pid;

	return !posix_spawn(&pid, small_program, NULL, NULL, argv, environ) &&
	       waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

int st_creation_run(char *const *argv)
{
	bool threads = strcmp(argv[1], work_words[SOME_THREADS]) == 0;
	bool processes = strcmp(argv[1], work_words[SOME_PROCESSES]) == 0;

	for (int i = 0; threads && i < THREADS; i++)
		if (!create_thread())
			return FAILED;
	for (int i = 0; processes && i < PROCESSES; i++)
		if (!create_process())
			return FAILED;
	return 0;
}
