/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that calls every function of a real ITT static part, from many threads and over a fork, and
 * writes down what it called. A Python process loads it beside the library that holds the static part
 * (tests/e2e/targets/real_part.py); the test compares the journals with what strata recorded.
 */
#include "real_itt.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { THREADS = 8 };

/* What the Python side calls; handles are those of dlopen. 0: went well. */
EXPORT int real_call_all(void *handle, const char *folder, unsigned int rounds);
EXPORT int real_pauses(void *handle, const char *folder);
EXPORT int real_begins_again(void *handle, const char *folder);
EXPORT int real_detaches(void *handle, const char *folder);
EXPORT int real_first_call(void *handle, const char *folder, unsigned int which);
EXPORT int real_two_parts(void *first, void *second, const char *folder, unsigned int rounds);

struct plan {
	struct real_part *part;
	const char *folder;
	unsigned int index, rounds;
	unsigned int fork_at; /* round before which this thread forks; 0: never */
	int failed;
};

uint64_t real_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t real_value(struct caller *self)
{
	return (uint64_t)(self->index + 1) << 32 | ++self->next;
}

struct itt_id real_id(struct caller *self)
{
	return (struct itt_id){real_value(self), real_value(self), self->index};
}

void real_say(struct caller *self, const char *call, const char *format, ...)
{
	uint64_t after = real_now();
	va_list args;

	fprintf(self->journal, "{\"call\":\"%s\",\"thread\":%u,\"before\":%llu,\"after\":%llu,",
		call, self->index, (ull)self->before, (ull)after);
	va_start(args, format);
	vfprintf(self->journal, format, args);
	va_end(args);
	fputs("}\n", self->journal);
}

void real_check(struct caller *self, int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "real_static_part: thread %u: wrong: %s\n", self->index, what);
	fflush(stderr);
	_exit(9);
}

static void open_journal(struct caller *self, const char *folder)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%d.%d.%u", folder, (int)getpid(), (int)gettid(),
		 self->index);
	self->journal = fopen(path, "a");
	real_check(self, self->journal != NULL, "cannot write the journal");
}

/* Real programs do something between their calls; without it strata, on a machine that is busy with other
 * tests, would be told more than it can take in, and say so. */
static void one_round(struct caller *self)
{
	const struct timespec pace = {.tv_nsec = 2000000};

	nanosleep(&pace, NULL);
	real_tasks(self);
	real_spans(self);
	real_metadata(self);
	real_counters(self);
	real_marks(self);
	real_sync(self);
	real_memory(self);
	real_modules(self);
	real_model(self);
}

static int run_threads(struct plan *plans, unsigned int count);

/* The child goes on in the forking thread, and starts the others anew. */
static int in_child(struct caller *self, struct plan *plan, unsigned int round)
{
	struct plan others[THREADS - 1];
	int failed;

	open_journal(self, plan->folder);
	self->next += 1 << 24;
	for (unsigned int i = 0; i < THREADS - 1; i++)
		others[i] = (struct plan){
			plan->part, plan->folder, 100 + i, plan->rounds - round, 0, 0};
	failed = run_threads(others, THREADS - 1);
	for (; round < plan->rounds; round++)
		one_round(self);
	fclose(self->journal);
	return failed;
}

static void *call_all(void *arg)
{
	struct plan *plan = arg;
	struct caller self = {.part = plan->part, .index = plan->index};
	int status = 0;
	pid_t child = -1;

	open_journal(&self, plan->folder);
	real_create(&self);
	for (unsigned int round = 0; round < plan->rounds; round++) {
		if (plan->fork_at && round == plan->fork_at) {
			child = fork();
			real_check(&self, child >= 0, "fork");
			if (!child)
				_exit(in_child(&self, plan, round));
		}
		one_round(&self);
	}
	CALL(&self, counter_destroy, (self.counter[8]));
	real_say(&self, "counter_destroy", "\"object\":\"counter %u type 8\"", self.index);
	if (plan->index % 2) {
		CALL(&self, thread_ignore, ());
		real_say(&self, "thread_ignore", "\"x\":0");
	}
	if (child > 0)
		plan->failed = waitpid(child, &status, 0) != child || status;
	fclose(self.journal);
	return NULL;
}

static int run_threads(struct plan *plans, unsigned int count)
{
	pthread_t threads[THREADS];
	int failed = 0;

	for (unsigned int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, call_all, &plans[i]))
			return 8;
	for (unsigned int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		failed |= plans[i].failed;
	}
	return failed;
}

/* handle: of dlopen. 0, or the first name that is missing. */
static const char *find_part(struct real_part *part, void *handle)
{
#define FIND(type, name, parameters)                                                               \
	*(void **)&part->name = dlsym(handle, "__itt_" #name "_ptr__3_0");                         \
	if (!part->name)                                                                           \
		return #name;
	REAL_ITT_ALL(FIND)
#undef FIND
#define FIND(name)                                                                                 \
	*(void **)&part->name = dlsym(handle, "__itt_" #name);                                     \
	if (!part->name)                                                                           \
		return #name;
	FIND(get_collection_state)
	FIND(init_ittlib)
	FIND(fini_ittlib)
	FIND(release_resources)
	FIND(mark_pt_region_begin)
	FIND(mark_pt_region_end)
	return NULL;
}

static struct real_part *open_part(void *handle)
{
	struct real_part *part = calloc(1, sizeof(*part));
	const char *missing = part ? find_part(part, handle) : "memory";

	if (missing) {
		fprintf(stderr, "real_static_part: no %s\n", missing);
		_exit(9);
	}
	return part;
}

int real_call_all(void *handle, const char *folder, unsigned int rounds)
{
	struct plan plans[THREADS];
	struct real_part *part = open_part(handle);

	/* While one thread initialises it, the static part gives others handles of its own. */
	part->init_ittlib(NULL, -1);
	for (unsigned int i = 0; i < THREADS; i++)
		plans[i] = (struct plan){part, folder, i, rounds, i ? 0 : rounds / 2, 0};
	return run_threads(plans, THREADS);
}

static void begin_caller(struct caller *self, void *handle, const char *folder)
{
	*self = (struct caller){.part = open_part(handle)};
	open_journal(self, folder);
}

static void some_calls(struct caller *self)
{
	real_tasks(self);
	real_spans(self);
	real_counters(self);
	real_sync(self);
}

/* Whatever is called between these two is not recorded, but for the ends of what was open. */
static void paused_calls(struct caller *self, int scope)
{
	if (scope) {
		CALL(self, pause_scoped, (scope));
		real_say(self, "pause_scoped", "\"detail\":%d", scope);
	} else {
		CALL(self, pause, ());
		real_say(self, "pause", "\"x\":0");
	}
	some_calls(self);
	if (scope) {
		CALL(self, resume_scoped, (scope));
		real_say(self, "resume_scoped", "\"detail\":%d", scope);
	} else {
		CALL(self, resume, ());
		real_say(self, "resume", "\"x\":0");
	}
	some_calls(self);
}

int real_pauses(void *handle, const char *folder)
{
	struct caller self;

	begin_caller(&self, handle, folder);
	real_create(&self);
	some_calls(&self);
	paused_calls(&self, 0);
	paused_calls(&self, 1);
	paused_calls(&self, 2); /* a device: the host goes on */
	paused_calls(&self, 0x7fffffff);
	CALL(&self, thr_ignore, ());
	real_say(&self, "thr_ignore", "\"x\":0");
	return fclose(self.journal);
}

/* The static part is shut down and comes back by itself, twice; objects of before stay good. */
int real_begins_again(void *handle, const char *folder)
{
	struct caller self;

	begin_caller(&self, handle, folder);
	real_check(&self, self.part->get_collection_state() == 4, "collection state");
	real_check(&self, self.part->init_ittlib(NULL, -1) == 1, "__itt_init_ittlib");
	real_create(&self);
	for (int turn = 0; turn < 2; turn++) {
		some_calls(&self);
		self.part->fini_ittlib();
		real_check(&self, !*self.part->marker, "the pointer of marker after fini");
		real_say(&self, "fini", "\"x\":0");
		some_calls(&self);
		CALL(&self, thread_set_name, ("again"));
		real_say(&self, "again", "\"name\":\"again\"");
		real_check(&self, VALUE(&self, domain_create, ("real")) != NULL, "domain_create");
	}
	some_calls(&self);
	self.part->fini_ittlib();
	self.part->release_resources();
	return fclose(self.journal);
}

int real_detaches(void *handle, const char *folder)
{
	struct caller self;

	begin_caller(&self, handle, folder);
	real_create(&self);
	some_calls(&self);
	CALL(&self, detach, ());
	real_say(&self, "detach", "\"x\":0");
	some_calls(&self);
	CALL(&self, resume, ());
	real_say(&self, "resume", "\"x\":0");
	some_calls(&self);
	return fclose(self.journal);
}

/* Two static parts: tasks of both nest in the order of the calls, and handles of one work in the other. */
int real_two_parts(void *first, void *second, const char *folder, unsigned int rounds)
{
	struct caller a, b;

	begin_caller(&a, first, folder);
	real_create(&a);
	b = (struct caller){.part = open_part(second), .journal = a.journal, .index = 1};
	real_create(&b);
	for (unsigned int i = 0; i < rounds; i++) {
		struct caller borrowed = a;

		borrowed.part = b.part;
		borrowed.next += 1 << 24;
		one_round(&a);
		one_round(&b);
		one_round(&borrowed);
	}
	return fclose(a.journal);
}

/* The call that makes the static part load its collector; its thunk passes the arguments on. */
static void first_call(struct caller *self, unsigned int which)
{
	static const struct itt_id none;
	struct itt_domain *domain = self->domain;

	switch (which) {
	case 0:
		IN_DOMAIN(self, domain, task_begin, (domain, none, none, self->name[0]));
		real_say(self, "task_begin",
			 "\"domain\":\"real\",\"name\":\"%s\",\"id\":[0,0,0],\"other\":[0,0,0]",
			 self->name[0]->strA);
		IN_DOMAIN(self, domain, task_end, (domain));
		real_say(self, "task_end", "\"domain\":\"real\"");
		break;
	case 1:
		CALL(self, thread_set_name, ("first"));
		real_say(self, "again", "\"name\":\"first\"");
		break;
	case 2:
		CALL(self, pause, ());
		real_say(self, "pause", "\"x\":0");
		CALL(self, resume, ());
		real_say(self, "resume", "\"x\":0");
		break;
	case 3:
		self->event = VALUE(self, event_create, ("first event", 11));
		real_check(self, self->event > 0, "event_create");
		real_say(self, "event_create", "\"name\":\"first event\"");
		break;
	case 4:
		real_check(self, VALUE(self, get_timestamp, ()) > 0, "get_timestamp");
		break;
	case 5: /* the thunk cannot pass variable arguments on */
		IN_DOMAIN(self, domain, formatted_metadata_add, (domain, self->name[1], 4242));
		real_say(self, "formatted_first", "\"domain\":\"real\",\"name\":\"%s\"",
			 self->name[1]->strA);
		break;
	case 6:
		CALL(self, counter_inc_delta, (self->counter[0], 17));
		real_say(self, "counter_inc_delta", "\"object\":\"early\",\"add\":17");
		break;
	case 7:
		real_check(self, self->part->get_collection_state() == 4, "collection state");
		break;
	default:
		real_check(self, 0, "no such first call");
	}
}

/* Nothing but creators comes before: they leave the collector unloaded, and it takes over what they made. */
int real_first_call(void *handle, const char *folder, unsigned int which)
{
	struct caller self;

	begin_caller(&self, handle, folder);
	self.domain = VALUE(&self, domain_create, ("real"));
	self.name[0] = VALUE(&self, string_handle_create, ("alpha"));
	self.name[1] = VALUE(&self, string_handle_create, ("number %d"));
	self.counter[0] = VALUE(&self, counter_create, ("early", "counters"));
	first_call(&self, which);
	for (int i = 0; i < 3; i++) {
		struct itt_id id = real_id(&self);

		IN_DOMAIN(&self, self.domain, marker, (self.domain, id, self.name[0], 1));
		real_say(&self, "marker",
			 "\"domain\":\"real\",\"name\":\"alpha\",\"id\":" ID_FORMAT ",\"detail\":1",
			 ID_VALUES(id));
	}
	return fclose(self.journal);
}
