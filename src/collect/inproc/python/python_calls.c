/* SPDX-License-Identifier: Apache-2.0
 *
 * Has CPython tell us of every call. Up to 3.11 by a profile function in C, which every thread must be given: threads
 * that Python code starts get it when the call that started them returns, others are looked for from time to time. From
 * 3.12 on by sys.monitoring, as a tool of our own beside those of the program, with functions in C.
 *
 * Calls are counted (python_calls_table.c), recorded one by one (python_trace.c), or both. Counting begins with the main
 * module, as `python -m cProfile` has it: what the interpreter does before is not the program's. Recording is switched
 * on and off, and has to do with the threads that were there when it was switched on.
 *
 * Up to 3.11 there is one profile function a thread. A program that sets its own gets it, and is not counted meanwhile;
 * sys.setprofile and cProfile's disable are followed by ours again. Both are reached through their definitions, so
 * that the functions themselves stay the same objects.
 */
#include "collect/inproc/python/python_calls.h"

#include <dlfcn.h>
#include <string.h>

#include "collect/inproc/python/python_calls_abi.h"
#include "collect/inproc/python/python_runtime.h"
#include "collect/inproc/python/python_trace.h"
#include "collect/inproc/core/state.h"
#include "collect/inproc/core/thread.h"

enum {
	STATE_BYTES = 512,    /* of a thread's state, in which the profile function is looked for */
	LOOK_EVERY = 1 << 12, /* calls, for threads that have come */
	MONITORING_MINOR = 12,
	AGAIN_MAX = 1 << 10,
	PROFILE_OBJECT = 16, /* in a thread's state, behind the profile function: its object */
};

static enum { NOT_YET, INSTALLED, REFUSED } state;
static bool counting;	      /* what is told is counted */
static bool started;	      /* the main module has begun */
static size_t profile_offset; /* in a thread's state */
static size_t tracing_offset; /* also; 0: not known */
static uint32_t since_look;
static int (*set_profile_of)(void *thread_state, py_profile, struct py_object *);
static py_function their_setprofile, their_disable;
static struct py_object *missing; /* sys.monitoring.MISSING */
/* State of the last thread whose calls go to the program's own profile function: that was counted. */
static const void *aside;

static struct py_method *setprofile_method, *disable_method;
static int monitoring_tool;
static size_t function_offset; /* of a thread's state: the profile function of the program ... */
static py_profile their_trampoline; /* ... which calls one in Python */

static int profile(struct py_object *object, struct py_object *frame, int what,
		   struct py_object *argument);

static bool by_monitoring(void)
{
	return st_calls_runtime.layout.minor >= MONITORING_MINOR;
}

static bool text_is(struct py_object *object, const char *text)
{
	return object && st_py_is(object, st_calls_python.PyUnicode_Type) &&
	       !st_calls_python.PyUnicode_CompareWithASCIIString(object, text);
}

/* Whether this call is the one of the main module. */
static __attribute__((noinline)) bool begins_main(struct py_object *code)
{
	struct py_object *name = st_calls_python.PyObject_GetAttrString(code, "co_name");
	bool is_module = text_is(name, "<module>");
	struct py_object *globals = is_module ? st_calls_python.PyEval_GetGlobals() : NULL;

	if (name)
		st_calls_python.Py_DecRef(name);
	started = globals &&
		  text_is(st_calls_python.PyDict_GetItemString(globals, "__name__"), "__main__");
	st_calls_python.PyErr_Clear();
	return started;
}

static inline bool is_function(const struct py_object *object)
{
	struct py_object *type = st_py_field(object, PY_OBJECT_TYPE);

	return type == st_calls_python.PyCFunction_Type ||
	       st_calls_python.PyType_IsSubtype(type, st_calls_python.PyCFunction_Type);
}

static inline struct py_object *code_of(const struct py_object *frame)
{
	const void *inner =
		st_calls_runtime.layout.minor == 11 ? st_py_field(frame, PY_FRAME_INNER) : frame;

	return st_py_field(inner, st_calls_runtime.layout.frame_code);
}

static py_profile profile_of(const void *thread_state)
{
	py_profile found;

	memcpy(&found, (const char *)thread_state + profile_offset, sizeof(found));
	return found;
}

static void set_profile(void *thread_state, py_profile function)
{
	void *before;

	if (set_profile_of) {
		if (set_profile_of(thread_state, function, NULL) < 0)
			st_calls_python.PyErr_Clear();
		return;
	}
	before = st_calls_python.PyThreadState_Swap(thread_state);
	st_calls_python.PyEval_SetProfile(function, NULL);
	st_calls_python.PyThreadState_Swap(before);
}

/* The first thread of this interpreter: another one has, since 3.12, a lock of its own and runs meanwhile. */
static void *first_thread(void)
{
	const void *own = st_calls_python.PyThreadState_Get();

	return st_calls_python.PyInterpreterState_ThreadHead(
		st_py_field(own, PY_STATE_INTERPRETER));
}

static bool is_there(const void *thread_state)
{
	void *at = first_thread();

	while (at && at != thread_state)
		at = st_calls_python.PyThreadState_Next(at);
	return at != NULL;
}

/* Up to 3.11. Setting it may run hooks of the program, which let other threads run, and end. */
static void replace_profile(py_profile before, py_profile after)
{
	uint32_t again = AGAIN_MAX;
	void *at = first_thread();

	while (at) {
		if (profile_of(at) == before) {
			set_profile(at, after);
			if (!is_there(at)) {
				at = again-- ? first_thread() : NULL;
				continue;
			}
		}
		at = st_calls_python.PyThreadState_Next(at);
	}
}

/* Threads without a profile function get ours. */
static void take_threads(void)
{
	since_look = 0;
	replace_profile(NULL, profile);
}

uint32_t st_python_calls_threads(void **states, uint32_t max)
{
	uint32_t count = 0;

	for (void *at = first_thread(); at && count < max;
	     at = st_calls_python.PyThreadState_Next(at)) {
		if (states)
			states[count] = at;
		count++;
	}
	return count;
}

static void count_profiled(void)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return;
	atomic_fetch_add_explicit(&st_header()->profiled, 1, memory_order_relaxed);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

/* The program's own profile function comes, ours goes. Where it replaces one that is not ours, that was told. */
static void step_aside(void)
{
	const void *thread_state = st_calls_python.PyThreadState_Get();

	if (counting)
		st_call_end_all();
	if (st_trace_on)
		st_trace_end_all();
	if (aside != thread_state || profile_of(thread_state) == profile)
		count_profiled();
	aside = thread_state;
}

/* And ours comes again, unless there is another one. */
static void step_back(void)
{
	if (profile_of(st_calls_python.PyThreadState_Get()))
		return;
	st_calls_python.PyEval_SetProfile(profile, NULL);
	aside = NULL;
}

/* In place of the disable of cProfile's profiler. */
static struct py_object *disable(struct py_object *self, struct py_object *ignored)
{
	struct py_object *result = their_disable(self, ignored);

	step_back();
	return result;
}

/* `enable` of a profiler is about to be called. */
static void watch_profiler(struct py_object *enable)
{
	struct py_object *self = st_py_field(enable, PY_FUNCTION_SELF), *found = NULL;
	struct py_method *method;

	if (!their_disable && self)
		found = st_calls_python.PyObject_GetAttrString(st_py_field(self, PY_OBJECT_TYPE),
							       "disable");
	if (found && st_py_is(found, st_calls_python.PyMethodDescr_Type)) {
		method = st_py_field(found, PY_DESCRIPTOR_METHOD);
		if (method->flags == PY_NOARGS) {
			their_disable = method->function;
			method->function = disable;
			disable_method = method;
		}
	}
	if (found)
		st_calls_python.Py_DecRef(found);
	st_calls_python.PyErr_Clear();
	step_aside();
}

/* The program's profile function would be told that sys.setprofile returns, of whose call it knows nothing: only
 * because we have calls told. It gets what comes after that. */
static int first_event(struct py_object *object, struct py_object *frame, int what,
		       struct py_object *argument)
{
	char *thread_state = st_calls_python.PyThreadState_Get();

	memcpy(thread_state + function_offset, &their_trampoline, sizeof(their_trampoline));
	if (what == PY_C_RETURN && is_function(argument) &&
	    st_py_field(argument, PY_FUNCTION_METHOD) == setprofile_method)
		return 0;
	return their_trampoline(object, frame, what, argument);
}

/* Puts it before what the program has just set. */
static void skip_return(const struct py_object *function)
{
	char *thread_state = st_calls_python.PyThreadState_Get();
	py_profile skip = first_event;

	for (size_t at = PROFILE_OBJECT; at < STATE_BYTES; at += 8) {
		if (st_py_field(thread_state, at) != function)
			continue;
		function_offset = at - PROFILE_OBJECT;
		memcpy(&their_trampoline, thread_state + function_offset, sizeof(skip));
		memcpy(thread_state + function_offset, &skip, sizeof(skip));
		return;
	}
}

/* In place of sys.setprofile. */
static struct py_object *setprofile(struct py_object *self, struct py_object *function)
{
	bool is_none = function == st_calls_python._Py_NoneStruct;
	struct py_object *result;

	if (!is_none && !by_monitoring())
		step_aside();
	result = their_setprofile(self, function);
	if (result && !is_none)
		skip_return(function);
	else if (!by_monitoring())
		step_back();
	return result;
}

static __attribute__((noinline)) void before_call(struct py_object *function, uint32_t flags)
{
	if (flags & ST_CALL_ENDS_PROCESS)
		st_call_tell_all();
	if (flags & ST_CALL_PROFILES)
		watch_profiler(function);
}

static inline const void *inner_of(const struct py_object *frame)
{
	return st_calls_runtime.layout.minor == 11 ? st_py_field(frame, PY_FRAME_INNER) : frame;
}

static inline struct py_object *self_of(const struct py_object *function)
{
	return st_py_field(function, PY_FUNCTION_SELF);
}

/* What `profile` is told, one by one. */
static inline void trace(struct py_object *frame, int what, struct py_object *argument)
{
	if (what == PY_CALL) {
		st_trace_call(inner_of(frame), code_of(frame));
	} else if (what == PY_RETURN) {
		st_trace_return(code_of(frame));
	} else if (!is_function(argument)) {
		return;
	} else if (what == PY_C_CALL) {
		uint32_t flags = st_trace_builtin(st_py_field(argument, PY_FUNCTION_METHOD),
						  self_of(argument));

		if (ST_UNLIKELY(flags & ST_CALL_PROFILES))
			watch_profiler(argument);
	} else if (what == PY_C_RETURN || what == PY_C_EXCEPTION) {
		st_trace_builtin_return(st_py_field(argument, PY_FUNCTION_METHOD));
	}
}

static int profile(struct py_object *object, struct py_object *frame, int what,
		   struct py_object *argument)
{
	struct py_object *code;
	uint32_t flags;

	(void)object;
	if (st_trace_on)
		trace(frame, what, argument);
	if (ST_LIKELY(!counting))
		return 0;
	switch (what) {
	case PY_CALL:
		code = code_of(frame);
		if (ST_UNLIKELY(!started) && !begins_main(code))
			break;
		st_call_begin((uintptr_t)code, code);
		if (ST_UNLIKELY(++since_look == LOOK_EVERY))
			take_threads();
		break;
	case PY_RETURN:
		st_call_end((uintptr_t)code_of(frame));
		break;
	case PY_C_CALL:
		if (ST_UNLIKELY(!started) || !is_function(argument))
			break;
		flags = st_call_begin((uintptr_t)st_py_field(argument, PY_FUNCTION_METHOD),
				      argument);
		if (ST_UNLIKELY(flags))
			before_call(argument, flags);
		break;
	case PY_C_RETURN:
	case PY_C_EXCEPTION:
		if (!is_function(argument))
			break;
		flags = st_call_end((uintptr_t)st_py_field(argument, PY_FUNCTION_METHOD));
		if (ST_UNLIKELY(flags & ST_CALL_STARTS_THREAD))
			take_threads();
		break;
	default:
		break;
	}
	return 0;
}

/* Where a thread's state has it. */
static bool find_profile(void)
{
	const char *thread_state = st_calls_python.PyThreadState_Get();

	for (profile_offset = 0; profile_offset < STATE_BYTES; profile_offset += 8)
		if (profile_of(thread_state) == profile)
			return true;
	return false;
}

static bool hook_setprofile(void)
{
	struct py_object *function = st_calls_python.PySys_GetObject("setprofile");
	struct py_method *method;

	if (!function || !st_py_is(function, st_calls_python.PyCFunction_Type))
		return false;
	method = st_py_field(function, PY_FUNCTION_METHOD);
	if (method->flags != PY_ONE_ARGUMENT || strcmp(method->name, "setprofile") != 0)
		return false;
	their_setprofile = method->function;
	method->function = setprofile;
	setprofile_method = method;
	return true;
}

static int install_profile(void)
{
	*(void **)&set_profile_of = dlsym(RTLD_DEFAULT, "_PyEval_SetProfile");
	/* A tool that was there first stays. */
	st_calls_python.PyEval_SetProfile(profile, NULL);
	aside = NULL;
	if (find_profile() && hook_setprofile()) {
		take_threads();
		return INSTALLED;
	}
	st_calls_python.PyEval_SetProfile(NULL, NULL);
	return REFUSED;
}

/* Callbacks of sys.monitoring: code, offset in it, and for calls what is called and its first argument. */
static struct py_object *on_start(struct py_object *self, struct py_object *const *args,
				  ptrdiff_t count)
{
	(void)self, (void)count;
	if (st_trace_on)
		st_trace_call(st_trace_frame(), args[0]);
	if (counting && (ST_LIKELY(started) || begins_main(args[0])))
		st_call_begin((uintptr_t)args[0], args[0]);
	return st_calls_python._Py_NoneStruct;
}

static struct py_object *on_return(struct py_object *self, struct py_object *const *args,
				   ptrdiff_t count)
{
	(void)self, (void)count;
	if (st_trace_on)
		st_trace_return(args[0]);
	if (counting)
		st_call_end((uintptr_t)args[0]);
	return st_calls_python._Py_NoneStruct;
}

/* The definition of a built-in function that is called, or NULL. */
static inline struct py_method *method_of(struct py_object *const *args, ptrdiff_t count)
{
	struct py_object *callable = count > 3 ? args[2] : NULL;

	if (!callable)
		return NULL;
	if (st_py_is(callable, st_calls_python.PyMethodDescr_Type))
		return args[3] == missing ? NULL : st_py_field(callable, PY_DESCRIPTOR_METHOD);
	return is_function(callable) ? st_py_field(callable, PY_FUNCTION_METHOD) : NULL;
}

static struct py_object *on_call(struct py_object *self, struct py_object *const *args,
				 ptrdiff_t count)
{
	struct py_method *method = method_of(args, count);

	(void)self;
	if (method && st_trace_on)
		st_trace_builtin(method, st_py_is(args[2], st_calls_python.PyMethodDescr_Type)
						 ? args[3]
						 : self_of(args[2]));
	if (method && counting && started &&
	    ST_UNLIKELY(st_call_begin((uintptr_t)method, args[2]) & ST_CALL_ENDS_PROCESS))
		st_call_tell_all();
	return st_calls_python._Py_NoneStruct;
}

static struct py_object *on_call_return(struct py_object *self, struct py_object *const *args,
					ptrdiff_t count)
{
	struct py_method *method = method_of(args, count);

	(void)self;
	if (method && st_trace_on)
		st_trace_builtin_return(method);
	if (method && counting)
		st_call_end((uintptr_t)method);
	return st_calls_python._Py_NoneStruct;
}

#define CALLBACK(function)                                                                         \
	{                                                                                          \
		"strata", (py_function)(void (*)(void))(function), PY_FAST, NULL                   \
	}
static struct py_method callbacks[] = {CALLBACK(on_start), CALLBACK(on_return), CALLBACK(on_call),
				       CALLBACK(on_call_return)};
static const struct {
	const char *event;
	uint32_t callback;
} events[] = {
	{"PY_START", 0},  {"PY_RESUME", 0}, {"PY_THROW", 0}, {"PY_RETURN", 1}, {"PY_YIELD", 1},
	{"PY_UNWIND", 1}, {"CALL", 2},	    {"C_RETURN", 3}, {"C_RAISE", 3},
};

static bool done(struct py_object *result)
{
	if (!result)
		st_calls_python.PyErr_Clear();
	else
		st_calls_python.Py_DecRef(result);
	return result != NULL;
}

static long number(struct py_object *object, const char *name)
{
	struct py_object *value = st_calls_python.PyObject_GetAttrString(object, name);
	long found = value ? st_calls_python.PyLong_AsLong(value) : 0;

	done(value);
	return found;
}

static bool register_callbacks(struct py_object *monitoring, int tool)
{
	struct py_object *names = st_calls_python.PyObject_GetAttrString(monitoring, "events");
	long all = 0;

	for (size_t i = 0; names && i < sizeof(events) / sizeof(*events); i++) {
		long event = number(names, events[i].event);
		struct py_object *function = st_calls_python.PyCFunction_NewEx(
			&callbacks[events[i].callback], NULL, NULL);

		if (!event || !function)
			return false;
		all |= event;
		if (!done(st_calls_python.PyObject_CallMethod(monitoring, "register_callback",
							      "ilN", tool, event, function)))
			return false;
	}
	/* C_RETURN and C_RAISE come with CALL. */
	if (names)
		all &= ~(number(names, "C_RETURN") | number(names, "C_RAISE"));
	done(names);
	return all &&
	       done(st_calls_python.PyObject_CallMethod(monitoring, "set_events", "il", tool, all));
}

static int install_monitoring(void)
{
	static const int tools[] = {4, 3};
	struct py_object *monitoring = st_calls_python.PySys_GetObject("monitoring");

	if (!monitoring)
		return NOT_YET;
	missing = st_calls_python.PyObject_GetAttrString(monitoring, "MISSING");
	for (size_t i = 0; missing && i < sizeof(tools) / sizeof(*tools); i++) {
		if (done(st_calls_python.PyObject_CallMethod(monitoring, "use_tool_id", "is",
							     tools[i], "strata"))) {
			monitoring_tool = tools[i];
			return hook_setprofile() && register_callbacks(monitoring, tools[i])
				       ? INSTALLED
				       : REFUSED;
		}
	}
	return REFUSED;
}

static int install(void)
{
	if (!st_python_runtime_find(&st_calls_runtime) || !st_calls_runtime.known ||
	    st_calls_runtime.free_threaded || !st_calls_python_find())
		return REFUSED;
	return by_monitoring() ? install_monitoring() : install_profile();
}

/* A tool in C has replaced our function unseen, and may be gone. */
static void take_back(void)
{
	py_profile now = profile_of(st_calls_python.PyThreadState_Get());

	if (now == profile)
		return;
	step_aside();
	step_back();
}

/* Nothing of ours is called any more. */
static void uninstall(void)
{
	struct py_object *monitoring;

	if (setprofile_method && setprofile_method->function == setprofile)
		setprofile_method->function = their_setprofile;
	if (disable_method && disable_method->function == disable)
		disable_method->function = their_disable;
	their_disable = NULL;
	if (!by_monitoring()) {
		replace_profile(profile, NULL);
	} else {
		monitoring = st_calls_python.PySys_GetObject("monitoring");
		if (monitoring)
			done(st_calls_python.PyObject_CallMethod(monitoring, "set_events", "ii",
								 monitoring_tool, 0));
		if (monitoring)
			done(st_calls_python.PyObject_CallMethod(monitoring, "free_tool_id", "i",
								 monitoring_tool));
	}
	state = NOT_YET;
}

/* A profile function of others, on this thread: theirs stays. */
static bool is_profiled(void)
{
	struct py_object *ask = st_calls_python.PySys_GetObject("getprofile");
	struct py_object *found = ask ? st_calls_python.PyObject_CallFunction(ask, NULL) : NULL;
	bool is = found && found != st_calls_python._Py_NoneStruct;

	done(found);
	return is;
}

/* How deep a thread is in functions of others that CPython has called, during which nobody is told of anything. */
static int32_t tracing_of(const void *thread_state, size_t offset)
{
	int32_t depth;

	memcpy(&depth, (const char *)thread_state + offset, sizeof(depth));
	return depth;
}

void st_python_calls_look_at_tracing(void)
{
	/* From where the frames are: up to 3.10; from 3.11 on, one or the other. */
	static const int places[] = {20, -12, -8};
	const struct st_python_layout *layout = &st_calls_runtime.layout;
	const void *thread_state = st_calls_python.PyThreadState_Get();
	size_t first = layout->minor <= 10 ? 0 : 1, last = layout->minor <= 10 ? 0 : 2;

	for (size_t at = first; at <= last && !tracing_offset; at++) {
		size_t offset = (size_t)(layout->state_frame + places[at]);

		if (tracing_of(thread_state, offset) == 1)
			tracing_offset = offset;
	}
}

bool st_python_calls_follows(const void *thread_state)
{
	return st_trace_on && thread_state && tracing_offset &&
	       !tracing_of(thread_state, tracing_offset) &&
	       (by_monitoring() || profile_of(thread_state) == profile);
}

bool st_python_calls_prepare(void)
{
	if (state != NOT_YET)
		return state == INSTALLED;
	if (!st_python_runtime_find(&st_calls_runtime) || !st_calls_runtime.known ||
	    st_calls_runtime.free_threaded || !st_calls_python_find())
		return false;
	if (!by_monitoring() && is_profiled())
		return false;
	state = REFUSED; /* for whoever comes by meanwhile */
	state = install();
	if (state == INSTALLED)
		return true;
	state = NOT_YET; /* what is in the way may go */
	return false;
}

void st_python_calls_release(void)
{
	st_python_calls_untrace();
	if (state == INSTALLED && !counting)
		uninstall();
}

bool st_python_calls_trace(const char *prefixes)
{
	if (st_trace_on || state != INSTALLED || !st_trace_names_start(prefixes))
		return st_trace_on;
	st_trace_start();
	if (!st_trace_on)
		st_trace_names_stop();
	return st_trace_on;
}

void st_python_calls_untrace(void)
{
	if (!st_trace_on)
		return;
	/* A tool in C has replaced our function unseen. A thread that was not recorded never had it. */
	if (!by_monitoring() && st_trace_clock() && aside != st_calls_python.PyThreadState_Get() &&
	    profile_of(st_calls_python.PyThreadState_Get()) != profile)
		count_profiled();
	st_trace_stop();
	st_trace_names_stop();
}

void st_python_calls_look(void)
{
	counting = true;
	if (ST_UNLIKELY(state == INSTALLED && !by_monitoring()))
		take_back();
	if (ST_LIKELY(state != NOT_YET))
		return;
	state = REFUSED; /* for whoever comes by meanwhile */
	state = install();
	if (state == REFUSED)
		st_notice(ST_NOTICE_NO_PYTHON_CALLS);
}

__attribute__((destructor)) static void end_process(void)
{
	st_python_calls_end_process();
}
