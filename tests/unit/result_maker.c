// SPDX-License-Identifier: Apache-2.0
//
// The hand-made results of result_maker.h.
#include "result_maker.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rt/clock.h"
#include "format/definitions.h"
#include "store/model/source.h"

static const char usual_json[] =
	"{\"schema\": \"strata.result/1\", \"state\": \"finished\", \"type\": \"tasks\"}";

static void need(bool good, const char *what)
{
	if (!good) {
		fprintf(stderr, "result_maker: %s failed\n", what);
		abort();
	}
}

static void append(struct result_maker *m, struct st_buf *file, uint32_t *sequence,
		   struct st_chunk_header *header, const struct st_buf *payload)
{
	struct st_error err = {0};

	header->sequence = (*sequence)++;
	need(st_packer_append(m->packer, header, payload->data, payload->size_bytes, file, &err) ==
		     ST_OK,
	     "packing");
}

static void head_chunk(struct result_maker *m, struct st_buf *file, uint32_t *sequence,
		       enum st_file_kind kind)
{
	struct st_chunk_header header = {.type = ST_CHUNK_FILE, .record_count = 1};
	struct st_file_head head = m->head;
	struct st_buf payload = {.data = (uint8_t *)&head, .size_bytes = sizeof(head)};

	head.file_kind = kind;
	append(m, file, sequence, &header, &payload);
}

void maker_heads(struct result_maker *m)
{
	head_chunk(m, &m->definitions, &m->definitions_sequence, ST_FILE_DEFINITIONS);
	head_chunk(m, &m->trace, &m->trace_sequence, ST_FILE_TRACE);
}

void maker_init_empty(struct result_maker *m)
{
	memset(m, 0, sizeof(*m));
	need(st_packer_create(&m->packer, NULL) == ST_OK, "packer");
	st_buf_init(&m->definitions, 64 << 20);
	st_buf_init(&m->trace, 64 << 20);
	st_buf_init(&m->records, ST_CHUNK_RAW_MAX);
	st_slice_encoder_init(&m->slices);
	st_sample_encoder_init(&m->samples);
	m->json = usual_json;
	m->head.clock = ST_CLOCK_MONO_RAW;
	m->head.ticks_per_second = 1000000000;
	memset(m->head.result_id, 7, sizeof(m->head.result_id));
}

void maker_init(struct result_maker *m)
{
	maker_init_empty(m);
	maker_heads(m);
}

void maker_fini(struct result_maker *m)
{
	st_packer_destroy(m->packer);
	st_buf_fini(&m->definitions);
	st_buf_fini(&m->trace);
	st_buf_fini(&m->records);
	st_slice_encoder_fini(&m->slices);
	st_sample_encoder_fini(&m->samples);
}

static void process_record(struct result_maker *m, uint32_t pid, uint32_t parent, uint32_t flags,
			   uint64_t first_time)
{
	st_buf_append_u32(&m->records, pid);
	st_buf_append_u32(&m->records, parent);
	st_buf_append_u64(&m->records, 12345);
	st_buf_append_u32(&m->records, 0);
	st_buf_append_u32(&m->records, flags);
	st_buf_append_u64(&m->records, first_time);
}

void maker_process(struct result_maker *m, uint32_t pid, uint32_t parent, uint32_t flags,
		   uint64_t first_time)
{
	size_t at = st_definition_begin(&m->records, ST_DEF_PROCESS);

	process_record(m, pid, parent, flags, first_time);
	st_definition_text(&m->records, "prog\0arg", 8);
	st_definition_text(&m->records, "/bin/prog", 9);
	st_definition_end(&m->records, at);
	m->record_count++;
}

void maker_process_as(struct result_maker *m, uint32_t pid, const char *arguments,
		      size_t arguments_bytes, const char *executable)
{
	size_t at = st_definition_begin(&m->records, ST_DEF_PROCESS);

	process_record(m, pid, 0, 0, 0);
	st_definition_text(&m->records, arguments, arguments_bytes);
	st_definition_text(&m->records, executable, strlen(executable));
	st_definition_end(&m->records, at);
	m->record_count++;
}

void maker_process_end(struct result_maker *m, uint64_t time, uint32_t how, uint32_t status)
{
	maker_numbers(m, ST_DEF_PROCESS_END, "844", time, how, status);
}

void maker_bytes(struct result_maker *m, uint32_t type, uint32_t id, const void *bytes,
		 size_t size_bytes)
{
	size_t at = st_definition_begin(&m->records, (enum st_definition_type)type);

	st_buf_append_u32(&m->records, id);
	st_definition_text(&m->records, bytes, size_bytes);
	st_definition_end(&m->records, at);
	m->record_count++;
}

void maker_text(struct result_maker *m, uint32_t type, uint32_t id, const char *text)
{
	maker_bytes(m, type, id, text, strlen(text));
}

void maker_numbers(struct result_maker *m, uint32_t type, const char *fields, ...)
{
	size_t at = st_definition_begin(&m->records, (enum st_definition_type)type);
	va_list args;

	va_start(args, fields);
	for (; *fields; fields++) {
		if (*fields == '4')
			st_buf_append_u32(&m->records, va_arg(args, uint32_t));
		else
			st_buf_append_u64(&m->records, va_arg(args, uint64_t));
	}
	va_end(args);
	st_definition_end(&m->records, at);
	m->record_count++;
}

void maker_object(struct result_maker *m, uint32_t id, struct st_object_head head, const char *name,
		  const char *second)
{
	size_t at = st_definition_begin(&m->records, ST_DEF_OBJECT);

	head.name_bytes = (uint32_t)strlen(name);
	head.second_bytes = (uint32_t)strlen(second);
	st_buf_append_u32(&m->records, id);
	st_buf_append_u32(&m->records, 0);
	st_buf_append(&m->records, &head, sizeof(head));
	st_buf_append_text(&m->records, name);
	st_buf_append_text(&m->records, second);
	st_definition_end(&m->records, at);
	m->record_count++;
}

void maker_code_event(struct result_maker *m, uint64_t time, const struct st_event *event)
{
	size_t at = st_definition_begin(&m->records, ST_DEF_CODE_EVENT);
	struct st_buf body;

	st_buf_init(&body, ST_CHUNK_RAW_MAX);
	st_event_encode(event, &body);
	st_buf_append_u64(&m->records, time);
	st_buf_append_u32(&m->records, 100);
	st_definition_text(&m->records, body.data, body.size_bytes);
	st_definition_end(&m->records, at);
	st_buf_fini(&body);
	m->record_count++;
}

void maker_code_map(struct result_maker *m, uint64_t start, uint64_t end, uint64_t file_offset,
		    const char *path)
{
	size_t at = st_definition_begin(&m->records, ST_DEF_CODE_MAP);

	st_buf_append_u64(&m->records, start);
	st_buf_append_u64(&m->records, end);
	st_buf_append_u64(&m->records, file_offset);
	st_buf_append_u64(&m->records, 0);
	st_definition_text(&m->records, path, strlen(path));
	st_definition_text(&m->records, "", 0);
	st_definition_end(&m->records, at);
	m->record_count++;
}

void maker_nodes(struct result_maker *m, uint32_t first_id, const struct st_stack_node *nodes,
		 uint32_t count)
{
	size_t at = st_definition_begin(&m->records, ST_DEF_STACK_NODES);
	struct st_node_encoder enc;

	st_stack_nodes_begin(&enc, &m->records, first_id);
	for (uint32_t i = 0; i < count; i++)
		st_stack_nodes_add(&enc, &nodes[i]);
	st_stack_nodes_end(&enc);
	st_definition_end(&m->records, at);
	m->record_count++;
}

void maker_python_code(struct result_maker *m, uint32_t id, uint32_t first_line, const char *file,
		       const char *name, const struct st_text *line_table)
{
	size_t at = st_definition_begin(&m->records, ST_DEF_PYTHON_CODE);

	st_buf_append_u32(&m->records, id);
	st_buf_append_u32(&m->records, first_line);
	st_buf_append_u32(&m->records, 0);
	st_definition_text(&m->records, file, strlen(file));
	st_definition_text(&m->records, name, strlen(name));
	st_definition_text(&m->records, line_table ? line_table->bytes : "",
			   line_table ? line_table->size_bytes : 0);
	st_definition_end(&m->records, at);
	m->record_count++;
}

void maker_python_runtime(struct result_maker *m, uint32_t version)
{
	maker_numbers(m, ST_DEF_PYTHON_RUNTIME, "448888", version, 0u, (uint64_t)0, (uint64_t)0,
		      (uint64_t)0, (uint64_t)0);
}

void maker_sampler(struct result_maker *m, uint32_t rung, uint32_t trigger, uint64_t period_ns,
		   const char *why)
{
	size_t at = st_definition_begin(&m->records, ST_DEF_SAMPLER);

	st_buf_append_u32(&m->records, rung);
	st_buf_append_u32(&m->records, trigger);
	st_buf_append_u32(&m->records, 0);
	st_buf_append_u32(&m->records, 0);
	st_buf_append_u64(&m->records, period_ns);
	st_buf_append_u64(&m->records, 0);
	st_definition_text(&m->records, why, strlen(why));
	st_definition_end(&m->records, at);
	m->record_count++;
}

void maker_thread(struct result_maker *m, uint32_t track, uint32_t tid)
{
	maker_numbers(m, ST_DEF_THREAD, "448", track, tid, (uint64_t)0);
}

void maker_thread_creator(struct result_maker *m, uint32_t tid, uint32_t creator_tid)
{
	maker_numbers(m, ST_DEF_THREAD_CREATOR, "448", tid, creator_tid, (uint64_t)0);
}

void maker_sample(struct result_maker *m, uint64_t time, uint64_t weight_ns, uint32_t node,
		  uint32_t flags)
{
	const struct st_sample_record sample = {
		.time = time, .weight_ns = weight_ns, .node = node, .flags = flags};

	st_sample_encoder_add(&m->samples, &sample);
}

void maker_samples(struct result_maker *m, uint32_t process, uint32_t track)
{
	struct st_chunk_header header = {
		.type = ST_CHUNK_SAMPLES, .process = process, .track = track};
	struct st_buf payload;

	st_buf_init(&payload, ST_CHUNK_RAW_MAX);
	need(st_sample_encoder_finish(&m->samples, &header, &payload), "finishing samples");
	append(m, &m->trace, &m->trace_sequence, &header, &payload);
	st_sample_encoder_clear(&m->samples);
	st_buf_fini(&payload);
}

void maker_define(struct result_maker *m, uint32_t process)
{
	struct st_chunk_header header = {
		.type = ST_CHUNK_DEFINITIONS, .process = process, .record_count = m->record_count};

	need(!m->records.failed, "a definition");
	append(m, &m->definitions, &m->definitions_sequence, &header, &m->records);
	st_buf_clear(&m->records);
	m->record_count = 0;
}

void maker_chunk(struct result_maker *m, uint32_t process, uint32_t track)
{
	struct st_chunk_header header = {
		.type = ST_CHUNK_SLICES, .process = process, .track = track};
	struct st_buf payload;

	st_buf_init(&payload, ST_CHUNK_RAW_MAX);
	need(st_slice_encoder_finish(&m->slices, &header, &payload), "finishing slices");
	append(m, &m->trace, &m->trace_sequence, &header, &payload);
	st_slice_encoder_clear(&m->slices);
	st_buf_fini(&payload);
}

void maker_raw_chunk(struct result_maker *m, struct st_chunk_header header, const void *payload,
		     size_t payload_bytes)
{
	struct st_buf bytes = {.data = (uint8_t *)(uintptr_t)payload, .size_bytes = payload_bytes};

	append(m, &m->trace, &m->trace_sequence, &header, &bytes);
}

void maker_calibration(struct result_maker *m, uint64_t ticks, uint64_t mono_raw_ns)
{
	struct st_chunk_header header = {.type = ST_CHUNK_CALIBRATION,
					 .record_count = 1,
					 .first_time = ticks,
					 .last_time = ticks};
	uint64_t fields[3] = {ticks, mono_raw_ns, 10};

	maker_raw_chunk(m, header, fields, sizeof(fields));
}

void maker_end(struct result_maker *m)
{
	struct st_chunk_header header = {.type = ST_CHUNK_END};
	struct st_buf nothing = {0};

	append(m, &m->definitions, &m->definitions_sequence, &header, &nothing);
	header = (struct st_chunk_header){.type = ST_CHUNK_END};
	append(m, &m->trace, &m->trace_sequence, &header, &nothing);
}

void maker_usual(struct result_maker *m)
{
	maker_process(m, 100, 0, ST_PROCESS_DIRECT, 0);
	maker_text(m, ST_DEF_DOMAIN, 1, "d");
	maker_text(m, ST_DEF_DOMAIN, 2, "e");
	maker_text(m, ST_DEF_STRING, 1, "a");
	maker_text(m, ST_DEF_STRING, 2, "b");
	maker_text(m, ST_DEF_STRING, 3, "c_12_3");
	maker_numbers(m, ST_DEF_THREAD, "448", 1u, 100u, (uint64_t)0);
	maker_define(m, 1);
}

enum st_status maker_open_as(const struct result_maker *m, uint32_t number, struct st_result **out,
			     struct st_error *err)
{
	struct st_source source = {.path = "memory", .dir_fd = -1, .missing_first = number};

	source.segments = calloc(1, sizeof(*source.segments));
	need(source.segments, "calloc");
	source.segment_count = 1;
	source.segments[0] = (struct st_source_file){.name = "trace.000.strata",
						     .number = number,
						     .exists = true,
						     .data = m->trace.data,
						     .size_bytes = m->trace.size_bytes};
	source.definitions = (struct st_source_file){.name = "definitions.strata",
						     .exists = true,
						     .data = m->definitions.data,
						     .size_bytes = m->definitions.size_bytes};
	source.json = (struct st_source_file){.name = "result.json"};
	if (m->json) {
		source.json.exists = true;
		source.json.data = (const uint8_t *)m->json;
		source.json.size_bytes = strlen(m->json);
	}
	return st_result_open_source(out, &source, NULL, err);
}

enum st_status maker_open(const struct result_maker *m, struct st_result **out,
			  struct st_error *err)
{
	return maker_open_as(m, 0, out, err);
}

void write_file(const char *folder, const char *name, const void *data, size_t size_bytes)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	need(file, path);
	need(fwrite(data, 1, size_bytes, file) == size_bytes, path);
	need(fclose(file) == 0, path);
}

void maker_write(const struct result_maker *m, const char *folder)
{
	write_file(folder, "definitions.strata", m->definitions.data, m->definitions.size_bytes);
	write_file(folder, "trace.000.strata", m->trace.data, m->trace.size_bytes);
	if (m->json)
		write_file(folder, "result.json", m->json, strlen(m->json));
}

char *temporary_folder(void)
{
	const char *place = getenv("TMPDIR");
	char *path;

	need(asprintf(&path, "%s/strata-test-XXXXXX", place ? place : "/tmp") > 0, "asprintf");
	need(mkdtemp(path), path);
	return path;
}

void remove_folder(const char *folder)
{
	struct dirent *entry;
	DIR *dir;

	chmod(folder, 0700);
	dir = opendir(folder);
	need(dir, folder);
	while ((entry = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	need(rmdir(folder) == 0, folder);
}

bool has_note(const struct st_result *result, const char *part)
{
	const struct st_quality *quality = st_result_quality(result);

	for (size_t i = 0; i < quality->note_count; i++)
		if (strstr(quality->notes[i], part))
			return true;
	return false;
}

const char *label_name(const struct st_result *result, uint32_t row)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);

	return st_result_text(result, labels[st_result_slices(result)->label[row]].name).bytes;
}

const char *label_domain(const struct st_result *result, uint32_t row)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);

	return st_result_text(result, labels[st_result_slices(result)->label[row]].domain).bytes;
}
