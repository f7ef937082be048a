/* SPDX-License-Identifier: Apache-2.0
 *
 * A tf.function is an object of a class with a __call__ in Python; a call goes through the slot tp_call of the class. Ours is
 * put before CPython's function there, as for nn.Module (collect/inproc/torch/torch_module.c): the slot's place is believed
 * only when CPython says the same of it, before and after; else nothing is done. Only calls that are in no other are
 * recorded: those inside are traced, once, and become part of the outer one.
 */
#include "collect/inproc/python/python_tensorflow.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "collect/inproc/core/itt_abi.h"
#include "collect/inproc/core/state.h"
#include "collect/inproc/python/python_itt.h"
#include "collect/inproc/python/python_runtime.h"
#include "format/operator.h"

void __itt_api_init(struct itt_global *global, int groups);

typedef struct py_object *(*py_call)(struct py_object *self, struct py_object *args,
				     struct py_object *keywords);

enum {
	SLOT_CALL = 50, /* Py_tp_call */
	FUNCTIONS_MAX = 64,
	THREADS_MAX = 64,
	NAME_BYTES_MAX = 256,
	CALL_OFFSET = 128, /* where tp_call is in a class: CPython 3.8 to 3.14 of 64 bits */
};
#define TYPE_HEAP (1ul << 9)
#define TYPE_IMMUTABLE (1ul << 8)
#define TYPE_IS_TYPE (1ul << 31)

static struct {
	struct py_object *(*PyImport_GetModuleDict)(void);
	struct py_object *(*PyDict_GetItemString)(struct py_object *, const char *);
	struct py_object *(*PyObject_GetAttrString)(struct py_object *, const char *);
	struct py_object *(*PyObject_Type)(struct py_object *);
	void *(*PyType_GetSlot)(struct py_object *, int);
	unsigned long (*PyType_GetFlags)(struct py_object *);
	const char *(*PyUnicode_AsUTF8)(struct py_object *);
	void (*PyErr_Clear)(void);
	void (*Py_DecRef)(struct py_object *);
} py;

#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, (void **)&py.name                                                           \
	}

static const struct {
	const char *name;
	void **place;
} members[] = {
	MEMBER(PyImport_GetModuleDict),
	MEMBER(PyDict_GetItemString),
	MEMBER(PyObject_GetAttrString),
	MEMBER(PyObject_Type),
	MEMBER(PyType_GetSlot),
	MEMBER(PyType_GetFlags),
	MEMBER(PyUnicode_AsUTF8),
	MEMBER(PyErr_Clear),
	MEMBER(Py_DecRef),
};
_Static_assert(sizeof(members) / sizeof(*members) == sizeof(py) / sizeof(void *), "all of them");

/* Our static part: pointers that bind.c fills. */
static struct {
	struct itt_domain *(*domain_create)(const char *name);
	struct itt_string_handle *(*string_handle_create)(const char *name);
	void (*task_begin)(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			   struct itt_string_handle *name);
	void (*task_end)(const struct itt_domain *domain);
} itt;

static struct itt_api_info entries[] = {
	{"__itt_domain_create", (void **)&itt.domain_create, NULL, NULL, ITT_GROUP_STRUCTURE},
	{"__itt_string_handle_create", (void **)&itt.string_handle_create, NULL, NULL,
	 ITT_GROUP_STRUCTURE},
	{"__itt_task_begin", (void **)&itt.task_begin, NULL, NULL, ITT_GROUP_STRUCTURE},
	{"__itt_task_end", (void **)&itt.task_end, NULL, NULL, ITT_GROUP_STRUCTURE},
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

static py_call their_call;
static struct itt_domain *domain;
/* Threads that are in a call; the interpreter's lock keeps it. Memory of each thread is scarce for libraries like this. */
static const void *inside[THREADS_MAX];

/* Functions of one name, told apart: those that train and that evaluate a model of Keras are called the same. Objects are
 * only compared: another one at the place of one that is gone may be taken for it. */
static struct known {
	const struct py_object *object;
	const struct itt_string_handle *name;
	struct itt_string_handle *shown; /* "name", "name (2)", … */
} functions[FUNCTIONS_MAX] ST_APART;
static unsigned int function_count;

/* NULL: nothing is known of it. */
static struct known *find(const struct py_object *object, const struct itt_string_handle *name,
			  unsigned int *number)
{
	*number = 1;
	for (unsigned int i = 0; i < function_count; i++) {
		if (functions[i].name != name)
			continue;
		if (functions[i].object == object)
			return &functions[i];
		++*number;
	}
	return NULL;
}

static struct itt_string_handle *tell_apart(const struct py_object *object, const char *text,
					    struct itt_string_handle *name)
{
	char numbered[NAME_BYTES_MAX];
	unsigned int number;
	struct known *known = find(object, name, &number);

	if (known)
		return known->shown;
	if (function_count == FUNCTIONS_MAX || strlen(text) > NAME_BYTES_MAX - 8)
		return name;
	known = &functions[function_count++];
	*known = (struct known){object, name, name};
	if (number > 1) {
		size_t length = strlen(text);

		memcpy(numbered, text, length);
		memcpy(numbered + length, " (", 2);
		length += 2;
		if (number >= 10)
			numbered[length++] = (char)('0' + number / 10);
		numbered[length++] = (char)('0' + number % 10);
		memcpy(numbered + length, ")", 2);
		known->shown = itt.string_handle_create(numbered);
	}
	return known->shown;
}

static struct itt_string_handle *name_of(struct py_object *function)
{
	struct py_object *name = py.PyObject_GetAttrString(function, "_name");
	const char *text = name ? py.PyUnicode_AsUTF8(name) : NULL;
	struct itt_string_handle *handle = itt.string_handle_create(text ? text : "function");

	handle = tell_apart(function, text ? text : "function", handle);
	if (name)
		py.Py_DecRef(name);
	if (!text)
		py.PyErr_Clear();
	return handle;
}

/* The place of a thread among those that are in a call; of NULL a free one. NULL: none. */
static const void **place_of(const void *thread)
{
	for (size_t i = 0; i < THREADS_MAX; i++)
		if (inside[i] == thread)
			return &inside[i];
	return NULL;
}

static struct py_object *call(struct py_object *self, struct py_object *args,
			      struct py_object *keywords)
{
	const struct itt_id none = {0};
	const void *thread = __builtin_thread_pointer(), **place = NULL;
	struct py_object *result;

	if (domain->flags && !place_of(thread))
		place = place_of(NULL);
	if (!place)
		return their_call(self, args, keywords);
	*place = thread;
	itt.task_begin(domain, none, none, name_of(self));
	result = their_call(self, args, keywords);
	itt.task_end(domain);
	*place = NULL;
	return result;
}

static py_call *slot_of(struct py_object *class)
{
	return (py_call *)((char *)class + CALL_OFFSET);
}

static bool slot_is(struct py_object *class, py_call function)
{
	void *asked = py.PyType_GetSlot(class, SLOT_CALL);

	return asked == *(void **)&function && *slot_of(class) == function;
}

static bool is_class(struct py_object *object)
{
	struct py_object *type = py.PyObject_Type(object);
	bool is = type && (py.PyType_GetFlags(type) & TYPE_IS_TYPE) &&
		  (py.PyType_GetFlags(object) & TYPE_HEAP) &&
		  !(py.PyType_GetFlags(object) & TYPE_IMMUTABLE);

	if (type)
		py.Py_DecRef(type);
	return is;
}

static void take(struct py_object *class)
{
	void *asked = py.PyType_GetSlot(class, SLOT_CALL);

	if (!asked || *(void **)slot_of(class) != asked)
		return;
	their_call = *slot_of(class);
	__atomic_store_n(slot_of(class), call, __ATOMIC_RELAXED);
	if (!slot_is(class, call))
		__atomic_store_n(slot_of(class), their_call, __ATOMIC_RELAXED);
}

static bool look_up(void)
{
	struct st_python_runtime runtime;

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		void *found = dlsym(RTLD_DEFAULT, members[i].name);

		if (!found)
			return false;
		*members[i].place = found;
	}
	/* Objects of the free-threaded build have another head. */
	if (!st_python_runtime_find(&runtime) || runtime.free_threaded)
		return false;
	__itt_api_init(&global.head, -1);
	if (itt.domain_create && itt.string_handle_create && itt.task_begin && itt.task_end)
		domain = itt.domain_create(ST_TF_FUNCTION_DOMAIN);
	return domain != NULL;
}

/* NULL: not there yet. */
static struct py_object *find_class(void)
{
	struct py_object *modules = py.PyImport_GetModuleDict();
	struct py_object *module =
		modules ? py.PyDict_GetItemString(modules, "tensorflow.python.eager."
							   "polymorphic_function.polymorphic_"
							   "function")
			: NULL;
	struct py_object *class = module ? py.PyObject_GetAttrString(module, "Function") : NULL;

	if (module && !class)
		py.PyErr_Clear();
	return class;
}

void st_python_tensorflow_look(struct py_object *name)
{
	static enum { NOT_ASKED_FOR, COMING, DONE } state;
	struct py_object *class;

	if (ST_LIKELY(state == DONE))
		return;
	if (state == NOT_ASKED_FOR) {
		if (!st_python_name_is(name, "tensorflow"))
			return;
		state = look_up() ? COMING : DONE;
		return;
	}
	class = find_class();
	if (!class)
		return;
	state = DONE;
	if (is_class(class))
		take(class);
	py.Py_DecRef(class);
	py.PyErr_Clear();
}
