// SPDX-License-Identifier: Apache-2.0
//
// A trace of torch.profiler (export_chrome_trace, tensorboard_trace_handler): Kineto's form of the Trace Event Format.
// Operators, ranges, modules, calls of runtimes, kernels and copies become slices, Python functions become calls, and
// memory events blocks, as if strata had recorded them.
#include <stdlib.h>
#include <string.h>

#include "collect/import/kineto_parts.h"
#include "collect/import/kineto_text.h"

enum {
	DEPTH_MAX = 64,
	DIGITS_MAX = 19,
	EVENT_MAX_BYTES = 64 << 20,
	PROGRESS_EACH = 4096,
};

struct job {
	struct st_kineto_job kineto;
	const struct st_import_options *options;
	size_t size_bytes;
	uint32_t visited;
};

/* NULL: no JSON. */
static struct json_object *parse(struct st_kineto_job *kineto, struct st_text text)
{
	if (text.size_bytes > EVENT_MAX_BYTES)
		return NULL;
	json_tokener_reset(kineto->tokener);
	return json_tokener_parse_ex(kineto->tokener, text.bytes, (int)text.size_bytes);
}

static void take_member(struct st_kineto_job *kineto, const struct st_kineto_part *part)
{
	const struct st_text *value = &part->value;
	uint64_t number = 0;

	if (st_text_equals(part->key, "host_name") && value->size_bytes > 2 &&
	    value->bytes[0] == '"')
		kineto->out->host =
			st_import_text(kineto->out, value->bytes + 1, value->size_bytes - 2);
	if (!st_text_equals(part->key, "baseTimeNanoseconds") || value->size_bytes > DIGITS_MAX)
		return;
	for (size_t i = 0;
	     i < value->size_bytes && value->bytes[i] >= '0' && value->bytes[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(value->bytes[i] - '0');
	kineto->out->wall_base_ns = number;
}

static enum st_status take_part(void *arg, const struct st_kineto_part *part, struct st_error *err)
{
	struct job *job = arg;
	struct json_object *event;

	if (!part->is_event) {
		take_member(&job->kineto, part);
		return ST_OK;
	}
	event = parse(&job->kineto, part->value);
	if (!json_object_is_type(event, json_type_object)) {
		json_object_put(event);
		return st_error_set(err, ST_ECORRUPT, 0, "the event at byte %zu is no JSON object",
				    part->offset);
	}
	st_kineto_take(&job->kineto, event);
	json_object_put(event);
	if (job->options->progress && ++job->visited % PROGRESS_EACH == 0)
		job->options->progress(job->options->progress_arg,
				       (double)part->offset / (double)job->size_bytes,
				       "reading events");
	return job->kineto.out->no_memory ? st_error_set(err, ST_ENOMEM, 0, "out of memory")
					  : ST_OK;
}

static enum st_status read_all(struct job *job, struct st_text text, struct st_error *err)
{
	struct st_import_out *out = job->kineto.out;
	struct st_error inner = {0};
	bool torn;
	enum st_status status = st_kineto_walk(text, take_part, job, &torn, &inner);

	if (status)
		return st_error_set(err, status, 0, "%s: %s", job->options->path, inner.text);
	out->counts.torn = torn;
	if (!job->kineto.count)
		return st_error_set(err, ST_ENOTFOUND, 0,
				    "%s has no events with a time, a process and a thread",
				    job->options->path);
	st_kineto_rows(&job->kineto);
	return ST_OK;
}

enum st_status st_import_kineto(struct st_import_out *out, const struct st_import_options *options,
				const char *bytes, size_t size_bytes, struct st_error *err)
{
	static const char format[] = "trace of torch.profiler";
	struct job job = {.kineto = {.out = out, .host = ST_IMPORT_NONE},
			  .options = options,
			  .size_bytes = size_bytes};
	enum st_status status;

	out->type = "operators";
	out->clock = "torch.profiler";
	out->format = st_import_text(out, format, sizeof(format) - 1);
	job.kineto.framework = st_import_text(out, "PyTorch", 7);
	st_buf_init(&job.kineto.scratch, ST_KINETO_SCRATCH_MAX);
	job.kineto.tokener = json_tokener_new_ex(DEPTH_MAX);
	if (job.kineto.tokener)
		status = read_all(&job, (struct st_text){bytes, size_bytes}, err);
	else
		status = st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", options->path);
	if (job.kineto.tokener)
		json_tokener_free(job.kineto.tokener);
	st_buf_fini(&job.kineto.scratch);
	free(job.kineto.events);
	free(job.kineto.names);
	return status;
}
