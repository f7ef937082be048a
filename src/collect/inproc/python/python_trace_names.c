/* SPDX-License-Identifier: Apache-2.0
 *
 * What torch's profiler calls a function: "file(line): name", with the line that it is at when it begins, which is that
 * of the definition but for generators that go on; the description that a built-in function gives of itself, of the
 * first object that a thread meets it with; "nn.Module: Linear_0" for a module's __call__, numbered by class. Asked for once
 * each in a session. No code of the program runs for it.
 */
#include "collect/inproc/python/python_trace.h"

#include <string.h>

#include "collect/inproc/core/label.h"
#include "collect/inproc/python/python_calls.h"
#include "collect/inproc/python/python_calls_abi.h"
#include "collect/inproc/core/thread.h"

enum {
	SLOTS = 1 << 16,
	NAMES_MAX = SLOTS / 2,
	TEXT_BYTES = 2048,
	PREFIX_BYTES = 16 << 10,
	CLASSES = 1 << 12,
	CLASSES_MAX = CLASSES / 2,
	NUMBER_DIGITS = 20,
	NAME_SHARED = 1 << 16, /* flag of a name: others have it, too */
};

struct name {
	uint64_t key; /* 0: free */
	uint32_t check, session;
	uint32_t id, flags;
	uint64_t address; /* of an object, for all sessions */
};

/* How many modules of a class were met. */
struct class_count {
	const void *class;
	uint32_t count;
};

/* MADV_WIPEONFORK */
static struct table {
	uint32_t session, count, class_count;
	struct name name[SLOTS];
	struct class_count class[CLASSES];
} * table;
static char prefixes[PREFIX_BYTES] ST_APART; /* one a line */
static struct py_object *module_code; /* of nn.Module.__call__; ours while calls are recorded */

/* Room for a text that is put together. */
struct text {
	char at[TEXT_BYTES];
	uint32_t used;
};

static void add(struct text *text, const char *bytes, size_t size_bytes)
{
	if (size_bytes > TEXT_BYTES - text->used)
		size_bytes = TEXT_BYTES - text->used;
	memcpy(text->at + text->used, bytes, size_bytes);
	text->used += (uint32_t)size_bytes;
}

static void add_string(struct text *text, const char *string)
{
	add(text, string, strlen(string));
}

static void add_number(struct text *text, uint64_t number, uint32_t base)
{
	char digits[NUMBER_DIGITS];
	uint32_t at = NUMBER_DIGITS;

	do {
		digits[--at] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	add(text, digits + at, NUMBER_DIGITS - at);
}

static bool has_argument(struct py_object *code)
{
	struct py_object *count = st_calls_python.PyObject_GetAttrString(code, "co_argcount");
	bool has = count && st_calls_python.PyLong_AsLong(count) > 0;

	if (count)
		st_calls_python.Py_DecRef(count);
	return has;
}

/* The code of nn.Module.__call__, a reference, or NULL. Kept, so that no other code has its address. */
static struct py_object *find_module_code(void)
{
	static const char *const path[] = {"Module", "__call__", "__code__"};
	struct py_object *modules = st_calls_python.PyImport_GetModuleDict();
	struct py_object *at =
		modules ? st_calls_python.PyDict_GetItemString(modules, "torch.nn.modules.module")
			: NULL;

	if (at)
		st_calls_python.Py_IncRef(at);
	for (size_t i = 0; at && i < sizeof(path) / sizeof(*path); i++) {
		struct py_object *next = st_calls_python.PyObject_GetAttrString(at, path[i]);

		st_calls_python.Py_DecRef(at);
		at = next;
	}
	if (at && (!st_py_is(at, st_calls_python.PyCode_Type) || !has_argument(at))) {
		st_calls_python.Py_DecRef(at);
		at = NULL;
	}
	if (!at)
		st_calls_python.PyErr_Clear();
	return at;
}

void st_trace_names_stop(void)
{
	struct py_object *code = module_code;

	module_code = NULL;
	if (code)
		st_calls_python.Py_DecRef(code);
}

bool st_trace_names_start(const char *folders)
{
	size_t length = folders ? strlen(folders) : 0;

	if (!table)
		table = st_map_wiped((sizeof(*table) + 4095) & ~(size_t)4095);
	if (!table)
		return false;
	if (table->count > NAMES_MAX / 2) {
		memset(table->name, 0, sizeof(table->name));
		table->count = 0;
	}
	table->session++;
	table->class_count = 0;
	memset(table->class, 0, sizeof(table->class));
	if (length >= PREFIX_BYTES)
		length = 0;
	memcpy(prefixes, folders ? folders : "", length);
	prefixes[length] = '\0';
	st_trace_names_stop();
	module_code = find_module_code();
	return true;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* The place of a key, or the free one for it. */
static inline struct name *find(uint64_t key)
{
	uint64_t at = key >> 8;

	while (table->name[at % SLOTS].key && table->name[at % SLOTS].key != key)
		at++;
	return &table->name[at % SLOTS];
}

static inline bool is_known(const struct name *name, uint64_t key, uint32_t check)
{
	return name->key == key && name->check == check && name->session == table->session;
}

static uint32_t id_of(const struct text *text, bool *shared)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);
	uint32_t id;

	if (!thread)
		return 0;
	id = st_name_or_family(text->at, text->used, shared);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	return id <= ST_WORD_NAME_MAX ? id : 0;
}

/* A call is recorded without a name of its own. */
static __attribute__((noinline)) void count_unknown(void)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return;
	atomic_fetch_add_explicit(&st_header()->labels_unknown, 1, memory_order_relaxed);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

static inline uint32_t known_id(const struct name *name)
{
	if (ST_UNLIKELY(name->flags & NAME_SHARED))
		count_unknown();
	return name->id;
}

static uint32_t keep(uint64_t key, uint32_t check, const struct text *text, uint32_t flags)
{
	struct name *name = find(key);
	bool shared = false;
	uint32_t id = id_of(text, &shared);

	if (!id || shared)
		count_unknown();
	/* Without a place it is asked for at every call. */
	if (!id || (!name->key && table->count == NAMES_MAX))
		return id;
	table->count += !name->key;
	*name = (struct name){key, check, table->session, id, flags | (shared ? NAME_SHARED : 0),
			      0};
	return id;
}

static void add_attribute(struct text *text, struct py_object *object, const char *attribute,
			  bool is_file)
{
	struct py_object *value = st_calls_python.PyObject_GetAttrString(object, attribute);
	ptrdiff_t size = 0;
	const char *bytes = value ? st_calls_python.PyUnicode_AsUTF8AndSize(value, &size) : NULL;

	for (const char *line = prefixes, *end; bytes && is_file && *line;
	     line = end + (*end != 0)) {
		end = strchrnul(line, '\n');
		if (end > line && size > end - line && !memcmp(bytes, line, (size_t)(end - line))) {
			bytes += end - line;
			size -= end - line;
			break;
		}
	}
	add(text, bytes ? bytes : "?", bytes ? (size_t)size : 1);
	if (value)
		st_calls_python.Py_DecRef(value);
	if (!bytes)
		st_calls_python.PyErr_Clear();
}

/* Where the function is in its code, in bytes. */
static int32_t offset_of(uint64_t place, const struct py_object *code)
{
	const struct st_python_layout *layout = &st_calls_runtime.layout;

	if (layout->frame_owner == ST_PYTHON_ABSENT)
		return (int32_t)place * layout->place_scale;
	return (int32_t)(place - (uintptr_t)code - layout->code_begin);
}

static __attribute__((noinline)) uint32_t name_code(uint64_t key, uint32_t check,
						    struct py_object *code, uint64_t place)
{
	struct py_object *error[3];
	struct text text = {.used = 0};
	int line;

	st_calls_python.PyErr_Fetch(&error[0], &error[1], &error[2]);
	line = st_calls_python.PyCode_Addr2Line(code, offset_of(place, code));
	add_attribute(&text, code, "co_filename", true);
	add_string(&text, "(");
	add_number(&text, line > 0 ? (uint64_t)line : 0, 10);
	add_string(&text, "): ");
	add_attribute(&text, code, "co_name", false);
	st_calls_python.PyErr_Restore(error[0], error[1], error[2]);
	return keep(key, check, &text, 0);
}

/* The first argument of the function that begins in this frame. */
static struct py_object *first_local(const void *frame)
{
	static const uint16_t old[] = {360, 360, 352}; /* 3.8 to 3.10 */
	const struct st_python_layout *layout = &st_calls_runtime.layout;
	uint32_t offset = layout->minor <= 10 ? old[layout->minor - 8] : layout->frame_bytes;

	return (struct py_object *)((uintptr_t)st_py_field(frame, offset) &
				    ~(uintptr_t)layout->code_tag);
}

/* The next number of a class; no place: one that says so. */
static bool next_number(const void *class, uint32_t *number)
{
	uint64_t at = mix(0, (uintptr_t) class) >> 20;
	struct class_count *found;

	while (table->class[at % CLASSES].class && table->class[at % CLASSES].class != class)
		at++;
	found = &table->class[at % CLASSES];
	if (!found->class && table->class_count == CLASSES_MAX)
		return false;
	table->class_count += !found->class;
	found->class = class;
	*number = found->count++;
	return true;
}

static __attribute__((noinline)) uint32_t name_module(uint64_t key, uint32_t check,
						      const struct py_object *module)
{
	const void *class = st_py_field(module, PY_OBJECT_TYPE);
	struct text text = {.used = 0};
	uint32_t number;

	add_string(&text, "nn.Module: ");
	add_string(&text, st_py_field(class, PY_TYPE_NAME));
	add_string(&text, "_");
	if (next_number(class, &number))
		add_number(&text, number, 10);
	else
		add_string(&text, "?");
	return keep(key, check, &text, 0);
}

uint32_t st_trace_frame_name(const void *frame, struct py_object *code)
{
	const struct st_python_layout *layout = &st_calls_runtime.layout;
	uint32_t check = st_call_check(code);
	const struct name *name;
	uint64_t key, place;

	if (ST_UNLIKELY(code == module_code) && st_trace_frame_code(frame) == code) {
		const struct py_object *module = first_local(frame);

		if (module) {
			check = (uint32_t)((uintptr_t)st_py_field(module, PY_OBJECT_TYPE) >> 4) | 1;
			key = mix(2, (uintptr_t)module);
			name = find(key);
			return ST_LIKELY(is_known(name, key, check))
				       ? known_id(name)
				       : name_module(key, check, module);
		}
	}
	if (layout->frame_owner == ST_PYTHON_ABSENT) {
		int32_t last;

		memcpy(&last, (const char *)frame + layout->frame_place, sizeof(last));
		place = (uint64_t)(int64_t)last;
	} else {
		place = (uint64_t)(uintptr_t)st_py_field(frame, layout->frame_place);
	}
	key = mix(mix(1, (uintptr_t)code), place);
	name = find(key);
	return ST_LIKELY(is_known(name, key, check)) ? known_id(name)
						     : name_code(key, check, code, place);
}

/* Texts stay with the process: so that many sessions do not come to have more and more of them, the address shown is that of
 * the first object of its class that the built-in was ever met with. */
static uint64_t address_of(uint64_t key, const struct py_object *self)
{
	struct name *name;

	key = mix(mix(4, key), (uintptr_t)st_py_field(self, PY_OBJECT_TYPE));
	name = find(key);
	if (!name->key && table->count < NAMES_MAX) {
		table->count++;
		*name = (struct name){.key = key, .address = (uintptr_t)self};
	}
	return name->key ? name->address : (uintptr_t)self;
}

/* cProfile's class, or one made of it. */
static bool is_profiler(const void *class)
{
	while (class && strcmp(st_py_field(class, PY_TYPE_NAME), "_lsprof.Profiler") != 0)
		class = st_py_field(class, PY_TYPE_BASE);
	return class != NULL;
}

static __attribute__((noinline)) uint32_t name_builtin(uint64_t key, const struct py_method *method,
						       struct py_object *self, uint32_t *flags)
{
	const void *class = self ? st_py_field(self, PY_OBJECT_TYPE) : NULL;
	struct text text = {.used = 0};

	st_python_calls_look_at_tracing();
	if (!self || st_calls_python.PyType_IsSubtype((void *)(uintptr_t) class,
						      st_calls_python.PyModule_Type)) {
		add_string(&text, "<built-in function ");
		add_string(&text, method->name);
	} else {
		const char *type = st_py_field(class, PY_TYPE_NAME);

		add_string(&text, "<built-in method ");
		add_string(&text, method->name);
		add_string(&text, " of ");
		add_string(&text, type);
		add_string(&text, " object at 0x");
		add_number(&text, address_of(key, self), 16);
		if (!strcmp(method->name, "enable") && is_profiler(class))
			*flags = ST_CALL_PROFILES;
	}
	add_string(&text, ">");
	return keep(key, 0, &text, *flags);
}

uint32_t st_trace_builtin_name(uint32_t thread, const struct py_method *method,
			       struct py_object *self, uint32_t *flags)
{
	uint64_t key = mix(mix(3, (uintptr_t)method), thread);
	const struct name *name = find(key);

	if (ST_LIKELY(is_known(name, key, 0))) {
		*flags = name->flags & ~(uint32_t)NAME_SHARED;
		return known_id(name);
	}
	return name_builtin(key, method, self, flags);
}

/* Frames -------------------------------------------------------------------------------------- */

static bool is_shown(const void *frame)
{
	const struct st_python_layout *layout = &st_calls_runtime.layout;

	return layout->frame_owner == ST_PYTHON_ABSENT ||
	       ((const uint8_t *)frame)[layout->frame_owner] < ST_PYTHON_OWNER_SHIM;
}

static const void *first_shown(const void *frame)
{
	while (frame && !is_shown(frame))
		frame = st_py_field(frame, st_calls_runtime.layout.frame_back);
	return frame;
}

const void *st_trace_frame(void)
{
	return st_trace_frame_of(st_calls_runtime.this_thread_state());
}

const void *st_trace_frame_of(const void *thread_state)
{
	const struct st_python_layout *layout = &st_calls_runtime.layout;
	const void *at = thread_state ? st_py_field(thread_state, layout->state_frame) : NULL;

	if (at && layout->c_frame != ST_PYTHON_ABSENT)
		at = st_py_field(at, layout->c_frame);
	return first_shown(at);
}

const void *st_trace_frame_back(const void *frame)
{
	return first_shown(st_py_field(frame, st_calls_runtime.layout.frame_back));
}

struct py_object *st_trace_frame_code(const void *frame)
{
	const struct st_python_layout *layout = &st_calls_runtime.layout;
	uintptr_t code = (uintptr_t)st_py_field(frame, layout->frame_code);

	return (struct py_object *)(code & ~(uintptr_t)layout->code_tag);
}
