/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that wait in functions which call the waiting ones inside of the C library, and in less usual ways; six that take
 * turns; a convoy; a mutex held while a file is written. Each measures its own calls (wait_told.h).
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "wait_told.h"

enum { ROUNDS = 20, TURNS = 6 };

static void run(void *(*body)(void *), int count)
{
	pthread_t threads[TURNS];

	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, body, (void *)(long)i))
			exit(1);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* Two threads: the first has the thing, the second comes and waits for it until the first has had its rest. */
struct contest {
	const char *kind;
	void (*take)(void), (*give)(void), (*meanwhile)(void);
};
static const struct contest *contest;
static sem_t held, over;
static int owner;

static void short_rest(void)
{
	rest(3);
}

static void *contend(void *arg)
{
	for (int i = 0; i < ROUNDS / 2; i++) {
		long long begin;

		if (!arg) {
			contest->take();
			owner = tid();
			sem_post(&held);
			contest->meanwhile();
			contest->give();
			sem_wait(&over);
			continue;
		}
		sem_wait(&held);
		begin = begin_ns();
		contest->take();
		tell(contest->kind, begin, owner);
		contest->give();
		sem_post(&over);
	}
	return NULL;
}

static void hold_contest(struct contest made)
{
	contest = &made;
	if (sem_init(&held, 0, 0) || sem_init(&over, 0, 0))
		exit(1);
	run(contend, 2);
	contest = NULL;
}

/* --- C11 --- */

static mtx_t mutex;
static cnd_t condition;
static int items, producer;

static int produce(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		rest(2);
		mtx_lock(&mutex);
		items++;
		producer = tid();
		cnd_signal(&condition);
		mtx_unlock(&mutex);
	}
	rest(3);
	return 7;
}

static void c11(void)
{
	thrd_t thread;
	long long begin;
	int result;

	if (mtx_init(&mutex, mtx_plain) != thrd_success || cnd_init(&condition) != thrd_success ||
	    thrd_create(&thread, produce, NULL) != thrd_success)
		exit(1);
	mtx_lock(&mutex);
	for (int i = 0; i < ROUNDS; i++) {
		while (!items) {
			begin = begin_ns();
			cnd_wait(&condition, &mutex);
			tell("Condition Variable", begin, producer);
		}
		items--;
	}
	mtx_unlock(&mutex);
	begin = begin_ns();
	thrd_join(thread, &result);
	tell("Thread Join", begin, 0);
	if (result != 7)
		exit(1);
}

static void take_mutex(void)
{
	mtx_lock(&mutex);
}

static void give_mutex(void)
{
	mtx_unlock(&mutex);
}

static void c11_rest(void)
{
	const struct timespec a_while = {0, 3000000};
	long long begin = begin_ns();

	thrd_sleep(&a_while, NULL);
	tell("Sleep", begin, 0);
}

/* --- spinning, and what is done once --- */

static pthread_spinlock_t spin;

static void take_spinning(void)
{
	pthread_spin_lock(&spin);
}

static void give_spinning(void)
{
	pthread_spin_unlock(&spin);
}

static pthread_once_t once[ROUNDS] = {[0 ... ROUNDS - 1] = PTHREAD_ONCE_INIT};
static sem_t doing;
static int round_now;

static void do_it(void)
{
	sem_post(&doing);
	rest(3);
}

/* The second comes when the first is at it. */
static void *do_once(void *arg)
{
	long long begin;

	if (!arg) {
		pthread_once(&once[round_now], do_it);
		return NULL;
	}
	sem_wait(&doing);
	begin = begin_ns();
	pthread_once(&once[round_now], do_it);
	tell("Once", begin, 0);
	return NULL;
}

/* --- streams, shells, locks of files --- */

static int ends[2];

static void *write_lines(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		rest(2);
		if (write(ends[1], "line\n", 5) != 5)
			exit(1);
	}
	return NULL;
}

static void *read_lines(void *arg)
{
	FILE *stream = fdopen(ends[0], "r");
	char line[16], *more = NULL;
	size_t size = 0;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		long long begin = begin_ns();

		if (i % 3 == 0	 ? !fgets(line, sizeof(line), stream)
		    : i % 3 == 1 ? fread(line, 1, 5, stream) != 5
				 : getline(&more, &size, stream) != 5)
			exit(1);
		tell("Read", begin, 0);
	}
	free(more);
	fclose(stream);
	return NULL;
}

static void *stream_lines(void *arg)
{
	return arg ? write_lines(arg) : read_lines(arg);
}

static void shells(void)
{
	long long begin = begin_ns();
	FILE *pipe_of;

	if ((system)("sleep 0.02")) /* NOLINT(cert-env33-c) */
		exit(1);
	tell("Child Process", begin, 0);
	pipe_of = (popen)("sleep 0.02", "r"); /* NOLINT(cert-env33-c) */
	if (!pipe_of)
		exit(1);
	begin = begin_ns();
	if (pclose(pipe_of))
		exit(1);
	tell("Child Process", begin, 0);
}

static const char *path;

static _Thread_local int file = -1; /* a lock of a file is of an open file */

static void take_file(void)
{
	if (file < 0)
		file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (flock(file, LOCK_EX))
		exit(1);
}

static void give_file(void)
{
	flock(file, LOCK_UN);
}

/* --- patterns of locks --- */

static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;

static void take_big(void)
{
	pthread_mutex_lock(&big);
}

static void give_big(void)
{
	pthread_mutex_unlock(&big);
}

/* The mutex is held until the file is on disk. */
static void write_file(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < 4; i++) {
		long long begin;

		if (write(fd, &i, sizeof(i)) != sizeof(i))
			exit(1);
		begin = begin_ns();
		fsync(fd);
		tell("File Sync", begin, 0);
	}
}

static pthread_mutex_t narrow = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t gate;

/* All want the same short section again and again; whoever has it first is slow. */
static void *convoy(void *arg)
{
	for (int i = 0; i < 200; i++) {
		bool slow = i % 50 == 0;
		long long begin;

		if (slow) /* nobody wants it yet */
			pthread_barrier_wait(&gate);
		if (slow && arg)
			pthread_barrier_wait(&gate);
		begin = begin_ns();
		pthread_mutex_lock(&narrow);
		tell("Mutex", begin, 0);
		if (slow && !arg) {
			pthread_barrier_wait(&gate);
			rest(3);
		}
		pthread_mutex_unlock(&narrow);
	}
	return NULL;
}

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static int turn;

/* One works at a time, the others wait for their turn. */
static void *take_turns(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&table);
		while (turn % TURNS != (int)(long)arg) {
			long long begin = begin_ns();

			pthread_cond_wait(&next, &table);
			tell("Condition Variable", begin, 0);
		}
		pthread_mutex_unlock(&table);
		rest(1);
		pthread_mutex_lock(&table);
		turn++;
		pthread_cond_broadcast(&next);
		pthread_mutex_unlock(&table);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *which = argc > 2 ? argv[2] : "";

	path = argc > 1 ? argv[1] : "wait_inside.lock";
	if (pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) || pipe(ends) ||
	    pthread_barrier_init(&gate, NULL, 4) || sem_init(&doing, 0, 0))
		return 1;
	if (!strcmp(which, "turns")) {
		run(take_turns, TURNS);
	} else if (!strcmp(which, "convoy")) {
		run(convoy, 4);
	} else if (!strcmp(which, "io")) {
		hold_contest((struct contest){"Mutex", take_big, give_big, write_file});
	} else {
		c11();
		hold_contest((struct contest){"Mutex", take_mutex, give_mutex, c11_rest});
		hold_contest(
			(struct contest){"Spin Lock", take_spinning, give_spinning, short_rest});
		for (round_now = 0; round_now < ROUNDS / 2; round_now++)
			run(do_once, 2);
		run(stream_lines, 2);
		shells();
		hold_contest((struct contest){"File Lock", take_file, give_file, short_rest});
	}
	tell_all();
	return 0;
}
