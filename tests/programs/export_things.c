// SPDX-License-Identifier: Apache-2.0
//
// Everything a trace export can draw, once or a few times each, with values that a test knows: nested and
// overlapped tasks, frames, regions, counters of every type, relations of all kinds, markers of every scope,
// metadata of every type, user events, marks, waits. Two threads take turns, so that the order is always
// the same.
// usage: export_things
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "itt_static_part.h"

typedef unsigned long long ull;
struct context {
	int type;
	void *value;
};

enum { U64 = 1, S64, U32, S32, U16, S16, FLOAT, DOUBLE };

/* Calls the function of that name with these parameter types, if the collector has it. */
#define DO(name, types, ...)                                                                       \
	do {                                                                                       \
		void(*call) types = ITT_CALL(void(*) types, name);                                 \
		if (call)                                                                          \
			call(__VA_ARGS__);                                                         \
	} while (0)
#define MAKE(result, name, types, ...)                                                             \
	(ITT_CALL(result(*) types, name) ? ITT_CALL(result(*) types, name)(__VA_ARGS__) : (result)0)

typedef const struct itt_domain *domain_t;
typedef struct itt_string_handle *name_t;
typedef struct itt_id id_t_;

static domain_t domain, frames;
static const id_t_ none;
static const id_t_ outer_id = {1, 2, 3}, other_id = {0xffffffffffffffffull, 5, 0};
static pthread_barrier_t turn;

static name_t name(const char *text)
{
	return itt_string_handle_create(text);
}

static id_t_ id(ull number)
{
	return (id_t_){number, 0, 0};
}

static void begin(const char *text, id_t_ own, id_t_ parent)
{
	DO(task_begin, (domain_t, id_t_, id_t_, name_t), domain, own, parent, name(text));
}

static void end(void)
{
	itt_task_end(domain);
}

static void metadata(id_t_ own, const char *key, int type, size_t count, void *data)
{
	DO(metadata_add, (domain_t, id_t_, name_t, int, size_t, void *), domain, own, name(key),
	   type, count, data);
}

static void text(id_t_ own, const char *key, const char *value)
{
	DO(metadata_str_add, (domain_t, id_t_, name_t, const char *, size_t), domain, own,
	   name(key), value, strlen(value));
}

static void tell_every_type(void)
{
	static ull u64 = 18446744073709551615ull;
	static long long s64[] = {-9223372036854775807ll - 1, -1, 9223372036854775807ll};
	static unsigned int u32 = 4294967295u;
	static int s32[] = {-2147483647 - 1, 7};
	static unsigned short u16 = 65535;
	static short s16 = -32768;
	static float narrow = 0.1f;
	static double wide[] = {0.1, -1e300};

	begin("typed", none, none);
	metadata(none, "u64", U64, 1, &u64);
	metadata(none, "s64", S64, 3, s64);
	metadata(none, "u32", U32, 1, &u32);
	metadata(none, "s32", S32, 2, s32);
	metadata(none, "u16", U16, 1, &u16);
	metadata(none, "s16", S16, 1, &s16);
	metadata(none, "float", FLOAT, 1, &narrow);
	metadata(none, "double", DOUBLE, 2, wide);
	text(none, "text", "größer than a word");
	text(none, "broken", "a\\\xff");
	text(none, "key\xff", "1");
	text(none, "key\xfe", "2");
	DO(formatted_metadata_add, (domain_t, name_t, ...), domain, name("%s,%d"), "conv", 42);
	end();
}

static void count(void)
{
	static const struct {
		const char *name;
		long long first, last;
		double number;
	} values[] = {[U64] = {"c.u64", 1, -1, 0},
		      [S64] = {"c.s64", 2, -9223372036854775807ll - 1, 0},
		      [U32] = {"c.u32", 3, 4294967295ll, 0},
		      [S32] = {"c.s32", 4, -2147483648ll, 0},
		      [U16] = {"c.u16", 5, 65535, 0},
		      [S16] = {"c.s16", 6, -32768, 0},
		      [FLOAT] = {"c.float", 0, 0, 0.1},
		      [DOUBLE] = {"c.double", 0, 0, 0.1}};

	for (int type = U64; type <= DOUBLE; type++) {
		void *counter =
			MAKE(void *, counter_create_typed, (const char *, const char *, int),
			     values[type].name, "counted", type);
		static char unit[] = "widgets";
		struct context facts[] = {{5, unit}};
		long long whole[] = {values[type].first, values[type].last};
		float narrow[] = {1.5f, (float)values[type].number};
		double wide[] = {1.5, values[type].number};

		if (type == DOUBLE)
			DO(bind_context_metadata_to_counter, (void *, size_t, struct context *),
			   counter, 1, facts);
		for (int i = 0; i < 2; i++)
			DO(counter_set_value, (void *, void *), counter,
			   type == FLOAT    ? (void *)&narrow[i]
			   : type == DOUBLE ? (void *)&wide[i]
					    : (void *)&whole[i]);
	}
	/* By domain and string: goes up and down. */
	DO(counter_inc_delta_v3, (domain_t, name_t, ull), domain, name("queue"), 5);
	DO(counter_dec_v3, (domain_t, name_t), domain, name("queue"));
}

static void mark(void)
{
	int event, type;

	for (int scope = 0; scope <= 5; scope++) {
		char title[32];

		snprintf(title, sizeof(title), "marker %d", scope);
		DO(marker, (domain_t, id_t_, name_t, int), domain, none, name(title), scope);
	}
	event = MAKE(int, event_create, (const char *, int), "an event", 8);
	DO(event_start, (int), event);
	DO(event_end, (int), event);
	event = MAKE(int, event_create, (const char *, int), "never ended", 11);
	DO(event_start, (int), event);
	type = MAKE(int, mark_create, (const char *), "a mark");
	DO(mark, (int, const char *), type, "with a parameter");
	type = MAKE(int, mark_create, (const char *), "a long mark");
	DO(mark_global, (int, const char *), type, NULL);
	DO(mark_global_off, (int), type);
}

static void span(void)
{
	static char lock;
	id_t_ frame_id = {70, 0, 0};

	/* Overlapped among themselves; the last one is ended by the other thread. */
	for (ull i = 1; i <= 3; i++)
		DO(task_begin_overlapped, (domain_t, id_t_, id_t_, name_t), domain, id(20 + i),
		   i == 2 ? id(21) : none, name("request"));
	text(id(22), "of a span", "by id");
	DO(task_end_overlapped, (domain_t, id_t_), domain, id(21));
	DO(task_end_overlapped, (domain_t, id_t_), domain, id(22));
	DO(region_begin, (domain_t, id_t_, id_t_, name_t), domain, id(31), none, name("a region"));
	DO(region_begin, (domain_t, id_t_, id_t_, name_t), domain, id(32), none, name("another"));
	DO(region_end, (domain_t, id_t_), domain, id(31));
	DO(region_end, (domain_t, id_t_), domain, id(32));
	for (int i = 0; i < 3; i++) {
		DO(frame_begin_v3, (domain_t, id_t_ *), frames, i == 1 ? &frame_id : NULL);
		DO(frame_end_v3, (domain_t, id_t_ *), frames, i == 1 ? &frame_id : NULL);
	}
	DO(sync_create, (void *, const char *, const char *, int), &lock, "mutex", "the lock", 2);
	DO(sync_prepare, (void *), &lock);
	DO(sync_acquired, (void *), &lock);
	DO(sync_releasing, (void *), &lock);
	DO(sync_prepare, (void *), &lock);
	DO(sync_cancel, (void *), &lock);
}

static void *other(void *unused)
{
	(void)unused;
	itt_thread_set_name("other");
	pthread_barrier_wait(&turn); /* outer is open */
	begin("other", other_id, outer_id);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn); /* the first thread has done its things */
	DO(task_end_overlapped, (domain_t, id_t_), domain, id(23));
	end();
	pthread_barrier_wait(&turn);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	itt_part_load();
	domain = itt_domain_create("things");
	frames = itt_domain_create("frames");
	pthread_barrier_init(&turn, NULL, 2);
	if (pthread_create(&thread, NULL, other, NULL))
		return 1;
	begin("outer", outer_id, none);
	text(none, "early", "before a task inside");
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn); /* the other task is open */
	begin("related", none, none);
	for (int relation = 1; relation <= 7; relation++)
		DO(relation_add_to_current, (domain_t, int, id_t_), domain, relation, other_id);
	DO(relation_add, (domain_t, id_t_, int, id_t_), domain, other_id, 1, outer_id);
	DO(relation_add_to_current, (domain_t, int, id_t_), domain, 1, id(99)); /* nobody's */
	end();
	tell_every_type();
	text(none, "late", "after a task inside");
	count();
	mark();
	span();
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	end();
	pthread_join(thread, NULL);
	return 0;
}
