/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads recordings of other profilers and writes them as a result that works with every report: perf.data
 * files, the output of `perf script`, and the traces of torch.profiler (Kineto's JSON, also as .gz). Files are not
 * trusted: invalid data is rejected with its record and offset.
 */
#ifndef ST_COLLECT_IMPORT_IMPORT_H
#define ST_COLLECT_IMPORT_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_import_options {
	const char *path;	/* the file */
	const char *result_dir; /* pattern with @@@, or NULL for r@@@hs or r@@@op */
	const char *command;	/* command line of strata, for result.json; may be NULL */
	const char *version;	/* of strata */
	uint64_t captured_ns;	/* CLOCK_REALTIME of the last record; 0: not known */
	const char *cache;	/* folder of unwind tables; NULL: the user's */
	void (*progress)(void *arg, double fraction, const char *what); /* may be NULL */
	void *progress_arg;
};

struct st_import_counts {
	uint64_t samples, cpu_ns, processes, threads;
	uint64_t slices;  /* operators, tasks, kernels, calls of Python functions */
	uint64_t idle;	  /* samples of no thread: left out */
	uint64_t other;	  /* samples of another event than the one taken: left out */
	uint64_t lost;	  /* records that the recorder lost */
	uint64_t skipped; /* lines or records that mean nothing to us */
	uint64_t
		clipped; /* calls of Python functions that end after the call around them: cut there */
	uint64_t torn; /* 1: the file ends inside of its list of events */
};

/* *result: folder that was written; malloc'd. */
enum st_status st_import_file(const struct st_import_options *options, char **result,
			      struct st_import_counts *counts, struct st_error *err);

/* The same on bytes in memory, into a folder that must not exist; NULL: nothing is written (fuzzing). */
enum st_status st_import_bytes(const struct st_import_options *options, const void *bytes,
			       size_t size_bytes, const char *folder,
			       struct st_import_counts *counts, struct st_error *err);

#endif
