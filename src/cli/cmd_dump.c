/* SPDX-License-Identifier: Apache-2.0
 *
 * strata dump: what every thread of a running program does now, as text or as JSON.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/target.h"
#include "format/sample_record.h"
#include "live/take.h"
#include "request/options.h"

enum { JSON_MAX_BYTES = 256 << 20, NAME_MAX_BYTES = 64 << 10 };

struct dump {
	const struct st_target *target;
	const struct st_live_process *process;
};

/* The calls that threads usually wait in. */
static const char *call_name(int64_t call)
{
	static const struct {
		int64_t number;
		const char *name;
	} calls[] = {
		{SYS_read, "read"},
		{SYS_write, "write"},
		{SYS_poll, "poll"},
		{SYS_ppoll, "ppoll"},
		{SYS_select, "select"},
		{SYS_pselect6, "pselect6"},
		{SYS_epoll_wait, "epoll_wait"},
		{SYS_epoll_pwait, "epoll_pwait"},
		{SYS_futex, "futex"},
		{SYS_nanosleep, "nanosleep"},
		{SYS_clock_nanosleep, "clock_nanosleep"},
		{SYS_wait4, "wait4"},
		{SYS_waitid, "waitid"},
		{SYS_accept, "accept"},
		{SYS_accept4, "accept4"},
		{SYS_recvfrom, "recvfrom"},
		{SYS_recvmsg, "recvmsg"},
		{SYS_sendto, "sendto"},
		{SYS_connect, "connect"},
		{SYS_pause, "pause"},
		{SYS_rt_sigtimedwait, "rt_sigtimedwait"},
		{SYS_fsync, "fsync"},
		{SYS_io_uring_enter, "io_uring_enter"},
		{SYS_ioctl, "ioctl"},
		{SYS_sched_yield, "sched_yield"},
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == call)
			return calls[i].name;
	return NULL;
}

static const char *last_part(struct st_text path, int *size)
{
	const char *at = path.bytes;

	for (size_t i = 0; i + 1 < path.size_bytes; i++)
		if (path.bytes[i] == '/')
			at = path.bytes + i + 1;
	*size = (int)(path.bytes + path.size_bytes - at);
	return at;
}

static bool is_shown(const struct dump *dump, const struct st_merged_frame *merged,
		     const struct st_live_frame *frame)
{
	return dump->target->all || (!(merged->kind & ST_FRAME_EVAL) && !frame->interpreter);
}

/* Names come from the program. */
static void print_name(const char *bytes, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i++)
		putchar(st_console_harmless(bytes[i]));
}

static void print_frame(const struct st_live_frame *frame)
{
	struct st_buf name;
	int size;

	st_buf_init(&name, NAME_MAX_BYTES);
	st_target_function(frame, &name);
	fputs("    ", stdout);
	print_name((const char *)name.data, name.size_bytes);
	st_buf_fini(&name);
	if (frame->python) {
		fputs(" (", stdout);
		print_name(frame->source.bytes, frame->source.size_bytes);
		printf(":%u)\n", frame->line);
		return;
	}
	if (frame->kernel) {
		printf(" [kernel]");
	} else if (frame->module.size_bytes) {
		fputs(" (", stdout);
		print_name(frame->module.bytes, frame->module.size_bytes);
		putchar(')');
	}
	if (frame->line) {
		const char *source = last_part(frame->source, &size);

		putchar(' ');
		print_name(source, (size_t)size);
		printf(":%u", frame->line);
	}
	putchar('\n');
}

static const char *shortcoming(const struct st_live_thread *thread)
{
	if (thread->moved)
		return "it went on while it was read: its frames may not fit together";
	if (thread->flags & ST_SAMPLE_MISMATCH)
		return "where its Python frames stand among the native ones is likely, not certain";
	if (thread->flags & ST_SAMPLE_TRUNCATED)
		return "its outer native frames could not be found";
	if (thread->flags & ST_SAMPLE_PYTHON_CUT)
		return "some of its Python frames could not be read";
	return NULL;
}

static void print_thread(const struct dump *dump, const struct st_live_thread *thread)
{
	const char *call = thread->state == 'R' ? NULL : call_name(thread->call);
	const char *problem = shortcoming(thread);
	bool any = false;

	printf("\nThread %u (%s%s%s%s)", thread->tid, thread->state == 'R' ? "active" : "idle",
	       call ? ", in " : "", call ? call : "", thread->holds_lock ? ", holds the GIL" : "");
	if (thread->tid == (uint32_t)dump->process->pid && !thread->name[0]) {
		printf(": main");
	} else if (thread->name[0]) {
		fputs(": \"", stdout);
		print_name(thread->name, strlen(thread->name));
		putchar('"');
	}
	putchar('\n');
	for (uint32_t i = thread->frame_count; i > 0; i--) {
		struct st_live_frame frame;

		st_live_names_frame(dump->process->names, &thread->frames[i - 1], &frame);
		if (!is_shown(dump, &thread->frames[i - 1], &frame))
			continue;
		print_frame(&frame);
		any = true;
	}
	if (!any)
		puts("    [no frame could be read]");
	if (problem)
		printf("    note: %s\n", problem);
}

static void print_text(const struct dump *dump)
{
	const struct st_live_process *process = dump->process;
	char version[32];

	st_target_python(process->python_version, version, sizeof(version));
	printf("Process %d:", (int)process->pid);
	for (int i = 0; i < dump->target->argc; i++) {
		putchar(' ');
		print_name(dump->target->argv[i], strlen(dump->target->argv[i]));
	}
	putchar('\n');
	if (process->python_version)
		printf("Python %s%s", version,
		       process->has_python ? "" : ": its frames cannot be read");
	if (process->has_python && process->lock_holder)
		printf(", GIL held by thread %u", process->lock_holder);
	else if (process->has_python)
		printf(", GIL free");
	if (process->python_version)
		putchar('\n');
	for (uint32_t i = 0; i < process->thread_count; i++)
		print_thread(dump, &process->threads[i]);
	if (process->why_not_held[0])
		st_console_say(
			"note: threads were read without holding them (%s): frames of active "
			"threads may not fit together",
			process->why_not_held);
}

static void json_text(struct st_json *json, const char *key, struct st_text text)
{
	st_json_key(json, key);
	st_json_bytes(json, text.bytes, text.size_bytes);
}

static void json_frame(struct st_json *json, const struct st_live_frame *frame)
{
	st_json_object_begin(json);
	st_json_put_text(json, "kind",
			 frame->python	 ? "python"
			 : frame->kernel ? "kernel"
					 : "native");
	json_text(json, "function", frame->function);
	json_text(json, "file", frame->source);
	st_json_put_u64(json, "line", frame->line);
	json_text(json, "module", frame->module);
	st_json_object_end(json);
}

static void json_thread(struct st_json *json, const struct dump *dump,
			const struct st_live_thread *thread)
{
	const char *call = call_name(thread->call), *problem = shortcoming(thread);
	char state[2] = {thread->state, '\0'};

	st_json_object_begin(json);
	st_json_put_u64(json, "tid", thread->tid);
	st_json_put_text(json, "name", thread->name);
	st_json_put_bool(json, "active", thread->state == 'R');
	st_json_put_text(json, "state", state);
	st_json_put_text(json, "system_call", call ? call : "");
	st_json_put_bool(json, "holds_gil", thread->holds_lock);
	st_json_put_bool(json, "held", thread->held);
	st_json_put_u64(json, "held_ns", thread->held_ns);
	st_json_put_text(json, "note", problem ? problem : "");
	st_json_put_array(json, "frames");
	for (uint32_t i = thread->frame_count; i > 0; i--) {
		struct st_live_frame frame;

		st_live_names_frame(dump->process->names, &thread->frames[i - 1], &frame);
		if (is_shown(dump, &thread->frames[i - 1], &frame))
			json_frame(json, &frame);
	}
	st_json_array_end(json);
	st_json_object_end(json);
}

static int print_json(const struct dump *dump)
{
	const struct st_live_process *process = dump->process;
	char version[32];
	struct st_json json;
	struct st_buf out;
	bool failed;

	st_buf_init(&out, JSON_MAX_BYTES);
	st_json_init(&json, &out);
	st_target_python(process->python_version, version, sizeof(version));
	st_json_object_begin(&json);
	st_json_put_text(&json, "schema", "strata.dump/1");
	st_json_put_u64(&json, "pid", (uint64_t)process->pid);
	st_json_put_array(&json, "command");
	for (int i = 0; i < dump->target->argc; i++)
		st_json_text(&json, dump->target->argv[i]);
	st_json_array_end(&json);
	st_json_put_text(&json, "python_version", version);
	st_json_put_bool(&json, "python_frames", process->has_python);
	st_json_put_u64(&json, "gil_holder", process->lock_holder);
	st_json_put_text(&json, "not_held", process->why_not_held);
	st_json_put_array(&json, "threads");
	for (uint32_t i = 0; i < process->thread_count; i++)
		json_thread(&json, dump, &process->threads[i]);
	st_json_array_end(&json);
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

int st_cmd_dump(const struct st_args *args)
{
	const char *format = st_args_value(args, ST_OPT_FORMAT);
	bool json = format && strcmp(format, "json") == 0;
	struct st_live_process *process;
	struct st_target target = {0};
	struct st_error err = {0};
	struct dump dump = {.target = &target};
	int code = ST_EXIT_OK;

	if (format && !json && strcmp(format, "text") != 0) {
		st_console_error("-format: expected text or json for dump, not '%.60s'", format);
		return ST_EXIT_USAGE;
	}
	if (st_target_live(args, &target, &err) || st_live_take(&process, target.pid, true, &err))
		return st_console_fail(&err);
	dump.process = process;
	if (json)
		code = print_json(&dump);
	else
		print_text(&dump);
	st_live_process_destroy(process);
	return code;
}
