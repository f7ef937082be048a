/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses a device in a way that is known (tests/e2e/test_devices.py). Prints what it did, a line each.
 *
 *   cuda_target plain             kernels, copies, fills and a graph on two streams of two devices, in tasks
 *   cuda_target profiled          the same with a profiler of its own for a while, before and behind it without
 *   cuda_target profiled_held     its profiler stops while strata's thread is busy with a buffer
 *   cuda_target profiled_end      ends while its profiler runs
 *   cuda_target threads           two threads, which record nothing else
 *   cuda_target fork              a child that does nothing with the device, and ends in order
 *   cuda_target unfinished        ends while a kernel runs
 *   cuda_target killed            kills itself when what it has done was handed over
 *   cuda_target paused            pauses in the middle
 *   cuda_target resumed           resumes after a step, for a recording that begins paused
 *   cuda_target detached          detaches itself in the middle
 *   cuda_target stopped           makes steps until its input ends
 *   cuda_target gaps              a device that has nothing to do, for one reason after the other
 *   cuda_target devices           three devices, memory of two, a function that is loaded, waits for a stream and a device
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cupti_double.h"
#include "../itt_static_part.h"

void kineto_start(void);
void kineto_stop(void);
unsigned int kineto_count(int kind);

static const char vector_add[] = "_Z10vector_addPfS_i";

static void steps(int count)
{
	for (int i = 0; i < count; i++) {
		double_ask();
		double_copy(0, 7, 4096, 30);
		double_launch(vector_add, 0, 7, 100, 0);
		double_launch("gemm_kernel", 0, 7, 200, 1);
		double_fill(0, 7, 1024, 10);
		double_launch(vector_add, 1, 14, 50, 0);
		double_graph(0, 13, 3, 20);
		double_wait();
	}
}

static struct itt_domain *domain;

static void begin(const char *name)
{
	itt_task_begin(domain, itt_string_handle_create(name));
}

static void in_task(const char *name, int count)
{
	begin(name);
	steps(count);
	itt_task_end(domain);
}

static void rest_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left))
		;
}

static void profiled(void)
{
	in_task("before", 2);
	for (int i = 0; i < 3; i++) {
		kineto_start();
		in_task("profiled", 4);
		kineto_stop();
		in_task("between", 1);
	}
	printf("profiler: %u kernels, %u copies, %u fills, %u runtime calls, %u driver calls, %u "
	       "unknown\n",
	       kineto_count(10), kineto_count(1), kineto_count(2), kineto_count(5), kineto_count(4),
	       kineto_count(-1));
}

/* Without strata nobody is held. */
static void profiled_held(void)
{
	unsigned int count = 0;

	kineto_start();
	double_hold(1);
	do
		steps(1);
	while (++count < 10 || (getenv("STRATA_CONFIG") && !double_is_held()));
	kineto_stop();
	double_hold(0);
	printf("%u steps, missing: %d kernels, %d copies, %d calls\n", count,
	       (int)(6 * count - kineto_count(10)), (int)(count - kineto_count(1)),
	       (int)(8 * count - kineto_count(5) - kineto_count(4)));
}

static void ends_profiled(void)
{
	kineto_start();
	in_task("profiled", 2);
}

static void *work(void *arg)
{
	(void)arg;
	steps(2);
	return NULL;
}

static void threads(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, work, NULL);
	pthread_create(&other, NULL, work, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
}

static void forks(void)
{
	int status = 1;
	pid_t child;

	in_task("before", 1);
	child = fork();
	if (child == 0) {
		begin("child");
		itt_task_end(domain);
		exit(0);
	}
	waitpid(child, &status, 0);
	in_task("after", 1);
	printf("child: %d\n", status);
}

/* A flush that was under way does not count. */
static void killed(void)
{
	unsigned int flushes;

	in_task("all", 3);
	flushes = double_flushes();
	while (double_flushes() < flushes + 2)
		rest_ms(1);
	raise(SIGKILL);
}

static void pauses(void)
{
	in_task("before", 1);
	itt_pause();
	in_task("paused", 1);
	itt_resume();
	in_task("after", 1);
}

static void resumes(void)
{
	in_task("paused", 1);
	itt_resume();
	in_task("after", 2);
}

static void stopped(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	while (poll(&input, 1, 0) == 0)
		in_task("step", 1);
}

static void detaches(void)
{
	in_task("before", 2);
	itt_detach();
	in_task("after", 2);
}

static void compute_ms(const char *name, uint64_t ms)
{
	struct timespec now;
	uint64_t begin_ns = 0, now_ns;

	begin(name);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		begin_ns = begin_ns ? begin_ns : now_ns;
	} while (now_ns - begin_ns < ms * 1000000);
	itt_task_end(domain);
}

static void gaps(void)
{
	double_launch(vector_add, 0, 7, 20000, 0);
	double_wait_for(0, 7);
	compute_ms("after a wait", 3);
	double_launch(vector_add, 0, 7, 1000, 0);
	compute_ms("late", 4);
	double_launch(vector_add, 0, 7, 1000, 0);
	double_copy(0, 7, 1 << 20, 2000);
	double_launch(vector_add, 0, 7, 1000, 0);
	double_wait_for(0, UINT32_MAX);
}

static void devices(void)
{
	begin("all");
	double_memory(0, 0x10000, 1 << 20, 0);
	double_memory(0, 0x200000, 3 << 20, 0);
	double_memory(1, 0x10000, 1 << 10, 0);
	double_overhead(300);
	for (uint32_t device = 0; device < 3; device++) {
		double_launch(vector_add, device, 7, 1000 * (device + 1), 0);
		double_launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", device, 20, 500, 0);
		double_copy(device, 7, 1 << 20, 100);
		double_wait_for(device, 7);
	}
	double_memory(0, 0x10000, 1 << 20, 1);
	double_launch(vector_add, 2, 7, 4000, 0);
	double_wait_for(2, UINT32_MAX);
	itt_task_end(domain);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";

	itt_part_load();
	domain = itt_domain_create("devices");
	double_init();
	if (strcmp(what, "plain") == 0)
		in_task("step", 5);
	else if (strcmp(what, "profiled") == 0)
		profiled();
	else if (strcmp(what, "profiled_held") == 0)
		profiled_held();
	else if (strcmp(what, "profiled_end") == 0)
		ends_profiled();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "fork") == 0)
		forks();
	else if (strcmp(what, "unfinished") == 0)
		double_launch(vector_add, 0, 7, 5000000, 0);
	else if (strcmp(what, "killed") == 0)
		killed();
	else if (strcmp(what, "paused") == 0)
		pauses();
	else if (strcmp(what, "stopped") == 0)
		stopped();
	else if (strcmp(what, "resumed") == 0)
		resumes();
	else if (strcmp(what, "detached") == 0)
		detaches();
	else if (strcmp(what, "gaps") == 0)
		gaps();
	else if (strcmp(what, "devices") == 0)
		devices();
	printf("subscriptions: %u\n", double_subscriptions());
	return 0;
}
