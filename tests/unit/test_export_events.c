// SPDX-License-Identifier: Apache-2.0
//
// What lies beside tasks, read back from both trace formats: arguments of every type, spans on lanes,
// instants by scope, counters to the last bit, flows.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "events_result.h"
#include "export/export.h"
#include "analyze/datasets/places.h"
#include "pf_decode.h"

static void export_as(const char *name, const struct st_result *fake, struct st_buf *out)
{
	const struct st_exporter *exporter = st_exporters;
	struct st_sink *sink;

	while (exporter->name && strcmp(exporter->name, name) != 0)
		exporter++;
	assert_non_null(exporter->name);
	st_buf_init(out, 64 << 20);
	assert_int_equal(st_sink_open_buf(&sink, out, NULL), ST_OK);
	assert_int_equal(st_export_write(exporter, fake, NULL, sink, NULL), ST_OK);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
}

/* Trace Event Format ------------------------------------------------------------------------------- */

struct chrome {
	struct st_result *fake;
	struct st_buf out;
	struct json_object *trace, *events;
};

static int open_chrome(void **state)
{
	struct chrome *chrome = calloc(1, sizeof(*chrome));
	struct json_tokener *tokener = json_tokener_new();

	chrome->fake = events_create();
	export_as("chrome", chrome->fake, &chrome->out);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	chrome->trace = json_tokener_parse_ex(tokener, (char *)chrome->out.data,
					      (int)chrome->out.size_bytes);
	json_tokener_free(tokener);
	assert_non_null(chrome->trace);
	assert_true(json_object_object_get_ex(chrome->trace, "traceEvents", &chrome->events));
	*state = chrome;
	return 0;
}

static int close_chrome(void **state)
{
	struct chrome *chrome = *state;

	json_object_put(chrome->trace);
	st_buf_fini(&chrome->out);
	fake_destroy(chrome->fake);
	free(chrome);
	return 0;
}

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

/* Compares the JSON text of a member; NULL: it must not be there. */
static void check(struct json_object *object, const char *key, const char *expected)
{
	struct json_object *value = get(object, key);

	if (!expected) {
		assert_null(value);
		return;
	}
	if (!value)
		fail_msg("no %s in %s", key, json_object_to_json_string(object));
	assert_string_equal(json_object_to_json_string_ext(
				    value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			    expected);
}

/* The n-th event of that phase and name. */
static struct json_object *event_of(const struct chrome *chrome, const char *phase,
				    const char *name, unsigned int n)
{
	for (size_t i = 0; i < json_object_array_length(chrome->events); i++) {
		struct json_object *event = json_object_array_get_idx(chrome->events, i);

		if (strcmp(json_object_get_string(get(event, "ph")), phase) == 0 &&
		    strcmp(json_object_get_string(get(event, "name")), name) == 0 && n-- == 0)
			return event;
	}
	fail_msg("no \"%s\" event %s", phase, name);
	return NULL;
}

static unsigned int count_of(const struct chrome *chrome, const char *phase)
{
	unsigned int count = 0;

	for (size_t i = 0; i < json_object_array_length(chrome->events); i++) {
		struct json_object *event = json_object_array_get_idx(chrome->events, i);

		count += strcmp(json_object_get_string(get(event, "ph")), phase) == 0;
	}
	return count;
}

static void test_arguments_of_every_type(void **state)
{
	struct json_object *args = get(event_of(*state, "X", "first", 0), "args");
	struct json_object *told = get(args, "metadata");

	check(args, "caller", "\"0x1234\"");
	check(told, "u64", "18446744073709551615");
	check(told, "s64", "[-9223372036854775808,-1,9223372036854775807]");
	check(told, "u32", "4294967295");
	check(told, "s32", "[-2147483648,7]");
	check(told, "u16", "65535");
	check(told, "s16", "-32768");
	check(told, "float", "0.10000000149011612");
	check(told, "double", "[0.1,-1e+300]");
	check(told, "nothing", "[]");
	check(told, "text", "\"plain\"");
	check(told, "text #13", "4294967295");
	check(told, "broken", "{\"escaped\":\"a\\\\\\\\\\\\xff\"}");
	check(told, "formatted", "\"conv,fwd\"");
	assert_int_equal(json_object_object_length(told), 13);
}

static void test_arguments_of_an_outer_task(void **state)
{
	struct json_object *args = get(event_of(*state, "X", "outer", 0), "args");

	check(args, "id", "\"1:2:3\"");
	check(args, "parent_id", NULL);
	check(args, "python_line", "\"train.py:88\"");
	check(args, "function", "\"0xabc0\"");
	check(args, "caller", "\"lib.so+0x1\"");
	check(args, "metadata",
	      "{\"late\":\"told after a task inside\",\"again\":\"told after a task inside\"}");
	args = get(event_of(*state, "X", "other", 0), "args");
	check(args, "id", "\"18446744073709551615:0:0\"");
	check(args, "parent_id", "\"1:2:3\"");
}

static void test_spans_on_lanes(void **state)
{
	const struct chrome *chrome = *state;
	struct json_object *lanes[3], *args;

	assert_int_equal(count_of(chrome, "b"), EVENTS_SPANS);
	assert_int_equal(count_of(chrome, "e"), EVENTS_SPANS);
	for (unsigned int i = 0; i < EVENTS_OVERLAPPED; i++) {
		struct json_object *event = event_of(chrome, "b", "request", i);

		lanes[i] = get(get(event, "id2"), "local");
		check(event, "cat", "\"overlapped\"");
		for (unsigned int k = 0; k < i; k++)
			assert_string_not_equal(json_object_get_string(lanes[i]),
						json_object_get_string(lanes[k]));
		/* Its end stands right behind, but for the flow. */
		check(event_of(chrome, "e", "request", i), "id2",
		      json_object_to_json_string_ext(get(event, "id2"), JSON_C_TO_STRING_PLAIN));
	}
	args = get(event_of(chrome, "b", "request", 0), "args");
	check(args, "metadata", "{\"of a span\":\"by id\"}");
	args = get(event_of(chrome, "b", "request", 1), "args");
	check(args, "id", "\"4:0:0\"");
	check(args, "parent_id", "\"3:0:0\"");
	check(args, "tid", "5");
	check(args, "end_tid", "6");
	check(get(event_of(chrome, "b", "request", 2), "args"), "flags", "\"unfinished\"");
	check(event_of(chrome, "b", "region", 0), "cat", "\"region\"");
	check(event_of(chrome, "b", "frame", 0), "ts", "0.200");
	check(event_of(chrome, "b", "ended", 0), "cat", "\"event\"");
	check(event_of(chrome, "b", "global mark", 0), "cat", "\"mark\"");
	args = get(event_of(chrome, "b", "mutex", 0), "args");
	check(args, "address", "\"0xbeef\"");
	check(args, "flags", "\"cancelled\"");
}

static void test_instants_by_scope(void **state)
{
	static const char *const places[] = {"\"t\"", "\"g\"", "\"p\"", "\"t\"", "\"t\"", "\"t\""};
	static const char *const scopes[] = {"\"unknown\"", "\"global\"", "\"process\"",
					     "\"thread\"",  "\"task\"",	  "\"marker\""};
	const struct chrome *chrome = *state;
	struct json_object *event;

	for (unsigned int i = 0; i < 6; i++) {
		char name[] = "marker 0";

		name[7] = (char)('0' + i);
		event = event_of(chrome, "i", name, 0);
		check(event, "s", places[i]);
		check(get(event, "args"), "scope", scopes[i]);
	}
	event = event_of(chrome, "i", "histogram", 0);
	check(get(event, "args"), "x", "[1,2]");
	check(get(event, "args"), "y", "[3,4]");
	check(event_of(chrome, "i", "never ended", 0), "s", "\"t\"");
	check(event_of(chrome, "i", "here", 0), "s", "\"g\"");
	/* What names an id that nobody has is not lost. */
	event = event_of(chrome, "i", "of nobody", 0);
	check(get(event, "args"), "metadata", "{\"of nobody\":\"lost?\"}");
	event = event_of(chrome, "i", "sibling_of", 0);
	check(get(event, "args"), "relations",
	      "[{\"relation\":\"sibling_of\",\"edge\":\"head\",\"head\":\"77:0:0\",\"tail\":"
	      "\"77:0:0\"}]");
	assert_int_equal(count_of(chrome, "i"), 6 + 5);
}

static void test_counters_to_the_last_bit(void **state)
{
	static const struct {
		const char *name, *value;
	} expected[] = {{"c.u64", "18446744073709551615"},
			{"c.s64", "-9223372036854775808"},
			{"c.u32", "4294967295"},
			{"c.s32", "-2147483648"},
			{"c.u16", "65535"},
			{"c.s16", "-32768"},
			{"c.float", "0.10000000149011612"},
			{"c.double", "0.1"}};
	const struct chrome *chrome = *state;
	struct json_object *list = get(get(chrome->trace, "strata"), "counters");

	assert_int_equal(count_of(chrome, "C"), 16);
	assert_int_equal(json_object_array_length(list), 8);
	for (size_t i = 0; i < 8; i++) {
		struct json_object *event = event_of(chrome, "C", expected[i].name, 1);

		check(get(event, "args"), "value", expected[i].value);
		check(event, "pid", "5");
	}
	check(json_object_array_get_idx(list, 7), "unit", "\"ms\"");
	check(json_object_array_get_idx(list, 0), "unit", "\"\"");
}

static void test_flows_have_two_ends(void **state)
{
	static const char *const relations[] = {"dependent_on",	   "sibling_of", "parent_of",
						"continuation_of", "child_of",	 "continued_by",
						"predecessor_to"};
	const struct chrome *chrome = *state;

	/* Seven relations, two parents, one span that changes its thread. */
	assert_int_equal(count_of(chrome, "s"), 10);
	assert_int_equal(count_of(chrome, "f"), 10);
	for (size_t i = 0; i < 7; i++) {
		struct json_object *from = event_of(chrome, "s", relations[i], 0);
		struct json_object *to = event_of(chrome, "f", relations[i], 0);

		/* Forward in time: the task on the other thread began first. */
		check(from, "tid", "6");
		check(from, "ts", "0.150");
		check(to, "tid", "5");
		check(to, "ts", "0.400");
		assert_int_equal(json_object_get_int(get(from, "id")),
				 json_object_get_int(get(to, "id")));
	}
	check(event_of(chrome, "s", "request", 0), "tid", "5");
	check(event_of(chrome, "f", "request", 0), "tid", "6");
	check(event_of(chrome, "f", "request", 0), "ts", "0.710");
}

/* Perfetto ----------------------------------------------------------------------------------------- */

enum { NOTE_MAX = 4096 };

struct names {
	struct pf_message event[NOTE_MAX], note[NOTE_MAX], text[NOTE_MAX];
};

struct perfetto {
	struct st_result *fake;
	struct st_buf out;
	struct names *names;
	struct pf_message at; /* packets that are still to come */
};

static int open_perfetto(void **state)
{
	struct perfetto *perfetto = calloc(1, sizeof(*perfetto));

	perfetto->names = calloc(1, sizeof(*perfetto->names));
	perfetto->fake = events_create();
	export_as("perfetto", perfetto->fake, &perfetto->out);
	*state = perfetto;
	return 0;
}

static int close_perfetto(void **state)
{
	struct perfetto *perfetto = *state;

	st_buf_fini(&perfetto->out);
	fake_destroy(perfetto->fake);
	free(perfetto->names);
	free(perfetto);
	return 0;
}

static void start(struct perfetto *perfetto)
{
	perfetto->at = (struct pf_message){perfetto->out.data,
					   perfetto->out.data + perfetto->out.size_bytes};
}

static void take_names(struct perfetto *perfetto, struct pf_message message)
{
	struct pf_field field, text;

	while (pf_take_field(&message, &field)) {
		struct pf_message *table = field.number == 2   ? perfetto->names->event
					   : field.number == 3 ? perfetto->names->note
							       : perfetto->names->text;

		assert_true(pf_number_of(field.bytes, 1, 0) < NOTE_MAX);
		assert_true(pf_find(field.bytes, 2, &text));
		if (field.number != 1)
			table[pf_number_of(field.bytes, 1, 0)] = text.bytes;
	}
}

/* The next packet; what it interns is known from then on. */
static bool next_packet(struct perfetto *perfetto, struct pf_message *packet)
{
	struct pf_field field, names;

	if (!pf_take_field(&perfetto->at, &field))
		return false;
	*packet = field.bytes;
	if (pf_number_of(*packet, 13, 0) & 1)
		memset(perfetto->names, 0, sizeof(*perfetto->names));
	if (pf_find(*packet, 12, &names))
		take_names(perfetto, names.bytes);
	return true;
}

static bool is_text(struct pf_message message, const char *text)
{
	return (size_t)(message.end - message.at) == strlen(text) &&
	       memcmp(message.at, text, strlen(text)) == 0;
}

static bool has_name(const struct perfetto *perfetto, struct pf_message event, const char *name)
{
	struct pf_field field;

	if (pf_find(event, 23, &field))
		return is_text(field.bytes, name);
	return pf_find(event, 10, &field) && is_text(perfetto->names->event[field.value], name);
}

/* The n-th event of that type and name, with its time. */
static struct pf_message pf_event_of(struct perfetto *perfetto, uint64_t type, const char *name,
				     unsigned int n, uint64_t *time_ns)
{
	struct pf_message packet;
	struct pf_field event;

	start(perfetto);
	while (next_packet(perfetto, &packet)) {
		if (!pf_find(packet, 11, &event) || pf_number_of(event.bytes, 9, 0) != type ||
		    !has_name(perfetto, event.bytes, name) || n-- > 0)
			continue;
		*time_ns = pf_number_of(packet, 8, UINT64_MAX);
		return event.bytes;
	}
	fail_msg("no event %s", name);
	return (struct pf_message){NULL, NULL};
}

/* The annotation of that name among those in field `number`. */
static struct pf_message note_of(const struct perfetto *perfetto, struct pf_message message,
				 uint64_t number, const char *name)
{
	struct pf_field field, id;

	while (pf_take_field(&message, &field)) {
		if (field.number != number)
			continue;
		if (pf_find(field.bytes, 1, &id)
			    ? is_text(perfetto->names->note[id.value], name)
			    : pf_find(field.bytes, 10, &id) && is_text(id.bytes, name))
			return field.bytes;
	}
	fail_msg("no annotation %s", name);
	return message;
}

static uint64_t element(struct pf_message list, unsigned int n, uint64_t number)
{
	struct pf_field field;

	while (pf_take_field(&list, &field)) {
		if (field.number == 12 && n-- == 0)
			return pf_number_of(field.bytes, number, 0);
	}
	fail_msg("too few elements");
	return 0;
}

static void test_annotations_of_every_type(void **state)
{
	struct perfetto *perfetto = *state;
	struct pf_message told, escaped;
	uint64_t time_ns;

	told = note_of(perfetto, pf_event_of(perfetto, 1, "first", 0, &time_ns), 4, "metadata");
	assert_int_equal(time_ns, 200);
	assert_true(pf_number_of(note_of(perfetto, told, 11, "u64"), 3, 0) == UINT64_MAX);
	assert_true(element(note_of(perfetto, told, 11, "s64"), 0, 4) == (uint64_t)INT64_MIN);
	assert_true(element(note_of(perfetto, told, 11, "s64"), 2, 4) == INT64_MAX);
	assert_int_equal(pf_number_of(note_of(perfetto, told, 11, "u32"), 3, 0), UINT32_MAX);
	assert_true((int64_t)element(note_of(perfetto, told, 11, "s32"), 0, 4) == INT32_MIN);
	assert_int_equal(pf_number_of(note_of(perfetto, told, 11, "u16"), 3, 0), UINT16_MAX);
	assert_true((int64_t)pf_number_of(note_of(perfetto, told, 11, "s16"), 4, 0) == INT16_MIN);
	assert_true(pf_double_of(note_of(perfetto, told, 11, "float"), 5) == (double)0.1f);
	assert_int_equal(element(note_of(perfetto, told, 11, "double"), 0, 5),
			 0x3fb999999999999aull);
	pf_check_text(note_of(perfetto, told, 11, "text"), 6, "plain", 5);
	assert_int_equal(pf_number_of(note_of(perfetto, told, 11, "text #13"), 3, 0), UINT32_MAX);
	pf_check_text(note_of(perfetto, told, 11, "formatted"), 6, "conv,fwd", 8);
	escaped = note_of(perfetto, note_of(perfetto, told, 11, "broken"), 11, "escaped");
	pf_check_text(escaped, 6, "a\\\\\\xff", 7);
}

/* A long text that is told again is sent once per thread. */
static void test_long_texts_are_interned(void **state)
{
	struct perfetto *perfetto = *state;
	static const char text[] = "told after a task inside";
	struct pf_message told;
	const uint8_t *first;
	uint64_t time_ns, id;

	told = note_of(perfetto, pf_event_of(perfetto, 1, "outer", 0, &time_ns), 4, "metadata");
	id = pf_number_of(note_of(perfetto, told, 11, "late"), 17, 0);
	assert_int_not_equal(id, 0);
	assert_true(is_text(perfetto->names->text[id], text));
	first = memmem(perfetto->out.data, perfetto->out.size_bytes, text, strlen(text));
	assert_non_null(first);
	assert_null(memmem(first + 1,
			   perfetto->out.size_bytes - (size_t)(first + 1 - perfetto->out.data),
			   text, strlen(text)));
}

/* All flow numbers of the events of a name: as a source (47) or a target (48). */
static unsigned int flow_count(struct perfetto *perfetto, uint64_t number)
{
	struct pf_message packet;
	struct pf_field event, field;
	unsigned int count = 0;

	start(perfetto);
	while (next_packet(perfetto, &packet)) {
		if (!pf_find(packet, 11, &event))
			continue;
		while (pf_take_field(&event.bytes, &field))
			count += field.number == number;
	}
	return count;
}

static void test_flows_in_perfetto(void **state)
{
	struct perfetto *perfetto = *state;
	struct pf_message event;
	struct pf_field field;
	uint64_t time_ns, targets = 0;

	/* Sources of ten, and the span that changes its thread is on the way of the last. */
	assert_int_equal(flow_count(perfetto, 47), 11);
	assert_int_equal(flow_count(perfetto, 48), 10);
	event = pf_event_of(perfetto, 1, "second", 0, &time_ns);
	while (pf_take_field(&event, &field))
		targets += field.number == 48;
	assert_int_equal(targets, 7);
}

/* The track of a counter, and its last value's event. */
static struct pf_message counter_of(struct perfetto *perfetto, const char *name,
				    struct pf_message *track)
{
	struct pf_message packet, last = {NULL, NULL};
	struct pf_field field, text;
	uint64_t uuid = 0;

	start(perfetto);
	while (next_packet(perfetto, &packet)) {
		if (pf_find(packet, 60, &field) && pf_find(field.bytes, 2, &text) &&
		    is_text(text.bytes, name)) {
			*track = field.bytes;
			uuid = pf_number_of(field.bytes, 1, 0);
		}
		if (uuid && pf_find(packet, 11, &field) &&
		    pf_number_of(field.bytes, 11, 0) == uuid) {
			assert_int_equal(pf_number_of(field.bytes, 9, 0), 4);
			last = field.bytes;
		}
	}
	assert_non_null(last.at);
	return last;
}

static void test_counters_in_perfetto(void **state)
{
	struct perfetto *perfetto = *state;
	struct pf_message track = {NULL, NULL}, last;
	struct pf_field about;

	last = counter_of(perfetto, "c.s64", &track);
	assert_true((int64_t)pf_number_of(last, 30, 0) == INT64_MIN);
	assert_int_equal(pf_number_of(track, 5, 0), 3); /* said to be thread 6's */
	last = counter_of(perfetto, "c.u64", &track);
	assert_true(pf_double_of(last, 44) == 18446744073709551616.0);
	assert_true(pf_number_of(note_of(perfetto, last, 4, "value"), 3, 0) == UINT64_MAX);
	assert_int_equal(pf_number_of(track, 5, 0), 1); /* the process's */
	last = counter_of(perfetto, "c.s16", &track);
	assert_true((int64_t)pf_number_of(last, 30, 0) == INT16_MIN);
	last = counter_of(perfetto, "c.double", &track);
	assert_int_equal(pf_number_of(last, 44, 0), 0x3fb999999999999aull);
	assert_true(pf_find(track, 8, &about));
	pf_check_text(about.bytes, 6, "ms", 2);
}

/* Every span has a begin and an end, on tracks where nothing overlaps. */
static void test_spans_in_perfetto(void **state)
{
	struct perfetto *perfetto = *state;
	uint64_t time_ns, tracks[EVENTS_OVERLAPPED];

	for (unsigned int i = 0; i < EVENTS_OVERLAPPED; i++) {
		struct pf_message event = pf_event_of(perfetto, 1, "request", i, &time_ns);

		assert_int_equal(time_ns, 110 + 10 * i);
		tracks[i] = pf_number_of(event, 11, 0);
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(tracks[i], tracks[k]);
	}
	/* On the two threads, where it begins and where it ends. */
	assert_int_equal(pf_number_of(pf_event_of(perfetto, 3, "request", 0, &time_ns), 11, 0), 2);
	assert_int_equal(time_ns, 120);
	assert_int_equal(pf_number_of(pf_event_of(perfetto, 3, "request", 1, &time_ns), 11, 0), 3);
	assert_int_equal(time_ns, 710);
	pf_event_of(perfetto, 1, "region", 0, &time_ns);
	pf_event_of(perfetto, 1, "mutex", 0, &time_ns);
	assert_int_equal(time_ns, 652);
}

static void test_instants_in_perfetto(void **state)
{
	struct perfetto *perfetto = *state;
	uint64_t time_ns, global;

	assert_int_equal(pf_number_of(pf_event_of(perfetto, 3, "marker 4", 0, &time_ns), 11, 0), 2);
	assert_int_equal(pf_number_of(pf_event_of(perfetto, 3, "marker 2", 0, &time_ns), 11, 0), 1);
	global = pf_number_of(pf_event_of(perfetto, 3, "marker 1", 0, &time_ns), 11, 0);
	assert_true(global > 3);
	assert_int_equal(pf_number_of(pf_event_of(perfetto, 3, "here", 0, &time_ns), 11, 0),
			 global);
	assert_int_equal(time_ns, 800);
}

#define CHROME(test) cmocka_unit_test_setup_teardown(test, open_chrome, close_chrome)
#define PERFETTO(test) cmocka_unit_test_setup_teardown(test, open_perfetto, close_perfetto)

/* Every span gets the first lane that is free, also among thousands that never become so. */
static void test_first_free_lane(void **state)
{
	enum { SPANS = 6000 };
	struct st_span *spans = calloc(SPANS, sizeof(*spans));
	int64_t *ends = calloc(SPANS, sizeof(*ends));
	const struct st_thing_args facts = {.spans = spans, .span_count = SPANS, .track_count = 1};
	struct st_places places = {.facts = &facts};
	uint32_t lanes = 0, dice = 1;

	(void)state;
	for (uint32_t i = 0; i < SPANS; i++) {
		uint32_t lane, expected = 0;

		dice = dice * 1103515245 + 12345;
		spans[i] = (struct st_span){.kind = ST_SPAN_WAIT, .begin_ns = i};
		/* One in four stays, the others last up to 2,000. */
		spans[i].end_ns = dice >> 16 & 3 ? i + (dice >> 18) % 2000 : 1000000;
		while (expected < lanes && ends[expected] > i)
			expected++;
		lanes += expected == lanes;
		ends[expected] = spans[i].end_ns;
		assert_non_null(st_places_span(&places, i, &lane));
		assert_int_equal(lane, expected);
	}
	assert_true(lanes > 2 * ST_LANES_PER_BLOCK);
	st_places_fini(&places);
	free(ends);
	free(spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_free_lane),	 CHROME(test_arguments_of_every_type),
		CHROME(test_arguments_of_an_outer_task), CHROME(test_spans_on_lanes),
		CHROME(test_instants_by_scope),		 CHROME(test_counters_to_the_last_bit),
		CHROME(test_flows_have_two_ends),	 PERFETTO(test_annotations_of_every_type),
		PERFETTO(test_long_texts_are_interned),	 PERFETTO(test_flows_in_perfetto),
		PERFETTO(test_counters_in_perfetto),	 PERFETTO(test_spans_in_perfetto),
		PERFETTO(test_instants_in_perfetto),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
