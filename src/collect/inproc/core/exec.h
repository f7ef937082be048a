/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps programs that our library cannot enter from noticing it: the exec functions are interposed, and
 * a program whose loader would refuse our preload gets an environment without it.
 */
#ifndef ST_COLLECT_INPROC_CORE_EXEC_H
#define ST_COLLECT_INPROC_CORE_EXEC_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Finds the real functions; from the constructor. */
void st_exec_init(void);

/* exec_check.c: remembers this process's loader; from the constructor. */
void st_exec_check_init(void);
/* Whether the loader of this program would complain about our preload or refuse to start.
 * Safe between vfork and exec. `path` is relative to dirfd. */
bool st_exec_refuses(int dirfd, const char *path);
bool st_exec_fd_refuses(int fd);
/* As execvp would find it. */
bool st_exec_search_refuses(const char *file);

#pragma GCC visibility pop

#endif
