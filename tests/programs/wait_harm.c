/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything about waiting functions that a library in front of them could get wrong. Prints what each gave back; the output is
 * the same in every run.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* A condition variable of programs that were linked long ago: a pointer. */
int old_cond_wait(void *condition, pthread_mutex_t *mutex);
int old_cond_signal(void *condition);
__asm__(".symver old_cond_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_cond_signal, pthread_cond_signal@GLIBC_2.2.5");

enum { UNTOUCHED = 4242 };

static void say(const char *what, long result)
{
	int number = errno;

	printf("%s: %ld %s\n", what, result, number == UNTOUCHED ? "-" : strerrorname_np(number));
	errno = UNTOUCHED;
}

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec at;

	clock_gettime(clock, &at);
	at.tv_nsec += ms * 1000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

/* --- signals --- */

static volatile sig_atomic_t signals;
static int ends[2];

static void on_signal(int number)
{
	(void)number;
	signals++;
}

/* Has data come, for a call that goes on after a signal. */
static void on_signal_write(int number)
{
	ssize_t ignored = write(ends[1], "x", 1);

	(void)number;
	(void)ignored;
	signals++;
}

static void handle(void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(SIGALRM, &action, NULL);
}

/* Again and again: the first one may come before the call that it is for. */
static void alarm_soon(void)
{
	const struct itimerval soon = {.it_value = {0, 20000}, .it_interval = {0, 20000}};

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void no_alarm(void)
{
	const struct itimerval never_again = {.it_value = {0, 0}};

	setitimer(ITIMER_REAL, &never_again, NULL);
}

static sigjmp_buf out;

static void jump_out(int number)
{
	(void)number;
	siglongjmp(out, 1);
}

static void interrupted(void)
{
	struct pollfd wanted;
	struct pollfd *volatile nowhere = (struct pollfd *)8;
	const struct timespec minute = {60, 0};
	struct timespec left = {0};
	sem_t semaphore;
	fd_set set;
	char byte;
	int epoll = epoll_create1(0);
	struct epoll_event event;

	if (pipe(ends) || sem_init(&semaphore, 0, 0))
		exit(1);
	wanted = (struct pollfd){.fd = ends[0], .events = POLLIN};
	handle(on_signal, 0);
	errno = UNTOUCHED;
	alarm_soon();
	say("read, interrupted", read(ends[0], &byte, 1));
	alarm_soon();
	say("nanosleep, interrupted", nanosleep(&minute, &left));
	say("it has time left", left.tv_sec == 59);
	alarm_soon();
	say("clock_nanosleep, interrupted", clock_nanosleep(CLOCK_MONOTONIC, 0, &minute, &left));
	alarm_soon();
	say("sleep, interrupted", sleep(60) > 50);
	alarm_soon();
	say("sem_wait, interrupted", sem_wait(&semaphore));
	alarm_soon();
	say("poll, interrupted", poll(&wanted, 1, 60000));
	alarm_soon();
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	say("select, interrupted", select(ends[0] + 1, &set, NULL, NULL, NULL));
	alarm_soon();
	say("epoll_wait, interrupted", epoll_wait(epoll, &event, 1, 60000));
	handle(on_signal_write, SA_RESTART);
	alarm_soon();
	say("read, restarted", read(ends[0], &byte, 1));
	no_alarm();
	say("signals", signals > 0);
	/* What the later signals wrote. */
	for (int left_over = poll(&wanted, 1, 0); left_over > 0; left_over = poll(&wanted, 1, 0))
		if (read(ends[0], &byte, 1) != 1)
			exit(1);
	handle(jump_out, 0);
	if (!sigsetjmp(out, 1)) {
		alarm_soon();
		say("read, left behind", read(ends[0], &byte, 1));
	}
	no_alarm();
	errno = UNTOUCHED;
	say("sem_post after a jump", sem_post(&semaphore));
	say("sem_wait after a jump", sem_wait(&semaphore));
	say("poll of no list", poll(nowhere, 1, 10));
	say("read of no descriptor", read(-1, &byte, 1));
	say("poll, too late", poll(&wanted, 1, 5));
}

/* --- cancellation --- */

static sem_t never, always, held;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void clean_up(void *arg)
{
	printf("cleaned up: %s\n", (const char *)arg);
}

static void *wait_for_ever(void *arg)
{
	const char *how = arg;
	const struct timespec minute = {60, 0};
	char byte;

	pthread_cleanup_push(clean_up, arg);
	if (!strcmp(how, "sem_wait"))
		sem_wait(&never);
	else if (!strcmp(how, "sem_wait that never blocks"))
		for (;;) {
			sem_post(&always);
			sem_wait(&always);
		}
	else if (!strcmp(how, "read") && read(ends[0], &byte, 1) < 0)
		printf("read returned\n");
	else if (!strcmp(how, "nanosleep"))
		nanosleep(&minute, NULL);
	else if (!strcmp(how, "poll"))
		poll(NULL, 0, -1);
	else if (!strcmp(how, "pthread_cond_wait")) {
		pthread_mutex_lock(&mutex);
		pthread_cond_wait(&condition, &mutex);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancelled(void)
{
	static const char *const ways[] = {"sem_wait", "sem_wait that never blocks",
					   "read",     "nanosleep",
					   "poll",     "pthread_cond_wait"};

	sem_init(&never, 0, 0);
	sem_init(&always, 0, 0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, wait_for_ever, (void *)(uintptr_t)ways[i]);
		usleep(20000);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		printf("%s: %s\n", ways[i], result == PTHREAD_CANCELED ? "cancelled" : "ended");
	}
	errno = UNTOUCHED;
	/* The cancelled wait for the condition had its mutex again. */
	say("trylock of the mutex", pthread_mutex_trylock(&mutex));
}

/* --- kinds of mutexes, and times --- */

static void *lock_and_die(void *arg)
{
	pthread_mutex_lock(arg);
	return NULL;
}

static pthread_mutex_t *make(int type, int robust, int protocol)
{
	static pthread_mutex_t made;
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setrobust(&attributes, robust);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutex_init(&made, &attributes);
	return &made;
}

static void kinds(void)
{
	pthread_mutex_t *made =
		make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	struct timespec soon, wrong = {0, 1000000000};
	pthread_t thread;

	errno = UNTOUCHED;
	say("unlock of another's", pthread_mutex_unlock(made));
	say("lock", pthread_mutex_lock(made));
	say("lock again", pthread_mutex_lock(made));
	say("unlock", pthread_mutex_unlock(made));
	made = make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	say("recursive", pthread_mutex_lock(made));
	say("recursive again", pthread_mutex_lock(made));
	say("recursive unlock", pthread_mutex_unlock(made));
	say("recursive unlock again", pthread_mutex_unlock(made));
	say("recursive unlock too often", pthread_mutex_unlock(made));
	made = make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	pthread_create(&thread, NULL, lock_and_die, made);
	pthread_join(thread, NULL);
	errno = UNTOUCHED;
	say("robust, owner dead", pthread_mutex_lock(made));
	say("unlock without consistency", pthread_mutex_unlock(made));
	say("robust, lost", pthread_mutex_lock(made));
	made = make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	say("inherits priorities", pthread_mutex_lock(made));
	say("inherits priorities, unlock", pthread_mutex_unlock(made));
	made = make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_PROTECT);
	say("protects by priority", pthread_mutex_lock(made));
	say("protects by priority, unlock", pthread_mutex_unlock(made));
	made = make(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	soon = in_ms(CLOCK_REALTIME, 10);
	say("adaptive", pthread_mutex_lock(made));
	say("adaptive, timedlock", pthread_mutex_timedlock(made, &soon));
	say("adaptive, unlock", pthread_mutex_unlock(made));
	soon = in_ms(CLOCK_REALTIME, 10);
	pthread_mutex_lock(&mutex);
	say("timedlock", pthread_mutex_timedlock(&mutex, &soon));
	say("timedlock, wrong time", pthread_mutex_timedlock(&mutex, &wrong));
	soon = in_ms(CLOCK_MONOTONIC, 10);
	say("clocklock", pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &soon));
	say("clocklock, no clock", pthread_mutex_clocklock(&mutex, 77, &soon));
	soon = in_ms(CLOCK_REALTIME, 10);
	say("cond_timedwait", pthread_cond_timedwait(&condition, &mutex, &soon));
	soon = in_ms(CLOCK_MONOTONIC, 10);
	say("cond_clockwait", pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &soon));
	pthread_mutex_unlock(&mutex);
	soon = in_ms(CLOCK_REALTIME, 10);
	say("sem_timedwait", sem_timedwait(&never, &soon));
	say("sem_timedwait, wrong time", sem_timedwait(&never, &wrong));
	sem_init(&always, 0, 1);
	say("sem_timedwait, wrong time, not needed", sem_timedwait(&always, &wrong));
	say("sem_wait, at once", sem_wait(&always));
}

/* --- other things --- */

static int old_condition_is_set;
static void *old_condition;

static void *signal_old(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&mutex);
	old_condition_is_set = 1;
	old_cond_signal(&old_condition);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *hold(void *arg)
{
	pthread_mutex_lock(arg);
	sem_post(&held);
	sem_wait(&never);
	pthread_mutex_unlock(arg);
	return NULL;
}

static void families(void)
{
	char *const words[] = {"true", NULL};
	pthread_t thread;
	int status = 0;
	pid_t child;

	sem_init(&held, 0, 0);
	pthread_create(&thread, NULL, hold, &mutex);
	sem_wait(&held);
	fflush(stdout);
	child = fork();
	if (!child) {
		/* The lock is held for ever here. */
		struct timespec soon = in_ms(CLOCK_REALTIME, 10);

		_exit(pthread_mutex_timedlock(&mutex, &soon) == ETIMEDOUT ? 7 : 8);
	}
	waitpid(child, &status, 0);
	errno = UNTOUCHED;
	say("child of a fork with a lock held", WEXITSTATUS(status));
	sem_post(&never);
	pthread_join(thread, NULL);
	child = vfork();
	if (!child) {
		execvp(words[0], words);
		_exit(127);
	}
	errno = UNTOUCHED;
	say("waitpid of a vfork", waitpid(child, &status, 0) == child);
	say("its status", status);
	say("posix_spawn", posix_spawnp(&child, words[0], NULL, NULL, words, environ));
	say("wait", wait(&status) == child);
	say("wait for nobody", waitpid(-1, &status, 0));
}

static void calls(void)
{
	unsigned int word = 1;
	const struct timespec soon = {0, 5000000};
	void *at = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				   0);

	errno = UNTOUCHED;
	say("mmap by syscall", at != MAP_FAILED);
	say("no such call", syscall(100000));
	say("futex, not that value", syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0));
	say("futex, too late", syscall(SYS_futex, &word, FUTEX_WAIT, 1, &soon, NULL, 0));
	say("futex, nobody to wake", syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0));
	say("bits as the seventh argument",
	    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 1, NULL, NULL, 0));
}

int main(void)
{
	pthread_t thread;

	interrupted();
	cancelled();
	pthread_mutex_unlock(&mutex);
	kinds();
	families();
	calls();
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, signal_old, NULL);
	while (!old_condition_is_set)
		old_cond_wait(&old_condition, &mutex);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	printf("old condition variable: signalled\n");
	return 0;
}
