/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's selection of what to record: groups of functions and domains (keys groups= and
 * domains= of STRATA_CONFIG, INTEL_ITTNOTIFY_GROUPS of the environment).
 */
#ifndef ST_COLLECT_INPROC_CORE_CHOOSE_H
#define ST_COLLECT_INPROC_CORE_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* In the constructor. The text is the value of the key, up to ';' or the end; NULL: not given. */
void st_choose_groups(const char *config_value, const char *environment);
void st_choose_domains(const char *config_value);
void st_choose_processes(const char *config_value);

/* Whether an entry of these groups is to be bound. */
bool st_group_wanted(int groups);
/* The library whose image begins there tells of its waits in another way: its sync calls would say it twice. */
void st_choose_no_sync(const void *image);
bool st_sync_wanted(const void *inside); /* of the library that has this address */
/* Whether a domain of this name is to be recorded: its flags. */
bool st_domain_wanted(const char *name);
/* Whether a process with these names (executable, script) is to be sampled. */
bool st_processes_chosen(void); /* else all are wanted */
bool st_process_wanted(const char *const names[], uint32_t count);

#pragma GCC visibility pop

#endif
