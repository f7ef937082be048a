/* SPDX-License-Identifier: Apache-2.0
 *
 * The door through which ITT comes in: every static part of the process calls __itt_api_init once (or
 * again after a reset) with its list of function pointers. Each pointer gets our function or the null
 * function of its entry; none stays on its thunk, because LLVM's libomp takes a thunk for a function
 * that works. Objects the program made before are taken over when they are first used (label.c).
 */
#include <stdatomic.h>
#include <string.h>

#include "base/rt/clock.h"
#include "collect/inproc/itt/bind.h"
#include "collect/inproc/core/choose.h"
#include "collect/inproc/itt/counter.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/itt_abi.h"
#include "collect/inproc/core/label.h"
#include "collect/inproc/core/state.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/core/backend.h"

#define ST_EXPORT __attribute__((visibility("default")))

ST_EXPORT void __itt_api_init(struct itt_global *global, int groups);
ST_EXPORT void __itt_api_fini(struct itt_global *global);

enum { LAST_SHORT_ENTRIES = 20101001, WAITING_NS = 100000000 };

/* 1 + the place in the thread's ring where __itt_api_init left it; 0: other calls came in since. */
static __thread uint64_t loaded_at __attribute__((tls_model("initial-exec")));

/* When some thread last came by: in ticks, and in ns. */
static _Atomic uint64_t bound_ticks, bound_ns;

static const struct st_hot *hot_of_thread(void)
{
	const struct st_hot *hot = st_tls;

	return hot != &st_hot_busy && hot != &st_hot_ignored ? hot : NULL;
}

static uint64_t head_of_thread(void)
{
	const struct st_hot *hot = hot_of_thread();

	return hot ? hot->head : 0;
}

/* A thread that called while another one was loading us has waited in the same thunk. All that can be known
 * of it is that it has written nothing since, and that this is not long ago. */
static bool may_have_waited(void)
{
	const struct st_hot *hot = hot_of_thread();
	uint64_t last = hot ? hot->last : 0;

	return last <= atomic_load_explicit(&bound_ticks, memory_order_relaxed) &&
	       st_clock_mono_raw_ns() - atomic_load_explicit(&bound_ns, memory_order_relaxed) <
		       WAITING_NS;
}

/* Calls that write nothing are not noticed; then a text is lost, which is the safe side. */
bool st_loaded_by_this_call(void)
{
	bool by_this = loaded_at && loaded_at == 1 + head_of_thread();

	loaded_at = 0;
	return by_this || may_have_waited();
}

static void do_nothing(void)
{
}

static unsigned long long get_timestamp(void)
{
	loaded_at = 0;
	return st_ticks();
}

static const char *api_version(void)
{
	return "Strata " ST_VERSION;
}

/* Bound whether or not there is anybody to record for: programs rely on what these return, and entries
 * with an implementation in the static part would stay on their thunks otherwise. */
static const struct st_binding always[] = {
	ST_BIND("domain_create", st_domain_create),
	ST_BIND("string_handle_create", st_string_handle_create),
	ST_BIND("enable_attach", do_nothing),
	ST_BIND("get_timestamp", get_timestamp),
	ST_BIND("api_version", api_version),
};
static const struct st_bindings always_table = ST_BINDINGS(always);

static int return_zero(void)
{
	return 0;
}

/* With nobody to record for: no-ops for the entries whose null function is their thunk. */
static const struct st_binding idle[] = {
	ST_BIND("pause", do_nothing),
	ST_BIND("resume", do_nothing),
	ST_BIND("pause_scoped", do_nothing),
	ST_BIND("resume_scoped", do_nothing),
	ST_BIND("thread_set_name", do_nothing),
	ST_BIND("thr_name_set", return_zero),
	ST_BIND("thread_ignore", do_nothing),
	ST_BIND("thr_ignore", do_nothing),
	ST_BIND("module_load_with_sections", do_nothing),
	ST_BIND("module_unload_with_sections", do_nothing),
};
static const struct st_bindings idle_table = ST_BINDINGS(idle);

static const struct st_bindings *const recording[] = {
	&st_calls_task,	   &st_calls_control, &st_calls_structure, &st_calls_metadata,
	&st_calls_counter, &st_calls_mark,    &st_calls_clock,	   &st_calls_sync,
	&st_calls_heap,	   &st_calls_module,  &st_calls_legacy,
};

/* The twins of the sync functions have the same names in the list; only their group tells. */
static bool is_called(const struct itt_api_info *api, const char *row)
{
	const char *name = api->name + 6;

	if (api->group == ITT_GROUP_FSYNC && !strncmp(name, "sync_", 5))
		return row[0] == 'f' && !strcmp(row + 1, name);
	return !strcmp(row, name);
}

static void *find(const struct st_bindings *table, const struct itt_api_info *api)
{
	for (size_t i = 0; i < table->count; i++)
		if (is_called(api, table->rows[i].name))
			return (void *)(st_config.clock == ST_CLOCK_TSC ? table->rows[i].tsc
									: table->rows[i].mono_raw);
	return NULL;
}

static void *find_recording(const struct itt_api_info *api)
{
	void *function = st_config.task_lines ? find(&st_calls_task_lines, api) : NULL;

	for (size_t i = 0; !function && i < sizeof(recording) / sizeof(*recording); i++)
		function = find(recording[i], api);
	return function;
}

static void *function_for(const struct itt_api_info *api, bool wants_sync)
{
	bool is_sync = api->group & (ITT_GROUP_SYNC | ITT_GROUP_FSYNC | ITT_GROUP_STITCH);
	void *function = NULL;

	if (strncmp(api->name, "__itt_", 6))
		return api->null_func;
	function = find(&always_table, api);
	if (!function)
		function = find(&st_calls_counter_create, api);
	if (!function && st_config.active && st_group_wanted(api->group) &&
	    (wants_sync || !is_sync))
		function = find_recording(api);
	if (!function)
		function = find(&idle_table, api);
	/* Never its thunk: that would load us again and again. */
	return function ? function : api->null_func;
}

/* A domain the user does not want is switched off where it was made: the program's macros then skip the
 * call. What the program has switched off itself stays off. */
static void choose_domains(struct itt_domain *domain)
{
	for (; domain; domain = domain->next)
		if (domain->nameA && !st_domain_wanted(domain->nameA))
			domain->flags = 0;
}

static void adopt_facts(const struct itt_counter_metadata *fact)
{
	for (; fact; fact = fact->next)
		st_counter_fact(fact->counter, fact->type,
				fact->type <= ITT_CONTEXT_TEXT_LAST ? (const void *)fact->str_valueA
								    : (const void *)&fact->value);
}

static bool has_entry(const struct itt_api_info *api, const char *name)
{
	for (; api->name; api++)
		if (!strcmp(api->name, name))
			return true;
	return false;
}

/* Static parts that came while nobody recorded: a process may begin to record itself later. */
enum { PARTS_MAX = 32 };
static _Atomic(struct itt_global *) idle_parts[PARTS_MAX];

static bool replace_part(struct itt_global *from, struct itt_global *to)
{
	for (int i = 0; i < PARTS_MAX; i++) {
		struct itt_global *expected = from;

		if (atomic_compare_exchange_strong(&idle_parts[i], &expected, to))
			return true;
	}
	return false;
}

/* Static parts that were bound while nobody recorded get what they would get now. */
static void bind_again(void)
{
	for (int i = 0; i < PARTS_MAX; i++) {
		struct itt_global *global = atomic_exchange(&idle_parts[i], NULL);

		if (global)
			__itt_api_init(global, 0);
	}
}

ST_EXPORT void __itt_api_init(struct itt_global *global, int groups)
{
	static const unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
	bool wants_sync;

	(void)groups; /* the caller's wish; binding more is harmless */
	if (!global || memcmp(global->magic, magic, sizeof(magic)) || !global->api_list_ptr)
		return;
	/* The entries of 2010 were shorter; nobody has seen them in years. */
	if (global->version_build && global->version_build <= LAST_SHORT_ENTRIES)
		return;
	st_bound = true;
	replace_part(global, NULL);
	if (!st_config.active)
		replace_part(NULL, global);
	choose_domains(global->domain_list);
	/* Only with that function has the global a list of them; its version does not tell. */
	if (has_entry(global->api_list_ptr, "__itt_bind_context_metadata_to_counter"))
		adopt_facts(global->counter_metadata_list);
	wants_sync = st_sync_wanted(global);
	for (struct itt_api_info *api = global->api_list_ptr; api->name; api++)
		if (api->func_ptr)
			/* Another thread may call through it at once: all of our state is ready. */
			__atomic_store_n(api->func_ptr, function_for(api, wants_sync),
					 __ATOMIC_RELEASE);
	atomic_store_explicit(&bound_ticks, st_ticks(), memory_order_relaxed);
	atomic_store_explicit(&bound_ns, st_clock_mono_raw_ns(), memory_order_relaxed);
	/* Last of all: what is done above is not a call of the program. */
	loaded_at = 1 + head_of_thread();
}

/* The static part resets its own pointers; threads that already read one may still come in, and other
 * static parts go on. So nothing ends here. */
ST_EXPORT void __itt_api_fini(struct itt_global *global)
{
	if (global)
		replace_part(global, NULL);
}

const struct st_inproc_backend st_backend_itt = {.name = "itt", .joined = bind_again};
