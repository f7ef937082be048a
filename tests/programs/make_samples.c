// SPDX-License-Identifier: Apache-2.0
//
// Writes a synthetic result of samples, for tests of what large ones cost:
//
//	make_samples FOLDER SAMPLES STACKS LABELS
//
// One thread, one sample every 100 us of 100 us of CPU time. STACKS different stacks of DEPTH Python functions, which
// share their outer part and differ in the inner one, are hit by chance; every STEP samples are one task of two,
// nested, out of LABELS. Seen from the inside out hardly two stacks are alike.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/result_maker.h"

enum { DEPTH = 48, FUNCTIONS = 400, STEP = 20, PERIOD = 100000, NODES_PER_RECORD = 1000 };

struct stacks {
	uint32_t *leaf, *path; /* by stack; nodes of the one made last */
	uint32_t count, next_node, random;
};

static uint32_t number(const char *text)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || !value || value > 100000000) {
		fprintf(stderr, "make_samples: \"%s\" is not a number of them\n", text);
		exit(2);
	}
	return (uint32_t)value;
}

static uint32_t chance(struct stacks *stacks, uint32_t below)
{
	stacks->random = stacks->random * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)stacks->random * below) >> 32);
}

/* Every stack leaves that before it at some depth. */
static void make_stack(struct result_maker *m, struct stacks *stacks, uint32_t index)
{
	struct st_stack_node nodes[DEPTH];
	uint32_t from = index ? DEPTH / 4 + chance(stacks, DEPTH * 3 / 4) : 0, first;

	first = stacks->next_node;
	for (uint32_t i = from; i < DEPTH; i++) {
		nodes[i - from] = (struct st_stack_node){.parent = i ? stacks->path[i - 1] : 0,
							 .kind = ST_FRAME_PYTHON,
							 .value = 1 + chance(stacks, FUNCTIONS)};
		stacks->path[i] = stacks->next_node++;
	}
	maker_nodes(m, first, nodes, DEPTH - from);
	stacks->leaf[index] = stacks->next_node - 1;
}

static void define(struct result_maker *m, struct stacks *stacks, uint32_t labels)
{
	char name[64];

	maker_process(m, 100, 0, ST_PROCESS_DIRECT, 0);
	maker_text(m, ST_DEF_DOMAIN, 1, "d");
	for (uint32_t i = 0; i < labels; i++) {
		snprintf(name, sizeof(name), "operator_%" PRIu32, i);
		maker_text(m, ST_DEF_STRING, i + 1, name);
	}
	maker_thread(m, 1, 100);
	maker_sampler(m, 1, 1, PERIOD, "");
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "function_%" PRIu32, i);
		maker_python_code(m, i + 1, 10, "job.py", name, NULL);
	}
	maker_define(m, 1);
	for (uint32_t i = 0; i < stacks->count; i++) {
		make_stack(m, stacks, i);
		if (i % NODES_PER_RECORD == NODES_PER_RECORD - 1 || i + 1 == stacks->count)
			maker_define(m, 1);
	}
}

static void add_tasks(struct result_maker *m, uint32_t step, uint32_t labels)
{
	uint64_t at = (uint64_t)step * STEP * PERIOD + PERIOD / 2, end = at + STEP * PERIOD;

	st_slice_encoder_begin(&m->slices, at, 1, 1 + step % labels, 0);
	st_slice_encoder_begin(&m->slices, at + 1, 1, 1 + step * 7 % labels, 0);
	st_slice_encoder_end(&m->slices, end - 2, 1);
	st_slice_encoder_end(&m->slices, end - 1, 1);
	if (m->slices.record_count + 4 > ST_CHUNK_RECORDS_MAX)
		maker_chunk(m, 1, 1);
}

static void record(struct result_maker *m, struct stacks *stacks, uint32_t samples, uint32_t labels)
{
	for (uint32_t i = 0; i < samples; i++) {
		if (i % STEP == 0)
			add_tasks(m, i / STEP, labels);
		maker_sample(m, (uint64_t)(i + 1) * PERIOD, PERIOD,
			     stacks->leaf[chance(stacks, stacks->count)], 0);
		if (st_sample_encoder_is_full(&m->samples))
			maker_samples(m, 1, 1);
	}
	if (m->slices.record_count)
		maker_chunk(m, 1, 1);
	if (m->samples.record_count)
		maker_samples(m, 1, 1);
}

int main(int argc, char **argv)
{
	struct stacks stacks = {.next_node = 1, .random = 1};
	struct result_maker maker;
	uint32_t samples, labels;

	if (argc != 5) {
		fprintf(stderr, "usage: make_samples FOLDER SAMPLES STACKS LABELS\n");
		return 2;
	}
	samples = number(argv[2]);
	stacks.count = number(argv[3]);
	labels = number(argv[4]);
	stacks.leaf = calloc(stacks.count, sizeof(*stacks.leaf));
	stacks.path = calloc(DEPTH, sizeof(*stacks.path));
	if (!stacks.leaf || !stacks.path)
		return 1;
	maker_init(&maker);
	maker.json = "{\"schema\": \"strata.result/1\", \"state\": \"finished\", \"type\": "
		     "\"hotspots\"}";
	define(&maker, &stacks, labels);
	record(&maker, &stacks, samples, labels);
	maker_end(&maker);
	maker_write(&maker, argv[1]);
	maker_fini(&maker);
	free(stacks.leaf);
	free(stacks.path);
	return 0;
}
