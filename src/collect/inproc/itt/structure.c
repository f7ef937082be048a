/* SPDX-License-Identifier: Apache-2.0
 *
 * Overlapped tasks, task groups, regions, frames, markers, ids and relations: one event per call, with
 * what was given. What they mean together is found by whoever reads them.
 */
#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"

typedef unsigned long long ull;

static struct st_record named(enum st_event_kind kind, const struct itt_domain *domain,
			      struct itt_string_handle *name)
{
	return (struct st_record){
		.kind = kind, .mask = ST_FIELD_NAMES, .domain = domain, .name = name};
}

/* --- tasks by id --- */

static void task_begin_overlapped(const struct itt_domain *domain, struct itt_id id,
				  struct itt_id parent, struct itt_string_handle *name)
{
	struct st_record record = named(ST_EVENT_OVERLAPPED_BEGIN, domain, name);

	st_record_id(&record, id);
	st_record_other(&record, parent);
	st_event(&record);
}

static void task_begin_overlapped_ex(const struct itt_domain *domain, void *clock, ull time,
				     struct itt_id id, struct itt_id parent,
				     struct itt_string_handle *name)
{
	struct st_record record = named(ST_EVENT_OVERLAPPED_BEGIN, domain, name);

	st_record_id(&record, id);
	st_record_other(&record, parent);
	st_record_time(&record, clock, time);
	st_event(&record);
}

static void task_end_overlapped(const struct itt_domain *domain, struct itt_id id)
{
	struct st_record record = named(ST_EVENT_OVERLAPPED_END, domain, NULL);

	st_record_id(&record, id);
	st_event(&record);
}

static void task_end_overlapped_ex(const struct itt_domain *domain, void *clock, ull time,
				   struct itt_id id)
{
	struct st_record record = named(ST_EVENT_OVERLAPPED_END, domain, NULL);

	st_record_id(&record, id);
	st_record_time(&record, clock, time);
	st_event(&record);
}

static void task_group(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
		       struct itt_string_handle *name)
{
	struct st_record record = named(ST_EVENT_TASK_GROUP, domain, name);

	st_record_id(&record, id);
	st_record_other(&record, parent);
	st_event(&record);
}

/* --- regions and frames --- */

static void region_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			 struct itt_string_handle *name)
{
	struct st_record record = named(ST_EVENT_REGION_BEGIN, domain, name);

	st_record_id(&record, id);
	st_record_other(&record, parent);
	st_event(&record);
}

static void region_end(const struct itt_domain *domain, struct itt_id id)
{
	struct st_record record = named(ST_EVENT_REGION_END, domain, NULL);

	st_record_id(&record, id);
	st_event(&record);
}

static struct st_record frame(enum st_event_kind kind, const struct itt_domain *domain,
			      const struct itt_id *id)
{
	struct st_record record = named(kind, domain, NULL);

	if (id)
		st_record_id(&record, *id);
	return record;
}

static void frame_begin_v3(const struct itt_domain *domain, struct itt_id *id)
{
	struct st_record record = frame(ST_EVENT_FRAME_BEGIN, domain, id);

	st_event(&record);
}

static void frame_end_v3(const struct itt_domain *domain, struct itt_id *id)
{
	struct st_record record = frame(ST_EVENT_FRAME_END, domain, id);

	st_event(&record);
}

static void frame_submit_v3(const struct itt_domain *domain, struct itt_id *id, ull begin, ull end)
{
	struct st_record record = frame(ST_EVENT_FRAME_SUBMIT, domain, id);

	record.mask |= ST_FIELD_TIME | ST_FIELD_EXTRA;
	record.time = begin;
	record.extra = end == ~0ull ? st_ticks() : end;
	st_event(&record);
}

/* --- markers and ids --- */

static void marker(const struct itt_domain *domain, struct itt_id id,
		   struct itt_string_handle *name, int scope)
{
	struct st_record record = named(ST_EVENT_MARKER, domain, name);

	record.detail = (uint32_t)scope;
	st_record_id(&record, id);
	st_event(&record);
}

static void marker_ex(const struct itt_domain *domain, void *clock, ull time, struct itt_id id,
		      struct itt_string_handle *name, int scope)
{
	struct st_record record = named(ST_EVENT_MARKER, domain, name);

	record.detail = (uint32_t)scope;
	st_record_id(&record, id);
	st_record_time(&record, clock, time);
	st_event(&record);
}

static void id_create(const struct itt_domain *domain, struct itt_id id)
{
	struct st_record record = named(ST_EVENT_ID_CREATE, domain, NULL);

	st_record_id(&record, id);
	st_event(&record);
}

static void id_destroy(const struct itt_domain *domain, struct itt_id id)
{
	struct st_record record = named(ST_EVENT_ID_DESTROY, domain, NULL);

	st_record_id(&record, id);
	st_event(&record);
}

static void id_create_ex(const struct itt_domain *domain, void *clock, ull time, struct itt_id id)
{
	struct st_record record = named(ST_EVENT_ID_CREATE, domain, NULL);

	st_record_id(&record, id);
	st_record_time(&record, clock, time);
	st_event(&record);
}

static void id_destroy_ex(const struct itt_domain *domain, void *clock, ull time, struct itt_id id)
{
	struct st_record record = named(ST_EVENT_ID_DESTROY, domain, NULL);

	st_record_id(&record, id);
	st_record_time(&record, clock, time);
	st_event(&record);
}

/* --- relations --- */

static struct st_record relation_of(const struct itt_domain *domain, int relation,
				    struct itt_id tail)
{
	struct st_record record = named(ST_EVENT_RELATION, domain, NULL);

	record.detail = (uint32_t)relation;
	/* Always there, so that a null tail can be told from one that was not given. */
	record.mask |= ST_FIELD_OTHER;
	record.other = tail;
	return record;
}

static void relation_add(const struct itt_domain *domain, struct itt_id head, int relation,
			 struct itt_id tail)
{
	struct st_record record = relation_of(domain, relation, tail);

	st_record_id(&record, head);
	st_event(&record);
}

static void relation_add_to_current(const struct itt_domain *domain, int relation,
				    struct itt_id tail)
{
	struct st_record record = relation_of(domain, relation, tail);

	st_event(&record);
}

static void relation_add_ex(const struct itt_domain *domain, void *clock, ull time,
			    struct itt_id head, int relation, struct itt_id tail)
{
	struct st_record record = relation_of(domain, relation, tail);

	st_record_id(&record, head);
	st_record_time(&record, clock, time);
	st_event(&record);
}

static void relation_add_to_current_ex(const struct itt_domain *domain, void *clock, ull time,
				       int relation, struct itt_id tail)
{
	struct st_record record = relation_of(domain, relation, tail);

	st_record_time(&record, clock, time);
	st_event(&record);
}

static const struct st_binding rows[] = {
	ST_BIND("task_begin_overlapped", task_begin_overlapped),
	ST_BIND("task_begin_overlapped_ex", task_begin_overlapped_ex),
	ST_BIND("task_end_overlapped", task_end_overlapped),
	ST_BIND("task_end_overlapped_ex", task_end_overlapped_ex),
	ST_BIND("task_group", task_group),
	ST_BIND("region_begin", region_begin),
	ST_BIND("region_end", region_end),
	ST_BIND("frame_begin_v3", frame_begin_v3),
	ST_BIND("frame_end_v3", frame_end_v3),
	ST_BIND("frame_submit_v3", frame_submit_v3),
	ST_BIND("marker", marker),
	ST_BIND("marker_ex", marker_ex),
	ST_BIND("id_create", id_create),
	ST_BIND("id_destroy", id_destroy),
	ST_BIND("id_create_ex", id_create_ex),
	ST_BIND("id_destroy_ex", id_destroy_ex),
	ST_BIND("relation_add", relation_add),
	ST_BIND("relation_add_to_current", relation_add_to_current),
	ST_BIND("relation_add_ex", relation_add_ex),
	ST_BIND("relation_add_to_current_ex", relation_add_to_current_ex),
};
const struct st_bindings st_calls_structure = ST_BINDINGS(rows);
