/* SPDX-License-Identifier: Apache-2.0
 *
 * The begin and the end of an operator, as the framework calls them: inputs are read where they lie, by a layout that is
 * proven (torch_layout.h), or the framework is asked for them. What the probe could not prove, the program's own first
 * operators may; and what was proven is checked again at inputs that nobody has had before.
 */
#include "collect/inproc/torch/torch_callbacks.h"

#include <string.h>

#include "collect/inproc/core/thread.h"
#include "collect/inproc/torch/torch_enlist.h"
#include "collect/inproc/torch/torch_library.h"
#include "collect/inproc/torch/torch_record.h"
#include "collect/inproc/torch/torch_stack.h"

enum {
	LEARN_RECORDS = 4096,
	LIST_RECORDS = 64,
	LIST_LOOKS = 4096,
	LIST_LOOKS_RARELY = 256,
	CHECKS = 1024, /* signatures that are checked, … */
	CHECKS_RARELY = 64,
	CHECKS_RIGHT = 8,  /* before reads are made wrong for tests */
	NEAR_BYTES = 8192, /* of stack, between a callback and the record it is told of */
	LIBRARY_NAME_BYTES = 16,
};

struct st_torch_known st_torch_known;
bool st_torch_stacks_used;

static _Atomic uint32_t level;	  /* enum st_operator_level */
static _Atomic uint32_t learning; /* records left to learn from; 0: over */
static struct st_torch_list_learner list_learner;
static _Atomic uint32_t lists_left; /* lists left to learn from */
static _Atomic uint32_t learner_lock;
static _Atomic bool contradicted;

/* Inputs that are read where they lie. */
struct in_place {
	const void *record;
	bool is_new; /* nobody has had such inputs before */
};

static struct st_operator_inputs encode_in_place(void *from, uint8_t *to, uint32_t room)
{
	struct in_place *inputs = from;

	inputs->is_new = true;
	return st_torch_inputs_encode(&st_torch_known.layout, inputs->record, to, room);
}

static struct st_operator_inputs encode_values(void *from, uint8_t *to, uint32_t room)
{
	struct in_place *inputs = from;

	inputs->is_new = true;
	return st_torch_values_encode(&st_torch_known.layout, inputs->record, to, room);
}

static struct st_operator_inputs encode_asked(void *from, uint8_t *to, uint32_t room)
{
	return st_torch_truth_encode(from, to, room);
}

void st_torch_settle(enum st_operator_level reached, const char *why)
{
	if (reached == ST_OPERATORS_IN_PLACE && !st_torch_known.layout.list)
		atomic_store_explicit(&lists_left, LIST_RECORDS, memory_order_relaxed);
	/* Pairs with the acquire load in begin: the layout is complete. */
	atomic_store_explicit(&level, reached, memory_order_release);
	st_operator_source(reached, st_torch_is_tested() ? 0 : ST_OPERATORS_UNTESTED,
			   st_torch_framework(), why);
}

const char *st_torch_refusal(void)
{
	return st_torch_known.learner.refused ? "the self-check found another layout"
					      : "the self-check has not seen enough";
}

enum st_operator_level st_torch_level(void)
{
	return atomic_load_explicit(&level, memory_order_relaxed);
}

void st_torch_learn_on(void)
{
	atomic_store_explicit(&learning, LEARN_RECORDS, memory_order_relaxed);
}

bool st_torch_is_contradicted(void)
{
	return atomic_load_explicit(&contradicted, memory_order_relaxed);
}

/* One of the program's own operators more to prove the layout by; one thread at a time. */
static void learn_from(const void *record, const struct st_torch_truth *truth)
{
	uint32_t left = atomic_load_explicit(&learning, memory_order_relaxed);

	if (!left || atomic_exchange_explicit(&learner_lock, 1, memory_order_acquire))
		return;
	st_torch_learn(&st_torch_known.learner, record, truth);
	if (st_torch_learned(&st_torch_known.learner, &st_torch_known.layout)) {
		st_torch_settle(ST_OPERATORS_IN_PLACE, "");
		left = 1;
	} else if (st_torch_known.learner.refused || left == 1) {
		st_torch_settle(ST_OPERATORS_ASKED, st_torch_refusal());
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
	struct st_torch_memory_layout *layout = &st_torch_known.layout;
	struct st_torch_value_learner *values = &st_torch_known.values;
	uint32_t before = atomic_fetch_add_explicit(&looked, 1, memory_order_relaxed), left;
	bool is_convolution = !strcmp(name, "aten::convolution");
	struct st_torch_asked asked;

	/* Looking costs system calls: in a program without any it has to become rare. */
	if ((before > LIST_LOOKS && before % LIST_LOOKS_RARELY) ||
	    (!is_convolution && !st_torch_has_list(layout, record)) ||
	    atomic_exchange_explicit(&learner_lock, 1, memory_order_acquire))
		return;
	left = atomic_load_explicit(&lists_left, memory_order_relaxed);
	if (left) {
		struct st_torch_memory_layout next = *layout;

		if (is_convolution) {
			st_torch_learn_convolution(values, &next, record);
			st_torch_values_learned(values, &next);
		} else {
			st_torch_ask(&asked, record, true);
			st_torch_learn_list(&list_learner, &next, record, &asked.truth);
			st_torch_release(&asked);
		}
		/* Words that become others, complete at any moment; the last makes the others count. */
		if (next.list) {
			__atomic_store_n(&layout->tag_bool, next.tag_bool, __ATOMIC_RELEASE);
			__atomic_store_n(&layout->tag_list, next.tag_list, __ATOMIC_RELEASE);
			__atomic_store_n(&layout->list, next.list, __ATOMIC_RELEASE);
		}
		left = next.list || (list_learner.refused && values->refused) ? 1 : left;
		atomic_store_explicit(&lists_left, left - 1, memory_order_relaxed);
	}
	atomic_store_explicit(&learner_lock, 0, memory_order_release);
}

static __attribute__((noinline)) void begin_asked(const void *record,
						  struct st_torch_operator *operator)
{
	uint8_t bytes[ST_SIGNATURE_BYTES_MAX];
	struct st_operator_inputs inputs;
	struct st_torch_asked asked;

	st_torch_ask(&asked, record, false);
	if (operator->scope == ST_SCOPE_FUNCTION)
		learn_from(record, &asked.truth);
	inputs = st_torch_truth_encode(&asked.truth, bytes, sizeof(bytes));
	operator->encode = encode_asked;
	operator->from = & asked.truth;
	operator->hash = st_text_mix(operator->hash + inputs.count,
				     st_text_hash((char *)bytes, inputs.bytes)) |
		1;
	st_operator_begin(record, operator);
	st_torch_release(&asked);
}

static bool still_fits(const struct st_torch_memory_layout *by, const void *record)
{
	enum st_torch_verdict verdict = st_torch_look(by, record);
	struct st_torch_asked asked;
	bool agrees;

	if (verdict != ST_TORCH_ASK)
		return verdict == ST_TORCH_FITS;
	st_torch_ask(&asked, record, false);
	agrees = st_torch_agrees(by, record, &asked.truth);
	st_torch_release(&asked);
	return agrees;
}

/* A wrong read gives inputs that nobody had before: it is enough to look at those, and costs nothing for all others. */
static __attribute__((noinline)) void check_again(const void *record)
{
	static _Atomic uint32_t checked;
	uint32_t before = atomic_fetch_add_explicit(&checked, 1, memory_order_relaxed);
	struct st_torch_memory_layout by = st_torch_known.layout;

	if (before > CHECKS && before % CHECKS_RARELY)
		return;
	if (st_torch_config.wrong_reads && before >= CHECKS_RIGHT)
		by.sizes += 8;
	if (still_fits(&by, record) ||
	    atomic_exchange_explicit(&contradicted, true, memory_order_relaxed))
		return;
	st_torch_settle(ST_OPERATORS_ASKED,
			"a check while recording failed: inputs of earlier operators may be wrong");
}

/* Of what runs inside aten::convolution; all of these names are longer than LIBRARY_NAME_BYTES. */
static inline bool is_library_convolution(const char *name)
{
	return !memcmp(name + 6, "mkldnn_conv", 11) || !memcmp(name + 6, "slow_conv", 9) ||
	       !memcmp(name + 6, "_slow_conv", 10) || !memcmp(name + 6, "thnn_conv", 9) ||
	       !memcmp(name + 6, "cudnn_conv", 10) || !memcmp(name + 6, "miopen_conv", 11) ||
	       !memcmp(name, "mkldnn::_conv", 13);
}

/* Convolutions: what they do depends on stride, padding and the like. Told by a few bytes of the name, in less time
 * than a table would take. */
static inline bool needs_values(const char *name, uint32_t length)
{
	return length > 10 && (!memcmp(name + 6, "conv", 4) || !memcmp(name + 6, "_conv", 5) ||
			       (length > LIBRARY_NAME_BYTES && is_library_convolution(name)));
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
	const struct st_torch_operator operator= {.hash = beginning->hash,
						  .name = beginning->name,
						  .length = beginning->length,
						  .scope = beginning->scope,
						  .sequence = beginning->sequence,
						  .encode = !beginning->has_inputs ? NULL
							    : beginning->has_values
								    ? encode_values
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
	/* Pairs with the release store in st_torch_settle. */
	uint32_t how = atomic_load_explicit(&level, memory_order_acquire);
	const char *name = st_torch_functions.name(record);
	bool has_inputs = how == ST_OPERATORS_IN_PLACE, has_values = false;
	int64_t sequence = -1;
	uint32_t length;
	uint64_t hash;

	*context = NULL;
	if (ST_UNLIKELY(st_torch_stacks_used))
		st_torch_stack_tell(
			is_in_a_call(record, scope) ? (uintptr_t)record | ST_KEY_OPERATOR : 0);
	if (!name)
		name = "";
	length = st_text_length(name);
	hash = st_operator_hash(name, length, scope);
	if (scope == ST_SCOPE_USER)
		st_torch_turn_range(name);
	if (ST_UNLIKELY(how == ST_OPERATORS_ASKED)) {
		if (scope != ST_SCOPE_USER && st_torch_called_in_vain())
			return context;
		begin_asked(record, &(struct st_torch_operator){.hash = hash,
								.name = name,
								.length = length,
								.scope = scope,
								.sequence = -1});
		return context;
	}
	if (st_torch_known.layout.record)
		memcpy(&sequence, (const char *)record + st_torch_known.layout.record->sequence,
		       sizeof(sequence));
	if (has_inputs) {
		if (ST_UNLIKELY(atomic_load_explicit(&lists_left, memory_order_relaxed)))
			learn_list(record, name);
		has_values = needs_values(name, length);
		hash = ST_UNLIKELY(has_values)
			       ? st_torch_values_hash(&st_torch_known.layout, record, hash)
			       : st_torch_inputs_hash(&st_torch_known.layout, record, hash);
	}
	if (ST_UNLIKELY(
		    !st_operator_begin_recent(record, st_operator_kind(scope), hash, sequence)) &&
	    (scope == ST_SCOPE_USER || !st_torch_called_in_vain()))
		begin_slowly(record, &(struct beginning){name, length, scope, sequence, hash,
							 has_inputs, has_values});
	st_torch_turn_operator();
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

const struct st_torch_scope st_torch_scopes[ST_TORCH_CALLBACKS] = {
	{ST_SCOPE_FUNCTION, begin_function, end_function},
	{ST_SCOPE_BACKWARD, begin_backward, end_backward},
	{ST_SCOPE_SCRIPT, begin_script, end_script},
	{ST_SCOPE_USER, begin_user, end_user},
	{ST_SCOPE_STATIC_OP, begin_static_op, end_static_op},
	{ST_SCOPE_STATIC_MODEL, begin_static_model, end_static_model},
};
