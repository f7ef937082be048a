// SPDX-License-Identifier: Apache-2.0
//
// empty_event PROGRAM ARGUMENTS…: runs a program with one perf event that counts nothing and that every thread and process
// inherits. What watching a family by events costs at least.
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .inherit = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};

	/* The program keeps the descriptor: the event ends with it. */
	if (argc < 2 || syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0) {
		perror("empty_event");
		return 125;
	}
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
