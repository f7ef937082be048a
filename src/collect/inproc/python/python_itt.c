/* SPDX-License-Identifier: Apache-2.0
 *
 * The module `itt`. It must cost nothing and change nothing in programs that do not ask for it, and an
 * installed `itt` must win. An audit hook would hear of imports, but makes every id() and sys._getframe() of
 * the program dearer. Instead, the function that the import system asks first for every name it does not
 * know, _imp.is_builtin, is replaced by one that does the same and, for the name `itt` only, appends a
 * finder to the end of sys.meta_path, which the import system is just going through, or of its copy. We get there by
 * PyImport_Inittab, the table of built-in modules that programs may change before Python starts: the
 * start of one of them, which every start of Python needs right after _imp, is ours.
 *
 * The module's functions go through the interface like those of any static part, so that groups, domains,
 * clocks and pauses mean the same for them.
 */
#include "collect/inproc/python/python_itt.h"

#include <dlfcn.h>
#include <string.h>

#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/itt_abi.h"
#include "collect/inproc/python/python_abi.h"
#include "collect/inproc/python/python_calls.h"
#include "collect/inproc/python/python_codes.h"
#include "collect/inproc/python/python_line.h"
#include "collect/inproc/python/python_runtime.h"
#include "collect/inproc/python/python_tensorflow.h"
#include "collect/inproc/python/python_trace.h"
#include "collect/inproc/core/thread.h"

void __itt_api_init(struct itt_global *global, int groups);

enum { BUILTINS_MAX = 512 };

static struct python_functions py;
static struct py_builtin builtins[BUILTINS_MAX] ST_APART;
static struct py_object *(*their_init)(void);
static py_function their_is_builtin;
static struct py_object *latest_finder; /* of whichever interpreter; only compared */

/* Our static part: pointers that bind.c fills. */
static struct {
	struct itt_domain *(*domain_create)(const char *name);
	struct itt_string_handle *(*string_handle_create)(const char *name);
	void (*task_begin)(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			   struct itt_string_handle *name);
	void (*task_end)(const struct itt_domain *domain);
	void (*pause)(void);
	void (*resume)(void);
	void (*detach)(void);
	unsigned char (*pt_region_create)(const char *name);
	int (*event_create)(const char *name, int length);
	int (*event_start)(int event);
	int (*event_end)(int event);
} itt;

#define ENTRY(name, group)                                                                         \
	{                                                                                          \
		"__itt_" #name, (void **)&itt.name, NULL, NULL, group                              \
	}

static struct itt_api_info entries[] = {
	ENTRY(domain_create, ITT_GROUP_STRUCTURE),
	ENTRY(string_handle_create, ITT_GROUP_STRUCTURE),
	ENTRY(task_begin, ITT_GROUP_STRUCTURE),
	ENTRY(task_end, ITT_GROUP_STRUCTURE),
	ENTRY(pause, ITT_GROUP_CONTROL | ITT_GROUP_LEGACY),
	ENTRY(resume, ITT_GROUP_CONTROL | ITT_GROUP_LEGACY),
	ENTRY(detach, ITT_GROUP_CONTROL | ITT_GROUP_LEGACY),
	ENTRY(pt_region_create, ITT_GROUP_STRUCTURE),
	ENTRY(event_create, ITT_GROUP_MARK | ITT_GROUP_LEGACY),
	ENTRY(event_start, ITT_GROUP_MARK | ITT_GROUP_LEGACY),
	ENTRY(event_end, ITT_GROUP_MARK | ITT_GROUP_LEGACY),
	{NULL, NULL, NULL, NULL, 0},
};

static union {
	struct itt_global head;
	unsigned char bytes[256]; /* as large as any generation's, and empty */
} global = {
	.head = {.magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
		 .version_major = 3,
		 .api_list_ptr = entries},
};

static const char capsule_name[] = "itt.domain";

static struct py_object *none(void)
{
	return py.Py_BuildValue("");
}

static struct py_object *call_control(void (*function)(void))
{
	if (function)
		function();
	return none();
}

static struct py_object *itt_pause(struct py_object *self, struct py_object *args)
{
	(void)self, (void)args;
	return call_control(itt.pause);
}

static struct py_object *itt_resume(struct py_object *self, struct py_object *args)
{
	(void)self, (void)args;
	return call_control(itt.resume);
}

static struct py_object *itt_detach(struct py_object *self, struct py_object *args)
{
	(void)self, (void)args;
	return call_control(itt.detach);
}

static struct py_object *itt_domain_create(struct py_object *self, struct py_object *args)
{
	struct itt_domain *domain;
	const char *name;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "s:domain_create", &name))
		return NULL;
	domain = itt.domain_create ? itt.domain_create(name) : NULL;
	return domain ? py.PyCapsule_New(domain, capsule_name, NULL) : none();
}

static struct py_object *itt_task_begin(struct py_object *self, struct py_object *args)
{
	const struct itt_id null_id = {0, 0, 0};
	struct py_object *capsule;
	struct itt_domain *domain;
	const char *name;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "Os:task_begin", &capsule, &name))
		return NULL;
	domain = py.PyCapsule_GetPointer(capsule, capsule_name);
	if (!domain)
		return NULL;
	if (domain->flags && itt.task_begin && itt.string_handle_create)
		itt.task_begin(domain, null_id, null_id, itt.string_handle_create(name));
	return none();
}

static struct py_object *itt_task_end(struct py_object *self, struct py_object *args)
{
	struct py_object *capsule;
	struct itt_domain *domain;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "O:task_end", &capsule))
		return NULL;
	domain = py.PyCapsule_GetPointer(capsule, capsule_name);
	if (!domain)
		return NULL;
	if (domain->flags && itt.task_end)
		itt.task_end(domain);
	return none();
}

/* The mark of a PT region is an instruction sequence for the processor's trace, which nobody else sees:
 * the region is told as a user event of the same name, too. */
static struct py_object *itt_pt_region_create(struct py_object *self, struct py_object *args)
{
	const char *name;
	int event = 0;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "s:pt_region_create", &name))
		return NULL;
	if (itt.pt_region_create)
		itt.pt_region_create(name);
	if (itt.event_create)
		event = itt.event_create(name, (int)strlen(name));
	return py.Py_BuildValue("i", event);
}

static struct py_object *call_event(struct py_object *args, const char *format,
				    int (*function)(int))
{
	int event;

	if (!py.PyArg_ParseTuple(args, format, &event))
		return NULL;
	if (function && event)
		function(event);
	return none();
}

static struct py_object *itt_pt_region_begin(struct py_object *self, struct py_object *args)
{
	(void)self;
	return call_event(args, "i:pt_region_begin", itt.event_start);
}

static struct py_object *itt_pt_region_end(struct py_object *self, struct py_object *args)
{
	(void)self;
	return call_event(args, "i:pt_region_end", itt.event_end);
}

static struct py_method module_methods[] = {
	{"pause", itt_pause, PY_NOARGS, "Pause the collection in this process."},
	{"resume", itt_resume, PY_NOARGS, "Resume the collection in this process."},
	{"detach", itt_detach, PY_NOARGS, "End the collection in this process permanently."},
	{"domain_create", itt_domain_create, PY_VARARGS, "domain_create(name) -> domain"},
	{"task_begin", itt_task_begin, PY_VARARGS, "task_begin(domain, name)"},
	{"task_end", itt_task_end, PY_VARARGS, "task_end(domain)"},
	{"pt_region_create", itt_pt_region_create, PY_VARARGS, "pt_region_create(name) -> region"},
	{"pt_region_begin", itt_pt_region_begin, PY_VARARGS, "pt_region_begin(region)"},
	{"pt_region_end", itt_pt_region_end, PY_VARARGS, "pt_region_end(region)"},
	{"itt_pt_region_create", itt_pt_region_create, PY_VARARGS, "Same as pt_region_create"},
	{"itt_pt_region_begin", itt_pt_region_begin, PY_VARARGS, "Same as pt_region_begin"},
	{"itt_pt_region_end", itt_pt_region_end, PY_VARARGS, "Same as pt_region_end"},
	{NULL, NULL, 0, NULL},
};

bool st_python_name_is(struct py_object *name, const char *text)
{
	return name && py.PyObject_IsInstance(name, py.PyUnicode_Type) == 1 &&
	       !py.PyUnicode_CompareWithASCIIString(name, text);
}

/* The finder is its own loader: a module object whose functions have the names of both. */
static struct py_object *find_spec(struct py_object *self, struct py_object *args)
{
	struct py_object *bootstrap, *type, *spec, *origin;

	if (!st_python_name_is(py.PyTuple_GetItem(args, 0), "itt")) {
		py.PyErr_Clear();
		return none();
	}
	bootstrap = py.PyImport_ImportModule("_frozen_importlib");
	if (!bootstrap)
		return NULL;
	type = py.PyObject_GetAttrString(bootstrap, "ModuleSpec");
	py.Py_DecRef(bootstrap);
	if (!type)
		return NULL;
	spec = py.PyObject_CallFunction(type, "sO", "itt", self);
	py.Py_DecRef(type);
	origin = spec ? py.Py_BuildValue("s", "strata") : NULL;
	if (origin) {
		py.PyObject_SetAttrString(spec, "origin", origin);
		py.Py_DecRef(origin);
	}
	return spec;
}

static struct py_object *create_module(struct py_object *self, struct py_object *args)
{
	struct py_object *module = py.PyModule_New("itt");

	(void)self, (void)args;
	if (module && py.PyModule_AddFunctions(module, module_methods)) {
		py.Py_DecRef(module);
		return NULL;
	}
	return module;
}

static struct py_object *exec_module(struct py_object *self, struct py_object *args)
{
	(void)self, (void)args;
	__itt_api_init(&global.head, -1);
	return none();
}

static struct py_method finder_methods[] = {
	{"find_spec", find_spec, PY_VARARGS, NULL},
	{"create_module", create_module, PY_VARARGS, NULL},
	{"exec_module", exec_module, PY_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct python_functions, name)                                     \
	}

static const struct {
	const char *name;
	size_t offset;
} members[] = {
	MEMBER(PyTuple_GetItem),
	MEMBER(PyObject_IsInstance),
	MEMBER(PyUnicode_CompareWithASCIIString),
	MEMBER(PyList_Size),
	MEMBER(PyList_GetItem),
	MEMBER(PyList_Append),
	MEMBER(PySys_GetObject),
	MEMBER(PyObject_GetAttrString),
	MEMBER(PyObject_SetAttrString),
	MEMBER(PyObject_CallFunction),
	MEMBER(PyLong_AsLong),
	MEMBER(PyImport_ImportModule),
	MEMBER(PyCFunction_NewEx),
	MEMBER(PyCFunction_GetFunction),
	MEMBER(PyCFunction_GetSelf),
	MEMBER(PyCFunction_GetFlags),
	MEMBER(PyUnicode_AsUTF8),
	MEMBER(PyModule_New),
	MEMBER(PyModule_AddFunctions),
	MEMBER(PyArg_ParseTuple),
	MEMBER(Py_BuildValue),
	MEMBER(PyCapsule_New),
	MEMBER(PyCapsule_GetPointer),
	MEMBER(PyEval_GetFrame),
	MEMBER(PyErr_Clear),
	MEMBER(Py_DecRef),
	MEMBER(PyUnicode_Type),
};

_Static_assert(sizeof(members) / sizeof(*members) == sizeof(py) / sizeof(void *), "all of them");

static bool look_up(void)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		void *found = dlsym(RTLD_DEFAULT, members[i].name);

		if (!found)
			return false;
		memcpy((char *)&py + members[i].offset, &found, sizeof(found));
	}
	return true;
}

static bool flag(struct py_object *flags, const char *name)
{
	struct py_object *value = flags ? py.PyObject_GetAttrString(flags, name) : NULL;
	bool is_set = value && py.PyLong_AsLong(value) != 0;

	if (value)
		py.Py_DecRef(value);
	return is_set;
}

/* -I and -E ask that nothing of the environment reaches the program: neither do we. */
static bool may_offer(void)
{
	struct py_object *flags = py.PySys_GetObject("flags");

	return !flag(flags, "isolated") && !flag(flags, "ignore_environment");
}

static bool has_finder(struct py_object *path)
{
	ptrdiff_t count = py.PyList_Size(path);

	for (ptrdiff_t i = 0; latest_finder && i < count; i++)
		if (py.PyList_GetItem(path, i) == latest_finder)
			return true;
	return false;
}

static void append_finder(struct py_object *path)
{
	struct py_object *finder;

	if (!path || has_finder(path))
		return;
	if (!may_offer()) {
		st_notice(ST_NOTICE_NO_ITT);
		return;
	}
	finder = py.PyModule_New("strata.itt");
	if (!finder)
		return;
	if (py.PyModule_AddFunctions(finder, finder_methods) || py.PyList_Append(path, finder))
		py.Py_DecRef(finder);
	else
		latest_finder = finder; /* and stays: its address is not to be another's */
}

/* The list that the import system, which called who called us, goes through: since 3.14 a copy. */
static struct py_object *searched_path(void)
{
	static const char *const steps[] = {"f_back", "f_locals", "get"};
	struct py_object *frame = py.PyEval_GetFrame(), *at = frame, *next;

	for (size_t i = 0; at && i < sizeof(steps) / sizeof(*steps); i++) {
		next = py.PyObject_GetAttrString(at, steps[i]);
		if (at != frame)
			py.Py_DecRef(at);
		at = next;
	}
	next = at ? py.PyObject_CallFunction(at, "s", "meta_path") : NULL;
	if (at)
		py.Py_DecRef(at);
	return next;
}

static void offer(struct py_object *path)
{
	struct py_object *searched;

	append_finder(path);
	if (!path || !has_finder(path))
		return;
	searched = searched_path();
	if (searched && py.PyList_Size(searched) > 0 && !has_finder(searched))
		py.PyList_Append(searched, latest_finder);
	if (searched)
		py.Py_DecRef(searched);
}

/* In place of _imp.is_builtin. */
static struct py_object *is_builtin(struct py_object *self, struct py_object *name)
{
	ST_BACKENDS_CALL(imported, name);
	if (st_config.offer_itt && st_python_name_is(name, "itt")) {
		offer(py.PySys_GetObject("meta_path"));
		py.PyErr_Clear();
	}
	return their_is_builtin(self, name);
}

static char is_builtin_doc[256];
static struct py_method is_builtin_method = {"is_builtin", is_builtin, PY_ONE_ARGUMENT,
					     is_builtin_doc};

/* Appends an attribute of a function, if it is a text and there is room. */
static size_t add_attribute(size_t at, struct py_object *function, const char *name)
{
	struct py_object *value = py.PyObject_GetAttrString(function, name);
	const char *text = NULL;
	size_t length;

	if (value && py.PyObject_IsInstance(value, py.PyUnicode_Type) == 1)
		text = py.PyUnicode_AsUTF8(value);
	length = text ? strlen(text) : 0;
	if (at + length < sizeof(is_builtin_doc)) {
		memcpy(is_builtin_doc + at, text ? text : "", length);
		at += length;
	}
	if (value)
		py.Py_DecRef(value);
	return at;
}

/* As Python keeps them: name, signature, a line of two dashes, the text. */
static void copy_doc(struct py_object *theirs)
{
	static const char mark[] = "\n--\n\n";
	size_t at = add_attribute(0, theirs, "__name__");

	at = add_attribute(at, theirs, "__text_signature__");
	if (at + sizeof(mark) < sizeof(is_builtin_doc)) {
		memcpy(is_builtin_doc + at, mark, sizeof(mark) - 1);
		at += sizeof(mark) - 1;
	}
	is_builtin_doc[add_attribute(at, theirs, "__doc__")] = '\0';
}

/* A function of the same module, name and description, which nobody can tell from theirs. Where it is ours
 * already, it was copied into another interpreter. */
static struct py_object *make_is_builtin(struct py_object *theirs)
{
	struct py_object *module_name, *ours;

	if (py.PyCFunction_GetFlags(theirs) != PY_ONE_ARGUMENT ||
	    py.PyCFunction_GetFunction(theirs) == is_builtin)
		return NULL;
	their_is_builtin = py.PyCFunction_GetFunction(theirs);
	copy_doc(theirs);
	module_name = py.Py_BuildValue("s", "_imp");
	ours = py.PyCFunction_NewEx(&is_builtin_method, py.PyCFunction_GetSelf(theirs),
				    module_name);
	if (module_name)
		py.Py_DecRef(module_name);
	return ours;
}

static void replace_is_builtin(void)
{
	struct py_object *module = py.PyImport_ImportModule("_imp");
	struct py_object *theirs = module ? py.PyObject_GetAttrString(module, "is_builtin") : NULL;
	struct py_object *ours = theirs ? make_is_builtin(theirs) : NULL;

	if (ours)
		py.PyObject_SetAttrString(module, "is_builtin", ours);
	py.PyErr_Clear();
	if (ours)
		py.Py_DecRef(ours);
	if (theirs)
		py.Py_DecRef(theirs);
	if (module)
		py.Py_DecRef(module);
}

/* Whatever fails, imports go on as they would without us. */
static struct py_object *init_marshal(void)
{
	if (look_up())
		replace_is_builtin();
	return their_init();
}

/* Watches what is imported, if this process is going to be a CPython. */
static void watch_imports(void)
{
	struct py_builtin **in_use = dlsym(RTLD_DEFAULT, "PyImport_Inittab");
	int (*is_initialized)(void) = NULL;
	size_t count = 0;

	*(void **)&is_initialized = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
	/* Once it runs, the table has been read. */
	if (!in_use || !*in_use || !is_initialized || is_initialized())
		return;
	for (; (*in_use)[count].name; count++) {
		if (count + 1 == BUILTINS_MAX)
			return;
		builtins[count] = (*in_use)[count];
		if (!strcmp(builtins[count].name, "marshal")) {
			their_init = builtins[count].init;
			builtins[count].init = init_marshal;
		}
	}
	if (their_init)
		*in_use = builtins;
}

static void configure(const char *text)
{
	if (!strncmp(text, "python_calls=", 13))
		st_python_calls_interval_ticks = st_config_number(text + 13);
}

static void start(const struct st_entered_program *program)
{
	bool awaited = st_config.offer_itt || st_python_calls_interval_ticks;

	if (st_config.task_lines)
		st_python_line_init();
	for (const struct st_inproc_backend *const *each = st_inproc_backends; *each; each++)
		awaited |= (*each)->awaits_imports && (*each)->awaits_imports();
	if (awaited && !program->joined && st_python_is_here())
		watch_imports();
}

static void imported(struct py_object *name)
{
	st_python_tensorflow_look(name);
	if (ST_UNLIKELY(st_python_calls_interval_ticks))
		st_python_calls_look();
}

static void end_thread(void)
{
	st_python_calls_end_thread();
	st_trace_end_thread();
}

const struct st_inproc_backend st_backend_python = {
	.name = "python",
	.configure = configure,
	.start = start,
	.imported = imported,
	.thread_end = end_thread,
	.forget = st_python_codes_forget,
};
