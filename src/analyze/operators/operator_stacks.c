// SPDX-License-Identifier: Apache-2.0
//
// The Python code that an operator was called by: its line, its function, all of its callers. Backward nodes run from
// wherever backward() was called; autograd's sequence number tells which forward operator each belongs to, and its
// stack is the one that helps: it is shown with the word "backward". What lies inside of a node belongs where it does.
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_operators.h"
#include "base/buf.h"
#include "store/samples.h"

enum { TEXT_MAX_BYTES = 64 << 10 };

struct job {
	const struct st_result *result;
	struct st_operator_rows *rows;
	const struct st_stack_nodes *nodes;
	const struct st_python_code *codes;
	uint32_t code_count;
	uint32_t *stacks;   /* by row: node */
	uint8_t *is_linked; /* by row: the stack is that of a forward operator */
};

static void link_row(struct job *job, uint32_t row, uint32_t from)
{
	uint32_t up = job->rows->parent[row];

	job->stacks[row] = job->stacks[from];
	job->is_linked[row] = 1;
	/* The engine's own range around a node, which has no number. */
	if (up == ST_NO_ROW || job->is_linked[up] || st_operator_sequence(job->rows, up) >= 0 ||
	    job->rows->stack[up] != job->rows->stack[row])
		return;
	job->stacks[up] = job->stacks[from];
	job->is_linked[up] = 1;
}

/* Rows come after the rows around them. */
static bool follow_backward(struct job *job, const struct st_dataset *dataset)
{
	const struct st_operator_rows *rows = job->rows;
	uint32_t *forwards = st_operators_forwards(dataset, rows);

	for (uint32_t row = 0; forwards && row < rows->count; row++) {
		uint32_t up = rows->parent[row], from = forwards[row];

		if (from != ST_NO_ROW && rows->stack[from] && !job->is_linked[from]) {
			link_row(job, row, from);
		} else if (up != ST_NO_ROW && job->is_linked[up] &&
			   rows->stack[row] == rows->stack[up]) {
			/* Python code that runs inside of a node has a stack of its own. */
			job->stacks[row] = job->stacks[up];
			job->is_linked[row] = 1;
		}
	}
	free(forwards);
	return forwards != NULL;
}

static void add_place(const struct job *job, uint32_t node, enum st_grouping grouping,
		      struct st_buf *out)
{
	uint32_t code = (uint32_t)job->nodes->value[node];
	struct st_text file = {"?", 1}, name = {"?", 1};

	if (code < job->code_count) {
		file = st_result_text(job->result, job->codes[code].file);
		name = st_result_text(job->result, job->codes[code].name);
	}
	if (grouping != ST_BY_PYTHON_LINE)
		st_buf_append(out, name.bytes, name.size_bytes);
	if (grouping == ST_BY_CALLSTACK)
		st_buf_append_text(out, " (");
	if (grouping != ST_BY_PYTHON_FUNCTION) {
		st_buf_append(out, file.bytes, file.size_bytes);
		st_buf_printf(out, ":%u", job->nodes->line[node]);
	}
	if (grouping == ST_BY_CALLSTACK)
		st_buf_append_text(out, ")");
}

static struct st_text text_of(struct job *job, uint32_t node, bool is_linked,
			      enum st_grouping grouping)
{
	struct st_buf out;
	struct st_text text;

	st_buf_init(&out, TEXT_MAX_BYTES);
	add_place(job, node, grouping, &out);
	for (uint32_t up = job->nodes->parent[node]; up && grouping == ST_BY_CALLSTACK;
	     up = job->nodes->parent[up]) {
		st_buf_append_text(&out, " < ");
		add_place(job, up, grouping, &out);
	}
	if (is_linked)
		st_buf_append_text(&out, " [backward]");
	text = st_text_copy(&job->rows->arena, (struct st_text){(char *)out.data, out.size_bytes});
	st_buf_fini(&out);
	return text;
}

/* Many rows have the same stack: a text is made once. */
static bool set_keys(struct job *job, struct st_key_texts *texts, uint32_t *keys,
		     enum st_grouping grouping)
{
	uint32_t *known = calloc(2 * ((size_t)job->nodes->count + 1), sizeof(*known));

	for (uint32_t row = 0; known && row < job->rows->count; row++) {
		uint32_t node = job->stacks[row], *key = &known[2 * node + job->is_linked[row]];

		if (!node)
			continue;
		if (!*key)
			*key = st_key_texts_add(texts,
						text_of(job, node, job->is_linked[row], grouping));
		keys[row] = *key;
	}
	free(known);
	return known && !texts->failed && !job->rows->arena.failed;
}

bool st_operators_add_stacks(struct st_dataset *dataset, struct st_operator_rows *rows,
			     enum st_grouping grouping)
{
	static const struct st_text none = {"[no Python stack]", 17};
	struct st_key_texts *texts = &rows->texts[grouping];
	struct job job = {.result = rows->result, .rows = rows};
	size_t count = (size_t)rows->count + 1;
	uint32_t *keys = st_arena_calloc(&rows->arena, count, sizeof(*keys));
	bool done;

	job.nodes = st_result_stack_nodes(rows->result);
	job.codes = st_result_python_codes(rows->result, &job.code_count);
	job.stacks = malloc(count * sizeof(*job.stacks));
	job.is_linked = calloc(count, 1);
	done = keys && job.stacks && job.is_linked;
	st_key_texts_add(texts, none);
	if (done) {
		memcpy(job.stacks, rows->stack, rows->count * sizeof(*job.stacks));
		done = follow_backward(&job, dataset) && set_keys(&job, texts, keys, grouping);
	}
	dataset->keys[grouping] = st_keys(keys, NULL, texts->count);
	free(job.stacks);
	free(job.is_linked);
	return done;
}
