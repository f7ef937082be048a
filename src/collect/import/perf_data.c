// SPDX-License-Identifier: Apache-2.0
//
// perf.data to samples (collect/import/out.h). The rings of several processors are written in turns, so all
// records are listed first, sorted by time, and then lived through in order: processes, mappings, samples.
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/quote.h"
#include "base/vec.h"
#include "collect/import/out.h"
#include "collect/import/perf_file.h"
#include "collect/import/perf_layout.h"
#include "collect/import/perf_sample.h"
#include "collect/import/perf_stack.h"
#include "format/shm.h"

enum {
	RECORDS_MAX = 1 << 30,
	PROGRESS_RECORDS = 1 << 14,
	COMMAND_MAX_BYTES = 1 << 16,
	BUILD_ID_MAX = 20,
	PROT_EXEC_BIT = 4,
	MMAP_FIXED_BYTES = 32,	/* pid, tid, addr, len, pgoff */
	MMAP2_FIXED_BYTES = 64, /* and device or build id, prot, flags */
};

struct listed {
	uint64_t time;
	struct st_perf_record_view record;
};

struct import {
	struct st_import_out *out;
	struct st_perf_file file;
	struct listed *list;
	uint32_t count, capacity;
	struct st_perf_unwinder *unwinder;
	struct st_perf_walked *walked;
	const struct st_perf_attr *event; /* the one whose samples are taken */
	bool is_time;			  /* its period is nanoseconds */
	bool can_unwind, kernel_is_ours;
};

static bool is_of_kernel_or_perf(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_LOST:
	case PERF_RECORD_COMM:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return true;
	default:
		return false;
	}
}

static enum st_status bad_record(const struct import *import,
				 const struct st_perf_record_view *record, struct st_error *err)
{
	return st_error_set(err, ST_ECORRUPT, 0,
			    "%s: record %" PRIu64 " at byte %" PRIu64 " (type %" PRIu32
			    ", %u bytes) is shorter than its event requires",
			    import->file.path, record->number, record->offset, record->header.type,
			    record->header.size);
}

static enum st_status list_record(void *arg, const struct st_perf_record_view *record,
				  struct st_error *err)
{
	struct import *import = arg;
	struct st_perf_sample fields;
	struct listed listed = {.record = *record};

	if (record->header.type == RECORD_HEADER_ATTR && import->file.is_pipe)
		return st_perf_file_add_attr(&import->file, record->body, record->body_bytes, err);
	if (!is_of_kernel_or_perf(record->header.type))
		return ST_OK;
	if (record->header.type == PERF_RECORD_SAMPLE) {
		if (!st_perf_sample_fields(&import->file, record, &fields))
			return bad_record(import, record, err);
	} else {
		st_perf_record_id(&import->file, record, &fields);
	}
	listed.time = fields.time;
	if (import->count >= RECORDS_MAX ||
	    !ST_VEC_PUSH(import->list, import->count, import->capacity, listed))
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory for %" PRIu32 " records",
				    import->file.path, import->count);
	return ST_OK;
}

static int by_time(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->record.number > y->record.number) - (x->record.number < y->record.number);
}

/* Fields of fixed size and a name behind them. */
static bool fixed_part(const struct import *import, const struct st_perf_record_view *record,
		       size_t fixed_bytes, struct st_text *name)
{
	size_t bytes = st_perf_record_bytes(&import->file, record);

	if (bytes < fixed_bytes)
		return false;
	name->bytes = (const char *)record->body + fixed_bytes;
	name->size_bytes = strnlen(name->bytes, bytes - fixed_bytes);
	return true;
}

static uint32_t u32_at(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Names of the kernel's functions come from this machine's kernel: only if it is the one, at the same place. */
static bool is_our_kernel(uint64_t text_address)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	bool same = false, found = false;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *end;
		uint64_t address = strtoull(line, &end, 16);
		size_t length = strcspn(end, "\n");

		end[length] = '\0';
		found = strlen(end) > 3 && strcmp(end + 3, "_text") == 0;
		same = found && address == text_address && address;
	}
	if (file)
		fclose(file);
	return same;
}

static st_string_id build_id_of(struct import *import, const struct st_perf_record_view *record,
				struct st_text path)
{
	const struct st_perf_build_id *known;
	const uint8_t *at = record->body + MMAP_FIXED_BYTES;

	if (record->header.type == PERF_RECORD_MMAP2 &&
	    record->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID && at[0] <= BUILD_ID_MAX)
		return st_import_text(import->out, at + 4, at[0]);
	known = st_perf_file_build_id(&import->file, path);
	return known ? st_import_text(import->out, known->bytes, known->size_bytes) : 0;
}

static bool take_mmap(struct import *import, const struct st_perf_record_view *record,
		      uint64_t time)
{
	bool is_second = record->header.type == PERF_RECORD_MMAP2;
	struct st_import_map map = {.time = time};
	struct st_text path;

	if (!fixed_part(import, record, is_second ? MMAP2_FIXED_BYTES : MMAP_FIXED_BYTES, &path))
		return false;
	map.start = st_perf_u64(record->body + 8, 0);
	map.end = map.start + st_perf_u64(record->body + 16, 0);
	map.offset = st_perf_u64(record->body + 24, 0);
	if ((record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		static const char text[] = "[kernel.kallsyms]_text";

		if (path.size_bytes == sizeof(text) - 1 &&
		    memcmp(path.bytes, text, path.size_bytes) == 0)
			import->kernel_is_ours = is_our_kernel(map.offset);
		return true;
	}
	if (record->header.misc & PERF_RECORD_MISC_MMAP_DATA ||
	    (is_second && !(u32_at(record->body + 56) & PROT_EXEC_BIT)))
		return true;
	map.path = st_import_text(import->out, path.bytes, path.size_bytes);
	map.build_id = build_id_of(import, record, path);
	st_import_map(import->out, u32_at(record->body), &map);
	return true;
}

static bool take_comm(struct import *import, const struct st_perf_record_view *record,
		      uint64_t time)
{
	struct st_import_out *out = import->out;
	struct st_text name;
	uint32_t pid, tid, thread;
	st_string_id id;

	if (!fixed_part(import, record, 8, &name))
		return false;
	pid = u32_at(record->body);
	tid = u32_at(record->body + 4);
	if (record->header.misc & PERF_RECORD_MISC_COMM_EXEC)
		st_import_exec(out, pid, time);
	thread = st_import_thread_of(out, pid, tid, time);
	if (thread == ST_IMPORT_NONE)
		return true;
	id = st_import_text(out, name.bytes, name.size_bytes);
	if (tid == pid)
		out->processes[out->threads[thread].process].name = id;
	else
		out->threads[thread].name = id;
	return true;
}

static bool take_fork(struct import *import, const struct st_perf_record_view *record)
{
	struct st_text none;
	uint32_t pid, parent_pid;
	struct st_import_creator by;

	if (!fixed_part(import, record, 24, &none))
		return false;
	pid = u32_at(record->body);
	parent_pid = u32_at(record->body + 4);
	by.tid = u32_at(record->body + 8);
	by.creator_tid = u32_at(record->body + 12);
	by.time = st_perf_u64(record->body + 16, 0);
	if (record->header.type == PERF_RECORD_EXIT) {
		if (by.tid == pid)
			st_import_exit(import->out, pid, by.time);
	} else if (pid != parent_pid) {
		st_import_fork(import->out, pid, parent_pid, by.time);
	} else if (by.tid != by.creator_tid) {
		st_import_creator(import->out, pid, &by);
	}
	return true;
}

static bool take_lost(struct import *import, const struct st_perf_record_view *record)
{
	struct st_text none;
	size_t at = record->header.type == PERF_RECORD_LOST ? 8 : 0;

	if (!fixed_part(import, record, at + 8, &none))
		return false;
	import->out->counts.lost += st_perf_u64(record->body + at, 0);
	return true;
}

/* Off the processor: a sample of its own that weighs the time until it comes back. */
static bool take_switch(struct import *import, const struct st_perf_record_view *record)
{
	struct st_import_out *out = import->out;
	struct st_sample_record sample = {.flags = ST_SAMPLE_NO_STACK};
	struct st_import_thread *thread;
	struct st_perf_sample id;
	uint32_t at;

	st_perf_record_id(&import->file, record, &id);
	if (!id.pid)
		return true;
	at = st_import_thread_of(out, id.pid, id.tid, id.time);
	if (at == ST_IMPORT_NONE)
		return true;
	thread = &out->threads[at];
	if (record->header.misc & PERF_RECORD_MISC_SWITCH_OUT) {
		thread->out_since = id.time;
		thread->out_preempted =
			(record->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
	} else if (thread->out_since && id.time > thread->out_since) {
		sample.time = thread->out_since;
		sample.weight_ns = id.time - thread->out_since;
		sample.flags |= thread->out_preempted ? ST_SAMPLE_RUNNABLE : ST_SAMPLE_WAITING;
		st_import_sample(out, at, &sample);
		thread->out_since = 0;
	}
	return true;
}

struct stack { /* being put together, innermost first */
	struct st_stack_node frames[ST_PERF_FRAMES_MAX];
	uint32_t count, flags;
};

static void push(struct stack *stack, uint8_t kind, uint64_t value)
{
	if (stack->count == ST_PERF_FRAMES_MAX) {
		stack->flags |= ST_SAMPLE_DEPTH_CUT | ST_SAMPLE_TRUNCATED;
		return;
	}
	stack->frames[stack->count++] = (struct st_stack_node){.kind = kind, .value = value};
}

/* Kernel functions of another machine, or of another boot, have no names here: one frame stands for all. */
static void push_kernel(const struct import *import, uint32_t process, struct stack *stack,
			uint64_t address)
{
	struct st_import_out *out = import->out;

	if (import->kernel_is_ours)
		push(stack, ST_FRAME_KERNEL, address);
	else if (!(stack->flags & ST_SAMPLE_KERNEL))
		push(stack, ST_FRAME_EXACT,
		     st_import_symbol(out, process, st_import_text(out, "[kernel code]", 13),
				      st_import_text(out, "[kernel.kallsyms]", 17)));
	stack->flags |= ST_SAMPLE_KERNEL;
}

/* PERF_CONTEXT_* are the last numbers before 2^64. */
static bool is_mark(uint64_t ip)
{
	return ip >= (uint64_t)PERF_CONTEXT_MAX;
}

static void push_chain(const struct import *import, uint32_t process,
		       const struct st_perf_sample *fields, bool user_too, struct stack *stack)
{
	bool in_kernel = false, in_user = false, is_first = true;

	for (uint64_t i = 0; i < fields->chain_count; i++) {
		uint64_t ip = st_perf_u64(fields->chain, i);

		if (is_mark(ip)) {
			in_kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL;
			in_user = ip == (uint64_t)PERF_CONTEXT_USER;
			is_first = true;
			continue;
		}
		if (in_kernel)
			push_kernel(import, process, stack, ip);
		else if (in_user && user_too)
			push(stack, is_first ? ST_FRAME_EXACT : ST_FRAME_CALL, ip);
		is_first = false;
	}
}

static void push_walked(struct import *import, uint32_t process,
			const struct st_perf_sample *fields, struct stack *stack)
{
	struct st_perf_walked *walked = import->walked;

	st_perf_unwind(import->unwinder, import->out, process, fields, walked);
	for (uint32_t i = 0; i < walked->frame_count; i++) {
		uint64_t word = walked->frames[i];
		uint8_t kind = !i || word & ST_FRAME_WORD_EXACT ? ST_FRAME_EXACT : ST_FRAME_CALL;

		if (word & ST_FRAME_WORD_RECOVERED)
			kind |= ST_FRAME_RECOVERED;
		push(stack, kind, word & ~(ST_FRAME_WORD_RECOVERED | ST_FRAME_WORD_EXACT));
	}
	stack->flags |= walked->flags;
}

static void collect_stack(struct import *import, uint32_t process,
			  const struct st_perf_record_view *record,
			  const struct st_perf_sample *fields, struct stack *stack)
{
	bool has_copy = import->can_unwind && fields->registers && fields->stack;
	bool is_kernel =
		(record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;

	stack->count = stack->flags = 0;
	if (fields->chain)
		push_chain(import, process, fields, !has_copy, stack);
	if (has_copy) {
		if (!stack->count && is_kernel)
			push_kernel(import, process, stack, fields->ip);
		push_walked(import, process, fields, stack);
	}
	if (stack->count)
		return;
	if (!fields->chain)
		stack->flags |= ST_SAMPLE_NO_STACK;
	if (is_kernel)
		push_kernel(import, process, stack, fields->ip);
	else if (fields->ip)
		push(stack, ST_FRAME_EXACT, fields->ip);
}

static bool take_sample(struct import *import, const struct st_perf_record_view *record)
{
	struct st_import_out *out = import->out;
	struct st_sample_record sample = {0};
	struct st_perf_sample fields;
	struct stack stack;
	uint32_t thread, process;

	if (!st_perf_sample_fields(&import->file, record, &fields))
		return false;
	if (fields.attr != &import->event->event) {
		out->counts.other++;
		return true;
	}
	if (!fields.pid) {
		out->counts.idle++;
		return true;
	}
	thread = st_import_thread_of(out, fields.pid, fields.tid, fields.time);
	if (thread == ST_IMPORT_NONE)
		return true;
	process = out->threads[thread].process;
	collect_stack(import, process, record, &fields, &stack);
	for (uint32_t i = stack.count; i > 0 && !out->no_memory; i--)
		sample.node = st_import_node(out, process, sample.node, stack.frames[i - 1].kind,
					     stack.frames[i - 1].value);
	sample.time = fields.time;
	sample.flags = stack.flags;
	sample.weight_ns = import->is_time ? fields.period : 0;
	st_import_sample(out, thread, &sample);
	return true;
}

static bool take_record(struct import *import, const struct listed *listed)
{
	const struct st_perf_record_view *record = &listed->record;

	switch (record->header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return take_mmap(import, record, listed->time);
	case PERF_RECORD_COMM:
		return take_comm(import, record, listed->time);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return take_fork(import, record);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return take_lost(import, record);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return take_switch(import, record);
	default:
		return take_sample(import, record);
	}
}

static bool counts_time(const struct st_perf_attr *attr)
{
	return attr->event.type == PERF_TYPE_SOFTWARE &&
	       (attr->event.config == PERF_COUNT_SW_CPU_CLOCK ||
		attr->event.config == PERF_COUNT_SW_TASK_CLOCK);
}

/* The event that tells of CPU time, or else the first; perf's own dummy event has no samples. */
static enum st_status choose_event(struct import *import, struct st_error *err)
{
	const struct st_perf_file *file = &import->file;
	struct st_import_out *out = import->out;
	const struct st_perf_attr *chosen = NULL;
	struct st_text name;

	for (uint32_t i = 0; i < file->attr_count; i++) {
		const struct st_perf_attr *attr = &file->attrs[i];

		if (attr->event.type == PERF_TYPE_SOFTWARE &&
		    attr->event.config == PERF_COUNT_SW_DUMMY)
			continue;
		if (!chosen || (counts_time(attr) && !counts_time(chosen)))
			chosen = attr;
	}
	if (!chosen)
		return st_error_set(err, ST_ENOTFOUND, 0, "%s contains no events", file->path);
	if (!(chosen->event.sample_type & PERF_SAMPLE_TIME) ||
	    !(chosen->event.sample_type & PERF_SAMPLE_TID))
		return st_error_set(err, ST_EUNSUPPORTED, 0,
				    "%s does not contain the time or the thread of its samples",
				    file->path);
	import->event = chosen;
	import->is_time = counts_time(chosen);
	name = chosen->name;
	if (!name.size_bytes && import->is_time)
		name = chosen->event.config == PERF_COUNT_SW_CPU_CLOCK
			       ? (struct st_text){"cpu-clock", 9}
			       : (struct st_text){"task-clock", 10};
	out->event = st_import_text(out, name.bytes, name.size_bytes);
	out->trigger = import->is_time ? ST_TRIGGER_CPU_CLOCK : ST_TRIGGER_CYCLES;
	if (chosen->event.freq && chosen->event.sample_period)
		out->nominal_ns = 1000000000u / chosen->event.sample_period;
	else if (import->is_time)
		out->nominal_ns = chosen->event.sample_period;
	return ST_OK;
}

static void tell_machine(struct import *import)
{
	const struct st_perf_file *file = &import->file;
	struct st_import_out *out = import->out;
	struct st_buf command;
	char word[1024];

	st_buf_init(&command, COMMAND_MAX_BYTES);
	for (uint32_t i = 0; i < file->argument_count; i++) {
		snprintf(word, sizeof(word), "%.*s", (int)file->arguments[i].size_bytes,
			 file->arguments[i].bytes);
		if (i)
			st_buf_append_u8(&command, ' ');
		st_quote_word(&command, word);
	}
	if (command.size_bytes && !command.failed)
		out->command = st_import_text(out, command.data, command.size_bytes);
	st_buf_fini(&command);
	out->host = st_import_text(out, file->host.bytes, file->host.size_bytes);
	out->os = st_import_text(out, file->os.bytes, file->os.size_bytes);
	out->cpu = st_import_text(out, file->cpu.bytes, file->cpu.size_bytes);
	out->cpu_count = file->cpu_count;
	out->format = st_import_text(out, "perf.data", 9);
	/* A file that does not say is taken to be from here. */
	import->can_unwind =
		import->unwinder &&
		(!file->arch.size_bytes ||
		 (file->arch.size_bytes == 6 && memcmp(file->arch.bytes, "x86_64", 6) == 0));
}

static enum st_status live_through(struct import *import, const struct st_import_options *options,
				   struct st_error *err)
{
	if (import->count)
		qsort(import->list, import->count, sizeof(*import->list), by_time);
	for (uint32_t i = 0; i < import->count; i++) {
		if (!take_record(import, &import->list[i]))
			return bad_record(import, &import->list[i].record, err);
		if (import->out->no_memory)
			return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory",
					    import->file.path);
		if (options->progress && i % PROGRESS_RECORDS == 0)
			options->progress(options->progress_arg, (double)i / import->count,
					  "importing");
	}
	return ST_OK;
}

enum st_status st_import_perf_data(struct st_import_out *out,
				   const struct st_import_options *options, const uint8_t *bytes,
				   size_t size_bytes, struct st_error *err)
{
	struct import *import = calloc(1, sizeof(*import));
	enum st_status status;

	if (import)
		import->walked = malloc(sizeof(*import->walked));
	if (!import || !import->walked) {
		free(import);
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", options->path);
	}
	import->out = out;
	status = st_perf_file_open(&import->file, options->path, bytes, size_bytes, err);
	if (!status)
		status = st_perf_file_walk(&import->file, list_record, import, err);
	if (!status)
		status = choose_event(import, err);
	if (!status)
		status = st_perf_unwinder_create(&import->unwinder, options->cache, err);
	if (!status) {
		tell_machine(import);
		status = live_through(import, options, err);
	}
	st_perf_unwinder_destroy(import->unwinder);
	st_perf_file_close(&import->file);
	free(import->list);
	free(import->walked);
	free(import);
	return status;
}
