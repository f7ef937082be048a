/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything about a task, a span or an instant apart from its name, times and place, as a list of
 * arguments that each exporter writes in its own way. Metadata of the program has the program's keys and
 * is in a separate group, so that it hides none of our keys.
 */
#ifndef ST_ANALYZE_DATASETS_THING_ARGS_H
#define ST_ANALYZE_DATASETS_THING_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/datasets/ties.h"
#include "store/events.h"

/* Names of ours; the numbers are interning ids of the Perfetto export. */
enum st_arg_word {
	ST_ARG_NO_WORD,
	ST_ARG_DOMAIN,
	ST_ARG_ROW,
	ST_ARG_PARENT,
	ST_ARG_FLAGS,
	ST_ARG_RECORDED_NS,
	ST_ARG_NAME_BYTES,
	ST_ARG_ID,
	ST_ARG_PARENT_ID,
	ST_ARG_CALLER,
	ST_ARG_PYTHON_LINE,
	ST_ARG_FUNCTION,
	ST_ARG_TID,
	ST_ARG_END_TID,
	ST_ARG_SCOPE,
	ST_ARG_VALUE,
	ST_ARG_ADDRESS,
	ST_ARG_TYPE,
	ST_ARG_X,
	ST_ARG_Y,
	ST_ARG_EDGE,
	ST_ARG_METADATA,
	ST_ARG_FORMATTED,
	ST_ARG_UNNAMED,
	ST_ARG_CUT,
	ST_ARG_ESCAPED,
	ST_ARG_RELATIONS,
	ST_ARG_RELATION,
	ST_ARG_HEAD,
	ST_ARG_TAIL,
	ST_ARG_FLOW,
	ST_ARG_DEVICE,
	ST_ARG_STREAM,
	ST_ARG_CORRELATION,
	ST_ARG_GRID,
	ST_ARG_BLOCK,
	ST_ARG_REGISTERS,
	ST_ARG_SHARED_BYTES,
	ST_ARG_BYTES,
	ST_ARG_WORDS
};
extern const char *const st_arg_words[ST_ARG_WORDS];

enum st_arg_form {
	ST_ARG_IS_U64,
	ST_ARG_IS_TEXT,	   /* text */
	ST_ARG_IS_TEXT_ID, /* string of the result */
	ST_ARG_IS_VALUES,  /* text holds elements of the ITT type `type` */
	ST_ARG_IS_GROUP,   /* arguments of its own follow, to ST_ARG_IS_END */
	ST_ARG_IS_LIST,	   /* groups without a name follow, to ST_ARG_IS_END */
	ST_ARG_IS_END,
};

struct st_arg {
	enum st_arg_form form;
	enum st_arg_word word; /* its name; ST_ARG_NO_WORD: the key */
	st_string_id key;      /* the program's name for it */
	uint32_t
		repeat; /* not 0: the thing has this name already; to be told apart by this number */
	uint32_t type;
	uint64_t number;
	st_string_id text_id;
	struct st_text text;
	uint32_t blob; /* of the result that the text is, or 0 */
};

struct st_buf;

typedef void (*st_arg_write)(void *to, const struct st_arg *arg);

struct st_thing_args {
	const struct st_result *result;
	const struct st_events *events;
	const struct st_slices *slices;
	const struct st_label *labels;
	const struct st_span *spans;
	const struct st_itt_id *ids;
	const struct st_object *objects;
	const struct st_sync_object *syncs;
	const struct st_track *tracks;
	const uint32_t *slice_callers;
	const struct st_caller *callers;
	uint32_t span_count, object_count, sync_count, track_count;
	bool has_devices;
	const struct st_ties *ties;
	st_arg_write write;
	void *to;
	/* The rest is the walk's own. */
	uint32_t *key_seen; /* by text: the thing that had it last */
	uint32_t serial, cut, formatted, unnamed, told;
	uint32_t at, end; /* events of the track at hand, from the first that may be a slice's */
	bool in_metadata;
};

bool st_thing_args_init(struct st_thing_args *args, const struct st_result *result,
			const struct st_ties *ties);
void st_thing_args_fini(struct st_thing_args *args);

/* Before the slices of a track, which are then asked for in the order of their rows. */
void st_thing_args_track(struct st_thing_args *args, uint32_t track);
/* All but what every slice has: domain, row, parent, flags, recorded time. */
void st_thing_args_slice(struct st_thing_args *args, uint32_t row);
void st_thing_args_span(struct st_thing_args *args, uint32_t span);
void st_thing_args_event(struct st_thing_args *args, uint32_t event);

/* Whether the metadata of the event is told with a slice that is open around it. */
bool st_event_is_of_slice(const struct st_event_row *row);
/* What the argument is called; put together in scratch where its own name will not do: a second of that name, or one that
 * is no UTF-8, so that two keys do not become one. */
struct st_text st_arg_name(const struct st_arg *arg, const struct st_result *result,
			   struct st_buf *scratch);
/* The elements of ST_ARG_IS_VALUES: how many, and each. Bytes of a type that nobody knows are numbers. */
enum st_element_form { ST_ELEMENT_DOUBLE, ST_ELEMENT_SIGNED, ST_ELEMENT_UNSIGNED };
struct st_element {
	enum st_element_form form;
	double number;
	uint64_t integer; /* of a signed one its bits */
};
size_t st_arg_element_count(const struct st_arg *arg);
struct st_element st_arg_element(const struct st_arg *arg, size_t index);
/* Text that is no UTF-8 with every bad byte as \xNN and the backslash doubled. */
void st_text_escape(struct st_buf *out, struct st_text text);

#endif
