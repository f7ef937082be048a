/* SPDX-License-Identifier: Apache-2.0
 *
 * The door through which ITT comes in: every static part of the process calls __itt_api_init once (or
 * again after a reset) with its list of function pointers. Each pointer gets our function or the null
 * function of its entry; none stays on its thunk, because LLVM's libomp takes a thunk for a function
 * that works. Objects the program made before are taken over when they are first used (label.c).
 */
#include <string.h>

#include "base/rt/clock.h"
#include "collect/inproc/itt_abi.h"
#include "collect/inproc/label.h"
#include "collect/inproc/state.h"
#include "collect/inproc/task.h"
#include "collect/inproc/thread.h"

#define ST_EXPORT __attribute__((visibility("default")))

ST_EXPORT void __itt_api_init(struct itt_global *global, int groups);
ST_EXPORT void __itt_api_fini(struct itt_global *global);

/* Handed out by creators whose events are not recorded yet; as large as the largest such object. */
static union {
	unsigned char bytes[128];
	void *align;
} dummy_object;

bool st_bound;

static void *create_dummy(void)
{
	return &dummy_object;
}

static void do_nothing(void)
{
}

static void pause_scoped(int scope)
{
	(void)scope;
	st_control_pause();
}

static void resume_scoped(int scope)
{
	(void)scope;
	st_control_resume();
}

static void thread_set_name(const char *name)
{
	if (name)
		st_label_thread(name, strlen(name));
}

static int thr_name_set(const char *name, int length)
{
	if (name && length > 0)
		st_label_thread(name, strnlen(name, (size_t)length));
	return 0;
}

static unsigned long long get_timestamp(void)
{
	return st_ticks();
}

static const char *api_version(void)
{
	return "Strata " ST_VERSION;
}

struct binding {
	const char *name; /* without "__itt_" */
	void (*tsc)(void);
	void (*mono_raw)(void);
};

#define BIND(name, function)                                                                       \
	{                                                                                          \
		name, (void (*)(void))(function), (void (*)(void))(function)                       \
	}

/* Bound whether or not there is anybody to record for: programs rely on what these return, and entries
 * with an implementation in the static part would stay on their thunks otherwise. */
static const struct binding always[] = {
	BIND("domain_create", st_domain_create),
	BIND("string_handle_create", st_string_handle_create),
	BIND("counter_create", create_dummy),
	BIND("counter_create_typed", create_dummy),
	BIND("counter_create_v3", create_dummy),
	BIND("histogram_create", create_dummy),
	BIND("bind_context_metadata_to_counter", do_nothing),
	BIND("module_load_with_sections", do_nothing),
	BIND("module_unload_with_sections", do_nothing),
	BIND("enable_attach", do_nothing),
	BIND("get_timestamp", get_timestamp),
	BIND("api_version", api_version),
};

static const struct binding recording[] = {
	{"task_begin", (void (*)(void))st_task_begin_tsc, (void (*)(void))st_task_begin_mono},
	{"task_end", (void (*)(void))st_task_end_tsc, (void (*)(void))st_task_end_mono},
	BIND("task_begin_ex", st_task_begin_ex),
	BIND("task_end_ex", st_task_end_ex),
	BIND("task_begin_fn", st_task_begin_fn),
	BIND("pause", st_control_pause),
	BIND("resume", st_control_resume),
	BIND("pause_scoped", pause_scoped),
	BIND("resume_scoped", resume_scoped),
	BIND("detach", st_control_detach),
	BIND("thread_set_name", thread_set_name),
	BIND("thr_name_set", thr_name_set),
	BIND("thread_ignore", st_thread_ignore),
	BIND("thr_ignore", st_thread_ignore),
};

static int return_zero(void)
{
	return 0;
}

/* With nobody to record for: no-ops for the entries whose null function is their thunk. */
static const struct binding idle[] = {
	BIND("pause", do_nothing),	     BIND("resume", do_nothing),
	BIND("pause_scoped", do_nothing),    BIND("resume_scoped", do_nothing),
	BIND("thread_set_name", do_nothing), BIND("thr_name_set", return_zero),
	BIND("thread_ignore", do_nothing),   BIND("thr_ignore", do_nothing),
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void *find(const struct binding *table, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(table[i].name, name))
			return (void *)(st_config.clock == ST_CLOCK_TSC ? table[i].tsc
									: table[i].mono_raw);
	return NULL;
}

static void *function_for(const struct itt_api_info *api)
{
	const char *name = api->name;
	void *function;

	if (strncmp(name, "__itt_", 6))
		return api->null_func;
	name += 6;
	function = find(always, COUNT(always), name);
	if (!function)
		function = st_config.active ? find(recording, COUNT(recording), name)
					    : find(idle, COUNT(idle), name);
	return function ? function : api->null_func;
}

ST_EXPORT void __itt_api_init(struct itt_global *global, int groups)
{
	static const unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};

	(void)groups; /* the caller's wish; binding more is harmless */
	if (!global || memcmp(global->magic, magic, sizeof(magic)) || !global->api_list_ptr)
		return;
	st_bound = true;
	for (struct itt_api_info *api = global->api_list_ptr; api->name; api++)
		if (api->func_ptr)
			/* Another thread may call through it at once: all of our state is ready. */
			__atomic_store_n(api->func_ptr, function_for(api), __ATOMIC_RELEASE);
}

/* The static part resets its own pointers; threads that already read one may still come in, and other
 * static parts go on. So nothing ends here. */
ST_EXPORT void __itt_api_fini(struct itt_global *global)
{
	(void)global;
}
