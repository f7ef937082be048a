// SPDX-License-Identifier: Apache-2.0
//
// Ignores or counts SIGINT, as asked, until a SIGTERM or the given number of SIGINTs has come.
// usage: ignore_sigint ignore|count READY-FILE [COUNT]
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupts, ended;

static void on_signal(int number)
{
	if (number == SIGINT)
		interrupts++;
	else
		ended = 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t both, before;
	long wanted = argc > 3 ? strtol(argv[3], NULL, 10) : 1 << 30;
	int ready;

	if (argc < 3)
		return 2;
	sigemptyset(&both);
	sigaddset(&both, SIGINT);
	sigaddset(&both, SIGTERM);
	sigprocmask(SIG_BLOCK, &both, &before);
	sigaction(SIGTERM, &action, NULL);
	if (strcmp(argv[1], "ignore") == 0)
		action.sa_handler = SIG_IGN;
	sigaction(SIGINT, &action, NULL);
	ready = open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (ready < 0)
		return 2;
	close(ready);
	while (!ended && interrupts < wanted) {
		sigsuspend(&before);
		printf("interrupts %d\n", (int)interrupts);
		fflush(stdout);
	}
	printf("done after %d interrupts\n", (int)interrupts);
	return 5;
}
