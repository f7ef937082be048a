/* SPDX-License-Identifier: Apache-2.0
 *
 * What /proc shows about one process. Everything may fail at any time: the process may be gone.
 */
#ifndef ST_COLLECT_LAUNCH_FAMILY_PROC_INFO_H
#define ST_COLLECT_LAUNCH_FAMILY_PROC_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The file /proc/PID/name, terminated; its size, or -1. */
ssize_t st_proc_read(pid_t pid, const char *name, char *text, size_t size_bytes);
/* Arguments joined by NUL, at most 4 KiB; malloc'd, NULL when they cannot be read. */
char *st_proc_command(pid_t pid, size_t *size_bytes);
/* Parent and start time (field 22) out of /proc/PID/stat. */
bool st_proc_stat(pid_t pid, pid_t *parent, uint64_t *start_time);
/* Processor time used so far, in clock ticks; false when it is gone or a zombie. */
bool st_proc_cpu_ticks(pid_t pid, uint64_t *ticks);
/* The most memory the calling process ever had, in bytes. getrusage will not do: its figure begins with
 * that of the program that started us. */
uint64_t st_proc_own_peak_bytes(void);
/* Path of the executable; malloc'd, NULL when it cannot be read. */
char *st_proc_executable(pid_t pid);

#endif
