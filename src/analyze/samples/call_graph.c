// SPDX-License-Identifier: Apache-2.0
//
// The call graph of samples. A stack counts once for each function and once for each call in it, whatever its
// recursion. Cycles are the strongly connected parts of the graph (Tarjan), found without recursion of ours.
#include "analyze/samples/call_graph.h"

#include <stdlib.h>
#include <string.h>

struct builder {
	struct st_call_graph *graph;
	struct st_pair_map map; /* (caller, callee) to call */
	bool failed;
};

static void add_call(struct builder *b, uint32_t caller, uint32_t callee, uint32_t stamp,
		     const uint64_t weights[2])
{
	struct st_call_graph *graph = b->graph;
	uint32_t at = st_pair_map_add(&b->map, caller, callee);
	struct st_call *call;

	if (at == graph->call_count && !b->map.failed) {
		if (graph->call_count == graph->call_capacity) {
			uint32_t capacity = graph->call_capacity ? graph->call_capacity * 2 : 256;
			struct st_call *calls = realloc(graph->calls, capacity * sizeof(*calls));

			b->failed = !calls;
			if (!calls)
				return;
			graph->calls = calls;
			graph->call_capacity = capacity;
		}
		graph->calls[graph->call_count++] =
			(struct st_call){.caller = caller, .callee = callee};
	}
	b->failed = b->failed || b->map.failed;
	if (b->failed)
		return;
	call = &graph->calls[at];
	call->self_ns += weights[0];
	if (call->stamp != stamp)
		call->total_ns += weights[1];
	call->stamp = stamp;
}

static void add_row(struct builder *b, const struct st_sample_set *set,
		    const struct st_sample_row *row, uint32_t stamp)
{
	const uint32_t *keys = set->keys[ST_BY_FUNCTION].of_frame;
	uint32_t frame = row->frame;
	bool is_leaf = true;

	b->graph->total_ns += row->weight;
	b->graph->functions[keys[frame]].self_ns += row->weight;
	do {
		struct st_call_function *function = &b->graph->functions[keys[frame]];
		uint32_t caller = frame ? st_sample_caller(set, frame) : 0;

		if (function->stamp != stamp)
			function->total_ns += row->weight;
		function->stamp = stamp;
		if (caller) {
			add_call(b, keys[caller], keys[frame], stamp,
				 (uint64_t[]){is_leaf ? row->weight : 0, row->weight});
		} else {
			function->root_ns += row->weight;
			function->root_self_ns += is_leaf ? row->weight : 0;
		}
		is_leaf = false;
		frame = caller;
	} while (frame && !b->failed);
}

/* Scratch of Tarjan's algorithm, by function. */
struct search {
	uint32_t *index, *low, *next, *stack, *path;
	uint32_t *first; /* calls of each caller lie together behind this, in by_caller */
	uint32_t *by_caller;
	bool *on_stack;
	uint32_t counter, depth, stacked, cycles;
};

static void list_calls(const struct st_call_graph *graph, struct search *s)
{
	for (uint32_t i = 0; i < graph->call_count; i++)
		s->first[graph->calls[i].caller + 1]++;
	for (uint32_t i = 0; i < graph->function_count; i++)
		s->first[i + 1] += s->first[i];
	memcpy(s->next, s->first, graph->function_count * sizeof(*s->next));
	for (uint32_t i = 0; i < graph->call_count; i++)
		s->by_caller[s->next[graph->calls[i].caller]++] = graph->calls[i].callee;
	memcpy(s->next, s->first, graph->function_count * sizeof(*s->next));
}

static void enter(struct search *s, uint32_t node)
{
	s->index[node] = s->low[node] = ++s->counter;
	s->path[s->depth++] = node;
	s->stack[s->stacked++] = node;
	s->on_stack[node] = true;
}

static void leave(struct st_call_graph *graph, struct search *s, uint32_t node)
{
	uint32_t size = 0, cycle;

	s->depth--;
	if (s->depth && s->low[node] < s->low[s->path[s->depth - 1]])
		s->low[s->path[s->depth - 1]] = s->low[node];
	if (s->low[node] != s->index[node])
		return;
	while (s->stack[s->stacked - 1 - size] != node)
		size++;
	cycle = size ? ++s->cycles : 0;
	for (uint32_t i = 0; i <= size; i++) {
		uint32_t member = s->stack[--s->stacked];

		s->on_stack[member] = false;
		graph->functions[member].cycle = cycle;
	}
}

static void visit(struct st_call_graph *graph, struct search *s, uint32_t root)
{
	enter(s, root);
	while (s->depth) {
		uint32_t node = s->path[s->depth - 1];

		if (s->next[node] == s->first[node + 1]) {
			leave(graph, s, node);
			continue;
		}
		uint32_t callee = s->by_caller[s->next[node]++];

		if (!s->index[callee])
			enter(s, callee);
		else if (s->on_stack[callee] && s->index[callee] < s->low[node])
			s->low[node] = s->index[callee];
	}
}

static bool find_cycles(struct st_call_graph *graph)
{
	size_t count = (size_t)graph->function_count + 2;
	uint32_t *memory = calloc(count * 6 + graph->call_count, sizeof(*memory));
	struct search s = {.on_stack = calloc(count, sizeof(bool))};
	bool done = memory && s.on_stack;

	if (done) {
		s.index = memory;
		s.low = memory + count;
		s.next = memory + 2 * count;
		s.stack = memory + 3 * count;
		s.path = memory + 4 * count;
		s.first = memory + 5 * count;
		s.by_caller = memory + 6 * count;
		list_calls(graph, &s);
		for (uint32_t i = 0; i < graph->function_count; i++)
			if (!s.index[i])
				visit(graph, &s, i);
	}
	free(memory);
	free(s.on_stack);
	return done;
}

enum st_status st_call_graph_make(struct st_call_graph *out, struct st_sample_set *set,
				  const struct st_question *question, struct st_error *err)
{
	struct builder b = {.graph = out};
	struct st_sample_rows rows;
	enum st_status status;

	memset(out, 0, sizeof(*out));
	if (!st_frame_keys_make(set, ST_BY_FUNCTION))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the call graph");
	status = st_sample_rows_make(&rows, set, question, err);
	if (status)
		return status;
	out->function_count = set->keys[ST_BY_FUNCTION].count;
	out->functions = calloc((size_t)out->function_count + 1, sizeof(*out->functions));
	b.failed = !out->functions;
	st_pair_map_init(&b.map);
	for (uint32_t i = 0; i < out->function_count && !b.failed; i++)
		out->functions[i].key = i;
	for (uint32_t i = 0; i < rows.count && !b.failed; i++)
		if (!(rows.rows[i].flags & ST_SAMPLE_OFF_CPU))
			add_row(&b, set, &rows.rows[i], i + 1);
	b.failed = b.failed || !find_cycles(out);
	st_pair_map_fini(&b.map);
	st_sample_rows_fini(&rows);
	if (!b.failed)
		return ST_OK;
	st_call_graph_fini(out);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the call graph");
}

void st_call_graph_fini(struct st_call_graph *graph)
{
	free(graph->functions);
	free(graph->calls);
	memset(graph, 0, sizeof(*graph));
}
