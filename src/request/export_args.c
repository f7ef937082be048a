/* SPDX-License-Identifier: Apache-2.0
 *
 * The words and options of an export.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_check.h"
#include "format/ring_record.h"
#include "request/options.h"
#include "request/parts.h"

static enum st_status unknown_exporter(const char *typed, struct st_error *err)
{
	char near[160];

	st_row_near(st_exporters, sizeof(*st_exporters), typed, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown export format '%.80s'%s%s", typed, near,
			    near[0] ? "" : "; 'strata export ?' lists them");
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t length = strlen(path), wanted = strlen(suffix);

	return length > wanted && strcmp(path + length - wanted, suffix) == 0;
}

/* An option that the format does not heed must not seem to have worked. */
static enum st_status refuse_options(const struct st_args *args, const struct st_exporter *exporter,
				     struct st_error *err)
{
	static const struct {
		enum st_option_id option;
		unsigned int needs; /* one of them */
	} takers[] = {
		{ST_OPT_GROUP_BY, ST_EXPORT_GROUPS},
		{ST_OPT_FILTER, ST_EXPORT_TAKES_SAMPLES | ST_EXPORT_HAS_WINDOW},
		{ST_OPT_TIME_FILTER, ST_EXPORT_TAKES_SAMPLES | ST_EXPORT_HAS_WINDOW},
		{ST_OPT_CALL_STACK_MODE, ST_EXPORT_SHOWS_STACKS},
		{ST_OPT_PYTHON_FRAMES, ST_EXPORT_SHOWS_STACKS},
		{ST_OPT_INLINE_MODE, ST_EXPORT_SHOWS_STACKS},
		{ST_OPT_REVERSE, ST_EXPORT_REVERSES},
		{ST_OPT_PARTS, ST_EXPORT_HAS_PARTS},
		{ST_OPT_METADATA, ST_EXPORT_HAS_PARTS},
		{ST_OPT_METRIC, ST_EXPORT_HAS_METRIC},
		{ST_OPT_DEVICE, ST_EXPORT_HAS_DEVICE},
	};

	for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
		if (st_args_has(args, takers[i].option) && !(exporter->flags & takers[i].needs))
			return st_error_set(err, ST_EUSAGE, 0, "export %s does not take -%s",
					    exporter->name, st_option_at(takers[i].option)->name);
	}
	return ST_OK;
}

static enum st_status parse_parts(const char *text, unsigned int *parts, struct st_error *err)
{
	static const struct {
		const char *word;
		unsigned int part;
	} words[] = {{"shapes", ST_PART_SHAPES},
		     {"memory", ST_PART_MEMORY},
		     {"stacks", ST_PART_STACKS},
		     {"modules", ST_PART_MODULES},
		     {"none", ST_PART_NONE}};

	while (text) {
		size_t size = strcspn(text, ","), i = 0;

		while (i < sizeof(words) / sizeof(words[0]) &&
		       (strlen(words[i].word) != size || memcmp(words[i].word, text, size) != 0))
			i++;
		if (i == sizeof(words) / sizeof(words[0]))
			return st_error_set(err, ST_EUSAGE, 0,
					    "-parts: invalid value '%.60s'; expected shapes, "
					    "memory, stacks, modules or none",
					    text);
		*parts |= words[i].part;
		text = text[size] ? text + size + 1 : NULL;
	}
	return ST_OK;
}

static bool is_key(struct st_text key, struct st_text other)
{
	return key.size_bytes == other.size_bytes &&
	       memcmp(key.bytes, other.bytes, key.size_bytes) == 0;
}

/* No key stands twice in an object: not one of the file's own, and of the user's the last one counts. */
static enum st_status add_fact(struct st_request *request, const struct st_export_fact *fact,
			       struct st_error *err)
{
	static const char *const own[] = {
		"schemaVersion", "deviceProperties", "record_shapes",	    "profile_memory",
		"with_stack",	 "with_modules",     "host_name",	    "displayTimeUnit",
		"traceEvents",	 "traceName",	     "baseTimeNanoseconds",
	};
	size_t at = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (is_key(fact->key, (struct st_text){own[i], strlen(own[i])}))
			return st_error_set(err, ST_EUSAGE, 0,
					    "-metadata: the file already has a key '%s'", own[i]);
	while (at < request->file.fact_count && !is_key(request->facts[at].key, fact->key))
		at++;
	request->facts[at] = *fact;
	if (at == request->file.fact_count)
		request->file.fact_count++;
	return ST_OK;
}

/* "-metadata KEY=VALUE", the value JSON or any text. */
static enum st_status parse_facts(const struct st_args *args, struct st_request *request,
				  struct st_error *err)
{
	const char *text;

	request->facts = calloc(args->given_count + 1, sizeof(*request->facts));
	if (!request->facts)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	request->file.facts = request->facts;
	for (size_t at = 0; (text = st_args_next(args, ST_OPT_METADATA, &at));) {
		const char *equals = strchr(text, '=');
		struct st_export_fact fact;
		enum st_status status;

		if (!equals || equals == text)
			return st_error_set(err, ST_EUSAGE, 0,
					    "-metadata: expected key=value, not '%.60s'", text);
		fact.key = (struct st_text){text, (size_t)(equals - text)};
		fact.value = (struct st_text){equals + 1, strlen(equals + 1)};
		fact.is_json = st_json_is_value(fact.value.bytes, fact.value.size_bytes);
		status = add_fact(request, &fact, err);
		if (status)
			return status;
	}
	return ST_OK;
}

/* Torch's names; it has one for each maker of devices, which mean the same. */
static enum st_status parse_metric(const char *name, bool *by_device, struct st_error *err)
{
	static const char *const of_devices[] = {"self_device_time_total", "self_cuda_time_total",
						 "self_xpu_time_total",
						 "self_privateuse1_time_total"};

	*by_device = false;
	for (size_t i = 0; name && i < sizeof(of_devices) / sizeof(of_devices[0]); i++)
		*by_device = *by_device || strcmp(name, of_devices[i]) == 0;
	if (!name || *by_device || strcmp(name, "self_cpu_time_total") == 0)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0,
			    "-metric: invalid value '%.60s'; expected self_cpu_time_total, "
			    "self_cuda_time_total or self_xpu_time_total",
			    name);
}

/* "cuda:1", as torch writes it. */
static enum st_status parse_device(const char *name, struct st_export_options *file,
				   struct st_error *err)
{
	enum { DIGITS_MAX = 3, DEVICES_MAX = 256, CUDA = 1, XPU = 12 };
	const char *colon = name ? strchr(name, ':') : NULL;
	size_t size = colon ? (size_t)(colon - name) : name ? strlen(name) : 0;
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
	unsigned long index = colon ? strtoul(colon + 1, NULL, 10) : 0;
	bool is_good = !colon || (digits && digits <= DIGITS_MAX && !colon[1 + digits] &&
				  index < DEVICES_MAX);

	file->device = name;
	if (!name || strcmp(name, "cpu") == 0)
		return ST_OK;
	if (is_good && size == 4 && memcmp(name, "cuda", size) == 0)
		file->place = ST_MEMORY_PLACE(CUDA, index);
	else if (is_good && size == 3 && memcmp(name, "xpu", size) == 0)
		file->place = ST_MEMORY_PLACE(XPU, index);
	else
		return st_error_set(err, ST_EUSAGE, 0,
				    "-device: invalid value '%.60s'; expected cpu, cuda:N or xpu:N",
				    name);
	return ST_OK;
}

static enum st_status parse_options(const struct st_args *args, struct st_request *request,
				    struct st_error *err)
{
	const char *path = st_args_value(args, ST_OPT_OUTPUT);
	struct st_export_options *file = &request->file;
	enum st_status status = refuse_options(args, request->exporter, err);

	if (!status)
		status = st_view_args(request, args, err);
	if (!status)
		status = st_question_args(request, args, st_set_range(0, ST_GROUPINGS), err);
	if (!status)
		status = parse_parts(st_args_value(args, ST_OPT_PARTS), &file->parts, err);
	if (!status)
		status = parse_facts(args, request, err);
	if (!status)
		status = parse_metric(st_args_value(args, ST_OPT_METRIC), &file->by_device, err);
	if (!status)
		status = parse_device(st_args_value(args, ST_OPT_DEVICE), file, err);
	request->output.path = strdup(path);
	if (!status && !request->output.path)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory");
	file->question = &request->options.question;
	file->view = request->options.view;
	file->reverse = st_args_flag(args, ST_OPT_REVERSE, false);
	file->is_page = has_suffix(path, ".html") || has_suffix(path, ".htm");
	file->is_raw = has_suffix(path, ".raw.json") || has_suffix(path, ".raw.json.gz");
	file->trace_name = path;
	return status;
}

enum st_status st_export_args(struct st_request *request, const struct st_args *args,
			      struct st_error *err)
{
	const char *format = st_args_value(args, ST_OPT_EXPORT);
	size_t next = 0;

	if (!format && args->word_count)
		format = args->words[next++];
	if (!format)
		return st_error_set(err, ST_EUSAGE, 0,
				    "export requires a format: strata export chrome -o FILE");
	request->exporter = st_row_find(st_exporters, sizeof(*st_exporters), format);
	if (!request->exporter)
		return unknown_exporter(format, err);
	if (!st_args_value(args, ST_OPT_OUTPUT))
		return st_error_set(
			err, ST_EUSAGE, 0,
			"export requires a file: strata export %s -o FILE ('-' is standard output)",
			request->exporter->name);
	if (args->word_count > next + 1)
		return st_error_set(err, ST_EUSAGE, 0,
				    "unexpected argument '%.80s': only one result can be given",
				    args->words[next + 1]);
	request->result_word = args->word_count > next ? args->words[next] : NULL;
	return parse_options(args, request, err);
}
