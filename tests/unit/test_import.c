// SPDX-License-Identifier: Apache-2.0
//
// Files of other profilers, written by hand, as results: order, processes, weights, stacks, and what is refused.
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "collect/import/import.h"
#include "result_maker.h"
#include "store/events.h"
#include "store/samples.h"

enum { ATTR_BYTES = 128, HEADER_BYTES = 104 };

struct fixture {
	struct perf_event_attr attr;
	struct st_buf records;
	struct st_import_counts counts;
	struct st_error err;
	struct st_result *result;
	const struct st_samples *samples;
	char *parent, folder[600];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->attr = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
					   .size = ATTR_BYTES,
					   .config = PERF_COUNT_SW_CPU_CLOCK,
					   .sample_period = 1000,
					   .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							  PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
							  PERF_SAMPLE_PERIOD,
					   .sample_id_all = 1};
	st_buf_init(&f->records, 1 << 20);
	f->parent = temporary_folder();
	snprintf(f->folder, sizeof(f->folder), "%s/result", f->parent);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->result) {
		st_result_close(f->result);
		remove_folder(f->folder);
	}
	remove_folder(f->parent);
	st_buf_fini(&f->records);
	free(f->parent);
	free(f);
	return 0;
}

/* A record of the body; what is no sample gets its id: pid, tid, time. */
static void record(struct fixture *f, uint32_t type, uint16_t misc, const struct st_buf *body)
{
	st_buf_append_u32(&f->records, type);
	st_buf_append_u16(&f->records, misc);
	st_buf_append_u16(&f->records, (uint16_t)(8 + body->size_bytes));
	st_buf_append(&f->records, body->data, body->size_bytes);
}

static void add_id(struct st_buf *body, uint32_t pid, uint32_t tid, uint64_t time)
{
	st_buf_append_u32(body, pid);
	st_buf_append_u32(body, tid);
	st_buf_append_u64(body, time);
}

static void add_name(struct st_buf *body, const char *name)
{
	size_t bytes = strlen(name) + 1;

	st_buf_append(body, name, bytes);
	for (; bytes % 8; bytes++)
		st_buf_append_u8(body, 0);
}

struct chain {
	uint32_t count;
	uint64_t ips[8];
};

static void sample(struct fixture *f, uint32_t tid, uint64_t time, uint64_t period,
		   const struct chain *chain)
{
	struct st_buf body;

	st_buf_init(&body, 4096);
	st_buf_append_u64(&body, 0x1234);
	add_id(&body, 100, tid, time);
	st_buf_append_u64(&body, period);
	st_buf_append_u64(&body, chain->count);
	for (uint32_t i = 0; i < chain->count; i++)
		st_buf_append_u64(&body, chain->ips[i]);
	record(f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body);
	st_buf_fini(&body);
}

static void comm(struct fixture *f, uint32_t pid, uint32_t tid, uint64_t time, const char *name,
		 uint16_t misc)
{
	struct st_buf body;

	st_buf_init(&body, 4096);
	st_buf_append_u32(&body, pid);
	st_buf_append_u32(&body, tid);
	add_name(&body, name);
	add_id(&body, pid, tid, time);
	record(f, PERF_RECORD_COMM, misc, &body);
	st_buf_fini(&body);
}

static void mmap_record(struct fixture *f, uint64_t start, uint64_t bytes, uint64_t time,
			const char *path)
{
	struct st_buf body;

	st_buf_init(&body, 4096);
	st_buf_append_u32(&body, 100);
	st_buf_append_u32(&body, 100);
	st_buf_append_u64(&body, start);
	st_buf_append_u64(&body, bytes);
	st_buf_append_u64(&body, 0);
	add_name(&body, path);
	add_id(&body, 100, 100, time);
	record(f, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, &body);
	st_buf_fini(&body);
}

static void numbers(struct fixture *f, uint32_t type, uint16_t misc, uint64_t time,
		    const char *fields, ...)
{
	struct st_buf body;
	va_list args;

	st_buf_init(&body, 4096);
	va_start(args, fields);
	for (; *fields; fields++) {
		if (*fields == '4')
			st_buf_append_u32(&body, va_arg(args, uint32_t));
		else
			st_buf_append_u64(&body, va_arg(args, uint64_t));
	}
	va_end(args);
	add_id(&body, 100, 100, time);
	record(f, type, misc, &body);
	st_buf_fini(&body);
}

static enum st_status import_bytes(struct fixture *f, const void *bytes, size_t size_bytes)
{
	const struct st_import_options options = {
		.path = "some.data", .version = "1", .cache = "/proc/strata"};
	enum st_status status =
		st_import_bytes(&options, bytes, size_bytes, f->folder, &f->counts, &f->err);

	if (status)
		return status;
	assert_int_equal(st_result_open(&f->result, f->folder, NULL, &f->err), ST_OK);
	f->samples = st_result_samples(f->result);
	return ST_OK;
}

static enum st_status import_records(struct fixture *f)
{
	uint64_t head[13] = {0,
			     HEADER_BYTES,
			     ATTR_BYTES + 16,
			     HEADER_BYTES,
			     ATTR_BYTES + 16,
			     HEADER_BYTES + ATTR_BYTES + 16,
			     f->records.size_bytes};
	const uint64_t no_ids[2] = {0, 0};
	enum st_status status;
	struct st_buf file;

	st_buf_init(&file, 2 << 20);
	memcpy(head, "PERFILE2", 8);
	st_buf_append(&file, head, sizeof(head));
	st_buf_append(&file, &f->attr, ATTR_BYTES);
	st_buf_append(&file, no_ids, sizeof(no_ids));
	st_buf_append(&file, f->records.data, f->records.size_bytes);
	status = import_bytes(f, file.data, file.size_bytes);
	st_buf_fini(&file);
	return status;
}

static const struct chain two = {3, {(uint64_t)PERF_CONTEXT_USER, 0x401010, 0x401020}};
static const struct chain one = {2, {(uint64_t)PERF_CONTEXT_USER, 0x401030}};

/* Processors write in turns: the file is not in order of time. */
static void test_order_and_stacks(void **state)
{
	struct fixture *f = *state;
	const struct st_stack_nodes *nodes;
	const struct st_code_map *maps;
	const struct st_process *processes;
	uint32_t count, leaf;

	comm(f, 100, 100, 1, "prog", PERF_RECORD_MISC_COMM_EXEC);
	mmap_record(f, 0x401000, 0x1000, 2, "/usr/bin/prog");
	numbers(f, PERF_RECORD_FORK, 0, 50, "44448", 100u, 100u, 101u, 100u, (uint64_t)50);
	sample(f, 101, 300, 7, &one);
	sample(f, 100, 200, 5, &two);
	sample(f, 100, 100, 6, &two);
	sample(f, 101, 60, 8, &two);
	comm(f, 100, 101, 55, "worker", 0);
	assert_int_equal(import_records(f), ST_OK);
	assert_int_equal(f->samples->count, 4);
	assert_int_equal(f->counts.samples, 4);
	assert_int_equal(f->counts.cpu_ns, 26);
	assert_int_equal(f->counts.threads, 2);
	assert_int_equal(f->samples->weight_ns[0], 6);
	assert_int_equal(f->samples->weight_ns[1], 5);
	assert_int_equal(f->samples->time_ns[1] - f->samples->time_ns[0], 100);
	assert_int_equal(f->samples->weight_ns[2], 8);
	assert_int_equal(f->samples->weight_ns[3], 7);
	assert_int_equal(st_result_track_creator(f->result, 1), 0);
	nodes = st_result_stack_nodes(f->result);
	leaf = f->samples->node[0];
	assert_int_equal(nodes->value[leaf], 0x401010);
	assert_int_equal(nodes->kind[leaf], ST_FRAME_EXACT);
	assert_int_equal(nodes->value[nodes->parent[leaf]], 0x401020);
	assert_int_equal(nodes->kind[nodes->parent[leaf]], ST_FRAME_CALL);
	assert_int_equal(nodes->parent[nodes->parent[leaf]], 0);
	assert_int_equal(f->samples->node[2], leaf);
	maps = st_result_code_maps(f->result, &count);
	assert_int_equal(count, 1);
	assert_string_equal(st_result_text(f->result, maps[0].path).bytes, "/usr/bin/prog");
	processes = st_result_processes(f->result, &count);
	assert_int_equal(count, 1);
	assert_string_equal(st_result_text(f->result, processes[0].name).bytes, "prog");
	assert_string_equal(
		st_result_text(f->result, st_result_tracks(f->result, &count)[1].name).bytes,
		"worker");
	assert_string_equal(st_result_info(f->result)->type, "hotspots");
	assert_string_equal(st_result_info(f->result)->source, "perf.data, event cpu-clock");
}

/* The same pid goes on as another program, and another one is forked off it. */
static void test_exec_and_fork(void **state)
{
	struct fixture *f = *state;
	const struct st_process *processes;
	uint32_t count;

	comm(f, 100, 100, 1, "shell", PERF_RECORD_MISC_COMM_EXEC);
	sample(f, 100, 10, 1, &two);
	comm(f, 100, 100, 20, "prog", PERF_RECORD_MISC_COMM_EXEC);
	sample(f, 100, 30, 1, &two);
	assert_int_equal(import_records(f), ST_OK);
	processes = st_result_processes(f->result, &count);
	assert_int_equal(count, 2);
	assert_string_equal(st_result_text(f->result, processes[0].name).bytes, "shell");
	assert_int_equal(processes[0].end, ST_END_EXEC);
	assert_string_equal(st_result_text(f->result, processes[1].name).bytes, "prog");
	assert_int_equal(processes[1].incarnation, 1);
}

static void test_waits_and_losses(void **state)
{
	struct fixture *f = *state;
	const struct st_sampler *samplers;
	uint32_t count;

	comm(f, 100, 100, 1, "prog", PERF_RECORD_MISC_COMM_EXEC);
	sample(f, 100, 10, 1, &two);
	numbers(f, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 20, "");
	numbers(f, PERF_RECORD_SWITCH, 0, 50, "");
	numbers(f, PERF_RECORD_SWITCH,
		PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, 60, "");
	numbers(f, PERF_RECORD_SWITCH, 0, 65, "");
	numbers(f, PERF_RECORD_LOST, 0, 66, "88", (uint64_t)1, (uint64_t)17);
	assert_int_equal(import_records(f), ST_OK);
	assert_int_equal(f->samples->count, 3);
	assert_int_equal(f->samples->weight_ns[1], 30);
	assert_true(f->samples->flags[1] & ST_SAMPLE_WAITING);
	assert_int_equal(f->samples->weight_ns[2], 5);
	assert_true(f->samples->flags[2] & ST_SAMPLE_RUNNABLE);
	assert_int_equal(st_result_sample_quality(f->result)->cpu_ns, 1);
	samplers = st_result_samplers(f->result, &count);
	assert_int_equal(count, 1);
	assert_int_equal(samplers[0].rung, ST_RUNG_IMPORTED);
	assert_int_equal(samplers[0].dropped, 17);
	assert_true(has_note(f->result, "17 records were lost by perf while recording"));
}

/* Cycles are no time: the distance to the sample before is, unless the thread did not run all the while. */
static void test_weights_of_other_events(void **state)
{
	struct fixture *f = *state;

	f->attr.type = PERF_TYPE_HARDWARE;
	f->attr.freq = 1;
	f->attr.sample_freq = 1000000; /* 1,000 ns */
	comm(f, 100, 100, 1, "prog", PERF_RECORD_MISC_COMM_EXEC);
	sample(f, 100, 10000, 12345, &two);
	sample(f, 100, 11100, 12345, &two);
	sample(f, 100, 91100, 12345, &two);
	assert_int_equal(import_records(f), ST_OK);
	assert_int_equal(f->samples->weight_ns[0], 1000);
	assert_int_equal(f->samples->weight_ns[1], 1100);
	assert_int_equal(f->samples->weight_ns[2], 1000);
	assert_int_equal(st_result_sample_quality(f->result)->nominal, 3);
}

/* Kernel functions of who knows which machine: one frame stands for all, with a name that says so. */
static void test_kernel_of_another_machine(void **state)
{
	static const struct chain kernel = {5,
					    {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010,
					     0xffffffff81000020, (uint64_t)PERF_CONTEXT_USER,
					     0x401010}};
	struct fixture *f = *state;
	const struct st_stack_nodes *nodes;
	const struct st_code *code;
	uint32_t count;

	comm(f, 100, 100, 1, "prog", PERF_RECORD_MISC_COMM_EXEC);
	sample(f, 100, 10, 1, &kernel);
	assert_int_equal(import_records(f), ST_OK);
	nodes = st_result_stack_nodes(f->result);
	assert_int_equal(nodes->count, 3);
	assert_int_equal(nodes->value[nodes->parent[f->samples->node[0]]], 0x401010);
	assert_true(f->samples->flags[0] & ST_SAMPLE_KERNEL);
	code = st_result_code(f->result, &count);
	assert_int_equal(count, 1);
	assert_int_equal(code[0].address, nodes->value[f->samples->node[0]]);
	assert_string_equal(st_result_text(f->result, code[0].name).bytes, "[kernel code]");
}

static void expect_refused(struct fixture *f, const char *part)
{
	assert_int_not_equal(import_records(f), ST_OK);
	if (!strstr(f->err.text, part))
		fail_msg("'%s' is not in '%s'", part, f->err.text);
}

static void test_refused(void **state)
{
	struct fixture *f = *state;
	uint64_t first = HEADER_BYTES + ATTR_BYTES + 16;
	char part[80];

	expect_refused(f, "contains no samples");
	comm(f, 100, 100, 1, "prog", 0);
	snprintf(part, sizeof(part), "record 1 at byte %zu", (size_t)first + f->records.size_bytes);
	sample(f, 100, 10, 1, &two);
	f->records.data[f->records.size_bytes - 32] = 200; /* frames of the chain */
	expect_refused(f, part);
	st_buf_clear(&f->records);
	st_buf_append_u64(&f->records, 0x0002000000000009);
	expect_refused(f, "has an invalid size of 2 bytes");
	f->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_TIME;
	st_buf_clear(&f->records);
	expect_refused(f, "does not contain the time");
}

static const char *code_name(const struct st_result *result, uint32_t node)
{
	const struct st_stack_nodes *nodes = st_result_stack_nodes(result);
	uint32_t count;
	const struct st_code *code = st_result_code(result, &count);
	bool is_call = nodes->kind[node] == ST_FRAME_CALL;

	for (uint32_t i = 0; i < count; i++)
		if (nodes->value[node] - (is_call ? 1 : 0) - code[i].address < code[i].size_bytes)
			return st_result_text(result, code[i].name).bytes;
	return "";
}

static void test_script(void **state)
{
	static const char text[] =
		"# a header\n"
		"my prog 1: 2  100/101 [003]  8.500000:    1003009 cpu-clock:u: \n"
		"\t    55d0 operator()(int, void (*)(int)) const+0x1c (/usr/lib/x y (deleted))\n"
		"\t    55d0 small (inlined)\n"
		"\t    66d0 main (/usr/bin/prog)\n"
		"\n"
		"my prog 1: 2  100/100 8.400000001:    7 cpu-clock:u:  5 leaf+0x2 (/usr/bin/prog)\n"
		"this says nothing\n"
		"swapper     0 [000]  9.0: 1 cpu-clock:u:  5 idle ([kernel.kallsyms])\n"
		"other 5 9.0: 1 page-faults:  5 idle ([kernel.kallsyms])\n";
	struct fixture *f = *state;
	const struct st_stack_nodes *nodes;
	const struct st_process *processes;
	uint32_t count, node;

	assert_int_equal(import_bytes(f, text, sizeof(text) - 1), ST_OK);
	assert_int_equal(f->samples->count, 2);
	assert_int_equal(f->counts.idle, 1);
	assert_int_equal(f->counts.other, 1);
	assert_int_equal(f->counts.skipped, 1);
	assert_int_equal(st_result_tracks(f->result, &count)[0].tid, 101);
	processes = st_result_processes(f->result, &count);
	assert_int_equal(count, 1);
	assert_int_equal(processes[0].pid, 100);
	assert_string_equal(st_result_text(f->result, processes[0].name).bytes, "my prog 1: 2");
	assert_int_equal(f->samples->weight_ns[0], 1003009);
	assert_int_equal(f->samples->weight_ns[1], 7);
	assert_int_equal(f->samples->time_ns[0] - f->samples->time_ns[1], 99999999);
	nodes = st_result_stack_nodes(f->result);
	node = f->samples->node[0];
	assert_string_equal(code_name(f->result, node), "operator()(int, void (*)(int)) const");
	node = nodes->parent[node];
	assert_string_equal(code_name(f->result, node), "small");
	node = nodes->parent[node];
	assert_string_equal(code_name(f->result, node), "main");
	assert_int_equal(nodes->parent[node], 0);
	assert_string_equal(code_name(f->result, f->samples->node[1]), "leaf");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_order_and_stacks),
		ROW(test_exec_and_fork),
		ROW(test_waits_and_losses),
		ROW(test_weights_of_other_events),
		ROW(test_kernel_of_another_machine),
		ROW(test_refused),
		ROW(test_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
