// SPDX-License-Identifier: Apache-2.0
//
// The text of `perf script` to samples (collect/import/out.h): a line for each sample, the lines of its frames
// below it, innermost first, an empty line. Names are kept as they are; no file is looked at.
//
//	train.py  4711/4712 [003]  8123.123456:    1000000 cpu-clock:u:
//		    55d0c0ffee f+0x1c (/usr/bin/prog)
//		    55d0c0fabc main+0x7 (/usr/bin/prog)
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "collect/import/out.h"
#include "format/shm.h"

enum {
	NAME_MAX_BYTES = 16 << 10,
	FRAMES_MAX = 4096,
	TIME_DIGITS = 9,
	HEAD_MAX_BYTES = 512, /* the time stands within these */
};

struct sample_line {
	struct st_text comm, event, rest;
	uint32_t pid, tid; /* pid 0: the line does not say */
	uint64_t time, period;
	bool has_period;
};

struct frame {
	uint64_t address;
	st_string_id name, module;
};

struct script {
	struct st_import_out *out;
	struct sample_line head;
	bool is_open, is_time_known, is_time;
	struct frame *frames;
	uint32_t frame_count, frame_capacity;
	struct st_id_map pid_of; /* name of a thread -> pid that stands for its process */
	bool was_cut;
};

static struct st_text trimmed(struct st_text text)
{
	while (text.size_bytes && isspace((unsigned char)text.bytes[0])) {
		text.bytes++;
		text.size_bytes--;
	}
	while (text.size_bytes && isspace((unsigned char)text.bytes[text.size_bytes - 1]))
		text.size_bytes--;
	return text;
}

static bool take_number(struct st_text *text, unsigned int base, uint64_t *out)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < text->size_bytes && i < 20; i++) {
		int c = tolower((unsigned char)text->bytes[i]);
		unsigned int digit = c >= '0' && c <= '9'   ? (unsigned int)(c - '0')
				     : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a' + 10)
							    : 99;

		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (!i)
		return false;
	text->bytes += i;
	text->size_bytes -= i;
	*out = value;
	return true;
}

static bool take_char(struct st_text *text, char c)
{
	if (!text->size_bytes || text->bytes[0] != c)
		return false;
	text->bytes++;
	text->size_bytes--;
	return true;
}

/* "8123.123456:" */
static bool take_time(struct st_text *text, uint64_t *out)
{
	uint64_t seconds, part = 0;
	const char *begin;
	size_t digits;

	if (!take_number(text, 10, &seconds) || !take_char(text, '.'))
		return false;
	begin = text->bytes;
	if (!take_number(text, 10, &part))
		return false;
	digits = (size_t)(text->bytes - begin);
	if (digits > TIME_DIGITS || !take_char(text, ':') || seconds > UINT64_MAX / 2000000000u)
		return false;
	for (; digits < TIME_DIGITS; digits++)
		part *= 10;
	*out = seconds * 1000000000u + part;
	return true;
}

/* The last word of what is left, taken off its end. */
static struct st_text take_last_word(struct st_text *text)
{
	struct st_text word;

	*text = trimmed(*text);
	word = *text;
	while (text->size_bytes && !isspace((unsigned char)text->bytes[text->size_bytes - 1]))
		text->size_bytes--;
	word.bytes += text->size_bytes;
	word.size_bytes -= text->size_bytes;
	return word;
}

static bool parse_ids(struct st_text word, struct sample_line *line)
{
	uint64_t first, second;

	if (!take_number(&word, 10, &first) || first > UINT32_MAX)
		return false;
	line->tid = (uint32_t)first;
	if (take_char(&word, '/')) {
		if (!take_number(&word, 10, &second) || second > UINT32_MAX)
			return false;
		line->pid = (uint32_t)first;
		line->tid = (uint32_t)second;
	}
	return !word.size_bytes;
}

/* What stands before the time: name of the thread, ids, perhaps the processor. */
static bool parse_before(struct st_text before, struct sample_line *line)
{
	struct st_text word = take_last_word(&before);

	if (word.size_bytes && word.bytes[0] == '[')
		word = take_last_word(&before);
	line->comm = trimmed(before);
	return parse_ids(word, line) && line->comm.size_bytes;
}

/* And behind it: perhaps a period, then the event up to the colon before a blank, then perhaps a frame. */
static bool parse_behind(struct st_text behind, struct sample_line *line)
{
	struct st_text number = trimmed(behind);
	size_t i;

	behind = number;
	line->has_period = take_number(&number, 10, &line->period) && number.size_bytes &&
			   isspace((unsigned char)number.bytes[0]);
	if (line->has_period)
		behind = trimmed(number);
	for (i = 0; i < behind.size_bytes; i++)
		if (behind.bytes[i] == ':' &&
		    (i + 1 == behind.size_bytes || isspace((unsigned char)behind.bytes[i + 1])))
			break;
	if (i == behind.size_bytes)
		return false;
	line->event = (struct st_text){behind.bytes, i};
	line->rest = trimmed((struct st_text){behind.bytes + i + 1, behind.size_bytes - i - 1});
	return true;
}

/* Names of threads may look like anything, so the time that fits is looked for from the left. */
static bool parse_sample(struct st_text text, struct sample_line *line)
{
	memset(line, 0, sizeof(*line));
	for (size_t i = 1; i < text.size_bytes && i < HEAD_MAX_BYTES; i++) {
		struct st_text at = {text.bytes + i, text.size_bytes - i};

		if (!isspace((unsigned char)text.bytes[i - 1]) ||
		    !isdigit((unsigned char)text.bytes[i]))
			continue;
		if (take_time(&at, &line->time) &&
		    parse_before((struct st_text){text.bytes, i}, line) && parse_behind(at, line))
			return true;
	}
	return false;
}

static bool ends_with(struct st_text text, const char *end)
{
	size_t length = strlen(end);

	return text.size_bytes >= length &&
	       memcmp(text.bytes + text.size_bytes - length, end, length) == 0;
}

/* The last " (" before the ")" that ends the line; names of functions and files may hold both. */
static struct st_text take_module(struct st_text *text)
{
	struct st_text module = {"", 0};
	size_t end = text->size_bytes;

	if (!ends_with(*text, ")"))
		return module;
	if (ends_with(*text, " (deleted))"))
		end -= strlen(" (deleted))");
	for (size_t i = end; i > 1; i--) {
		if (text->bytes[i - 1] != '(' || !isspace((unsigned char)text->bytes[i - 2]))
			continue;
		module = (struct st_text){text->bytes + i, text->size_bytes - i - 1};
		text->size_bytes = i - 1;
		break;
	}
	return module;
}

/* "name+0x1c" */
static struct st_text without_offset(struct st_text name)
{
	size_t at = name.size_bytes;

	while (at && isxdigit((unsigned char)name.bytes[at - 1]))
		at--;
	if (at >= 3 && at < name.size_bytes && memcmp(name.bytes + at - 3, "+0x", 3) == 0)
		name.size_bytes = at - 3;
	return name;
}

static struct st_text limited(struct script *script, struct st_text text)
{
	if (text.size_bytes > NAME_MAX_BYTES) {
		text.size_bytes = NAME_MAX_BYTES;
		script->out->counts.skipped++;
	}
	return text;
}

/* False: this is no frame. */
static bool take_frame(struct script *script, struct st_text text)
{
	struct st_import_out *out = script->out;
	struct st_text module;
	uint64_t address;

	text = trimmed(text);
	if (!take_number(&text, 16, &address) ||
	    (text.size_bytes && !isspace((unsigned char)text.bytes[0])))
		return false;
	if (script->frame_count == FRAMES_MAX) {
		script->was_cut = true;
		return true;
	}
	module = limited(script, take_module(&text));
	text = limited(script, without_offset(trimmed(text)));
	if (!text.size_bytes)
		text = (struct st_text){"[unknown]", 9};
	if (!ST_VEC_PUSH(script->frames, script->frame_count, script->frame_capacity,
			 (struct frame){
				 .address = address,
				 .name = st_import_text(out, text.bytes, text.size_bytes),
				 .module = st_import_text(out, module.bytes, module.size_bytes)})) {
		out->no_memory = true;
		return true;
	}
	return true;
}

/* Without pids threads of one name are one process, which is the best guess there is. */
static uint32_t pid_of(struct script *script, st_string_id comm)
{
	uint32_t pid = script->head.pid;

	if (pid)
		return pid;
	pid = st_id_map_get(&script->pid_of, comm);
	if (pid != ST_ID_NONE)
		return pid;
	if (!st_id_map_put(&script->pid_of, comm, script->head.tid))
		script->out->no_memory = true;
	return script->head.tid;
}

static bool is_text(struct st_text text, const char *wanted)
{
	size_t length = strlen(wanted);

	/* Modifiers stand behind a colon. */
	return text.size_bytes >= length && memcmp(text.bytes, wanted, length) == 0 &&
	       (text.size_bytes == length || text.bytes[length] == ':');
}

static bool is_chosen_event(struct script *script)
{
	struct st_import_out *out = script->out;
	struct st_text event = script->head.event;
	st_string_id id = st_import_text(out, event.bytes, event.size_bytes);

	if (!out->event) {
		out->event = id;
		script->is_time = is_text(event, "cpu-clock") || is_text(event, "task-clock");
		out->trigger = script->is_time ? ST_TRIGGER_CPU_CLOCK : ST_TRIGGER_CYCLES;
	}
	return out->event == id;
}

/* The text gives inlined functions no module. They are of the frame at the same address, which comes behind
 * them; where that one is missing, most likely of the frame that they call. */
static void place_inlined(struct script *script)
{
	st_string_id inlined = st_import_text(script->out, "inlined", 7);

	for (uint32_t i = script->frame_count; i > 0; i--) {
		struct frame *frame = &script->frames[i - 1];
		const struct frame *outer = i < script->frame_count ? frame + 1 : NULL;

		if (frame->module == inlined && outer && outer->address == frame->address)
			frame->module = outer->module;
	}
	for (uint32_t i = 0; i < script->frame_count; i++) {
		struct frame *frame = &script->frames[i];

		if (frame->module == inlined)
			frame->module = i ? script->frames[i - 1].module : 0;
	}
}

static void end_sample(struct script *script)
{
	struct st_import_out *out = script->out;
	const struct sample_line *head = &script->head;
	struct st_sample_record sample = {.time = head->time};
	struct st_text comm = limited(script, head->comm);
	uint32_t thread, process;
	st_string_id name;

	if (!script->is_open)
		return;
	script->is_open = false;
	if (!is_chosen_event(script)) {
		out->counts.other++;
		return;
	}
	if (!head->tid) {
		out->counts.idle++;
		return;
	}
	name = st_import_text(out, comm.bytes, comm.size_bytes);
	thread = st_import_thread_of(out, pid_of(script, name), head->tid, head->time);
	if (thread == ST_IMPORT_NONE)
		return;
	process = out->threads[thread].process;
	place_inlined(script);
	if (!out->processes[process].name)
		out->processes[process].name = name;
	else if (out->processes[process].name != name)
		out->threads[thread].name = name;
	for (uint32_t i = script->frame_count; i > 0 && !out->no_memory; i--) {
		const struct frame *frame = &script->frames[i - 1];
		uint64_t address = st_import_symbol(out, process, frame->name, frame->module);

		/* A return address lies behind its call. */
		sample.node = st_import_node(out, process, sample.node,
					     i == 1 ? ST_FRAME_EXACT : ST_FRAME_CALL,
					     i == 1 ? address : address + 1);
	}
	sample.flags = script->frame_count > 1 ? 0 : ST_SAMPLE_NO_STACK;
	if (script->was_cut)
		sample.flags |= ST_SAMPLE_DEPTH_CUT | ST_SAMPLE_TRUNCATED;
	sample.weight_ns = script->is_time && head->has_period ? head->period : 0;
	st_import_sample(out, thread, &sample);
}

static void begin_sample(struct script *script, const struct sample_line *line)
{
	end_sample(script);
	script->head = *line;
	script->is_open = true;
	script->was_cut = false;
	script->frame_count = 0;
	if (line->rest.size_bytes)
		take_frame(script, line->rest);
}

static void take_line(struct script *script, struct st_text text)
{
	struct sample_line line;
	bool is_indented = text.size_bytes && isspace((unsigned char)text.bytes[0]);
	struct st_text content = trimmed(text);

	if (!content.size_bytes) {
		end_sample(script);
		return;
	}
	if (content.bytes[0] == '#' || (is_indented && script->is_open && take_frame(script, text)))
		return;
	if (parse_sample(text, &line))
		begin_sample(script, &line);
	else
		script->out->counts.skipped++;
}

static int by_time(const void *a, const void *b)
{
	const struct st_sample_record *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

/* perf script sorts, but files may be put together. */
static void sort_threads(struct st_import_out *out)
{
	for (uint32_t t = 0; t < out->thread_count; t++) {
		struct st_import_thread *thread = &out->threads[t];
		bool sorted = true;

		for (uint32_t i = 1; i < thread->sample_count; i++)
			sorted &= thread->samples[i - 1].time <= thread->samples[i].time;
		if (!sorted)
			qsort(thread->samples, thread->sample_count, sizeof(*thread->samples),
			      by_time);
		if (thread->sample_count)
			thread->first = thread->samples[0].time;
	}
}

enum st_status st_import_perf_script(struct st_import_out *out, const char *bytes,
				     size_t size_bytes, struct st_error *err)
{
	struct script script = {.out = out};
	size_t at = 0;

	out->format = st_import_text(out, "perf script", 11);
	while (at < size_bytes && !out->no_memory) {
		const char *end = memchr(bytes + at, '\n', size_bytes - at);
		size_t length = end ? (size_t)(end - bytes) - at : size_bytes - at;

		take_line(&script, (struct st_text){bytes + at, length});
		at += length + 1;
	}
	end_sample(&script);
	sort_threads(out);
	free(script.frames);
	st_id_map_fini(&script.pid_of);
	if (out->no_memory)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the samples");
	return ST_OK;
}
