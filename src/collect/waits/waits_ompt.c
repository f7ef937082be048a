/* SPDX-License-Identifier: Apache-2.0
 *
 * LLVM's OpenMP, and Intel's, tell a tool of their regions and waits: OMPT, of OpenMP 5.0. They look for a function of this name, once,
 * when they begin. Where another tool has it, or the user asks for one, that one gets it: there can be only one.
 *
 * A worker learns that a region is over only when it has work again; so the thread that began the region tells, as for GNU's
 * (waits_gomp.c).
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "collect/waits/waits.h"

/* omp-tools.h is of a compiler that need not be here. */
union data {
	uint64_t value;
	void *ptr;
};
typedef void any_function(void);
typedef any_function *look_up_function(const char *name);
typedef int set_function(int event, any_function *callback);
struct start {
	int (*initialize)(look_up_function *look_up, int device, union data *tool);
	void (*finalize)(union data *tool);
	union data tool;
};
typedef struct start *start_function(unsigned int version, const char *runtime);

enum {
	PARALLEL_BEGIN = 3,
	PARALLEL_END = 4,
	IMPLICIT_TASK = 7,
	SYNC_REGION_WAIT = 16,
	MUTEX_ACQUIRE = 26,
	MUTEX_ACQUIRED = 27,
};
enum { SCOPE_BEGIN = 1 };
enum { BARRIER_IMPLICIT = 2, REDUCTION = 7, BARRIER_OF_PARALLEL = 9 };
enum { TASK_INITIAL = 1 };

static void parallel_begin(union data *task, const void *frame, union data *parallel,
			   unsigned int wanted, int flags, const void *caller)
{
	(void)task, (void)frame, (void)wanted, (void)flags;
	parallel->ptr = st_region_take((uint64_t)(uintptr_t)caller, caller);
}

static void parallel_end(union data *parallel, union data *task, int flags, const void *caller)
{
	struct st_region_store *store = parallel->ptr;

	(void)task, (void)flags, (void)caller;
	if (!store)
		return;
	strata_region_end(&store->region);
	parallel->ptr = NULL;
	st_region_give_back(store);
}

/* Each thread has the place of its number, which its implicit task carries along. */
static struct st_region_place *place_of(const union data *parallel, const union data *task)
{
	struct st_region_store *store = parallel ? parallel->ptr : NULL;

	return store && task && task->value && task->value <= ST_REGION_THREADS
		       ? &store->threads[task->value - 1]
		       : NULL;
}

static void implicit_task(int scope, union data *parallel, union data *task, unsigned int threads,
			  unsigned int index, int flags)
{
	struct st_region_store *store;
	struct st_region_place *place;

	if (scope != SCOPE_BEGIN || flags & TASK_INITIAL)
		return;
	strata_region_work();
	store = parallel ? parallel->ptr : NULL;
	task->value = index + 1ull;
	place = place_of(parallel, task);
	if (place)
		*place = (struct st_region_place){0};
	if (store && !index)
		atomic_store_explicit(&store->region.threads, threads, memory_order_relaxed);
}

/* Up to LLVM 14 at least, the barrier of a loop or of a single section begins like that of the region's end. Which of them it was is known
 * when a thread goes on: at the region's end, the region is over, and it is told of none. */
static void implicit_barrier(int kind, int scope, const union data *parallel,
			     const union data *task, const void *caller)
{
	struct st_region_place *place = place_of(parallel, task);

	if (place && scope == SCOPE_BEGIN)
		strata_region_leave(&((const struct st_region_store *)parallel->ptr)->region,
				    place);
	else if (place && kind == BARRIER_IMPLICIT)
		strata_region_stay(place, caller);
}

static void sync_region_wait(int kind, int scope, union data *parallel, union data *task,
			     const void *caller)
{
	if (kind == REDUCTION)
		return;
	if (kind == BARRIER_OF_PARALLEL || kind == BARRIER_IMPLICIT)
		implicit_barrier(kind, scope, parallel, task, caller);
	else if (scope == SCOPE_BEGIN)
		strata_region_wait(ST_WAIT_OMP_BARRIER, (uint64_t)(uintptr_t)caller);
	else
		strata_region_go_on(ST_WAIT_OMP_BARRIER, caller);
}

static void mutex_acquire(int kind, unsigned int hint, unsigned int form, uint64_t object,
			  const void *caller)
{
	(void)kind, (void)hint, (void)form, (void)caller;
	strata_region_wait(ST_WAIT_OMP_LOCK, object);
}

static void mutex_acquired(int kind, uint64_t object, const void *caller)
{
	(void)kind, (void)object;
	strata_region_go_on(ST_WAIT_OMP_LOCK, caller);
}

static int initialize(look_up_function *look_up, int device, union data *tool)
{
	static const struct {
		int event;
		any_function *callback;
	} callbacks[] = {
		{PARALLEL_BEGIN, (any_function *)parallel_begin},
		{PARALLEL_END, (any_function *)parallel_end},
		{IMPLICIT_TASK, (any_function *)implicit_task},
		{SYNC_REGION_WAIT, (any_function *)sync_region_wait},
		{MUTEX_ACQUIRE, (any_function *)mutex_acquire},
		{MUTEX_ACQUIRED, (any_function *)mutex_acquired},
	};
	set_function *set = (set_function *)look_up("ompt_set_callback");

	(void)device, (void)tool;
	for (size_t i = 0; set && i < sizeof(callbacks) / sizeof(callbacks[0]); i++)
		set(callbacks[i].event, callbacks[i].callback);
	return set != NULL; /* 0: it tells us nothing, and does not ask again */
}

static void finalize(union data *tool)
{
	(void)tool;
}

ST_DIRECT struct start *ompt_start_tool(unsigned int version, const char *runtime);
ST_DIRECT struct start *ompt_start_tool(unsigned int version, const char *runtime)
{
	static struct start ours = {.initialize = initialize, .finalize = finalize};
	start_function *next = (start_function *)dlsym(RTLD_NEXT, "ompt_start_tool");
	const char *others = getenv("OMP_TOOL_LIBRARIES");
	/* That of a library behind us; libomp's own, which looks further on, gives none if there is none. */
	struct start *theirs = next ? next(version, runtime) : NULL;
	Dl_info info;

	if (!theirs && !(others && *others)) {
		if (dladdr(__builtin_return_address(0), &info))
			strata_region_told_by(info.dli_fbase);
		return &ours;
	}
	strata_region_taken();
	return theirs;
}
