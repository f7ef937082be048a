/* SPDX-License-Identifier: Apache-2.0 */
#include "real_itt.h"

#include <string.h>

static const struct itt_id none;

/* What a clock is asked with must outlive the thread that made it. */
static unsigned int numbers[128];

static void tell_clock(struct itt_clock_info *info, void *data)
{
	info->freq = 1000000 + *(unsigned int *)data;
	info->base = 5000 + *(unsigned int *)data;
}

static void create_objects(struct caller *self)
{
	char name[64];

	numbers[self->index] = self->index;
	snprintf(name, sizeof(name), "heap %u", self->index);
	self->heap = VALUE(self, heap_function_create, (name, "allocators"));
	real_check(self, self->heap != NULL, "heap_function_create");
	real_say(self, "heap_function_create", "\"name\":\"%s\",\"second\":\"allocators\"", name);
	/* Not terminated where the length says it ends. */
	snprintf(name, sizeof(name), "event %u!", self->index);
	self->event = VALUE(self, event_create, (name, (int)strlen(name) - 1));
	real_check(self, self->event > 0, "event_create");
	name[strlen(name) - 1] = '\0';
	real_say(self, "event_create", "\"name\":\"%s\"", name);
	snprintf(name, sizeof(name), "mark %u", self->index);
	self->mark = VALUE(self, mark_create, (name));
	real_say(self, "mark_create", "\"name\":\"%s\"", name);
	snprintf(name, sizeof(name), "pt %u", self->index % 8);
	unsigned char region = VALUE(self, pt_region_create, (name));
	real_say(self, "pt_region_create", "\"name\":\"%s\",\"number\":%u", name, region);
	self->part->mark_pt_region_begin(region);
	self->part->mark_pt_region_end(region);
	snprintf(name, sizeof(name), "legacy frame %u", self->index);
	self->frame = VALUE(self, frame_create, (name));
	real_check(self, self->frame != NULL, "frame_create");
	real_say(self, "frame_create", "\"name\":\"%s\"", name);
	self->clock = VALUE(self, clock_domain_create, (tell_clock, &numbers[self->index]));
	real_check(self, self->clock != NULL, "clock_domain_create");
	real_say(self, "clock_domain_create", "\"freq\":%u,\"base\":%u", 1000000 + self->index,
		 5000 + self->index);
	itt_group group = VALUE(self, track_group_create, (self->name[0], 0));
	real_check(self, group != NULL, "track_group_create");
	real_say(self, "track_group_create", "\"name\":\"%s\"", self->name[0]->strA);
	self->track = VALUE(self, track_create, (group, self->name[1], 0));
	real_check(self, self->track != NULL, "track_create");
	real_say(self, "track_create", "\"name\":\"%s\",\"group\":\"%s\"", self->name[1]->strA,
		 self->name[0]->strA);
}

/* One counter of each type, by the three ways to make one, and what a program may tell about it. */
static void create_counters(struct caller *self)
{
	static char unit[] = "widgets";
	char name[64];
	ull highest = 1000 + self->index;
	struct itt_context facts[] = {{5, unit}, {10, &highest}};

	for (int type = 1; type <= 8; type++) {
		snprintf(name, sizeof(name), "counter %u type %d", self->index, type);
		self->counter[type] =
			type % 2 ? VALUE(self, counter_create_typed, (name, "counters", type))
				 : VALUE(self, counter_create_v3, (self->domain, name, type));
		real_check(self, self->counter[type] != NULL, "counter_create_typed");
		real_say(self, "counter_create_typed",
			 "\"name\":\"%s\",\"second\":\"%s\",\"type\":%d", name,
			 type % 2 ? "counters" : self->domain->nameA, type);
	}
	snprintf(name, sizeof(name), "counter %u plain", self->index);
	self->counter[0] = VALUE(self, counter_create, (name, NULL));
	real_check(self, self->counter[0] != NULL, "counter_create");
	real_say(self, "counter_create_typed", "\"name\":\"%s\",\"second\":null,\"type\":1", name);
	CALL(self, bind_context_metadata_to_counter, (self->counter[1], 2, facts));
	real_say(self, "bind_context_metadata_to_counter",
		 "\"name\":\"counter %u type 1\",\"facts\":[[5,0,\"%s\"],[10,%llu,\"\"]]",
		 self->index, unit, highest);
	snprintf(name, sizeof(name), "histogram %u", self->index);
	self->histogram = VALUE(self, histogram_create, (self->domain, name, 3, 8));
	real_check(self, self->histogram != NULL, "histogram_create");
	real_say(self, "histogram_create",
		 "\"name\":\"%s\",\"second\":\"%s\",\"type\":3,\"type_y\":8", name,
		 self->domain->nameA);
}

void real_create(struct caller *self)
{
	static const char *const words[] = {"alpha", "beta", "gamma", "delta"};
	char name[64];

	self->domain = VALUE(self, domain_create, ("real"));
	real_check(self, self->domain != NULL, "domain_create");
	real_check(self, VALUE(self, domain_create, ("real")) == self->domain, "the same domain");
	snprintf(name, sizeof(name), "real %u", self->index);
	self->other_domain = VALUE(self, domain_create, (name));
	for (unsigned int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s %u", words[i], i < 2 ? self->index : 0);
		self->name[i] = VALUE(self, string_handle_create, (name));
		real_check(self, self->name[i] != NULL, "string_handle_create");
		real_check(self, !strcmp(self->name[i]->strA, name), "strA");
		real_check(self, VALUE(self, string_handle_create, (name)) == self->name[i],
			   "the same handle");
	}
	create_counters(self);
	create_objects(self);
}

static void a_function(void)
{
}

static void begin(struct caller *self, struct itt_domain *domain, struct itt_id id,
		  struct itt_id parent, struct itt_string *name)
{
	IN_DOMAIN(self, domain, task_begin, (domain, id, parent, name));
	real_say(self, "task_begin",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":" ID_FORMAT ",\"other\":" ID_FORMAT,
		 domain->nameA, name->strA, ID_VALUES(id), ID_VALUES(parent));
}

static void end(struct caller *self, struct itt_domain *domain)
{
	IN_DOMAIN(self, domain, task_end, (domain));
	real_say(self, "task_end", "\"domain\":\"%s\"", domain->nameA);
}

/* The _ex forms: begin or end with a time of their own, on the program's clock. */
static void timed_tasks(struct caller *self)
{
	struct itt_domain *domain = self->domain;
	struct itt_id id = real_id(self), parent = real_id(self);
	ull time = real_value(self);

	IN_DOMAIN(self, domain, task_begin_ex,
		  (domain, self->clock, time, id, parent, self->name[2]));
	real_say(self, "task_begin_ex",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"time\":%llu,\"id\":" ID_FORMAT
		 ",\"other\":" ID_FORMAT,
		 domain->nameA, self->name[2]->strA, time, ID_VALUES(id), ID_VALUES(parent));
	time = real_value(self);
	IN_DOMAIN(self, domain, task_begin_fn_ex,
		  (domain, self->clock, time, none, none, (void *)a_function));
	real_say(self, "task_begin_fn_ex", "\"domain\":\"%s\",\"time\":%llu,\"value\":%llu",
		 domain->nameA, time, (ull)(uintptr_t)a_function);
	for (int i = 0; i < 2; i++) {
		time = real_value(self);
		IN_DOMAIN(self, domain, task_end_ex, (domain, self->clock, time));
		real_say(self, "task_end_ex", "\"domain\":\"%s\",\"time\":%llu", domain->nameA,
			 time);
	}
}

static void relations(struct caller *self)
{
	struct itt_domain *domain = self->domain;

	for (int kind = 1; kind <= 7; kind++) {
		struct itt_id head = real_id(self), tail = real_id(self);
		ull time = real_value(self);

		IN_DOMAIN(self, domain, relation_add, (domain, head, kind, tail));
		real_say(self, "relation_add",
			 "\"domain\":\"real\",\"id\":" ID_FORMAT ",\"other\":" ID_FORMAT
			 ",\"detail\":%d",
			 ID_VALUES(head), ID_VALUES(tail), kind);
		IN_DOMAIN(self, domain, relation_add_to_current, (domain, kind, tail));
		real_say(self, "relation_add_to_current",
			 "\"domain\":\"real\",\"other\":" ID_FORMAT ",\"detail\":%d",
			 ID_VALUES(tail), kind);
		IN_DOMAIN(self, domain, relation_add_ex,
			  (domain, self->clock, time, head, kind, tail));
		real_say(self, "relation_add_ex",
			 "\"domain\":\"real\",\"id\":" ID_FORMAT ",\"other\":" ID_FORMAT
			 ",\"detail\":%d,\"time\":%llu",
			 ID_VALUES(head), ID_VALUES(tail), kind, time);
		IN_DOMAIN(self, domain, relation_add_to_current_ex,
			  (domain, self->clock, time, kind, tail));
		real_say(self, "relation_add_to_current_ex",
			 "\"domain\":\"real\",\"other\":" ID_FORMAT ",\"detail\":%d,\"time\":%llu",
			 ID_VALUES(tail), kind, time);
	}
}

/* Opens three tasks, relates them, and closes them; leaves none open. */
void real_tasks(struct caller *self)
{
	struct itt_domain *domain = self->domain;
	struct itt_id id = real_id(self);

	begin(self, domain, none, none, self->name[0]);
	begin(self, self->other_domain, id, real_id(self), self->name[2]);
	IN_DOMAIN(self, domain, task_begin_fn, (domain, id, none, (void *)a_function));
	real_say(self, "task_begin_fn", "\"domain\":\"%s\",\"id\":" ID_FORMAT ",\"value\":%llu",
		 domain->nameA, ID_VALUES(id), (ull)(uintptr_t)a_function);
	relations(self);
	timed_tasks(self);
	end(self, domain);
	end(self, self->other_domain);
	id = real_id(self);
	IN_DOMAIN(self, domain, task_group, (domain, id, none, self->name[3]));
	real_say(self, "task_group", "\"domain\":\"%s\",\"name\":\"%s\",\"id\":" ID_FORMAT,
		 domain->nameA, self->name[3]->strA, ID_VALUES(id));
	end(self, domain);
}

static void overlapped(struct caller *self)
{
	struct itt_domain *domain = self->domain;
	struct itt_id first = real_id(self), second = real_id(self);
	ull time = real_value(self);

	IN_DOMAIN(self, domain, task_begin_overlapped, (domain, first, second, self->name[0]));
	real_say(self, "task_begin_overlapped",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":" ID_FORMAT ",\"other\":" ID_FORMAT,
		 domain->nameA, self->name[0]->strA, ID_VALUES(first), ID_VALUES(second));
	IN_DOMAIN(self, domain, task_begin_overlapped_ex,
		  (domain, self->clock, time, second, none, self->name[1]));
	real_say(self, "task_begin_overlapped_ex",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":" ID_FORMAT ",\"time\":%llu",
		 domain->nameA, self->name[1]->strA, ID_VALUES(second), time);
	IN_DOMAIN(self, domain, formatted_metadata_add_overlapped,
		  (domain, first, self->name[3], "unused"));
	real_say(self, "formatted_metadata_add_overlapped",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":" ID_FORMAT ",\"text\":\"%s\"",
		 domain->nameA, self->name[3]->strA, ID_VALUES(first), self->name[3]->strA);
	IN_DOMAIN(self, domain, task_end_overlapped, (domain, first));
	real_say(self, "task_end_overlapped", "\"domain\":\"%s\",\"id\":" ID_FORMAT, domain->nameA,
		 ID_VALUES(first));
	time = real_value(self);
	IN_DOMAIN(self, domain, task_end_overlapped_ex, (domain, self->clock, time, second));
	real_say(self, "task_end_overlapped_ex",
		 "\"domain\":\"%s\",\"id\":" ID_FORMAT ",\"time\":%llu", domain->nameA,
		 ID_VALUES(second), time);
}

static void frames(struct caller *self)
{
	struct itt_domain *domain = self->domain;
	struct itt_id id = real_id(self);
	ull from, until;

	IN_DOMAIN(self, domain, frame_begin_v3, (domain, &id));
	real_say(self, "frame_begin_v3", "\"domain\":\"%s\",\"id\":" ID_FORMAT, domain->nameA,
		 ID_VALUES(id));
	from = VALUE(self, get_timestamp, ());
	IN_DOMAIN(self, self->other_domain, frame_begin_v3, (self->other_domain, NULL));
	real_say(self, "frame_begin_v3", "\"domain\":\"%s\"", self->other_domain->nameA);
	IN_DOMAIN(self, self->other_domain, frame_end_v3, (self->other_domain, NULL));
	real_say(self, "frame_end_v3", "\"domain\":\"%s\"", self->other_domain->nameA);
	until = VALUE(self, get_timestamp, ());
	real_check(self, *self->part->get_timestamp ? until >= from && from : !until,
		   "get_timestamp");
	IN_DOMAIN(self, domain, frame_end_v3, (domain, &id));
	real_say(self, "frame_end_v3", "\"domain\":\"%s\",\"id\":" ID_FORMAT, domain->nameA,
		 ID_VALUES(id));
	id = real_id(self);
	IN_DOMAIN(self, domain, frame_submit_v3, (domain, &id, from, until));
	real_say(self, "frame_submit_v3",
		 "\"domain\":\"%s\",\"id\":" ID_FORMAT ",\"time\":%llu,\"extra\":%llu",
		 domain->nameA, ID_VALUES(id), from, until);
	CALL(self, frame_begin, (self->frame));
	real_say(self, "frame_begin", "\"object\":\"legacy frame %u\"", self->index);
	CALL(self, frame_end, (self->frame));
	real_say(self, "frame_end", "\"object\":\"legacy frame %u\"", self->index);
}

static void ids(struct caller *self)
{
	struct itt_domain *domain = self->domain;
	struct itt_id id = real_id(self);
	ull time = real_value(self);

	IN_DOMAIN(self, domain, id_create, (domain, id));
	real_say(self, "id_create", "\"domain\":\"%s\",\"id\":" ID_FORMAT, domain->nameA,
		 ID_VALUES(id));
	IN_DOMAIN(self, domain, id_destroy, (domain, id));
	real_say(self, "id_destroy", "\"domain\":\"%s\",\"id\":" ID_FORMAT, domain->nameA,
		 ID_VALUES(id));
	IN_DOMAIN(self, domain, id_create_ex, (domain, self->clock, time, id));
	real_say(self, "id_create_ex", "\"domain\":\"%s\",\"id\":" ID_FORMAT ",\"time\":%llu",
		 domain->nameA, ID_VALUES(id), time);
	time = real_value(self);
	IN_DOMAIN(self, domain, id_destroy_ex, (domain, self->clock, time, id));
	real_say(self, "id_destroy_ex", "\"domain\":\"%s\",\"id\":" ID_FORMAT ",\"time\":%llu",
		 domain->nameA, ID_VALUES(id), time);
}

/* Overlapped tasks, regions, frames, markers, ids. */
void real_spans(struct caller *self)
{
	struct itt_domain *domain = self->domain;
	struct itt_id id = real_id(self), parent = real_id(self);

	overlapped(self);
	IN_DOMAIN(self, domain, region_begin, (domain, id, parent, self->name[1]));
	real_say(self, "region_begin",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":" ID_FORMAT ",\"other\":" ID_FORMAT,
		 domain->nameA, self->name[1]->strA, ID_VALUES(id), ID_VALUES(parent));
	frames(self);
	IN_DOMAIN(self, domain, region_end, (domain, id));
	real_say(self, "region_end", "\"domain\":\"%s\",\"id\":" ID_FORMAT, domain->nameA,
		 ID_VALUES(id));
	for (int scope = 1; scope <= 5; scope++) {
		ull time = real_value(self);

		id = real_id(self);
		IN_DOMAIN(self, domain, marker, (domain, id, self->name[2], scope));
		real_say(self, "marker",
			 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":" ID_FORMAT ",\"detail\":%d",
			 domain->nameA, self->name[2]->strA, ID_VALUES(id), scope);
		IN_DOMAIN(self, domain, marker_ex,
			  (domain, self->clock, time, none, self->name[3], scope));
		real_say(self, "marker_ex",
			 "\"domain\":\"%s\",\"name\":\"%s\",\"time\":%llu,\"detail\":%d",
			 domain->nameA, self->name[3]->strA, time, scope);
	}
	ids(self);
}
