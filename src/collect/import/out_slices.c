// SPDX-License-Identifier: Apache-2.0
//
// Slices of an import: the names, domains, signatures and Python code that a process has numbered, and the records of
// a track as chunks (collect/import/out.h).
#include <stdlib.h>
#include <string.h>

#include "collect/import/out.h"
#include "format/chunk.h"
#include "format/event.h"
#include "format/operator.h"
#include "format/slices.h"
#include "store/writer.h"

static void write_ids(struct st_import_sink *sink, const struct st_import_ids *ids,
		      enum st_definition_type type)
{
	for (uint32_t i = 0; i < ids->count; i++) {
		size_t at = st_import_define(sink, type);

		st_buf_append_u32(&sink->records, i + 1);
		st_import_put_text(sink, ids->texts[i]);
		st_definition_end(&sink->records, at);
	}
}

static void write_signatures(struct st_import_sink *sink, const struct st_import_ids *ids)
{
	for (uint32_t i = 0; i < ids->count; i++) {
		struct st_text bytes = st_text_table_get(&sink->out->texts, ids->texts[i]);
		size_t at = st_import_define(sink, ST_DEF_SIGNATURE);

		st_buf_append_u32(&sink->records, i + 1);
		st_buf_append_u32(&sink->records, 0);
		st_buf_append(&sink->records, bytes.bytes, bytes.size_bytes);
		st_definition_end(&sink->records, at);
	}
}

/* The texts of a code object, as its key joins them. */
static void write_codes(struct st_import_sink *sink, const struct st_import_ids *ids)
{
	for (uint32_t i = 0; i < ids->count; i++) {
		const char *file = st_text_table_get(&sink->out->texts, ids->texts[i]).bytes;
		const char *name = file + strlen(file) + 1, *line = name + strlen(name) + 1;
		size_t at = st_import_define(sink, ST_DEF_PYTHON_CODE);

		st_buf_append_u32(&sink->records, i + 1);
		st_buf_append_u32(&sink->records, (uint32_t)strtoul(line, NULL, 10));
		st_buf_append_u32(&sink->records, 0);
		st_definition_text(&sink->records, file, strlen(file));
		st_definition_text(&sink->records, name, strlen(name));
		st_definition_text(&sink->records, "", 0);
		st_definition_end(&sink->records, at);
	}
}

void st_import_write_names(struct st_import_sink *sink, const struct st_import_process *process)
{
	const struct st_import_slice_names *slices = &process->slices;
	size_t at;

	write_ids(sink, &slices->names, ST_DEF_STRING);
	write_ids(sink, &slices->domains, ST_DEF_DOMAIN);
	write_signatures(sink, &slices->signatures);
	write_codes(sink, &slices->codes);
	if (!slices->has_operators)
		return;
	at = st_import_define(sink, ST_DEF_OPERATOR_SOURCE);
	st_buf_append_u32(&sink->records,
			  slices->has_inputs ? ST_OPERATORS_IN_PLACE : ST_OPERATORS_NAMES);
	st_buf_append_u32(&sink->records, 0);
	st_import_put_text(sink, slices->framework);
	st_definition_text(&sink->records, "", 0);
	st_definition_end(&sink->records, at);
}

static void put_flow(struct st_slice_encoder *encoder, const struct st_import_op *op)
{
	const struct st_event event = {.kind = op->kind == ST_IMPORT_FLOW_OUT ? ST_EVENT_FLOW_OUT
									      : ST_EVENT_FLOW_IN,
				       .mask = ST_FIELD_VALUE,
				       .detail = ST_FLOW_LAUNCH,
				       .value = (uint64_t)op->value};

	st_slice_encoder_event(encoder, op->time, &event);
}

static void put_op(struct st_slice_encoder *slices, struct st_slice_encoder *calls,
		   const struct st_import_op *op)
{
	switch (op->kind) {
	case ST_IMPORT_BEGIN:
		if (op->signature) {
			st_slice_encoder_stack(slices, op->time, op->stack);
			st_slice_encoder_operator(slices, op->time, op->signature, op->value);
		}
		st_slice_encoder_begin(slices, op->time, op->domain, op->name, 0);
		break;
	case ST_IMPORT_END:
		st_slice_encoder_end(slices, op->time, op->domain);
		break;
	case ST_IMPORT_FLOW_OUT:
	case ST_IMPORT_FLOW_IN:
		put_flow(slices, op);
		break;
	case ST_IMPORT_BLOCK:
		if (op->place)
			st_slice_encoder_device_block(slices, op->time, op->place, op->address,
						      op->value);
		else
			st_slice_encoder_block(slices, op->time, op->address, op->value);
		break;
	case ST_IMPORT_CALL:
		st_slice_encoder_begin(calls, op->time, 0, op->name, 0);
		break;
	case ST_IMPORT_RETURN:
		st_slice_encoder_end(calls, op->time, 0);
		break;
	}
}

static void write_chunk(struct st_import_sink *sink, const struct st_import_thread *thread,
			struct st_slice_encoder *encoder, enum st_chunk_type type)
{
	struct st_chunk_header header = {.type = (uint16_t)type,
					 .process = sink->out->processes[thread->process].id,
					 .track = thread->track};
	struct st_buf payload;

	if (!encoder->record_count)
		return;
	st_buf_init(&payload, ST_CHUNK_RAW_MAX);
	if (st_slice_encoder_finish(encoder, &header, &payload))
		st_store_writer_trace(sink->writer, &header, &payload);
	else
		sink->out->no_memory = true;
	st_slice_encoder_clear(encoder);
	st_buf_fini(&payload);
}

void st_import_write_ops(struct st_import_sink *sink, const struct st_import_thread *thread)
{
	struct st_slice_encoder slices, calls;

	st_slice_encoder_init(&slices);
	st_slice_encoder_init(&calls);
	for (uint32_t i = 0; i < thread->op_count; i++) {
		put_op(&slices, &calls, &thread->ops[i]);
		if (st_slice_encoder_is_full(&slices))
			write_chunk(sink, thread, &slices, ST_CHUNK_SLICES);
		if (st_slice_encoder_is_full(&calls))
			write_chunk(sink, thread, &calls, ST_CHUNK_CALLS);
	}
	write_chunk(sink, thread, &slices, ST_CHUNK_SLICES);
	write_chunk(sink, thread, &calls, ST_CHUNK_CALLS);
	st_slice_encoder_fini(&slices);
	st_slice_encoder_fini(&calls);
}
