/* SPDX-License-Identifier: Apache-2.0
 *
 * strata doctor: lays out what the checks of collect/launch found, as text or as JSON.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "request/options.h"
#include "collect/launch/doctor/doctor.h"

enum { FACT_COLUMN = 28, REMEDY_COLUMN = 10, JSON_MAX_BYTES = 1 << 20 };

static void print_verdict(const struct st_doctor_report *report)
{
	static const char *const names[] = {"ok", "limited", "missing", "unknown"};
	unsigned int counts[4] = {0};

	for (unsigned int i = 0; i < report->count; i++)
		counts[report->findings[i].status]++;
	putchar('\n');
	for (int i = 0; i < 4; i++)
		printf("%s%u %s", i ? ", " : "", counts[i], names[i]);
	putchar('\n');
	st_console_wrap(report->verdict, 0, 0);
}

static void print_text(const struct st_doctor_report *report)
{
	for (unsigned int i = 0; i < report->count; i++) {
		const struct st_doctor_finding *finding = &report->findings[i];

		printf("%-*s%-*s", REMEDY_COLUMN - 2, st_doctor_status_name(finding->status),
		       FACT_COLUMN - REMEDY_COLUMN + 2, st_doctor_checks[i].title);
		st_console_wrap(finding->fact, FACT_COLUMN, FACT_COLUMN);
		if (finding->remedy[0]) {
			printf("%*sto enable:", REMEDY_COLUMN - 2, "");
			st_console_wrap(finding->remedy, REMEDY_COLUMN + 8, REMEDY_COLUMN);
		}
	}
	print_verdict(report);
}

static int print_json(const struct st_doctor_report *report)
{
	struct st_json json;
	struct st_buf out;
	bool failed;

	st_buf_init(&out, JSON_MAX_BYTES);
	st_json_init(&json, &out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "schema", "strata.doctor/1");
	st_json_put_text(&json, "version", ST_VERSION);
	st_json_put_array(&json, "checks");
	for (unsigned int i = 0; i < report->count; i++) {
		const struct st_doctor_finding *finding = &report->findings[i];

		st_json_object_begin(&json);
		st_json_put_text(&json, "name", st_doctor_checks[i].name);
		st_json_put_text(&json, "status", st_doctor_status_name(finding->status));
		st_json_put_text(&json, "fact", finding->fact);
		st_json_key(&json, "remedy");
		if (finding->remedy[0])
			st_json_text(&json, finding->remedy);
		else
			st_json_null(&json);
		st_json_object_end(&json);
	}
	st_json_array_end(&json);
	st_json_put_bool(&json, "tasks", report->tasks);
	st_json_put_text(&json, "verdict", report->verdict);
	st_json_object_end(&json);
	st_buf_append_u8(&out, '\n');
	failed = out.failed;
	if (failed)
		st_console_error("out of memory");
	else
		fwrite(out.data, 1, out.size_bytes, stdout);
	st_buf_fini(&out);
	return failed ? ST_EXIT_FAILED : ST_EXIT_OK;
}

int st_cmd_doctor(const struct st_args *args)
{
	const char *format = st_args_value(args, ST_OPT_FORMAT);
	static struct st_doctor_report report; /* 15 KB: not on the stack */
	int code = ST_EXIT_OK;

	if (args->word_count) {
		st_console_error("unexpected argument '%.80s': doctor takes none", args->words[0]);
		return ST_EXIT_USAGE;
	}
	if (format && strcmp(format, "text") != 0 && strcmp(format, "json") != 0) {
		st_console_error("-format: expected text or json for doctor, not '%.60s'", format);
		return ST_EXIT_USAGE;
	}
	/* Whoever started us may ignore it; then the fate of a child could not be read. */
	signal(SIGCHLD, SIG_DFL);
	st_doctor_examine(NULL, &report);
	if (format && strcmp(format, "json") == 0)
		code = print_json(&report);
	else
		print_text(&report);
	return code == ST_EXIT_OK && !report.tasks ? ST_EXIT_FAILED : code;
}
