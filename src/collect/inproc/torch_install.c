/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds PyTorch in the process and registers with it: two C functions for every scope, through its exported symbols.
 * Before that, where it can be done from C, a few small tensors are made and looked at, seen by this thread only, to prove the
 * layout that the inputs are read by (torch_layout.h). Where it cannot, or the proof fails, the framework is
 * asked for the sizes of every operator, and the program's own first operators may still prove it.
 *
 * Nothing is ever taken back: the framework calls the end of what began even after a removal, on any thread.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "base/rt/syscall.h"
#include "collect/inproc/thread.h"
#include "collect/inproc/torch.h"
#include "collect/inproc/torch_layout.h"
#include "collect/inproc/torch_record.h"
#include "collect/inproc/torch_stack.h"

enum {
	PATH_BYTES = 4096,
	VERSION_BYTES = 64,
	LEARN_RECORDS = 4096,
	ASKED_MAX = 256,
	LIST_RECORDS = 64,
	LIST_LOOKS = 4096,
	LIST_LOOKS_RARELY = 256,
	CHECKS = 1024, /* signatures that are checked, … */
	CHECKS_RARELY = 64,
	CHECKS_RIGHT = 8,  /* before reads are made wrong for tests */
	NEAR_BYTES = 8192, /* of stack, between a callback and the record it is told of */
};
enum { IDLE, INSTALLING, INSTALLED, GIVEN_UP };
enum { SCOPES = 10 };

/* Releases that the tests have seen: a wheel, and Debian's build, which tells no more of its version. */
static const char *const tested_versions[] = {" 2.13.", " 1.13"};

struct st_torch_config st_torch_config;

/* at::RecordFunctionCallback */
struct callback {
	void *(*begin)(void **context, const void *record);
	void (*end)(const void *record, void *context);
	double probability;
	bool scopes[SCOPES];
	bool needs_inputs, needs_outputs, needs_ids;
};
_Static_assert(sizeof(struct callback) == 40, "passed by value");

/* A std::vector of vectors, returned as any structure of its size is. */
struct sizes_list {
	struct st_torch_sizes *begin, *end, *capacity;
};

static struct {
	uint64_t (*add_global)(struct callback callback);
	uint64_t (*add_here)(struct callback callback);
	void (*remove)(uint64_t handle);
	const char *(*name)(const void *record);
	uint64_t (*num_inputs)(const void *record);
	uint64_t (*current_thread)(void);
	uint64_t (*peek_sequence)(void);
	struct sizes_list (*input_sizes)(const void *record, bool flatten);
	void (*delete_memory)(void *block);
	/* Makers of tensors; not in old releases. */
	int32_t (*empty)(int64_t dimensions, const int64_t *sizes, const int64_t *strides,
			 int32_t dtype, int32_t device, int32_t index, void **tensor);
	int32_t (*as_strided)(void *self, const int64_t *sizes, const int64_t *strides,
			      void **tensor);
	int32_t (*clone)(void *self, void **tensor);
	int32_t (*delete_tensor)(void *tensor);
} torch;

static const struct {
	const char *name;
	void *to;
} symbols[] = {
	{"_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", &torch.add_global},
	{"_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE", &torch.add_here},
	{"_ZN2at14removeCallbackEm", &torch.remove},
	{"_ZNK2at14RecordFunction4nameEv", &torch.name},
	{"_ZNK2at14RecordFunction10num_inputsEv", &torch.num_inputs},
	{"_ZN2at14RecordFunction15currentThreadIdEv", &torch.current_thread},
	{"_ZN2at15sequence_number4peekEv", &torch.peek_sequence},
	{"_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb", &torch.input_sizes},
	{"_ZdlPv", &torch.delete_memory},
	{"aoti_torch_empty_strided", &torch.empty},
	{"aoti_torch_as_strided", &torch.as_strided},
	{"aoti_torch_clone", &torch.clone},
	{"aoti_torch_delete_tensor_object", &torch.delete_tensor},
};

static _Atomic uint32_t state;
static bool stacks_used;       /* stacks were wanted, now or before */
static bool proven;	       /* the layout, by tensors of our own */
static _Atomic uint32_t level; /* enum st_operator_level; IN_PLACE: `layout` is complete */
static struct st_torch_layout layout;
static struct st_torch_learner learner;
static _Atomic uint32_t learning; /* records left to learn from; 0: over */
static struct st_torch_list_learner list_learner;
static struct st_torch_value_learner value_learner;
static _Atomic uint32_t lists_left; /* lists left to learn from */
static _Atomic uint32_t learner_lock;
static _Atomic bool contradicted; /* a layout that was proven turned out wrong */
static int32_t probe_dtype = -1;
#define FRAMEWORK "PyTorch"
static char framework[VERSION_BYTES + sizeof(FRAMEWORK) + 1] = FRAMEWORK;

static uint8_t digit(char text, char most)
{
	return text >= '0' && text <= most ? (uint8_t)(text - '0') : 0;
}

void st_torch_configure(const char *text)
{
	if (!strncmp(text, "s=", 2))
		st_torch_config.operators = digit(text[2], '2');
	else if (!strncmp(text, "_memory=", 8))
		st_torch_config.memory = text[8] == '1';
	else if (!strncmp(text, "_modules=", 9))
		st_torch_config.modules = text[9] == '1';
	else if (!strncmp(text, "_stacks=", 8))
		st_torch_config.stacks = text[8] == '1';
	else if (!strncmp(text, "_calls=", 7))
		st_torch_config.calls = text[7] == '1';
	else if (!strncmp(text, "_level=", 7))
		st_torch_config.level = digit(text[7], '9');
	else if (!strncmp(text, "_layout=", 8)) {
		st_torch_config.no_layout = text[8] == '0';
		st_torch_config.wrong_reads = text[8] == '2';
	}
}

void st_torch_init(void)
{
	stacks_used = st_torch_config.stacks;
	if (st_torch_config.operators && st_operator_init())
		return;
	/* A process that joins another strata, or a child that does, stays registered with the framework. */
	if (!st_torch_installed())
		atomic_init(&state, GIVEN_UP);
	st_torch_config.modules = st_torch_config.stacks = false;
}

bool st_torch_awaited(void)
{
	return st_config.active && atomic_load_explicit(&state, memory_order_relaxed) == IDLE;
}

bool st_torch_installed(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == INSTALLED;
}

struct wanted {
	const char *prefix;
	char *path;
	uint32_t path_bytes;
	bool found;
};

static int match_library(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct wanted *wanted = closure;
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	size_t length;

	(void)size;
	if (!name || strncmp(name + 1, wanted->prefix, strlen(wanted->prefix)) != 0)
		return 0;
	length = strlen(info->dlpi_name);
	if (length >= wanted->path_bytes)
		return 0;
	memcpy(wanted->path, info->dlpi_name, length + 1);
	wanted->found = true;
	return 1;
}

void *st_torch_library(const char *prefix, char *path, uint32_t path_bytes)
{
	char own[PATH_BYTES];
	struct wanted wanted = {.prefix = prefix,
				.path = path ? path : own,
				.path_bytes = path ? path_bytes : (uint32_t)sizeof(own)};

	dl_iterate_phdr(match_library, &wanted);
	return wanted.found ? dlopen(wanted.path, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

/* The framework's answers to one record, to be released. */
struct asked {
	struct st_torch_truth truth;
	struct sizes_list list;
};

static void ask(struct asked *asked, const void *record, bool flatten)
{
	ptrdiff_t listed;

	asked->list = torch.input_sizes(record, flatten);
	listed = asked->list.end - asked->list.begin;
	asked->truth = (struct st_torch_truth){
		.thread = torch.current_thread(),
		.inputs = torch.num_inputs(record),
		.sequence_next = (int64_t)torch.peek_sequence(),
		.dtype = probe_dtype,
		.listed = (uint32_t)(listed < ASKED_MAX ? listed : ASKED_MAX),
		.sizes = asked->list.begin,
	};
}

static void release(struct asked *asked)
{
	for (struct st_torch_sizes *at = asked->list.begin; at < asked->list.end; at++)
		if (at->begin)
			torch.delete_memory((void *)at->begin);
	if (asked->list.begin)
		torch.delete_memory(asked->list.begin);
}

/* Inputs that are read where they lie. */
struct in_place {
	const void *record;
	bool is_new; /* nobody has had such inputs before */
};

static struct st_operator_inputs encode_in_place(void *from, uint8_t *to, uint32_t room)
{
	struct in_place *inputs = from;

	inputs->is_new = true;
	return st_torch_inputs_encode(&layout, inputs->record, to, room);
}

static struct st_operator_inputs encode_values(void *from, uint8_t *to, uint32_t room)
{
	struct in_place *inputs = from;

	inputs->is_new = true;
	return st_torch_values_encode(&layout, inputs->record, to, room);
}

static struct st_operator_inputs encode_asked(void *from, uint8_t *to, uint32_t room)
{
	return st_torch_truth_encode(from, to, room);
}

static bool is_tested(void)
{
	for (size_t i = 0; i < sizeof(tested_versions) / sizeof(*tested_versions); i++)
		if (strstr(framework, tested_versions[i]))
			return true;
	return false;
}

static void settle(enum st_operator_level reached, const char *why)
{
	if (reached == ST_OPERATORS_IN_PLACE && !layout.list)
		atomic_store_explicit(&lists_left, LIST_RECORDS, memory_order_relaxed);
	/* Pairs with the acquire load in begin: the layout is complete. */
	atomic_store_explicit(&level, reached, memory_order_release);
	st_operator_source(reached, is_tested() ? 0 : ST_OPERATORS_UNTESTED, framework, why);
}

static const char *refusal(void)
{
	return learner.refused ? "the self-check found another layout"
			       : "the self-check has not seen enough";
}

/* One of the program's own operators more to prove the layout by; one thread at a time. */
static void learn_from(const void *record, const struct st_torch_truth *truth)
{
	uint32_t left = atomic_load_explicit(&learning, memory_order_relaxed);

	if (!left || atomic_exchange_explicit(&learner_lock, 1, memory_order_acquire))
		return;
	st_torch_learn(&learner, record, truth);
	if (st_torch_learned(&learner, &layout)) {
		settle(ST_OPERATORS_IN_PLACE, "");
		left = 1;
	} else if (learner.refused || left == 1) {
		settle(ST_OPERATORS_ASKED, refusal());
		left = 1;
	}
	atomic_store_explicit(&learning, left - 1, memory_order_relaxed);
	atomic_store_explicit(&learner_lock, 0, memory_order_release);
}

/* Where nothing of our own could prove them, lists are proven by those of the program. Until then they are inputs of
 * which nothing is known. */
static __attribute__((noinline)) void learn_list(const void *record, const char *name)
{
	static _Atomic uint32_t looked;
	uint32_t before = atomic_fetch_add_explicit(&looked, 1, memory_order_relaxed), left;
	bool is_convolution = !strcmp(name, "aten::convolution");
	struct asked asked;

	/* Looking costs system calls: in a program without any it has to become rare. */
	if ((before > LIST_LOOKS && before % LIST_LOOKS_RARELY) ||
	    (!is_convolution && !st_torch_has_list(&layout, record)) ||
	    atomic_exchange_explicit(&learner_lock, 1, memory_order_acquire))
		return;
	left = atomic_load_explicit(&lists_left, memory_order_relaxed);
	if (left) {
		struct st_torch_layout next = layout;

		if (is_convolution) {
			st_torch_learn_convolution(&value_learner, &next, record);
			st_torch_values_learned(&value_learner, &next);
		} else {
			ask(&asked, record, true);
			st_torch_learn_list(&list_learner, &next, record, &asked.truth);
			release(&asked);
		}
		/* Words that become others, complete at any moment; the last makes the others count. */
		if (next.list) {
			__atomic_store_n(&layout.tag_bool, next.tag_bool, __ATOMIC_RELEASE);
			__atomic_store_n(&layout.tag_list, next.tag_list, __ATOMIC_RELEASE);
			__atomic_store_n(&layout.list, next.list, __ATOMIC_RELEASE);
		}
		left = next.list || (list_learner.refused && value_learner.refused) ? 1 : left;
		atomic_store_explicit(&lists_left, left - 1, memory_order_relaxed);
	}
	atomic_store_explicit(&learner_lock, 0, memory_order_release);
}

static __attribute__((noinline)) void begin_asked(const void *record, struct st_operator *operator)
{
	uint8_t bytes[ST_SIGNATURE_BYTES_MAX];
	struct st_operator_inputs inputs;
	struct asked asked;

	ask(&asked, record, false);
	if (operator->scope == ST_SCOPE_FUNCTION)
		learn_from(record, &asked.truth);
	inputs = st_torch_truth_encode(&asked.truth, bytes, sizeof(bytes));
	operator->encode = encode_asked;
	operator->from = & asked.truth;
	operator->hash = st_text_mix(operator->hash + inputs.count,
				     st_text_hash((char *)bytes, inputs.bytes)) |
		1;
	st_operator_begin(record, operator);
	release(&asked);
}

static bool still_fits(const struct st_torch_layout *by, const void *record)
{
	enum st_torch_verdict verdict = st_torch_look(by, record);
	struct asked asked;
	bool agrees;

	if (verdict != ST_TORCH_ASK)
		return verdict == ST_TORCH_FITS;
	ask(&asked, record, false);
	agrees = st_torch_agrees(by, record, &asked.truth);
	release(&asked);
	return agrees;
}

/* A wrong read gives inputs that nobody had before: it is enough to look at those, and costs nothing for all others. */
static __attribute__((noinline)) void check_again(const void *record)
{
	static _Atomic uint32_t checked;
	uint32_t before = atomic_fetch_add_explicit(&checked, 1, memory_order_relaxed);
	struct st_torch_layout by = layout;

	if (before > CHECKS && before % CHECKS_RARELY)
		return;
	if (st_torch_config.wrong_reads && before >= CHECKS_RIGHT)
		by.sizes += 8;
	if (still_fits(&by, record) ||
	    atomic_exchange_explicit(&contradicted, true, memory_order_relaxed))
		return;
	settle(ST_OPERATORS_ASKED,
	       "a check while recording failed: inputs of earlier operators may be wrong");
}

/* Convolutions: what they do depends on stride, padding and the like. Told by a few bytes of the name, in less time
 * than a table would take. */
static inline bool needs_values(const char *name, uint32_t length)
{
	return length > 10 && (!memcmp(name + 6, "conv", 4) || !memcmp(name + 6, "_conv", 5));
}

/* What a begin has found out. */
struct beginning {
	const char *name;
	uint32_t length;
	enum st_operator_scope scope;
	int64_t sequence;
	uint64_t hash;
	bool has_inputs, has_values;
};

static __attribute__((noinline)) void begin_slowly(const void *record,
						   const struct beginning *beginning)
{
	struct in_place inputs = {.record = record};
	const struct st_operator operator= {.hash = beginning->hash,
					    .name = beginning->name,
					    .length = beginning->length,
					    .scope = beginning->scope,
					    .sequence = beginning->sequence,
					    .encode = !beginning->has_inputs  ? NULL
						      : beginning->has_values ? encode_values
									      : encode_in_place,
					    .from = &inputs};

	st_operator_begin(record, &operator);
	if (ST_UNLIKELY(inputs.is_new) && beginning->scope == ST_SCOPE_FUNCTION)
		check_again(record);
}

/* Whether the record is a variable of a function that called us, and not held by an object: then whoever called that
 * function waits for its end. */
static inline __attribute__((always_inline)) bool is_in_a_call(const void *record,
							       enum st_operator_scope scope)
{
	return (scope == ST_SCOPE_FUNCTION || scope == ST_SCOPE_BACKWARD) &&
	       (uintptr_t)record - (uintptr_t)__builtin_frame_address(0) < NEAR_BYTES;
}

static inline __attribute__((always_inline)) void *begin(void **context, const void *record,
							 enum st_operator_scope scope)
{
	/* Pairs with the release store in settle. */
	uint32_t how = atomic_load_explicit(&level, memory_order_acquire);
	const char *name = torch.name(record);
	bool has_inputs = how == ST_OPERATORS_IN_PLACE, has_values = false;
	int64_t sequence = -1;
	uint32_t length;
	uint64_t hash;

	*context = NULL;
	if (ST_UNLIKELY(stacks_used))
		st_torch_stack_tell(
			is_in_a_call(record, scope) ? (uintptr_t)record | ST_KEY_OPERATOR : 0);
	if (!name)
		name = "";
	length = st_text_length(name);
	hash = st_operator_hash(name, length, scope);
	if (ST_UNLIKELY(how == ST_OPERATORS_ASKED)) {
		begin_asked(record, &(struct st_operator){.hash = hash,
							  .name = name,
							  .length = length,
							  .scope = scope,
							  .sequence = -1});
		return context;
	}
	if (layout.record)
		memcpy(&sequence, (const char *)record + layout.record->sequence, sizeof(sequence));
	if (has_inputs) {
		if (ST_UNLIKELY(atomic_load_explicit(&lists_left, memory_order_relaxed)))
			learn_list(record, name);
		has_values = needs_values(name, length);
		hash = ST_UNLIKELY(has_values) ? st_torch_values_hash(&layout, record, hash)
					       : st_torch_inputs_hash(&layout, record, hash);
	}
	if (ST_UNLIKELY(!st_operator_begin_recent(record, st_operator_kind(scope), hash, sequence)))
		begin_slowly(record, &(struct beginning){name, length, scope, sequence, hash,
							 has_inputs, has_values});
	return context;
}

/* The scope is known by who is called: nothing has to be read for it. */
#define CALLBACKS(name, scope)                                                                     \
	static void *begin_##name(void **context, const void *record)                              \
	{                                                                                          \
		return begin(context, record, scope);                                              \
	}                                                                                          \
	static void end_##name(const void *record, void *context)                                  \
	{                                                                                          \
		(void)context;                                                                     \
		st_operator_end_of(record, st_operator_kind(scope));                               \
	}

CALLBACKS(function, ST_SCOPE_FUNCTION)
CALLBACKS(backward, ST_SCOPE_BACKWARD)
CALLBACKS(script, ST_SCOPE_SCRIPT)
CALLBACKS(user, ST_SCOPE_USER)
CALLBACKS(static_op, ST_SCOPE_STATIC_OP)
CALLBACKS(static_model, ST_SCOPE_STATIC_MODEL)

static const struct {
	enum st_operator_scope scope;
	void *(*begin)(void **context, const void *record);
	void (*end)(const void *record, void *context);
} callbacks[] = {
	{ST_SCOPE_FUNCTION, begin_function, end_function},
	{ST_SCOPE_BACKWARD, begin_backward, end_backward},
	{ST_SCOPE_SCRIPT, begin_script, end_script},
	{ST_SCOPE_USER, begin_user, end_user},
	{ST_SCOPE_STATIC_OP, begin_static_op, end_static_op},
	{ST_SCOPE_STATIC_MODEL, begin_static_model, end_static_model},
};

static void *begin_probe(void **context, const void *record)
{
	struct asked asked;

	*context = NULL;
	ask(&asked, record, false);
	st_torch_learn(&learner, record, &asked.truth);
	release(&asked);
	return context;
}

static struct st_torch_sizes probe_lists[2]; /* what the view is being made with */

/* The view, by the layout that has just been proven: its lists are known. */
static void *begin_probe_list(void **context, const void *record)
{
	const char *name = torch.name(record);

	*context = NULL;
	if (name && !strcmp(name, "aten::as_strided"))
		st_torch_learn_values(&value_learner, &layout, record, probe_lists);
	return context;
}

static void end_probe(const void *record, void *context)
{
	(void)record, (void)context;
}

/* A view needs no kernel; older releases have no function for it, but one for a copy. */
static int32_t look_at(void *tensor, const int64_t *sizes, const int64_t *strides, void **other)
{
	if (torch.as_strided)
		return torch.as_strided(tensor, sizes, strides, other);
	return torch.clone(tensor, other);
}

/* Makes a tensor, and an operator that takes it. */
static bool probe_one(const int64_t *sizes, int64_t dimensions, int32_t dtype)
{
	int64_t strides[ST_INPUT_DIMENSIONS_MAX], stride = 1;
	void *tensor = NULL, *view = NULL;
	bool made;

	for (int64_t i = dimensions; i-- > 0; stride *= sizes[i])
		strides[i] = stride;
	probe_dtype = dtype;
	probe_lists[0] = (struct st_torch_sizes){sizes, sizes + dimensions, NULL};
	probe_lists[1] = (struct st_torch_sizes){strides, strides + dimensions, NULL};
	made = !torch.empty(dimensions, sizes, strides, dtype, 0, 0, &tensor) && tensor &&
	       !look_at(tensor, sizes, strides, &view) && view;
	if (view)
		torch.delete_tensor(view);
	if (tensor)
		torch.delete_tensor(tensor);
	probe_dtype = -1;
	return made;
}

/* Different types, and sizes that nothing else looks like. */
static void probe(void *(*begin_one)(void **context, const void *record))
{
	static const struct {
		int64_t sizes[6], dimensions;
		int32_t dtype;
	} tensors[] = {
		{{3, 5, 7}, 3, 6}, {{11, 13}, 2, 5}, {{17, 2, 3, 19}, 4, 4},
		{{23}, 1, 7},	   {{29, 3}, 2, 11}, {{2, 3, 2, 5, 3, 7}, 6, 6},
	};
	struct callback callback = {
		.begin = begin_one, .end = end_probe, .probability = 1.0, .needs_inputs = true};
	uint64_t handle;

	callback.scopes[ST_SCOPE_FUNCTION] = true;
	handle = torch.add_here(callback);
	for (size_t i = 0; i < sizeof(tensors) / sizeof(*tensors); i++)
		if (!probe_one(tensors[i].sizes, tensors[i].dimensions, tensors[i].dtype))
			break;
	torch.remove(handle);
}

static void copy_version(const char *text, size_t length)
{
	/* Behind the name, whatever was there: a process may be entered again. */
	char *at = framework + sizeof(FRAMEWORK) - 1;

	if (!length || length >= VERSION_BYTES)
		return;
	*at++ = ' ';
	memcpy(at, text, length);
	at[length] = '\0';
}

/* Wheels have <torch>/version.py beside <torch>/lib; distributions put the version behind the library's name. */
static void read_version(char *path)
{
	static const char key[] = "__version__ = '";
	char text[1024], *name = strrchr(path, '/'), *folder, *at;
	const char *tail = name ? strstr(name, ".so.") : NULL;
	long fd, bytes;

	if (tail) {
		copy_version(tail + 4, strlen(tail + 4));
		return;
	}
	if (!name || st_passive())
		return;
	*name = '\0';
	folder = strrchr(path, '/');
	if (!folder || (size_t)(path + PATH_BYTES - folder) < sizeof("/version.py"))
		return;
	memcpy(folder, "/version.py", sizeof("/version.py"));
	fd = st_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (st_syscall_failed(fd))
		return;
	bytes = st_syscall(SYS_read, fd, text, sizeof(text) - 1);
	st_syscall(SYS_close, fd);
	text[bytes > 0 ? bytes : 0] = '\0';
	at = strstr(text, key);
	if (at)
		copy_version(at + sizeof(key) - 1, strcspn(at + sizeof(key) - 1, "'\n"));
}

static void resolve(void *library)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		*(void **)symbols[i].to = dlsym(library, symbols[i].name);
}

static bool can_ask(void)
{
	return torch.num_inputs && torch.current_thread && torch.peek_sequence &&
	       torch.input_sizes && torch.delete_memory;
}

static void prove_layout(void)
{
	void *c10 = st_torch_library("libc10.so", NULL, 0);

	st_torch_learner_init(&learner,
			      c10 ? dlsym(c10, "_ZN3c1019UndefinedTensorImpl10_singletonE") : NULL);
	if (st_torch_config.no_layout)
		learner.rows = 0; /* nothing that is known can be what is found */
	if (st_torch_config.level <= ST_OPERATORS_IN_PLACE && torch.add_here && torch.remove &&
	    torch.empty && (torch.as_strided || torch.clone) && torch.delete_tensor) {
		probe(begin_probe);
		proven = st_torch_learned(&learner, &layout);
		if (proven) {
			probe(begin_probe_list);
			st_torch_values_learned(&value_learner, &layout);
		}
	}
}

/* The best level that holds now. */
static void find_level(void)
{
	const char *no_inputs = st_torch_config.operators < 2 ? "inputs were not asked for" : NULL;

	if (!can_ask()) {
		settle(ST_OPERATORS_NAMES, "functions of the framework are missing");
	} else if (no_inputs || st_torch_config.level >= ST_OPERATORS_NAMES) {
		settle(ST_OPERATORS_NAMES, no_inputs ? no_inputs : "forced");
	} else if (contradicted) {
		settle(ST_OPERATORS_ASKED, "a check while recording had failed");
	} else if ((proven || layout.record) && st_torch_config.level <= ST_OPERATORS_IN_PLACE) {
		settle(ST_OPERATORS_IN_PLACE, "");
	} else if (st_torch_config.level == ST_OPERATORS_ASKED) {
		settle(ST_OPERATORS_ASKED, "forced");
	} else {
		if (!learner.refused)
			atomic_store_explicit(&learning, LEARN_RECORDS, memory_order_relaxed);
		settle(ST_OPERATORS_ASKED, refusal());
	}
}

static uint64_t handles[sizeof(callbacks) / sizeof(*callbacks)];
static uint8_t
	enlisted; /* what the registered callbacks were told of st_torch_config.operators; 0: there are none */

static void enlist(void)
{
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++) {
		struct callback callback = {.begin = callbacks[i].begin,
					    .end = callbacks[i].end,
					    .probability = 1.0,
					    .needs_inputs = st_torch_config.operators == 2 &&
							    level <= ST_OPERATORS_ASKED};

		callback.scopes[callbacks[i].scope] = true;
		handles[i] = torch.add_global(callback);
	}
	enlisted = st_torch_config.operators;
}

/* What has begun still ends with us, on whatever thread. */
static void strike(void)
{
	for (size_t i = 0; enlisted && torch.remove && i < sizeof(handles) / sizeof(*handles); i++)
		torch.remove(handles[i]);
	enlisted = torch.remove ? 0 : enlisted;
}

static bool can_register(void)
{
	return torch.add_global && torch.name && st_torch_config.level < ST_OPERATORS_ITT;
}

static const char *itt_reason(void)
{
	return torch.add_global && torch.name ? "forced" : "no way to register";
}

void st_torch_itt_source(const char *how)
{
	const char *parts[] = {itt_reason(), ", ", how};
	char why[160] = "";
	size_t at = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t bytes = strnlen(parts[i], sizeof(why) - 1 - at);

		memcpy(why + at, parts[i], bytes);
		at += bytes;
	}
	settle(ST_OPERATORS_ITT, why);
}

static bool install(void)
{
	char path[PATH_BYTES];
	void *library = st_torch_library("libtorch_cpu.so", path, sizeof(path));

	if (!library)
		return false;
	read_version(path);
	resolve(library);
	if (!can_register()) {
		settle(ST_OPERATORS_ITT, itt_reason());
		st_torch_itt_want();
		return true;
	}
	if (can_ask())
		prove_layout();
	find_level();
	enlist();
	return true;
}

bool st_torch_switch(const struct st_torch_config *wanted)
{
	uint32_t forced = st_torch_config.level;

	st_torch_config = *wanted;
	stacks_used = stacks_used || wanted->stacks;
	if (!st_torch_config.level)
		st_torch_config.level = (uint8_t)forced;
	if (!wanted->operators) {
		strike();
		return true;
	}
	if (atomic_load_explicit(&state, memory_order_relaxed) != INSTALLED) {
		if (!st_operator_init())
			return false;
		atomic_store_explicit(&state, IDLE, memory_order_relaxed);
		st_torch_trigger();
	} else if (can_register() && enlisted != wanted->operators) {
		strike();
		find_level();
		enlist();
	}
	return st_torch_installed() && enlisted;
}

void st_torch_trigger(void)
{
	uint32_t expected = IDLE;

#if !defined(__x86_64__)
	/* The place of a returned object differs there: begin would have to be written in assembly. */
	atomic_store_explicit(&state, GIVEN_UP, memory_order_relaxed);
#endif
	if (!atomic_compare_exchange_strong(&state, &expected, INSTALLING))
		return;
	expected = install() ? INSTALLED : IDLE;
	atomic_store_explicit(&state, expected, memory_order_release);
}
