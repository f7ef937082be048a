/* SPDX-License-Identifier: Apache-2.0
 *
 * GNU's OpenMP waits by system calls of its own, which no library sees. But every region goes by its interface: with a body of ours
 * around the program's, each thread's end of work is known, and when all may go on. There may be several copies of libgomp in a
 * process, in packages that nobody else sees: the real function is that which the caller's library would have had.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "collect/waits/waits.h"

enum { CALLERS = 2048, WALK_MAX = 64, FILLING = 1 };

/* By name and calling instruction: nothing is looked up twice, as long as no library goes. */
static struct known {
	uintptr_t caller;
	const char *name;
	void *real;
	bool is_of_all; /* the caller's library was bound, as a whole, to where this comes from */
	uint32_t closes;
} known[CALLERS];
static uint32_t closes; /* counted before and after each of them */

ST_WRAPPER int dlclose(void *library)
{
	int result;

	__atomic_fetch_add(&closes, 1, __ATOMIC_RELAXED);
	result = ST_REAL(dlclose)(library);
	__atomic_fetch_add(&closes, 1, __ATOMIC_RELAXED);
	return result;
}

/* As the loader does: what everybody sees, then what the caller's library has brought along. */
static void *ask_loader(const char *name, const void *caller)
{
	void *found = dlsym(RTLD_NEXT, name), *library;
	Dl_info info;

	if (found || !dladdr(caller, &info) || !info.dli_fname)
		return found;
	library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	found = dlsym(library, name);
	ST_REAL(dlclose)(library);
	return found;
}

/* What was found for another call of the caller's library: by `now` and for all of its calls; without that, for a call of this name,
 * or of any if that is NULL, as long as the copy is still there. */
static void *remembered(const struct st_copies *copies, const char *name, const uint32_t *now)
{
	for (size_t i = 0; i < CALLERS; i++) {
		const struct known *place = &known[i];
		uintptr_t who = __atomic_load_n(&place->caller, __ATOMIC_ACQUIRE);
		uintptr_t real = (uintptr_t)__atomic_load_n(&place->real, __ATOMIC_RELAXED);
		const char *whose = __atomic_load_n(&place->name, __ATOMIC_RELAXED);
		const struct st_copy *copy;

		if (who < copies->caller.low || who >= copies->caller.high ||
		    (name && name != whose) ||
		    (now && (__atomic_load_n(&place->closes, __ATOMIC_RELAXED) != *now ||
			     !__atomic_load_n(&place->is_of_all, __ATOMIC_RELAXED))))
			continue;
		copy = st_copy_at(copies, real);
		/* Unless it was given to another one meanwhile. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (copy && __atomic_load_n(&place->caller, __ATOMIC_RELAXED) == who)
			return copy->function;
	}
	return NULL;
}

static bool is_openmp(const char *name)
{
	return !strncmp(name, "GOMP_", 5) || !strncmp(name, "omp_", 4);
}

/* One copy among several. The functions that we do not stand for were bound when the caller's library was loaded, and must find the
 * team and the locks that this one makes; what everybody sees may be another copy by now. Only where functions are bound when they
 * are first called is it what everybody sees. The loader is asked as little as possible: who holds its lock may wait for us. */
static void *choose(const struct st_copies *copies, const char *name, const void *caller,
		    struct known *found)
{
	const struct st_copy *bound;
	bool is_lazy;
	void *real;

	for (uint32_t i = 0; i < copies->count && i < ST_COPIES_MAX; i++) {
		if (copies->copy[i].is_whole)
			continue;
		/* Somebody stands before OpenMP, as we do. */
		real = dlsym(RTLD_NEXT, name);
		bound = st_copy_at(copies, (uintptr_t)real);
		if (real && !(bound && bound->is_whole))
			return real;
		break;
	}
	real = remembered(copies, NULL, &found->closes);
	if (real) {
		found->is_of_all = true;
		return real;
	}
	bound = st_copy_bound(copies, is_openmp, &is_lazy);
	found->is_of_all = !is_lazy;
	if (!is_lazy && bound)
		return bound->function;
	real = remembered(copies, is_lazy ? name : NULL, NULL);
	return real ? real : ask_loader(name, caller);
}

static bool take_place(struct known *place, uint32_t now)
{
	uintptr_t who = __atomic_load_n(&place->caller, __ATOMIC_RELAXED);

	if (who == FILLING || (who && __atomic_load_n(&place->closes, __ATOMIC_RELAXED) == now))
		return false;
	return __atomic_compare_exchange_n(&place->caller, &who, FILLING, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

ST_SLOW void *find(const char *name, const void *caller, size_t at)
{
	struct known found = {.closes = __atomic_load_n(&closes, __ATOMIC_RELAXED)};
	struct st_copies copies;
	int saved = errno;

	st_find_copies(&copies, name, "omp_get_thread_num", caller);
	found.real = copies.count == 1	? copies.copy[0].function
		     : copies.count > 1 ? choose(&copies, name, caller, &found)
					: ask_loader(name, caller);
	for (size_t i = 0; i < WALK_MAX; i++) {
		struct known *place = &known[(at + i) % CALLERS];

		if (!take_place(place, found.closes))
			continue;
		__atomic_store_n(&place->name, name, __ATOMIC_RELAXED);
		__atomic_store_n(&place->real, found.real, __ATOMIC_RELAXED);
		__atomic_store_n(&place->is_of_all, found.is_of_all, __ATOMIC_RELAXED);
		__atomic_store_n(&place->closes, found.closes, __ATOMIC_RELAXED);
		/* Pairs with the load in real_of(). */
		__atomic_store_n(&place->caller, (uintptr_t)caller, __ATOMIC_RELEASE);
		break;
	}
	errno = saved;
	return found.real;
}

static void *real_of(const char *name, const void *caller)
{
	size_t at = (uintptr_t)caller / 4 % CALLERS;

	for (size_t i = 0; i < WALK_MAX; i++) {
		const struct known *place = &known[(at + i) % CALLERS];
		uintptr_t who = __atomic_load_n(&place->caller, __ATOMIC_ACQUIRE);

		if (who == (uintptr_t)caller &&
		    __atomic_load_n(&place->name, __ATOMIC_RELAXED) == name &&
		    __atomic_load_n(&place->closes, __ATOMIC_RELAXED) ==
			    __atomic_load_n(&closes, __ATOMIC_RELAXED)) {
			void *real = __atomic_load_n(&place->real, __ATOMIC_RELAXED);

			/* Unless it was given to another one meanwhile. */
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (__atomic_load_n(&place->caller, __ATOMIC_RELAXED) == who)
				return real;
		}
		if (!who)
			break;
	}
	return find(name, caller, at);
}

/* --- regions --- */

typedef void body_function(void *);

/* A stack may be just large enough for as many regions as are within each other. So a thread has only so many of ours; the call of
 * one further inside is passed on as it came, by a jump. */
enum { LEVELS_MAX = 16 };
#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))
OF_THREAD uint32_t levels;
/* That which the thread has begun outside of all others, if that has no place: its threads must be known to work all the same. Those
 * of further ones, nobody has known to be idle before. */
OF_THREAD struct st_region_body unrecorded;

static void body(void *data)
{
	const struct st_region_body *program = data;
	struct st_region *region = program->region;
	uint32_t at;

	strata_region_work();
	levels++;
	program->body(program->data);
	levels--;
	if (!region)
		return;
	at = atomic_fetch_add_explicit(&region->threads, 1, memory_order_relaxed);
	if (at < ST_REGION_THREADS)
		strata_region_leave(region, &region->places[at]);
}

/* NULL: the program's call is to be passed on. */
static struct st_region_body *begin_region(body_function *work, void *data, const void *caller)
{
	struct st_region_store *store = NULL;
	struct st_region_body *program;

	if (levels < LEVELS_MAX)
		store = st_region_take((uint64_t)(uintptr_t)work, caller);
	else
		strata_region_missed();
	program = store ? &store->program : levels ? NULL : &unrecorded;
	if (program)
		*program = (struct st_region_body){
			.body = work, .data = data, .region = store ? &store->region : NULL};
	return program;
}

static void end_region(struct st_region_body *program)
{
	if (!program->region)
		return;
	strata_region_end(program->region);
	st_region_give_back((struct st_region_store *)((char *)program -
						       offsetof(struct st_region_store, program)));
}

/* A region, by the function of this name with these parameters behind the first two. Who has no such function has no
 * threads, either. */
#define REGION(function, types, ...)                                                               \
	do {                                                                                       \
		const void *caller = __builtin_return_address(0);                                  \
		void(*real) types = (void(*) types)real_of(#function, caller);                     \
		struct st_region_body *ours;                                                       \
                                                                                                   \
		if (!real) {                                                                       \
			program(data);                                                             \
			return;                                                                    \
		}                                                                                  \
		ours = begin_region(program, data, caller);                                        \
		if (!ours) {                                                                       \
			real(program, data, __VA_ARGS__);                                          \
			return;                                                                    \
		}                                                                                  \
		real(body, ours, __VA_ARGS__);                                                     \
		end_region(ours);                                                                  \
	} while (0)

#define PLAIN (body_function *, void *, unsigned int, unsigned int)
#define SECTIONS (body_function *, void *, unsigned int, unsigned int, unsigned int)
#define CHUNKS (body_function *, void *, unsigned int, long, long, long, long, unsigned int)
#define LOOP (body_function *, void *, unsigned int, long, long, long, unsigned int)

/* libgomp.h is not installed. */
#define DECLARE(name, ...) ST_DIRECT void name(body_function *program, void *data, __VA_ARGS__)

#define CHUNKED(name)                                                                              \
	DECLARE(name, unsigned int threads, long first, long end, long step, long chunk,           \
		unsigned int flags);                                                               \
	DECLARE(name, unsigned int threads, long first, long end, long step, long chunk,           \
		unsigned int flags)                                                                \
	{                                                                                          \
		REGION(name, CHUNKS, threads, first, end, step, chunk, flags);                     \
	}
#define LOOPED(name)                                                                               \
	DECLARE(name, unsigned int threads, long first, long end, long step, unsigned int flags);  \
	DECLARE(name, unsigned int threads, long first, long end, long step, unsigned int flags)   \
	{                                                                                          \
		REGION(name, LOOP, threads, first, end, step, flags);                              \
	}

DECLARE(GOMP_parallel, unsigned int threads, unsigned int flags);
DECLARE(GOMP_parallel, unsigned int threads, unsigned int flags)
{
	REGION(GOMP_parallel, PLAIN, threads, flags);
}

DECLARE(GOMP_parallel_sections, unsigned int threads, unsigned int count, unsigned int flags);
DECLARE(GOMP_parallel_sections, unsigned int threads, unsigned int count, unsigned int flags)
{
	REGION(GOMP_parallel_sections, SECTIONS, threads, count, flags);
}

CHUNKED(GOMP_parallel_loop_static)
CHUNKED(GOMP_parallel_loop_dynamic)
CHUNKED(GOMP_parallel_loop_guided)
CHUNKED(GOMP_parallel_loop_nonmonotonic_dynamic)
CHUNKED(GOMP_parallel_loop_nonmonotonic_guided)
LOOPED(GOMP_parallel_loop_runtime)
LOOPED(GOMP_parallel_loop_nonmonotonic_runtime)
LOOPED(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

/* --- within a region --- */

#define WAITS(function, what, which)                                                               \
	do {                                                                                       \
		struct st_open_wait wait = {.object = (uint64_t)(uintptr_t)(which),                \
					    .caller = __builtin_return_address(0),                 \
					    .kind = (what)};                                       \
		void (*real)(void) = (void (*)(void))real_of(#function, wait.caller);              \
                                                                                                   \
		if (!real)                                                                         \
			return;                                                                    \
		strata_wait_begin(&wait);                                                          \
		real();                                                                            \
		strata_wait_end(&wait, ST_WAIT_DONE);                                              \
	} while (0)
#define MEETS(name)                                                                                \
	ST_DIRECT void name(void);                                                                 \
	ST_DIRECT void name(void)                                                                  \
	{                                                                                          \
		WAITS(name, ST_WAIT_OMP_BARRIER, __builtin_return_address(0));                     \
	}

MEETS(GOMP_barrier)
MEETS(GOMP_loop_end)
MEETS(GOMP_sections_end)
MEETS(GOMP_taskwait)
MEETS(GOMP_taskgroup_end)

/* Of all critical sections without a name there is one at a time. */
ST_DIRECT void GOMP_critical_start(void);
ST_DIRECT void GOMP_critical_start(void)
{
	WAITS(GOMP_critical_start, ST_WAIT_OMP_LOCK, 0);
}

ST_DIRECT void GOMP_ordered_start(void);
ST_DIRECT void GOMP_ordered_start(void)
{
	WAITS(GOMP_ordered_start, ST_WAIT_OMP_LOCK, __builtin_return_address(0));
}

ST_DIRECT void GOMP_critical_name_start(void **name);
ST_DIRECT void GOMP_critical_name_start(void **name)
{
	struct st_open_wait wait = {.object = (uint64_t)(uintptr_t)name,
				    .caller = __builtin_return_address(0),
				    .kind = ST_WAIT_OMP_LOCK};
	void (*real)(void **) = (void (*)(void **))real_of("GOMP_critical_name_start", wait.caller);

	if (!real)
		return;
	strata_wait_begin(&wait);
	real(name);
	strata_wait_end(&wait, ST_WAIT_DONE);
}
