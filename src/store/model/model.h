/* SPDX-License-Identifier: Apache-2.0
 *
 * Who and what: everything definitions.strata says, and the texts of an open result. The trace is not
 * looked at here; the index builder asks this model what the ids in the trace mean.
 */
#ifndef ST_STORE_MODEL_MODEL_H
#define ST_STORE_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "format/chunk.h"
#include "format/definitions.h"
#include "format/event_kind.h"
#include "format/signature.h"
#include "store/model/notes.h"
#include "store/operators.h"
#include "store/result.h"
#include "store/model/segment.h"
#include "store/model/forest.h"
#include "store/text_table.h"

struct st_source;

/* What the files say of a process beyond struct st_process; the same index. */
struct st_process_more {
	bool is_defined, has_end, has_loss;
	uint32_t parent_id;
	uint64_t first_ticks, end_ticks;
	uint32_t ancestor_id; /* ST_DEF_INHERIT; 0: none */
	uint32_t inherited_strings, inherited_domains, inherited_objects;
	struct st_text arguments; /* joined by NUL; kept in the text table */
};

struct st_track_definition { /* ST_DEF_THREAD */
	uint32_t process_id, track_id, tid;
	uint32_t kind;	   /* enum st_track_kind */
	st_string_id name; /* of a track that is no thread */
	bool is_defined;
	uint64_t first_ticks;
	struct st_loss loss;
};

struct st_family_control { /* ST_DEF_FAMILY_CONTROL */
	uint64_t ticks;
	uint32_t kind;
};

struct st_object_definition { /* ST_DEF_OBJECT */
	uint32_t process_id, id;
	struct st_object_head head;
	st_string_id name, second;
	uint32_t older; /* the definition that this one replaced, or ST_NO_ROW */
};

struct st_fact_definition { /* ST_DEF_OBJECT_METADATA */
	uint32_t process_id, object_id, type;
	st_string_id text;
	uint64_t number;
};

/* ST_DEF_CODE_EVENT; a module with sections is one of these for each section. */
struct st_code_event {
	uint32_t process_id;
	uint32_t kind, detail;
	uint64_t ticks;
	uint64_t value, extra, id[3]; /* as format/event_kind.h says; of a section: address, size */
	st_string_id name, class_name, source, module;
	uint32_t first_line, line_count; /* pairs in model->lines */
};

struct st_map_definition { /* ST_DEF_CODE_MAP */
	uint32_t process_id;
	st_string_id path, build_id;
	uint64_t start, end, file_offset, ticks;
};

struct st_family_mark { /* ST_DEF_FAMILY_MARK */
	uint64_t ticks;
	st_string_id text;
};

struct st_demand_definition { /* ST_DEF_FAMILY_DEMAND */
	uint64_t begin_ticks, end_ticks, cpu_ns, delay_ns;
	uint32_t threads;
};

struct st_signature_definition { /* ST_DEF_SIGNATURE */
	uint32_t process_id;
	struct st_signature_head head;
	st_string_id bytes; /* all of it, checked */
};

struct st_model {
	/* Ids of texts are kept in the index, so they must follow from definitions.strata alone; what
	 * result.json says lies apart. */
	struct st_text_table texts, info_texts;
	struct st_notes notes;
	struct st_process *processes;
	struct st_process_more *more;
	uint32_t process_count, process_capacity, more_capacity;
	struct st_id_map process_index;
	struct st_id_map strings, domains; /* (process id, id) -> text */
	struct st_track_definition *tracks;
	uint32_t track_count, track_capacity;
	struct st_id_map track_index;  /* (process id, track id) */
	struct st_id_map thread_names; /* (process id, tid) -> text */
	struct st_not_entered_program *not_entered;
	uint64_t *not_entered_ticks;
	uint32_t not_entered_count, not_entered_capacity, not_entered_ticks_capacity;
	struct st_id_map not_entered_index; /* (executable, reason) */
	struct st_family_control *controls;
	uint32_t control_count, control_capacity;
	struct st_object_definition *objects;
	uint32_t object_count, object_capacity;
	struct st_id_map object_index; /* (process id, id) -> the newest definition */
	struct st_fact_definition *facts;
	uint32_t fact_count, fact_capacity;
	struct st_code_event *code_events;
	uint32_t code_event_count, code_event_capacity;
	uint32_t *lines;		    /* end offset, line */
	uint32_t line_count, line_capacity; /* numbers, not pairs */
	struct st_map_definition *maps;
	uint32_t map_count, map_capacity;
	struct st_family_mark *marks;
	uint32_t mark_count, mark_capacity;
	struct st_demand_definition *demands;
	uint32_t demand_count, demand_capacity;
	struct st_signature_definition *signatures;
	uint32_t signature_count, signature_capacity;
	struct st_id_map signature_index; /* (process id, id) -> the newest definition */
	struct st_operator_source *operator_sources;
	uint32_t operator_source_count, operator_source_capacity;
	struct st_id_map operator_source_index; /* process id */
	struct st_python_function *python_functions;
	uint32_t python_function_count, python_function_capacity;
	struct st_id_map python_function_index; /* (process id, id) */
	struct st_python_calls *python_calls;
	uint32_t python_calls_count, python_calls_capacity;
	struct st_id_map python_calls_index; /* (function, tid) */
	uint64_t python_calls_lost;
	struct st_forest forest;
	struct st_file_head head; /* of the first file that has a good one */
	bool has_head;
	uint64_t last_ticks; /* the latest time in the definitions */
	uint64_t damaged_chunks, damaged_bytes;
};

bool st_model_init(struct st_model *model);
void st_model_fini(struct st_model *model);
/* Reads definitions.strata. Only a newer version or no memory is a failure. */
enum st_status st_model_load(struct st_model *model, const struct st_source *source,
			     enum st_writing writing, struct st_error *err);

/* Index of a process by its id in the files, made up with a name that says so if nothing defines it;
 * ST_ID_NONE: no memory. */
uint32_t st_model_process(struct st_model *model, uint32_t process_id);
struct st_track_definition *st_model_track(struct st_model *model, uint32_t process_id,
					   uint32_t track_id, bool add);
/* What a name or domain id of a process means, through what it inherits. False: nobody defines it. */
bool st_model_string(const struct st_model *model, uint32_t process_id, uint32_t id,
		     st_string_id *out);
bool st_model_domain(const struct st_model *model, uint32_t process_id, uint32_t id,
		     st_string_id *out);
/* The newest definition of an object id of a process, through what it inherits; ST_ID_NONE: nobody's. */
uint32_t st_model_object(const struct st_model *model, uint32_t process_id, uint32_t id);
/* The same of a signature. */
uint32_t st_model_signature(const struct st_model *model, uint32_t process_id, uint32_t id);
/* Takes a file head as the one of the result, unless one is known. False: of another result. */
bool st_model_offer_head(struct st_model *model, const struct st_file_head *head);
st_string_id st_model_add_text(struct st_model *model, const char *text);

/* The latest time in the definitions is not before this one. */
void st_model_saw_time(struct st_model *model, uint64_t ticks);
bool st_model_keep_text(struct st_model *model, struct st_text text, st_string_id *out);
/* By process, start and time, once all are there. */
void st_model_sort_maps(struct st_model *model);

/* Reads one definition of a process into the model; the table of them is in model_load.c. A body that is too short
 * fails and leaves nothing; false: no memory. */
typedef bool st_definition_loader(struct st_model *model, uint32_t process_id,
				  struct st_cursor *body);

/* model_events.c */
st_definition_loader st_model_load_object, st_model_load_fact, st_model_load_code,
	st_model_load_map, st_model_load_mark, st_model_load_demand;
/* model_operators.c */
st_definition_loader st_model_load_signature, st_model_load_operator_source;
/* model_python_calls.c */
st_definition_loader st_model_load_python_function, st_model_load_python_calls;
/* forest_load.c */
st_definition_loader st_forest_load_nodes, st_forest_load_code, st_forest_load_runtime,
	st_forest_load_sampler, st_forest_load_creator, st_forest_load_loss;
/* process_name.c: arguments joined by NUL as a person would type them. */
bool st_command_line(struct st_text_table *texts, struct st_text arguments, st_string_id *out);
/* Name and command line for people, from arguments joined by NUL and executable. */
bool st_process_describe(struct st_text_table *texts, struct st_text arguments,
			 struct st_process *process);

#endif
