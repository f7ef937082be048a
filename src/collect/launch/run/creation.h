/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs a program to create processes and threads under strata: our library is loaded and starts, events are
 * inherited, the kernel tells about each. Most of it is the kernel's and the loader's work, so it is not measured in the
 * program but afterwards, on processes and threads of our own, with and without.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_CREATION_H
#define ST_COLLECT_LAUNCH_RUN_CREATION_H

#include <stdbool.h>
#include <stdint.h>

struct st_creation {
	uint64_t processes, threads;	/* that the program has created, as far as we were told */
	uint64_t process_ns, thread_ns; /* CPU time that one costs more; 0: not measured */
};

/* Measures when there were so many that it may matter to a program with that CPU time. `environment` is
 * what the program was given. Ends early, and leaves the signal there, when one comes through `signal_fd`. */
void st_creation_measure(struct st_creation *creation, char *const *environment,
			 uint64_t target_cpu_ns, int signal_fd);

/* This executable was started to create threads, and to do nothing else. */
bool st_creation_is_asked(int argc, char *const *argv);
int st_creation_run(char *const *argv);

#endif
