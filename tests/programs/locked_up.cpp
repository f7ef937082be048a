/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that take from themselves what strata needs, and then wait and wake as before: "tsc" the cycle counter, "filter" all
 * system calls but a few, by the system call itself and without a word before (which takes root).
 */
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

/* Of CPU time, by a clock that needs no counter. */
static void burn(long ms)
{
	struct timespec begin, now;
	volatile long sum = 0;

	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		for (long i = 0; i < 100000; i++)
			sum = sum + i;
		syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static int lose_counter()
{
	std::atomic<int> go{0};
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, nullptr, 2);
	std::thread other([&] {
		go.wait(0);
		pthread_barrier_wait(&barrier);
	});
	burn(50); /* samples are taken by now */
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	burn(50);
	go = 1;
	go.notify_all();
	pthread_barrier_wait(&barrier);
	other.join();
	return write(1, "counter\n", 8) == 8 ? 3 : 4;
}

static bool filter()
{
#define ALLOW(number, left) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, left, 0)
	sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
			       ALLOW(SYS_read, 3),
			       ALLOW(SYS_write, 2),
			       ALLOW(SYS_exit_group, 1),
			       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
			       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	sock_fprog program = {sizeof(rules) / sizeof(*rules), rules};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static int lose_calls()
{
	int ends[2];
	char byte;

	if (pipe(ends))
		return 5;
	if (!fork()) {
		for (int i = 0; i < 2; i++) {
			usleep(50000);
			if (write(ends[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	if (read(ends[0], &byte, 1) != 1 || !filter() || read(ends[0], &byte, 1) != 1)
		return 6;
	return write(1, "filter\n", 7) == 7 ? 3 : 4;
}

int main(int argc, char **argv)
{
	_exit(argc > 1 && !strcmp(argv[1], "tsc") ? lose_counter() : lose_calls());
}
