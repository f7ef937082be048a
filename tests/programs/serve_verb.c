/* SPDX-License-Identifier: Apache-2.0
 *
 * serve_verb RESULT VERB JSON: what a worker of strata serve would answer, on standard output; without a server. Tests
 * of verbs use it.
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "resolve/functions.h"
#include "serve/verbs.h"
#include "serve/worker.h"
#include "store/result.h"

static void ignore_progress(void *arg, double fraction, const char *what)
{
	(void)arg;
	(void)fraction;
	(void)what;
}

static void copy_file(int fd)
{
	char bytes[4096];
	ssize_t got;

	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		fwrite(bytes, 1, (size_t)got, stdout);
	close(fd);
}

int main(int argc, char **argv)
{
	static const char *const no_sources[] = {NULL};
	struct st_error err = {0};
	struct st_result *result = NULL;
	const char *paths[] = {argc > 1 ? argv[1] : "", NULL};
	struct st_verb_call call = {.results = &result,
				    .paths = paths,
				    .counts = {1, 0},
				    .source_dirs = no_sources,
				    .progress = ignore_progress};
	struct st_buf out;
	enum st_status status;

	if (argc != 4) {
		fprintf(stderr, "usage: serve_verb RESULT VERB JSON\n");
		return 2;
	}
	st_buf_init(&out, SIZE_MAX / 4);
	call.out = &out;
	call.kept = st_serve_kept_create();
	status = st_result_open(&result, argv[1], NULL, &err);
	if (!status) {
		st_resolve_functions(result);
		call.result = result;
		status = st_worker_answer(&call, argv[2], argv[3], &err);
	}
	if (status)
		fprintf(stderr, "serve_verb: %s\n", err.text);
	else if (call.file_fd >= 0)
		copy_file(call.file_fd);
	else
		fwrite(out.data, 1, out.size_bytes, stdout);
	st_serve_kept_destroy(call.kept);
	st_result_close(result);
	st_buf_fini(&out);
	return status ? 1 : 0;
}
