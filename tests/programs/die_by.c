// SPDX-License-Identifier: Apache-2.0
//
// Ends in the way asked for, after some output: how a program dies must not change under us.
// usage: die_by exit N | signal N | segv | abort | stop N
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rlimit no_core = {0, 0};
	int *volatile nowhere = NULL;
	int number = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;

	if (argc < 2)
		return 2;
	setrlimit(RLIMIT_CORE, &no_core);
	printf("about to %s\n", argv[1]);
	fflush(stdout);
	if (strcmp(argv[1], "exit") == 0)
		exit(number);
	if (strcmp(argv[1], "signal") == 0)
		raise(number);
	if (strcmp(argv[1], "segv") == 0)
		*nowhere = 1;
	if (strcmp(argv[1], "abort") == 0)
		abort();
	if (strcmp(argv[1], "stop") == 0) {
		raise(SIGSTOP);
		printf("goes on\n");
		exit(number);
	}
	printf("still here\n");
	return 9;
}
