/* SPDX-License-Identifier: Apache-2.0
 *
 * What functions give back that wait inside of the C library, and handlers of signals that post while the thread waits: what a
 * library in front of them could get wrong. The output is the same in every run.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { UNTOUCHED = 4242 };

static void say(const char *what, long result)
{
	int number = errno;

	printf("%s: %ld %s\n", what, result, number == UNTOUCHED ? "-" : strerrorname_np(number));
	errno = UNTOUCHED;
}

static void c11(void)
{
	struct timespec soon, left = {0};
	const struct timespec wrong = {0, -1};
	mtx_t mutex, recursive;
	cnd_t condition;

	say("mtx_init", mtx_init(&mutex, mtx_timed));
	say("mtx_init recursive", mtx_init(&recursive, mtx_plain | mtx_recursive));
	say("cnd_init", cnd_init(&condition));
	say("recursive", mtx_lock(&recursive) + mtx_lock(&recursive));
	say("recursive unlock", mtx_unlock(&recursive) + mtx_unlock(&recursive));
	say("mtx_lock", mtx_lock(&mutex));
	say("mtx_trylock", mtx_trylock(&mutex));
	timespec_get(&soon, TIME_UTC);
	say("mtx_timedlock", mtx_timedlock(&mutex, &soon));
	say("cnd_timedwait", cnd_timedwait(&condition, &mutex, &soon));
	say("cnd_signal", cnd_signal(&condition));
	say("cnd_broadcast", cnd_broadcast(&condition));
	say("mtx_unlock", mtx_unlock(&mutex));
	say("thrd_sleep", thrd_sleep(&(struct timespec){0, 1000}, &left));
	say("thrd_sleep, wrong time", thrd_sleep(&wrong, &left));
}

static int once_count;

static void once_body(void)
{
	once_count++;
}

static void once_and_spin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	once_flag flag = ONCE_FLAG_INIT;
	pthread_spinlock_t spin;

	for (int i = 0; i < 3; i++) {
		say("pthread_once", pthread_once(&once, once_body));
		call_once(&flag, once_body);
	}
	say("bodies", once_count);
	say("spin init", pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
	say("spin lock", pthread_spin_lock(&spin));
	say("spin trylock", pthread_spin_trylock(&spin));
	say("spin unlock", pthread_spin_unlock(&spin));
}

static void streams(void)
{
	char path[] = "/tmp/wait_harm_XXXXXX", text[32] = "", *line = NULL;
	int fd = mkstemp(path);
	FILE *stream = fdopen(fd, "w+"), *volatile none = NULL;
	size_t size = 0;
	int other;

	fputs("one\ntwo\nthree", stream);
	rewind(stream);
	errno = UNTOUCHED;
	say("fgets", fgets(text, sizeof(text), stream) == text);
	say("getline", getline(&line, &size, stream));
	say("fgetc", fgetc(stream));
	say("getc", getc(stream));
	say("fread of less", (long)fread(text, 1, 16, stream));
	say("its end", feof(stream));
	say("fgets at the end", fgets(text, sizeof(text), stream) == NULL);
	say("getline at the end", getline(&line, &size, stream));
	say("getc at the end", getc(stream));
	say("fread of nothing", (long)fread(text, 0, 16, stream));
	say("fread of nothing of nobody", (long)fread(text, 0, 16, none));
	say("fgets of nothing of nobody", fgets(text, 0, none) == NULL);
	other = open(path, O_RDWR);
	say("flock", flock(fd, LOCK_EX));
	say("flock, not waited for", flock(other, LOCK_EX | LOCK_NB));
	say("flock of nothing", flock(-1, LOCK_EX));
	say("lockf", lockf(fd, F_LOCK, 0));
	say("preadv of nothing", preadv(-1, NULL, 0, 0));
	close(other);
	fclose(stream);
	unlink(path);
	free(line);
}

static void shells(void)
{
	FILE *shell;

	fflush(stdout);
	errno = UNTOUCHED;
	say("a shell", (system)("exit 3"));	       /* NOLINT(cert-env33-c) */
	say("a killed shell", (system)("kill -9 $$")); /* NOLINT(cert-env33-c) */
	say("is there a shell", (system)(NULL) != 0);  /* NOLINT(cert-env33-c) */
	shell = (popen)("exit 5", "r");		       /* NOLINT(cert-env33-c) */
	errno = UNTOUCHED;
	say("its end", pclose(shell));
}

/* --- handlers that post and lock --- */

static sem_t posted;
static pthread_mutex_t only_here = PTHREAD_MUTEX_INITIALIZER;

static void on_alarm(int number)
{
	(void)number;
	pthread_mutex_lock(&only_here); /* of nobody else's */
	pthread_mutex_unlock(&only_here);
	sem_post(&posted);
}

static void handlers(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval often = {.it_value = {0, 2000}, .it_interval = {0, 2000}};
	const struct itimerval never = {.it_value = {0, 0}};
	int got = 0;

	sem_init(&posted, 0, 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (got < 20)
		if (!sem_wait(&posted))
			got++;
		else if (errno != EINTR)
			break;
	setitimer(ITIMER_REAL, &never, NULL);
	errno = UNTOUCHED;
	say("posted by handlers", got);
}

/* --- a mutex that two processes share --- */

static void shared(void)
{
	pthread_mutexattr_t attributes;
	struct {
		pthread_mutex_t mutex;
		int value;
	} *both = mmap(NULL, sizeof(*both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);
	int status, done[2];
	char go;
	pid_t child;

	if (pipe(done))
		exit(1);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	errno = UNTOUCHED;
	say("shared init", pthread_mutex_init(&both->mutex, &attributes));
	fflush(stdout);
	child = fork();
	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&both->mutex);
		both->value++;
		pthread_mutex_unlock(&both->mutex);
	}
	if (!child) {
		close(done[1]);
		/* Not before the other one has counted. */
		if (read(done[0], &go, 1) < 0)
			_exit(1);
		pthread_mutex_lock(&both->mutex);
		_exit(0); /* and dies with it */
	}
	close(done[0]);
	close(done[1]);
	waitpid(child, &status, 0);
	errno = UNTOUCHED;
	say("counted by two", both->value);
	say("its owner is dead", pthread_mutex_lock(&both->mutex));
	say("consistent", pthread_mutex_consistent(&both->mutex));
	say("unlock", pthread_mutex_unlock(&both->mutex));
}

static void *die_holding(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

/* Whoever gets it from the dead and does not mend it makes it useless for all: nobody has it, and nobody waits for it. */
static void not_recoverable(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &attributes);
	pthread_create(&thread, NULL, die_holding, &mutex);
	pthread_join(thread, NULL);
	errno = UNTOUCHED;
	say("left by the dead", pthread_mutex_lock(&mutex));
	say("not mended", pthread_mutex_unlock(&mutex));
	for (int i = 0; i < 2; i++) {
		say("useless", pthread_mutex_lock(&mutex));
		say("not mine", pthread_mutex_unlock(&mutex));
	}
}

static void *die_waiting(void *arg)
{
	sem_t never;

	(void)arg;
	sem_init(&never, 0, 0);
	/* NOLINTNEXTLINE(cert-pos47-c,concurrency-thread-canceltype-asynchronous): that is the case. */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	sem_wait(&never);
	return NULL;
}

static void asynchronous(void)
{
	void *result = NULL;
	pthread_t thread;

	pthread_create(&thread, NULL, die_waiting, NULL);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	say("cancelled at any place", result == PTHREAD_CANCELED);
}

int main(void)
{
	errno = UNTOUCHED;
	c11();
	once_and_spin();
	streams();
	shells();
	handlers();
	shared();
	not_recoverable();
	asynchronous();
	return 0;
}
