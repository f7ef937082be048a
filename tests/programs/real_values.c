/* SPDX-License-Identifier: Apache-2.0 */
#include "real_itt.h"

#include <string.h>

static const struct itt_id none;

static const char *hex(const void *data, size_t size)
{
	static _Thread_local char texts[4][128];
	static _Thread_local unsigned int turn;
	char *text = texts[turn++ % 4];

	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)data)[i]);
	text[2 * size] = '\0';
	return text;
}

/* Elements of every type, at an address that is not aligned. */
static void elements(struct caller *self)
{
	static const size_t sizes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};
	struct itt_domain *domain = self->domain;

	for (int type = 1; type <= 8; type++) {
		struct itt_id id = type % 2 ? none : real_id(self);
		char raw[64];
		ull values[3] = {real_value(self), real_value(self) << 17, ~real_value(self)};
		size_t bytes = 3 * sizes[type];

		memcpy(raw + 1, values, bytes);
		IN_DOMAIN(self, domain, metadata_add,
			  (domain, id, self->name[1], type, 3, raw + 1));
		real_say(self, "metadata_add",
			 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":" ID_FORMAT
			 ",\"detail\":%d,\"extra\":3,\"hex\":\"%s\"",
			 domain->nameA, self->name[1]->strA, ID_VALUES(id), type,
			 hex(raw + 1, bytes));
		IN_DOMAIN(self, domain, metadata_add_with_scope,
			  (domain, type % 6, self->name[2], type, 3, raw + 1));
		real_say(self, "metadata_add_with_scope",
			 "\"domain\":\"%s\",\"name\":\"%s\",\"type\":%d,\"scope\":%d,\"extra\":3,"
			 "\"hex\":\"%s\"",
			 domain->nameA, self->name[2]->strA, type, type % 6, hex(raw + 1, bytes));
	}
	IN_DOMAIN(self, domain, metadata_add, (domain, none, self->name[1], 1, 0, NULL));
	real_say(self, "metadata_add",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":[0,0,0],\"detail\":1,\"extra\":0,"
		 "\"hex\":\"\"",
		 domain->nameA, self->name[1]->strA);
}

void real_metadata(struct caller *self)
{
	struct itt_domain *domain = self->domain;
	struct itt_id id = real_id(self);
	struct itt_string *format;
	char text[64];
	ull value = real_value(self);
	int length = snprintf(text, sizeof(text), "text %llu\n\"quoted\" \xc3\xa9", value);

	elements(self);
	IN_DOMAIN(self, domain, metadata_str_add, (domain, id, self->name[0], text, (size_t)-1));
	real_say(self, "metadata_str_add",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":" ID_FORMAT ",\"hex\":\"%s\"",
		 domain->nameA, self->name[0]->strA, ID_VALUES(id), hex(text, (size_t)length));
	IN_DOMAIN(self, domain, metadata_str_add, (domain, none, self->name[0], text, 6));
	real_say(self, "metadata_str_add",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"id\":[0,0,0],\"hex\":\"%s\"", domain->nameA,
		 self->name[0]->strA, hex(text, 6));
	for (int scope = 1; scope <= 5; scope++) {
		IN_DOMAIN(self, domain, metadata_str_add_with_scope,
			  (domain, scope, self->name[3], text, (size_t)-1));
		real_say(self, "metadata_str_add_with_scope",
			 "\"domain\":\"%s\",\"name\":\"%s\",\"scope\":%d,\"hex\":\"%s\"",
			 domain->nameA, self->name[3]->strA, scope, hex(text, (size_t)length));
	}
	format = VALUE(self, string_handle_create, ("%d %u %lld %zu %f %s|%5s|%x %c%%"));
	IN_DOMAIN(self, domain, formatted_metadata_add,
		  (domain, format, -7, 4000000000u, (long long)value, (size_t)12, 0.5, "word", "ab",
		   255, 'z'));
	real_say(self, "formatted_metadata_add",
		 "\"domain\":\"%s\",\"name\":\"%s\",\"text\":"
		 "\"-7 4000000000 %llu 12 0.500000 word|   ab|ff z%%\"",
		 domain->nameA, format->strA, value);
}

/* What a counter of a type holds after a pointer to it was given; the reader widens to 64 bits. */
static void set_counter(struct caller *self, int type)
{
	ull time = real_value(self), value = real_value(self);
	long long negative = -(long long)value;
	float single = (float)value + 0.5f;
	double whole = (double)value + 0.25;
	void *at = type == 7   ? (void *)&single
		   : type == 8 ? (void *)&whole
		   : type % 2  ? (void *)&value
			       : (void *)&negative;
	size_t size = type == 8 || type < 3 ? 8 : type == 5 || type == 6 ? 2 : 4;

	CALL(self, counter_set_value, (self->counter[type], at));
	real_say(self, "counter_set_value",
		 "\"object\":\"counter %u type %d\",\"type\":%d,\"hex\":\"%s\"", self->index, type,
		 type, hex(at, size));
	CALL(self, counter_set_value_v3, (self->counter[type], at));
	real_say(self, "counter_set_value_v3",
		 "\"object\":\"counter %u type %d\",\"type\":%d,\"hex\":\"%s\"", self->index, type,
		 type, hex(at, size));
	CALL(self, counter_set_value_ex, (self->counter[type], self->clock, time, at));
	real_say(self, "counter_set_value_ex",
		 "\"object\":\"counter %u type %d\",\"type\":%d,\"hex\":\"%s\",\"time\":%llu",
		 self->index, type, type, hex(at, size), time);
}

void real_counters(struct caller *self)
{
	struct itt_domain *domain = self->domain;
	struct itt_string *name = self->name[0];
	const char *key = self->domain->nameA;
	ull value = real_value(self);
	unsigned int x[2] = {(unsigned int)real_value(self), 7};
	double y[2] = {(double)real_value(self), -0.5};

	for (int type = 1; type <= 8; type++)
		set_counter(self, type);
#define ADD(fn, args, amount)                                                                      \
	CALL(self, fn, args);                                                                      \
	real_say(self, #fn, "\"object\":\"counter %u plain\",\"add\":%lld", self->index,           \
		 (long long)(amount))
#define ADD_NAMED(fn, args, amount)                                                                \
	IN_DOMAIN(self, domain, fn, args);                                                         \
	real_say(self, #fn, "\"domain\":\"%s\",\"name\":\"%s\",\"add\":%lld", key, name->strA,     \
		 (long long)(amount))
	ADD(counter_inc, (self->counter[0]), 1);
	ADD(counter_inc_delta, (self->counter[0], value), value);
	ADD(counter_dec, (self->counter[0]), -1);
	ADD(counter_dec_delta, (self->counter[0], value), -(long long)value);
	ADD_NAMED(counter_inc_v3, (domain, name), 1);
	ADD_NAMED(counter_inc_delta_v3, (domain, name, value), value);
	ADD_NAMED(counter_dec_v3, (domain, name), -1);
	ADD_NAMED(counter_dec_delta_v3, (domain, name, value), -(long long)value);
	CALL(self, histogram_submit, (self->histogram, 2, x, y));
	real_say(self, "histogram_submit",
		 "\"object\":\"histogram %u\",\"extra\":2,\"value\":8,\"hex\":\"%s%s\"",
		 self->index, hex(x, 8), hex(y, 16));
	CALL(self, histogram_submit, (self->histogram, 2, NULL, y));
	real_say(self, "histogram_submit",
		 "\"object\":\"histogram %u\",\"extra\":2,\"value\":0,\"hex\":\"%s\"", self->index,
		 hex(y, 16));
}

void real_marks(struct caller *self)
{
	itt_caller token;
	char text[64];

	snprintf(text, sizeof(text), "parameter %llu", (ull)real_value(self));
#define OF_EVENT(fn)                                                                               \
	real_check(self, VALUE(self, fn, (self->event)) == 0, #fn);                                \
	real_say(self, #fn, "\"object\":\"event %u\"", self->index)
	OF_EVENT(event_start);
	OF_EVENT(event_end);
	OF_EVENT(event_start);
#define OF_MARK(fn, args, format, given)                                                           \
	CALL(self, fn, args);                                                                      \
	real_say(self, #fn, "\"object\":\"mark %u\",\"text\":" format, self->index, given)
	OF_MARK(mark, (self->mark, text), "\"%s\"", text);
	OF_MARK(mark_off, (self->mark), "%s", "null");
	OF_MARK(mark_global, (self->mark, text), "\"%s\"", text);
	OF_MARK(mark_global_off, (self->mark), "%s", "null");
	OF_MARK(mark, (self->mark, NULL), "%s", "null");
	CALL(self, set_track, (self->track));
	real_say(self, "set_track", "\"object\":\"%s\"", self->name[1]->strA);
	CALL(self, set_track, (NULL));
	real_say(self, "set_track", "\"object\":null");
	token = VALUE(self, stack_caller_create, ());
	real_check(self, token != NULL, "stack_caller_create");
	real_say(self, "stack_caller_create", "\"value\":%llu", (ull)(uintptr_t)token);
#define OF_CALLER(fn)                                                                              \
	CALL(self, fn, (token));                                                                   \
	real_say(self, #fn, "\"value\":%llu", (ull)(uintptr_t)token)
	OF_CALLER(stack_callee_enter);
	OF_CALLER(stack_callee_leave);
	OF_CALLER(stack_caller_destroy);
	real_check(self, VALUE(self, api_version, ()) != NULL, "api_version");
	CALL(self, enable_attach, ());
	CALL(self, clock_domain_reset, ());
	snprintf(text, sizeof(text), "thread %u", self->index);
	CALL(self, thread_set_name, ("not yet"));
	VALUE(self, thr_name_set, (text, (int)strlen(text)));
	real_say(self, "thr_name_set", "\"name\":\"%s\"", text);
}
