/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths of modules. The first call of a module that is not known makes it a root: it is named by its class, and
 * everything below it, found by going through the _modules of each, by the class of the root and the keys that lead to
 * it, as in named_modules(): "Net.encoder.0.norm". What is called inside of a known module and is not known itself may
 * have been added to it later, so that one is gone through again, at the first, second, fourth … time; modules that
 * belong to nobody are roots. A path stays for the life of its module.
 *
 * No Python code of the program's classes runs for this, and no Python frame of ours: compilers that watch frames
 * would see it. But every allocation may start the garbage collector, which runs any code at all, even on other
 * threads: behind each, what was found in the table is looked up again.
 */
#include "collect/inproc/torch/torch_module_names.h"

#include <string.h>
#include <sys/mman.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/intern.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/torch/torch_module.h"
#include "collect/inproc/torch/torch_record.h"

enum {
	PLACES_MIN = 1 << 8,
	PLACES_MAX = 1 << 18,
	REFUSALS_MAX = 1 << 12, /* before it is tried again to find a place */
	PATH_BYTES = 1024,
	DEPTH_MAX = 64,
	VISITS_MAX = 1 << 16,
};

static struct st_torch_module none;
struct st_torch_modules st_torch_modules = {.at = &none};
bool st_torch_module_deaths_silent;

static uint16_t walk_count;
static uint32_t refusals;

/* One time through the modules below one. */
struct walk {
	uint32_t visits, depth;
	uint32_t length;
	uint16_t number;
	bool from_root;
	char path[PATH_BYTES];
};

static struct py_object *count_death(struct py_object *self, struct py_object *reference)
{
	(void)self;
	(void)reference;
	st_operator_front->deaths++;
	st_torch_python.Py_IncRef(st_torch_python._Py_NoneStruct);
	return st_torch_python._Py_NoneStruct;
}

/* A weak reference whose end we are told of; NULL: an exception is set. */
static struct py_object *refer(struct py_object *object)
{
	static struct py_method method = {"strata_count_death", count_death, PY_ONE_ARGUMENT, NULL};
	static struct py_object *function;

	if (!function)
		function = st_torch_python.PyCFunction_NewEx(&method, NULL, NULL);
	return function ? st_torch_python.PyWeakref_NewRef(object, function) : NULL;
}

static bool is_kind(struct py_object *object, unsigned long flag)
{
	struct py_object *type = st_torch_python.PyObject_Type(object);
	bool is = type && (st_torch_python.PyType_GetFlags(type) & flag);

	st_torch_drop(type);
	return is;
}

static struct st_torch_module *free_place(const struct st_torch_modules *modules,
					  const struct py_object *object)
{
	uint64_t at = st_torch_module_place(object);

	while (modules->at[at & modules->mask].object &&
	       modules->at[at & modules->mask].object != object)
		at++;
	return &modules->at[at & modules->mask];
}

/* A larger table, or one as large without the dead. */
static bool make_room(void)
{
	const struct st_torch_modules old = st_torch_modules;
	struct st_torch_modules new = {.mask = PLACES_MIN - 1};
	uint64_t living = 0;

	if (refusals && ++refusals < REFUSALS_MAX)
		return false;
	refusals = 1;
	for (uint64_t i = 0; i <= old.mask; i++)
		if (old.at[i].object && st_torch_referent(old.at[i].reference) == old.at[i].object)
			living++;
	while (new.mask + 1 < 4 * living)
		new.mask = 2 * new.mask + 1;
	if (new.mask >= PLACES_MAX)
		return false;
	new.at = st_map_lazily((new.mask + 1) * sizeof(*new.at),
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (!new.at)
		return false;
	for (uint64_t i = 0; i <= old.mask; i++) {
		const struct st_torch_module *module = &old.at[i];

		if (!module->object)
			continue;
		if (st_torch_referent(module->reference) == module->object) {
			*free_place(&new, module->object) = *module;
			new.taken++;
		} else {
			st_torch_python.Py_DecRef(module->reference);
		}
	}
	refusals = 0;
	st_torch_modules = new;
	if (old.at != &none)
		st_syscall(SYS_munmap, old.at, (old.mask + 1) * sizeof(*old.at));
	return true;
}

static struct st_intern_node *intern(const char *text, uint32_t length)
{
	struct st_text_key key = st_text_key(text, length);
	struct st_intern_node *node = st_intern_find(ST_INDEX_STRINGS, &key);
	struct st_hot *saved;

	if (!node && st_busy_enter(&saved)) {
		node = st_intern_make(ST_INDEX_STRINGS, &key);
		st_busy_leave(saved);
	}
	return node;
}

void st_torch_module_slice(struct st_torch_named *slice, const char *name, uint32_t length)
{
	*slice = (struct st_torch_named){.name = name, .length = length, .stamp = ST_STAMP_NONE};
}

/* Takes over the reference. */
static struct st_torch_module *insert(struct py_object *object, struct py_object *reference,
				      const struct st_intern_node *path)
{
	struct st_torch_modules *modules = &st_torch_modules;
	struct st_torch_module *place;
	bool unsure;

	if (!path || (2ull * (modules->taken + 1) > modules->mask + 1 && !make_room())) {
		st_torch_python.Py_DecRef(reference);
		return NULL;
	}
	place = free_place(modules, object);
	/* The garbage collector kills modules, lets destructors call them, and then does away with references that this
	 * has made without a word, since 3.14. That is how what seems to be a new one at this address may come here. */
	unsure = place->object || st_torch_module_deaths_silent;
	if (place->object)
		st_torch_python.Py_DecRef(place->reference); /* of the dead one at this address */
	else
		modules->taken++;
	*place = (struct st_torch_module){
		.object = object, .reference = reference, .unsure = unsure};
	st_torch_module_slice(&place->slice, path->text, path->length);
	return place;
}

/* The entry of a module, by the path of the walk where it has none yet. */
static struct st_torch_module *know(const struct walk *walk, struct py_object *object)
{
	struct st_torch_module *module = st_torch_module_find(object);
	struct py_object *reference;

	if (module)
		return module;
	reference = refer(object);
	if (!reference) {
		st_torch_python.PyErr_Clear();
		return NULL;
	}
	module = st_torch_module_find(object);
	if (module || st_torch_referent(reference) != object) {
		st_torch_python.Py_DecRef(reference);
		return module;
	}
	return insert(object, reference, intern(walk->path, walk->length));
}

static struct py_object *items_of(struct py_object *object)
{
	static struct py_object *name;
	struct py_object *children, *items = NULL;

	if (!name)
		name = st_torch_python.PyUnicode_InternFromString("_modules");
	children = name ? st_torch_python.PyObject_GenericGetAttr(object, name) : NULL;
	if (children && is_kind(children, PY_TYPE_IS_DICT))
		items = st_torch_python.PyDict_Items(children);
	if (!items)
		st_torch_python.PyErr_Clear();
	st_torch_drop(children);
	return items;
}

static bool append(struct walk *walk, const char *text)
{
	size_t length = text ? strlen(text) : 0;

	if (!text || walk->length + 1 + length > sizeof(walk->path))
		return false;
	if (walk->length)
		walk->path[walk->length++] = '.';
	memcpy(walk->path + walk->length, text, length);
	walk->length += (uint32_t)length;
	return true;
}

static void append_class(struct walk *walk, struct py_object *object)
{
	struct py_object *type = st_torch_python.PyObject_Type(object);
	struct py_object *name =
		type ? st_torch_python.PyObject_GetAttrString(type, "__name__") : NULL;

	if (!append(walk, name ? st_torch_python.PyUnicode_AsUTF8(name) : NULL)) {
		st_torch_python.PyErr_Clear();
		append(walk, "nn.Module");
	}
	st_torch_drop(name);
	st_torch_drop(type);
}

static void go_through(struct walk *walk, struct py_object *object);
static void walk_root(struct py_object *object);

static void visit(struct walk *walk, struct py_object *key, struct py_object *object)
{
	const uint32_t length = walk->length;
	const char *text = key ? st_torch_python.PyUnicode_AsUTF8(key) : NULL;
	struct st_torch_module *module;

	if (!text)
		st_torch_python.PyErr_Clear();
	if (!text || !object || walk->visits++ >= VISITS_MAX || !st_torch_class_of(object))
		return;
	/* What torch.compile wraps has the path that it would have without, so that both can be compared. */
	if (!strcmp(text, "_orig_mod")) {
		if (walk->depth == 1 && walk->from_root && !st_torch_module_find(object))
			walk_root(object);
	} else if (!append(walk, text)) {
		return;
	}
	module = know(walk, object);
	if (module && module->walk != walk->number) {
		module->walk = walk->number;
		go_through(walk, object);
	}
	walk->length = length;
}

/* Everything below a module, whose path is the walk's. */
static void go_through(struct walk *walk, struct py_object *object)
{
	struct py_object *items, *item;
	ptrdiff_t count;

	if (walk->depth == DEPTH_MAX)
		return;
	items = items_of(object);
	count = items ? st_torch_python.PyList_Size(items) : 0;
	walk->depth++;
	for (ptrdiff_t i = 0; i < count; i++) {
		item = st_torch_python.PyList_GetItem(items, i);
		visit(walk, st_torch_python.PyTuple_GetItem(item, 0),
		      st_torch_python.PyTuple_GetItem(item, 1));
	}
	walk->depth--;
	st_torch_drop(items);
}

static void begin_walk(struct walk *walk, bool from_root)
{
	if (!++walk_count)
		walk_count = 1; /* 0: no walk has come by */
	walk->number = walk_count;
	walk->visits = walk->depth = walk->length = 0;
	walk->from_root = from_root;
}

/* The 1st, 2nd, 4th, 8th … time. */
static bool is_worth(uint32_t times)
{
	return !(times & (times - 1));
}

static void walk_again(struct py_object *outer)
{
	struct st_torch_module *module = st_torch_module_find(outer);
	struct walk walk;

	if (!module || !is_worth(++module->misses))
		return;
	begin_walk(&walk, false);
	walk.length = module->slice.length;
	memcpy(walk.path, module->slice.name, walk.length); /* came from such a buffer */
	module->walk = walk.number;
	st_torch_python.Py_IncRef(outer);
	go_through(&walk, outer);
	st_torch_python.Py_DecRef(outer);
}

static void walk_root(struct py_object *object)
{
	struct st_torch_module *module;
	struct walk walk;

	begin_walk(&walk, true);
	append_class(&walk, object);
	module = know(&walk, object);
	if (module) {
		module->walk = walk.number;
		go_through(&walk, object);
	}
}

struct st_torch_module *st_torch_module_name(struct py_object *object, struct py_object *outer)
{
	struct st_torch_module *module;

	if (outer) {
		walk_again(outer);
		module = st_torch_module_find(object);
		if (module) {
			struct st_torch_module *owner = st_torch_module_find(outer);

			if (owner)
				owner->misses = 0;
			return module;
		}
	}
	walk_root(object);
	return st_torch_module_find(object);
}
