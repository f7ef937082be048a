/* SPDX-License-Identifier: Apache-2.0
 *
 * strata bottleneck: collects everything that a page about a Python script needs in one run of it, then prints the
 * page. Standard output is the script's until it has ended.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/collect_run.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/finalize.h"
#include "request/options.h"
#include "collect/launch/run/collect.h"
#include "collect/launch/run/environment.h"
#include "export/report/bottleneck.h"
#include "export/export.h"
#include "format/analysis.h"
#include "store/result.h"

enum { EXIT_NOT_FOUND = 127, VERSION_BYTES = 64 };

extern char **environ;

/* What the interpreter says of itself; the page is printed by a function that gets no more than the options. */
static char version[VERSION_BYTES] = "Python";
static int output; /* standard output, which a collection leaves to the program; 0: there is none */

/* The first line of "python --version" into out; false when that is none of a Python. */
static bool ask_version(const char *python, char *out, size_t out_size)
{
	char *const argv[] = {(char *)python, (char *)"--version", NULL};
	posix_spawn_file_actions_t actions;
	size_t used = 0;
	int fds[2], status = -1, failed;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	failed = posix_spawn(&pid, python, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	while (!failed && used + 1 < out_size && read(fds[0], out + used, 1) == 1 &&
	       out[used] != '\n')
		used++;
	close(fds[0]);
	out[used] = '\0';
	if (!failed)
		waitpid(pid, &status, 0);
	return strncmp(out, "Python ", 7) == 0;
}

/* malloc'd, or NULL when it was said why there is none. */
static char *find_python(const struct st_args *args)
{
	const char *given = st_args_value(args, ST_OPT_INTERPRETER);
	char *path = NULL;

	if (given && st_environment_find_program(given, false, &path, NULL)) {
		st_console_error("-interpreter: %.200s does not exist or is not executable", given);
		return NULL;
	}
	if (!given && st_environment_find_program("python3", false, &path, NULL) &&
	    st_environment_find_program("python", false, &path, NULL)) {
		st_console_error("no python3 on the PATH; use -interpreter FILE to choose one");
		return NULL;
	}
	if (ask_version(path, version, sizeof(version)))
		return path;
	st_console_error(
		"%.200s is not a Python interpreter: '--version' does not print a Python version",
		path);
	free(path);
	return NULL;
}

static uint64_t resident_bytes(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) || usage.ru_maxrss < 0)
		return 0;
	return (uint64_t)usage.ru_maxrss * 1024;
}

static enum st_status write_page(const char *path, const struct st_args *args, struct st_error *err)
{
	const struct st_bottleneck facts = {.python = version,
					    .omp_threads = getenv("OMP_NUM_THREADS"),
					    .resident_bytes = resident_bytes()};
	bool quiet = st_args_flag(args, ST_OPT_QUIET, false);
	struct st_result *result = NULL;
	struct st_finalized done;
	struct st_error names = {0};
	struct st_sink *sink = NULL;
	enum st_status status = st_ask_open_path(&result, path, quiet, err);

	if (status)
		return status;
	if (st_finalize(result, args, false, &done, &names))
		st_console_error("cannot resolve function names: %s", names.text);
	status = st_sink_open(&sink, "-", err);
	if (!status) {
		st_busy_begin(quiet, "building the page");
		status = st_bottleneck_write(result, &facts, sink, err);
		st_busy_end();
		status = st_sink_finish(sink, status, err);
	}
	st_result_close(result);
	return status;
}

static void show(const char *path, const struct st_args *args)
{
	struct st_error err = {0};

	if (output <= 0 || dup2(output, STDOUT_FILENO) < 0)
		return;
	close(output);
	if (write_page(path, args, &err))
		st_console_error("cannot build the page: %s", err.text);
}

/* Everything that the page shows, whatever it costs. */
static int run(const struct st_args *args, char **argv)
{
	static const struct st_collect_option knobs[] = {
		{"knob", "collect-operators=true", true, true},
		{"knob", "operator-memory=true", true, true},
		{"knob", "operator-modules=true", true, true},
		{"knob", "python-calls=true", true, true},
	};
	output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	struct st_collect_config config = {
		.kept_fd = output > 0 ? output : 0,
		.analysis = st_analysis_find("hotspots"),
		.result_dir = st_args_value(args, ST_OPT_RESULT_DIR),
		.quiet = st_args_flag(args, ST_OPT_QUIET, false),
		.resume_after_s = -1,
		.duration_s = -1,
		.sampling = {.interval_scale = 1},
		.operators = {.on = ST_CHOICE_ON, .memory = ST_CHOICE_ON, .modules = ST_CHOICE_ON},
		.python_calls = ST_CHOICE_ON,
		.options = knobs,
		.option_count = sizeof(knobs) / sizeof(knobs[0]),
		.argv = argv,
		.argc = args->target_count + 1,
		.strata_version = ST_VERSION,
	};

	return st_collect_and_show(args, &config, show);
}

int st_cmd_bottleneck(const struct st_args *args)
{
	size_t count = (size_t)args->target_count;
	char *python, **argv;
	int code;

	if (!args->target) {
		st_console_error(
			"no script given: strata bottleneck [options] script.py [arguments]");
		return ST_EXIT_USAGE;
	}
	if (access(args->target[0], R_OK) != 0) {
		st_console_error("%.300s: %s", args->target[0],
				 access(args->target[0], F_OK) ? "no such file"
							       : "cannot read the script");
		return ST_EXIT_USAGE;
	}
	python = find_python(args);
	if (!python)
		return EXIT_NOT_FOUND;
	argv = calloc(count + 2, sizeof(*argv));
	if (!argv) {
		st_console_error("out of memory");
		free(python);
		return ST_EXIT_STRATA_FAILED;
	}
	argv[0] = python;
	memcpy(argv + 1, args->target, count * sizeof(*argv));
	code = run(args, argv);
	free(argv);
	free(python);
	return code;
}
