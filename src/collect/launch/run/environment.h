/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program finds in its environment, and where the program and our library are found.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_ENVIRONMENT_H
#define ST_COLLECT_LAUNCH_RUN_ENVIRONMENT_H

#include <stdbool.h>

#include "base/error.h"

struct st_environment_options {
	const char *collector;
	const char *socket_path, *abstract_name, *token_hex, *config;
	bool preload; /* false: the program's loader would refuse it */
	bool devices; /* what runs on devices is recorded */
	bool waits;   /* the library of waits, too */
	bool has_ze;  /* programs may use Level Zero, and it is recorded */
};

/* libstrata_collector.so: beside this executable, then STRATA_COLLECTOR. malloc'd. */
enum st_status st_environment_find_collector(char **out, struct st_error *err);
/* libstrata_jit.so beside that collector, or NULL when it is not there. malloc'd. */
char *st_environment_jit_library(const char *collector);
/* libstrata_cuda.so, the same. */
char *st_environment_cuda_library(const char *collector);
/* libstrata_ze.so, the same; NULL also when no program can use Level Zero. */
char *st_environment_ze_library(const char *collector);
/* The file that would be executed for name: ST_ENOTFOUND, or ST_EIO when it cannot be executed.
 * Absolute when make_absolute. malloc'd. */
enum st_status st_environment_find_program(const char *name, bool make_absolute, char **out,
					   struct st_error *err);
/* A copy of our environment with ours added; the user's own preload stays in front. NULL: no memory. */
char **st_environment_create(const struct st_environment_options *options);
void st_environment_destroy(char **environment);
/* Whether the dynamic loader can be told this path: it splits at blanks and colons. */
bool st_environment_can_preload(const char *collector);

#endif
