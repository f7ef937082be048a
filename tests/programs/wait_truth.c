/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that wait in every way there is in pthreads and system calls, each measuring its own calls (wait_told.h).
 */
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wait_told.h"

enum { ROUNDS = 25, THREADS = 3, CHILDREN = 5 };

static void run(void *(*body)(void *), int count)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, body, (void *)(long)i))
			exit(1);
	for (int i = 0; i < count; i++) {
		long long begin = begin_ns();

		pthread_join(threads[i], NULL);
		tell("Thread Join", begin, 0);
	}
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int owner;

static void *contend(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		long long begin = begin_ns();

		pthread_mutex_lock(&mutex);
		tell("Mutex", begin, owner);
		owner = tid();
		rest(1);
		pthread_mutex_unlock(&mutex);
		rest(1);
	}
	return NULL;
}

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int items, producer;

static void *produce_and_consume(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (arg) {
			rest(2);
			pthread_mutex_lock(&guard);
			items++;
			producer = tid();
			pthread_cond_signal(&condition);
			pthread_mutex_unlock(&guard);
			continue;
		}
		pthread_mutex_lock(&guard);
		while (!items) {
			long long begin = begin_ns();

			pthread_cond_wait(&condition, &guard);
			tell("Condition Variable", begin, producer);
		}
		items--;
		pthread_mutex_unlock(&guard);
	}
	return NULL;
}

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *read_and_write(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		long long begin = begin_ns();

		if (arg)
			pthread_rwlock_rdlock(&lock);
		else
			pthread_rwlock_wrlock(&lock);
		tell("Reader/Writer Lock", begin, 0);
		rest(arg ? 1 : 2);
		pthread_rwlock_unlock(&lock);
		rest(1);
	}
	return NULL;
}

static pthread_barrier_t barrier;
static int last[ROUNDS];

static void *meet(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		bool is_last;
		long long begin;

		if (!arg)
			rest(3);
		begin = begin_ns();
		/* NOLINTNEXTLINE(bugprone-posix-return): this is the one that does. */
		is_last = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
		if (is_last)
			last[i] = tid();
		tell_of("Barrier", begin, is_last ? &nobody : &last[i]);
	}
	return NULL;
}

static sem_t semaphore;
static int poster;

static void *post_and_wait(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		long long begin;

		if (arg) {
			rest(2);
			poster = tid();
			sem_post(&semaphore);
			continue;
		}
		begin = begin_ns();
		sem_wait(&semaphore);
		tell("Semaphore", begin, poster);
	}
	return NULL;
}

static _Atomic unsigned int word;
static int setter;

static void *set_and_await(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (arg) {
			rest(2);
			setter = tid();
			atomic_store(&word, i + 1);
			syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
			continue;
		}
		while (atomic_load(&word) < i + 1) {
			long long begin = begin_ns();

			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
			tell("Futex", begin, setter);
		}
	}
	return NULL;
}

static int ends[2], sockets[2];

static void *send_and_receive(void *arg)
{
	char byte = 1;

	for (int i = 0; i < ROUNDS; i++) {
		long long begin;

		if (arg) {
			rest(2);
			if (write(ends[1], &byte, 1) != 1 || send(sockets[1], &byte, 1, 0) != 1)
				exit(1);
			continue;
		}
		begin = begin_ns();
		if (read(ends[0], &byte, 1) != 1)
			exit(1);
		tell("Read", begin, 0);
		begin = begin_ns();
		if (recv(sockets[0], &byte, 1, 0) != 1)
			exit(1);
		tell("Read", begin, 0);
	}
	return NULL;
}

static void poll_until_late(void)
{
	struct pollfd wanted = {.fd = ends[0], .events = POLLIN};

	for (int i = 0; i < ROUNDS; i++) {
		long long begin = begin_ns();

		poll(&wanted, 1, 2);
		tell("Poll", begin, 0);
	}
}

/* Several: on a busy machine one of them may be late. */
static void await_child(void)
{
	long long begin;
	pid_t child = fork();

	if (!child) {
		const struct timespec wanted = {0, 30000000 / CHILDREN};

		nanosleep(&wanted, NULL);
		_exit(0);
	}
	begin = begin_ns();
	waitpid(child, NULL, 0);
	tell("Child Process", begin, 0);
}

int main(void)
{
	if (pthread_barrier_init(&barrier, NULL, THREADS) || sem_init(&semaphore, 0, 0) ||
	    pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	run(contend, THREADS);
	run(produce_and_consume, 2);
	run(read_and_write, THREADS);
	run(meet, THREADS);
	run(post_and_wait, 2);
	run(set_and_await, 2);
	run(send_and_receive, 2);
	poll_until_late();
	for (int i = 0; i < CHILDREN; i++)
		await_child();
	tell_all();
	return 0;
}
