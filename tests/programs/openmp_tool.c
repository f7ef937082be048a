/* SPDX-License-Identifier: Apache-2.0
 *
 * An OMPT tool of the program's own, or of a library that it loads: counts regions and prints how many, so that whoever takes its
 * place is found out. With a fork, whose child has regions too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void function(void);
struct start {
	int (*initialize)(function *(*look_up)(const char *), int device, void *data);
	void (*finalize)(void *data);
	void *data;
};
struct start *ompt_start_tool(unsigned int version, const char *runtime);

#ifndef ONLY_PROGRAM
static int regions;

static void begin(void)
{
	regions++;
}

static int initialize(function *(*look_up)(const char *), int device, void *data)
{
	int (*set)(int, function *) = (int (*)(int, function *))look_up("ompt_set_callback");

	(void)device, (void)data;
	return set(3, begin) > 0;
}

static void finalize(void *data)
{
	(void)data;
}

__attribute__((destructor)) static void tell(void)
{
	printf("the tool saw %d regions\n", regions);
	fflush(stdout);
}

struct start *ompt_start_tool(unsigned int version, const char *runtime)
{
	static struct start mine = {initialize, finalize, NULL};

	(void)version, (void)runtime;
	return &mine;
}
#endif

#ifndef ONLY_TOOL
static int work(void)
{
	int sum = 0;

	for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(3) reduction(+ : sum)
		sum += 1;
	}
	return sum;
}

int main(void)
{
	int status, sum = work();
	pid_t child;

	printf("%d\n", sum);
	fflush(stdout);
	child = fork();
	if (!child) {
		sum = work();
		_exit(sum == 15 ? 7 : 8);
	}
	waitpid(child, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	return 0;
}
#endif
