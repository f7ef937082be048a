// SPDX-License-Identifier: Apache-2.0
//
// The hand-made result of fake_result.h.
#include "fake_result.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "store/traced_calls.h"

static void *column(size_t item_bytes)
{
	void *items = calloc(FAKE_MAX, item_bytes);

	assert(items);
	return items;
}

/* Node 0 is the empty stack. */
static void create_samples(struct st_result *fake)
{
	struct fake_sample_columns *samples = &fake->sample_columns;
	struct fake_node_columns *nodes = &fake->node_columns;

	samples->time_ns = column(sizeof(*samples->time_ns));
	samples->weight_ns = column(sizeof(*samples->weight_ns));
	samples->node = column(sizeof(*samples->node));
	samples->track = column(sizeof(*samples->track));
	samples->slice = column(sizeof(*samples->slice));
	samples->inherited = column(sizeof(*samples->inherited));
	samples->flags = column(sizeof(*samples->flags));
	fake->samples = (struct st_samples){0,
					    samples->time_ns,
					    samples->weight_ns,
					    samples->node,
					    samples->track,
					    samples->slice,
					    samples->inherited,
					    samples->flags,
					    samples->first_of_track};
	nodes->parent = column(sizeof(*nodes->parent));
	nodes->process = column(sizeof(*nodes->process));
	nodes->line = column(sizeof(*nodes->line));
	nodes->value = column(sizeof(*nodes->value));
	nodes->kind = column(sizeof(*nodes->kind));
	fake->nodes = (struct st_stack_nodes){
		1, nodes->parent, nodes->process, nodes->value, nodes->line, nodes->kind};
	for (uint32_t i = 0; i < FAKE_SMALL; i++)
		fake->creators[i] = ST_NO_ROW;
}

static void destroy_samples(struct st_result *fake)
{
	free(fake->sample_columns.time_ns);
	free(fake->sample_columns.weight_ns);
	free(fake->sample_columns.node);
	free(fake->sample_columns.track);
	free(fake->sample_columns.slice);
	free(fake->sample_columns.inherited);
	free(fake->sample_columns.flags);
	free(fake->node_columns.parent);
	free(fake->node_columns.process);
	free(fake->node_columns.line);
	free(fake->node_columns.value);
	free(fake->node_columns.kind);
}

struct st_result *fake_create(void)
{
	struct st_result *fake = calloc(1, sizeof(*fake));

	assert(fake);
	fake->begin_ns = calloc(FAKE_MAX, sizeof(*fake->begin_ns));
	fake->end_ns = calloc(FAKE_MAX, sizeof(*fake->end_ns));
	fake->self_ns = calloc(FAKE_MAX, sizeof(*fake->self_ns));
	fake->label = calloc(FAKE_MAX, sizeof(*fake->label));
	fake->track = calloc(FAKE_MAX, sizeof(*fake->track));
	fake->parent = calloc(FAKE_MAX, sizeof(*fake->parent));
	fake->depth = calloc(FAKE_MAX, sizeof(*fake->depth));
	fake->flags = calloc(FAKE_MAX, sizeof(*fake->flags));
	fake->slices = (struct st_slices){0,	       fake->begin_ns, fake->end_ns, fake->self_ns,
					  fake->label, fake->track,    fake->parent, fake->depth,
					  fake->flags};
	fake->info = (struct st_result_info){.path = "r000ta",
					     .name = "r000ta",
					     .state = "finished",
					     .type = "tasks",
					     .options = "",
					     .command = "python3 train.py",
					     .working_dir = "/home/user",
					     .source = "ITT tasks",
					     .strata_version = "0.1.0",
					     .host = "host",
					     .os = "Linux",
					     .cpu = "a CPU",
					     .clock = "tsc",
					     .started_at = "2026-01-01T00:00:00Z",
					     .cpu_count = 2,
					     .has_exit = true,
					     .stop_reason = ""};
	fake->event_rows = calloc(FAKE_EVENTS, sizeof(*fake->event_rows));
	fake->spans = calloc(FAKE_EVENTS, sizeof(*fake->spans));
	fake->slice_callers = calloc(FAKE_MAX, sizeof(*fake->slice_callers));
	fake->events = (struct st_events){0, fake->event_rows, fake->first_of_track};
	fake->id_count = fake->blob_count = 1; /* the null id, no data */
	create_samples(fake);
	fake_text(fake, "");
	return fake;
}

void fake_destroy(struct st_result *fake)
{
	for (uint32_t i = 0; i < fake->text_count; i++)
		free((void *)(uintptr_t)fake->texts[i].bytes);
	for (uint32_t i = 1; i < fake->blob_count; i++)
		free((void *)(uintptr_t)fake->blobs[i].bytes);
	destroy_samples(fake);
	free(fake->event_rows);
	free(fake->spans);
	free(fake->slice_callers);
	free(fake->begin_ns);
	free(fake->end_ns);
	free(fake->self_ns);
	free(fake->label);
	free(fake->track);
	free(fake->parent);
	free(fake->depth);
	free(fake->flags);
	free(fake);
}

st_string_id fake_bytes(struct st_result *fake, const void *bytes, size_t size_bytes)
{
	char *copy = malloc(size_bytes + 1);

	assert(copy && fake->text_count < 4 * FAKE_SMALL);
	memcpy(copy, bytes, size_bytes);
	copy[size_bytes] = '\0';
	fake->texts[fake->text_count] = (struct st_text){copy, size_bytes};
	return fake->text_count++;
}

st_string_id fake_text(struct st_result *fake, const char *text)
{
	return fake_bytes(fake, text, strlen(text));
}

uint32_t fake_process(struct st_result *fake, const char *name, uint32_t pid)
{
	struct st_process *process = &fake->processes[fake->process_count];

	assert(fake->process_count < FAKE_SMALL);
	*process = (struct st_process){.id = fake->process_count + 1,
				       .pid = pid,
				       .parent = fake->process_count ? 0 : ST_NO_ROW,
				       .flags = fake->process_count ? 0 : ST_PROCESS_DIRECT,
				       .end = ST_END_EXITED,
				       .name = fake_text(fake, name),
				       .command_line = fake_text(fake, name),
				       .executable = fake_text(fake, name)};
	return fake->process_count++;
}

uint32_t fake_track(struct st_result *fake, uint32_t process, const char *name, uint32_t tid)
{
	struct st_track *track = &fake->tracks[fake->track_count];

	assert(fake->track_count < FAKE_SMALL);
	*track = (struct st_track){.id = fake->track_count + 1,
				   .process = process,
				   .tid = tid,
				   .name = *name ? fake_text(fake, name) : 0,
				   .row_begin = fake->slices.count,
				   .row_end = fake->slices.count};
	return fake->track_count++;
}

uint32_t fake_label_bytes(struct st_result *fake, const char *domain, const void *name,
			  size_t size_bytes)
{
	char *folded = malloc(size_bytes + 1);
	const char *at = name;
	struct st_label *label;
	size_t length = 0;

	assert(folded && fake->label_count < FAKE_SMALL);
	for (size_t i = 0; i < size_bytes; i++) {
		bool digit = isdigit((unsigned char)at[i]);

		if (digit && length && folded[length - 1] == '*')
			continue;
		folded[length++] = digit ? '*' : at[i];
	}
	label = &fake->labels[fake->label_count];
	label->domain = fake_text(fake, domain);
	label->name = fake_bytes(fake, name, size_bytes);
	label->family = fake_bytes(fake, folded, length);
	label->category = st_category_of(fake->texts[label->domain], fake->texts[label->name],
					 &label->from_itt);
	free(folded);
	return fake->label_count++;
}

uint32_t fake_label(struct st_result *fake, const char *domain, const char *name)
{
	return fake_label_bytes(fake, domain, name, strlen(name));
}

uint32_t fake_slice(struct st_result *fake, uint32_t label, int64_t begin_ns, int64_t end_ns,
		    uint32_t parent)
{
	uint32_t row = fake->slices.count++;

	assert(row < FAKE_MAX && fake->track_count);
	fake->begin_ns[row] = begin_ns;
	fake->end_ns[row] = end_ns;
	fake->label[row] = label;
	fake->track[row] = fake->track_count - 1;
	fake->parent[row] = parent;
	fake->tracks[fake->track_count - 1].row_end = row + 1;
	return row;
}

uint32_t fake_event(struct st_result *fake, struct st_event_row row)
{
	assert(fake->events.count < FAKE_EVENTS);
	fake->event_rows[fake->events.count] = row;
	return fake->events.count++;
}

uint32_t fake_span(struct st_result *fake, struct st_span span)
{
	assert(fake->span_count < FAKE_EVENTS);
	fake->spans[fake->span_count] = span;
	return fake->span_count++;
}

uint32_t fake_id(struct st_result *fake, uint64_t d1, uint64_t d2, uint64_t d3)
{
	assert(fake->id_count < FAKE_SMALL);
	fake->ids[fake->id_count] = (struct st_itt_id){{d1, d2, d3}};
	return fake->id_count++;
}

uint32_t fake_blob(struct st_result *fake, const void *bytes, size_t size_bytes)
{
	char *copy = malloc(size_bytes + 1);

	assert(copy && fake->blob_count < FAKE_SMALL);
	memcpy(copy, bytes, size_bytes);
	copy[size_bytes] = '\0';
	fake->blobs[fake->blob_count] = (struct st_text){copy, size_bytes};
	return fake->blob_count++;
}

uint32_t fake_object(struct st_result *fake, uint8_t kind, uint8_t type, const char *domain,
		     const char *name)
{
	assert(fake->object_count < FAKE_SMALL);
	fake->objects[fake->object_count] = (struct st_object){
		.kind = kind,
		.type = type,
		.name = fake_text(fake, name),
		.domain = domain ? fake_text(fake, domain) : 0,
		.parent = ST_NO_ROW,
	};
	return fake->object_count++;
}

uint32_t fake_node(struct st_result *fake, uint32_t parent, uint8_t kind, uint64_t value)
{
	uint32_t node = fake->nodes.count++;

	assert(node < FAKE_MAX && parent < node && fake->track_count);
	fake->node_columns.parent[node] = parent;
	fake->node_columns.process[node] = fake->tracks[fake->track_count - 1].process;
	fake->node_columns.kind[node] = kind;
	fake->node_columns.value[node] = value;
	return node;
}

uint32_t fake_python_code(struct st_result *fake, uint32_t process, const char *file,
			  const char *name, uint32_t first_line)
{
	assert(fake->python_code_count < FAKE_SMALL);
	fake->python_codes[fake->python_code_count] =
		(struct st_python_code){.process = process,
					.first_line = first_line,
					.file = fake_text(fake, file),
					.name = fake_text(fake, name)};
	return fake->python_code_count++;
}

uint32_t fake_python_node(struct st_result *fake, uint32_t parent, uint32_t code, uint32_t line)
{
	uint32_t node = fake_node(fake, parent, ST_FRAME_PYTHON, code | (uint64_t)line << 32);

	fake->node_columns.line[node] = line;
	return node;
}

uint32_t fake_sample(struct st_result *fake, int64_t time_ns, uint64_t weight_ns, uint32_t node,
		     uint16_t flags)
{
	uint32_t row = fake->samples.count++;

	assert(row < FAKE_MAX && fake->track_count && node < fake->nodes.count);
	fake->sample_columns.time_ns[row] = time_ns;
	fake->sample_columns.weight_ns[row] = weight_ns;
	fake->sample_columns.node[row] = node;
	fake->sample_columns.track[row] = fake->track_count - 1;
	fake->sample_columns.flags[row] = flags;
	return row;
}

uint32_t fake_sampler(struct st_result *fake, uint32_t process, uint64_t period_ns)
{
	assert(fake->sampler_count < FAKE_SMALL);
	fake->samplers[fake->sampler_count] = (struct st_sampler){.process = process,
								  .rung = ST_RUNG_SIGTRAP,
								  .trigger = ST_TRIGGER_CPU_CLOCK,
								  .period_ns = period_ns};
	return fake->sampler_count++;
}

void fake_code_map(struct st_result *fake, uint32_t process, uint64_t start, uint64_t end,
		   const char *path)
{
	assert(fake->code_map_count < FAKE_SMALL);
	fake->code_maps[fake->code_map_count++] = (struct st_code_map){
		.process = process, .start = start, .end = end, .path = fake_text(fake, path)};
}

/* The innermost slice of a track at a time: rows come in order of begin, parents first. */
static uint32_t open_slice(const struct st_result *fake, uint32_t track, int64_t time_ns)
{
	uint32_t found = ST_NO_ROW;

	for (uint32_t row = fake->tracks[track].row_begin; row < fake->tracks[track].row_end; row++)
		if (fake->begin_ns[row] <= time_ns && time_ns < fake->end_ns[row])
			found = row;
	return found;
}

static void count_sample(struct st_result *fake, uint32_t row)
{
	struct st_sample_quality *quality = &fake->sample_quality;
	uint16_t flags = fake->samples.flags[row];

	if (flags & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
		return;
	quality->samples++;
	quality->cpu_ns += fake->samples.weight_ns[row];
	quality->truncated += flags & ST_SAMPLE_TRUNCATED ? 1 : 0;
	quality->recovered += flags & ST_SAMPLE_RECOVERED ? 1 : 0;
	quality->no_table += flags & ST_SAMPLE_NO_TABLE ? 1 : 0;
	quality->python_cut += flags & ST_SAMPLE_PYTHON_CUT ? 1 : 0;
	quality->python_top_unknown += flags & ST_SAMPLE_PYTHON_TOP_UNKNOWN ? 1 : 0;
	quality->mismatched += flags & ST_SAMPLE_MISMATCH ? 1 : 0;
	quality->depth_cut += flags & ST_SAMPLE_DEPTH_CUT ? 1 : 0;
	quality->nominal += flags & ST_SAMPLE_WEIGHT_NOMINAL ? 1 : 0;
	quality->approximate += flags & ST_SAMPLE_APPROXIMATE ? 1 : 0;
	quality->python_late += flags & ST_SAMPLE_PYTHON_LATE ? 1 : 0;
}

static void finish_samples(struct st_result *fake)
{
	struct fake_sample_columns *columns = &fake->sample_columns;
	uint32_t at = 0;

	memset(&fake->sample_quality, 0, sizeof(fake->sample_quality));
	for (uint32_t row = 0; row < fake->samples.count; row++) {
		uint32_t from = fake->creators[columns->track[row]];

		columns->slice[row] = open_slice(fake, columns->track[row], columns->time_ns[row]);
		columns->inherited[row] = ST_NO_ROW;
		for (; columns->slice[row] == ST_NO_ROW && from != ST_NO_ROW &&
		       columns->inherited[row] == ST_NO_ROW;
		     from = fake->creators[from])
			columns->inherited[row] = open_slice(fake, from, columns->time_ns[row]);
		count_sample(fake, row);
	}
	for (uint32_t track = 0; track <= fake->track_count; track++) {
		while (at < fake->samples.count && columns->track[at] < track)
			at++;
		columns->first_of_track[track] = at;
	}
}

static void finish_events(struct st_result *fake)
{
	uint32_t at = 0;

	for (uint32_t track = 0; track <= fake->track_count; track++) {
		while (at < fake->events.count && fake->event_rows[at].track < track)
			at++;
		fake->first_of_track[track] = at;
	}
}

void fake_finish(struct st_result *fake)
{
	memset(fake->self_ns, 0, fake->slices.count * sizeof(*fake->self_ns));
	for (uint32_t row = 0; row < fake->slices.count; row++) {
		uint32_t parent = fake->parent[row];
		uint64_t wall = st_result_wall_ns(fake, row);

		fake->self_ns[row] += wall;
		fake->depth[row] = 0;
		if (parent == ST_NO_ROW)
			continue;
		fake->depth[row] = (uint16_t)(fake->depth[parent] + 1);
		fake->self_ns[parent] -= wall;
	}
	for (uint32_t row = 0; row < fake->slices.count; row++) {
		if (fake->end_ns[row] > fake->info.elapsed_ns)
			fake->info.elapsed_ns = fake->end_ns[row];
	}
	for (uint32_t row = 0; row < fake->samples.count; row++) {
		if (fake->samples.time_ns[row] > fake->info.elapsed_ns)
			fake->info.elapsed_ns = fake->samples.time_ns[row];
	}
	fake->info.collected_ns = fake->info.elapsed_ns;
	finish_samples(fake);
	finish_events(fake);
}

const struct st_result_info *st_result_info(const struct st_result *result)
{
	return &result->info;
}

const struct st_quality *st_result_quality(const struct st_result *result)
{
	return &result->quality;
}

const struct st_slices *st_result_slices(const struct st_result *result)
{
	return &result->slices;
}

const struct st_process *st_result_processes(const struct st_result *result, uint32_t *count)
{
	*count = result->process_count;
	return result->processes;
}

const struct st_track *st_result_tracks(const struct st_result *result, uint32_t *count)
{
	*count = result->track_count;
	return result->tracks;
}

const struct st_label *st_result_labels(const struct st_result *result, uint32_t *count)
{
	*count = result->label_count;
	return result->labels;
}

const struct st_not_entered_program *st_result_not_entered(const struct st_result *result,
							   uint32_t *count)
{
	*count = result->not_entered_count;
	return result->not_entered;
}

const struct st_pause_window *st_result_pauses(const struct st_result *result, uint32_t *count)
{
	*count = result->pause_count;
	return result->pauses;
}

struct st_text st_result_text(const struct st_result *result, st_string_id id)
{
	return result->texts[id];
}

uint32_t st_result_text_count(const struct st_result *result)
{
	return result->text_count;
}

uint64_t st_result_wall_ns(const struct st_result *result, uint32_t row)
{
	uint64_t wall = (uint64_t)(result->end_ns[row] - result->begin_ns[row]);

	if (!(result->flags[row] & ST_SLICE_CLIPPED))
		return wall;
	/* Tests give pauses that do not overlap each other. */
	for (uint32_t i = 0; i < result->pause_count; i++) {
		const struct st_pause_window *pause = &result->pauses[i];
		int64_t from = pause->begin_ns, to = pause->end_ns;

		if (pause->process != ST_NO_ROW &&
		    pause->process != result->tracks[result->track[row]].process)
			continue;
		from = from > result->begin_ns[row] ? from : result->begin_ns[row];
		to = to < result->end_ns[row] ? to : result->end_ns[row];
		if (from < to)
			wall -= (uint64_t)(to - from);
	}
	return wall;
}

const struct st_events *st_result_events(const struct st_result *result)
{
	return &result->events;
}

struct st_text st_result_blob(const struct st_result *result, uint32_t blob)
{
	return blob ? result->blobs[blob] : (struct st_text){"", 0};
}

const struct st_itt_id *st_result_ids(const struct st_result *result, uint32_t *count)
{
	*count = result->id_count;
	return result->ids;
}

const struct st_span *st_result_spans(const struct st_result *result, uint32_t *count)
{
	*count = result->span_count;
	return result->spans;
}

const struct st_sync_object *st_result_sync_objects(const struct st_result *result, uint32_t *count)
{
	*count = result->sync_object_count;
	return result->sync_objects;
}

const struct st_object *st_result_objects(const struct st_result *result, uint32_t *count)
{
	*count = result->object_count;
	return result->objects;
}

const struct st_object_fact *st_result_object_facts(const struct st_result *result, uint32_t *count)
{
	*count = result->fact_count;
	return result->facts;
}

const struct st_code *st_result_code(const struct st_result *result, uint32_t *count)
{
	*count = result->code_count;
	return result->code;
}

const struct st_code_map *st_result_code_maps(const struct st_result *result, uint32_t *count)
{
	*count = result->code_map_count;
	return result->code_maps;
}

const struct st_caller *st_result_callers(const struct st_result *result, uint32_t *count)
{
	*count = result->caller_count;
	return result->callers;
}

const uint32_t *st_result_slice_callers(const struct st_result *result)
{
	return result->caller_count ? result->slice_callers : NULL;
}

uint32_t st_result_slice_event(const struct st_result *result, uint32_t slice, uint32_t kind)
{
	for (uint32_t i = 0; i < result->events.count; i++) {
		if (result->event_rows[i].slice == slice && result->event_rows[i].kind == kind)
			return i;
	}
	return ST_NO_ROW;
}

const struct st_samples *st_result_samples(const struct st_result *result)
{
	return &result->samples;
}

const struct st_stack_nodes *st_result_stack_nodes(const struct st_result *result)
{
	return &result->nodes;
}

const struct st_python_code *st_result_python_codes(const struct st_result *result, uint32_t *count)
{
	*count = result->python_code_count;
	return result->python_codes;
}

void fake_off(struct st_result *fake, uint32_t track, int64_t begin_ns, uint64_t off_ns,
	      uint32_t flags)
{
	assert(fake->off_cpu_count < FAKE_SMALL);
	fake->off_cpu[fake->off_cpu_count++] =
		(struct st_off_row){.begin_ns = begin_ns,
				    .off_ns = off_ns,
				    .track = track,
				    .flags = flags & ST_OFF_FLAGS_ALL,
				    .count = 1};
}

const struct st_off_row *st_result_off_cpu(const struct st_result *result, uint32_t *count)
{
	*count = result->off_cpu_count;
	return result->off_cpu;
}

const struct st_cpu_demand *st_result_cpu_demand(const struct st_result *result, uint32_t *count)
{
	*count = result->demand_count;
	return result->demands;
}

const struct st_sampler *st_result_samplers(const struct st_result *result, uint32_t *count)
{
	*count = result->sampler_count;
	return result->samplers;
}

const struct st_sample_quality *st_result_sample_quality(const struct st_result *result)
{
	return &result->sample_quality;
}

uint32_t st_result_track_creator(const struct st_result *result, uint32_t track)
{
	return result->creators[track];
}

const struct st_operator *st_result_operators(const struct st_result *result, uint32_t *count)
{
	*count = result->operator_count;
	return result->operators;
}

const struct st_operator *st_result_operator_of(const struct st_result *result, uint32_t row)
{
	for (uint32_t i = 0; i < result->operator_count; i++)
		if (result->operators[i].row == row)
			return &result->operators[i];
	return NULL;
}

const struct st_signature *st_result_signatures(const struct st_result *result, uint32_t *count)
{
	*count = result->signature_count;
	return result->signatures;
}

const struct st_memory_moment *st_result_memory(const struct st_result *result, uint32_t *count)
{
	*count = result->moment_count;
	return result->moments;
}

const struct st_memory_moment *st_result_device_memory(const struct st_result *result,
						       uint32_t *count)
{
	*count = result->device_moment_count;
	return result->device_moments;
}

const struct st_operator_source *st_result_operator_sources(const struct st_result *result,
							    uint32_t *count)
{
	*count = result->operator_source_count;
	return result->operator_sources;
}

const struct st_traced_call *st_result_traced_calls(const struct st_result *result, uint32_t *count)
{
	*count = result->traced_call_count;
	return result->traced_calls;
}

const struct st_slice_flow *st_result_flows(const struct st_result *result, uint32_t *count)
{
	*count = result->flow_count;
	return result->flows;
}

const struct st_python_function *st_result_python_functions(const struct st_result *result,
							    uint32_t *count)
{
	*count = result->python_function_count;
	return result->python_functions;
}

const struct st_python_calls *st_result_python_calls(const struct st_result *result,
						     uint32_t *count)
{
	*count = result->python_calls_count;
	return result->python_calls;
}

uint64_t st_result_python_calls_lost(const struct st_result *result)
{
	return result->python_calls_lost;
}
