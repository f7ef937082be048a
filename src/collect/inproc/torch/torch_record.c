/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices of PyTorch: operators, ranges that the program names, calls of nn.Module. As in task.c a begin and an end
 * are a few words and one release store; what is unusual goes to the slow path. A begin names a signature, which is
 * found by its hash in a table of the process that a fork wipes: a child defines its own.
 *
 * Which slices of a thread are open is known by their keys, because an end may come on another thread
 * (torch_elsewhere.c), or for what began before a fork.
 */
#include "collect/inproc/torch/torch.h"

#include <pthread.h>
#include <string.h>

#include "collect/inproc/core/label.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/torch/torch_record.h"
#include "collect/inproc/core/words.h"

enum {
	SLOTS = 1 << 16,
	SIGNATURES_MAX = SLOTS / 2,
	MEMORY_WORDS_MAX = 3, /* of ST_EXT_MEMORY, behind its head */
	HEAD_BYTES = 12,      /* of a signature, before its inputs */
	SOURCE_TEXT_MAX = 160,
};

_Static_assert(SIGNATURES_MAX < 1 << ST_OPERATOR_ID_BITS &&
		       (int)SIGNATURES_MAX <= (int)ST_WORD_NAME_MAX,
	       "an id has its place in a recent hash and in a word");

static const char *const domain_names[ST_KEY_KINDS] = {ST_OPERATOR_DOMAIN, ST_RANGE_DOMAIN,
						       ST_MODULE_DOMAIN};
struct itt_domain *st_operator_domains[ST_KEY_KINDS];
struct st_operator_front *st_operator_front;

struct signature {
	_Atomic uint64_t hash; /* stored last; 0: free */
	uint32_t id;
	uint32_t reserved;
};

static struct {
	struct st_operator_front front;
	struct signature slot[SLOTS];
} * table;		     /* MADV_WIPEONFORK */
static uint32_t generations; /* a child goes on counting */

static struct {
	enum st_operator_level level;
	uint32_t flags, length;
	char text[SOURCE_TEXT_MAX]; /* framework, NUL, why */
} source;

bool st_operator_init(void)
{
	if (table)
		return true;
	table = st_map_wiped((sizeof(*table) + 4095) & ~4095ul);
	for (int i = 0; i < ST_KEY_KINDS; i++)
		st_operator_domains[i] = st_domain_create(domain_names[i]);
	if (table)
		st_operator_front = &table->front;
	return table != NULL;
}

void st_operator_undefine(void)
{
	if (!table)
		return;
	/* Pairs with the load in remember: who stores after what follows sees it. */
	atomic_store_explicit(&table->front.generation, 0, memory_order_seq_cst);
	memset(table, 0, sizeof(*table));
}

static inline struct signature *find(uint64_t hash)
{
	for (uint64_t at = hash >> 20;; at++) {
		struct signature *slot = &table->slot[at % SLOTS];
		/* Pairs with the release store in define: the id is there, and its definition. */
		uint64_t found = atomic_load_explicit(&slot->hash, memory_order_acquire);

		if (ST_LIKELY(found == hash))
			return slot;
		if (!found)
			return NULL;
	}
}

/* Found while the generation was this one, and recorded: nothing is being undefined. */
static void remember(const struct signature *signature, uint32_t generation)
{
	uint64_t hash = atomic_load_explicit(&signature->hash, memory_order_relaxed);
	_Atomic uint64_t *place = st_operator_place(hash);

	if (!generation)
		return;
	/* Also pairs with the acquire load of st_operator_recent. */
	atomic_store_explicit(place,
			      (hash >> ST_OPERATOR_ID_BITS << ST_OPERATOR_ID_BITS) | signature->id,
			      memory_order_seq_cst);
	if (atomic_load_explicit(&table->front.generation, memory_order_seq_cst) != generation)
		atomic_store_explicit(place, 0, memory_order_relaxed);
}

/* In front of the first record that needs it; again when the ring was full. Between enter and leave. */
static void tell_source(void)
{
	if (atomic_load_explicit(&table->front.source_told, memory_order_relaxed) ||
	    !st_process_lock())
		return;
	if (source.length && st_define(ST_DEFINE_OPERATOR_SOURCE, source.level | source.flags << 8,
				       source.text, source.length))
		atomic_store_explicit(&table->front.source_told, 1, memory_order_relaxed);
	st_process_unlock();
}

void st_operator_source(enum st_operator_level level, uint32_t flags, const char *framework,
			const char *why)
{
	size_t first = strnlen(framework, SOURCE_TEXT_MAX / 2);
	size_t second = strnlen(why, SOURCE_TEXT_MAX / 2 - 1);
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return;
	if (st_process_lock()) {
		bool same = source.level == level && source.flags == flags &&
			    source.length == first + 1 + second &&
			    !memcmp(source.text + first + 1, why, second);

		memcpy(source.text, framework, first);
		source.text[first] = '\0';
		memcpy(source.text + first + 1, why, second);
		source.level = level;
		source.flags = flags;
		source.length = (uint32_t)(first + 1 + second);
		if (!same)
			atomic_store_explicit(&table->front.source_told, 0, memory_order_relaxed);
		st_process_unlock();
	}
	tell_source();
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

/* The id of a signature that is not in the table, or 0. Between enter and leave: uses the scratch. */
static uint32_t define(struct st_thread *thread, const struct st_torch_operator *operator,
		       uint32_t domain, uint32_t name)
{
	uint8_t *bytes = (uint8_t *)thread->scratch;
	struct st_operator_inputs inputs = {0};
	struct signature *slot;
	uint64_t at = operator->hash>> 20;
	uint32_t id = 0;

	if (operator->encode)
		inputs = operator->encode(operator->from, bytes + HEAD_BYTES,
					  ST_SIGNATURE_BYTES_MAX - HEAD_BYTES);
	memcpy(bytes, &domain, 4);
	memcpy(bytes + 4, &name, 4);
	bytes[8] = (uint8_t) operator->scope;
	bytes[9] = inputs.flags;
	memcpy(bytes + 10, &inputs.count, 2);
	if (!st_process_lock())
		return 0;
	slot = find(operator->hash);
	if (slot) {
		id = slot->id;
	} else if (table->front.count < SIGNATURES_MAX &&
		   st_define(ST_DEFINE_SIGNATURE, table->front.count + 1, (char *)bytes,
			     HEAD_BYTES + inputs.bytes)) {
		id = ++table->front.count;
		if (id == 1)
			atomic_store_explicit(&table->front.generation, ++generations,
					      memory_order_relaxed);
		while (atomic_load_explicit(&table->slot[at % SLOTS].hash, memory_order_relaxed))
			at++;
		table->slot[at % SLOTS].id = id;
		/* Pairs with the acquire load in find. */
		atomic_store_explicit(&table->slot[at % SLOTS].hash, operator->hash,
				      memory_order_release);
	}
	st_process_unlock();
	return id;
}

static bool write_begin(struct st_thread *thread, const struct st_torch_operator *operator,
			uint32_t domain, const struct st_itt_label *label)
{
	uint32_t id = label->text ? 0 : define(thread, operator, domain, label->name);
	uint32_t length = label->text_length;
	uint64_t payload = st_operator_payload(id, operator->sequence);

	if (!st_thread_catch_up(thread))
		return false;
	if (label->text && length > thread->ring_bytes / 4)
		length = (uint32_t)thread->ring_bytes / 4;
	if (st_ring_room(thread) < 16 + 16 + 16 + 16 + (int64_t)length + 8 + 16 + 24 + ST_END_BYTES)
		return false;
	if (id) {
		if (!st_ring_put(thread, ST_EXT_OPERATOR, 0, &payload, 1))
			return false;
		thread->hot.run++;
		return true;
	}
	st_ring_put_caller(thread, label->name, 0);
	if (label->text && !st_ring_put_text(thread, label->text, length))
		return false;
	st_ring_put_begin(thread, 0, domain, label->name, label->text ? ST_BEGIN_TEXT : 0);
	return true;
}

/* For the short way; kept as `remember` keeps a signature. */
static void remember_end(uint32_t kind, uint32_t domain, uint32_t generation)
{
	_Atomic uint32_t *place = &table->front.end_word[kind];

	if (!generation || domain - 1 >= ST_WORD_DOMAIN_MAX ||
	    atomic_load_explicit(place, memory_order_relaxed))
		return;
	atomic_store_explicit(place, (uint32_t)st_word_slice(ST_WORD_END, domain, 0, 0),
			      memory_order_seq_cst);
	if (atomic_load_explicit(&table->front.generation, memory_order_seq_cst) != generation)
		atomic_store_explicit(place, 0, memory_order_relaxed);
}

static void end_top(struct st_thread *thread, uint64_t time, bool recording)
{
	uint32_t kind = (uint32_t)thread->key[thread->hot.key_count--] & 7, generation, domain;

	if (st_open_end(thread, recording) != ST_END_WRITE)
		return;
	generation = atomic_load_explicit(&table->front.generation, memory_order_acquire);
	domain = st_domain_of(st_operator_domains[kind]);
	st_ring_put_end(thread, time, domain);
	remember_end(kind, domain, generation);
}

void st_operator_close_ended(struct st_thread *thread)
{
	bool recording = !atomic_load_explicit(thread->hot.control, memory_order_relaxed);
	uint64_t time;

	if (ST_LIKELY(!atomic_load_explicit(&thread->hot.ended_count, memory_order_acquire)))
		return;
	while (thread->hot.key_count &&
	       st_operator_take_ended(thread, thread->key[thread->hot.key_count], &time))
		end_top(thread, time, recording);
	st_operator_forget_ended(thread);
}

static void begin_entered(struct st_thread *thread, const void *key,
			  const struct st_torch_operator *operator)
{
	uint32_t control = atomic_load_explicit(thread->hot.control, memory_order_relaxed);
	uint32_t kind = st_operator_kind(operator->scope), domain;
	struct st_itt_label label;

	st_operator_close_ended(thread);
	if (thread->hot.key_count == ST_KEYS_MAX) {
		thread->lost++;
		atomic_fetch_add_explicit(&thread->ring->dropped, 1, memory_order_relaxed);
		return;
	}
	thread->hot.key_count++;
	thread->key[thread->hot.key_count] = (uintptr_t)key | kind;
	if (control & (ST_CONTROL_STOPPED | ST_CONTROL_DETACHED)) {
		st_open_skip(thread, false);
		return;
	}
	tell_source();
	domain = st_domain_of(st_operator_domains[kind]);
	label = st_label_of_text(thread, operator->name, operator->length);
	if (control)
		st_open_pause(thread, domain, label.name, 0);
	else if (!write_begin(thread, operator, domain, &label))
		st_open_skip(thread, true);
	if (!control)
		st_note_running();
}

static __attribute__((noinline)) void begin_slow(const void *key,
						 const struct st_torch_operator *operator)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_SLICE);

	if (!thread)
		return;
	begin_entered(thread, key, operator);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

void st_operator_begin(const void *key, const struct st_torch_operator *operator)
{
	struct st_hot *hot = st_tls;
	uint64_t limit = st_words_take_limit(hot);
	const struct signature *signature;
	uint32_t generation;

	if (ST_LIKELY(limit)) {
		generation = atomic_load_explicit(&table->front.generation, memory_order_acquire);
		signature = find(operator->hash);
		if (ST_LIKELY(signature &&
			      st_operator_begin_fast(hot, limit,
						     (uintptr_t)key |
							     st_operator_kind(operator->scope),
						     signature->id, operator->sequence))) {
			remember(signature, generation);
			return;
		}
		hot->limit = limit;
	}
	begin_slow(key, operator);
}

void st_operator_begin_module_slowly(const void *key, struct st_torch_named *named)
{
	const struct st_torch_operator operator= {
		.hash = st_operator_hash(named->name, named->length, ST_SCOPE_MODULE),
		.name = named->name,
		.length = named->length,
		.scope = ST_SCOPE_MODULE,
		.sequence = -1};
	const struct signature *signature;

	begin_slow(key, &operator);
	signature = find(operator.hash);
	if (signature) {
		uint64_t stamp = atomic_load_explicit(&table->front.stamp, memory_order_relaxed);

		named->word = (uint32_t)st_word_slice(ST_WORD_OPERATOR, 0, signature->id, 0);
		named->stamp = (uint32_t)stamp ? stamp : ST_STAMP_NONE;
	}
}

/* Ranges may cross, as those of two coroutines do: this one ends, what was begun in it goes on. */
static void end_below(struct st_thread *thread, uint32_t at, uint64_t time)
{
	uint32_t kind = (uint32_t)thread->key[at] & 7, left = 0;

	for (uint32_t i = at; i < thread->hot.key_count; i++) {
		thread->key[i] = thread->key[i + 1];
		left += ((uint32_t)thread->key[i] & 7) == kind;
	}
	thread->hot.key_count--;
	st_ring_put_end_below(thread, time, st_domain_of(st_operator_domains[kind]), left);
}

/* What runs on this thread has its key in a frame of its stack, further out than this one. The C library has a thread's
 * own data behind its stack; that of the first thread lies below all of it. */
static bool runs_here(uintptr_t key)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), own = (uintptr_t)pthread_self();

	return key > here && (own < here || key < own);
}

/* A range may outlive the slice it began in, and an operator may outlive a range, which a hook may end. Any
 * other operator that is still open has ended on another thread, which has not said so yet. */
static bool all_above_go_on(const struct st_thread *thread, uint32_t at)
{
	bool is_range = (thread->key[at] & 7) == ST_KEY_RANGE;

	while (++at <= thread->hot.key_count)
		if ((thread->key[at] & 7) != ST_KEY_RANGE &&
		    !(is_range && runs_here(thread->key[at])))
			return false;
	return true;
}

/* False: it did not begin here. */
static bool end_entered(struct st_thread *thread, uintptr_t key, uint64_t now)
{
	bool recording = !atomic_load_explicit(thread->hot.control, memory_order_relaxed);
	uint32_t at;

	st_operator_close_ended(thread);
	at = thread->hot.key_count;
	while (at && thread->key[at] != key)
		at--;
	/* With so many open, what was begun has no place in the list. */
	if (!at)
		return thread->hot.key_count == ST_KEYS_MAX;
	if (at < thread->hot.key_count && recording && st_open_all_written(thread) &&
	    all_above_go_on(thread, at)) {
		end_below(thread, at, now);
		return true;
	}
	/* Where some were not recorded it is not known which of those that are open this is: all end. */
	while (thread->hot.key_count >= at)
		end_top(thread, now, recording);
	return true;
}

void st_operator_end_slowly(uintptr_t key)
{
	struct st_hot *hot = st_tls;
	uint64_t now = st_ticks();
	bool done = false;

	/* A thread that has recorded nothing has nothing open. */
	if (hot && hot->data) {
		struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

		if (!thread)
			return;
		done = end_entered(thread, key, now);
		st_thread_set_limit(thread);
		st_thread_leave(thread);
	}
	if (!done)
		st_operator_ended_elsewhere(key, now);
}

/* Paused slices must be told before what lies in them, and those that others have ended must be closed. */
static bool put_block(struct st_thread *thread, const uint64_t *payload, uint32_t words)
{
	st_operator_close_ended(thread);
	return st_thread_tell(thread) &&
	       st_ring_room(thread) >= 16 + 8 * (int64_t)(1 + MEMORY_WORDS_MAX) &&
	       st_ring_put(thread, ST_EXT_MEMORY, 0, payload, words);
}

static __attribute__((noinline)) void block_slow(const uint64_t *payload, uint32_t words)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_EVENT);

	if (!thread)
		return;
	if (!atomic_load_explicit(thread->hot.control, memory_order_relaxed)) {
		tell_source();
		if (!put_block(thread, payload, words))
			atomic_fetch_add_explicit(&thread->ring->events_dropped, 1,
						  memory_order_relaxed);
	}
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

void st_operator_block(const void *address, int64_t bytes, uint32_t place)
{
	const uint64_t payload[MEMORY_WORDS_MAX] = {(uintptr_t)address, (uint64_t)bytes, place};
	const uint32_t words = place ? 3 : 2;
	struct st_hot *hot = st_tls;
	uint64_t limit = st_words_take_limit(hot), now, dt;

	if (ST_UNLIKELY(!limit))
		goto slow;
	now = st_ticks();
	dt = now - hot->last;
	if (ST_UNLIKELY(hot->head + 8 * (1 + MEMORY_WORDS_MAX) > limit || dt > ST_WORD_DT_MAX ||
			atomic_load_explicit(&hot->ended_count, memory_order_relaxed) ||
			atomic_load_explicit(hot->control, memory_order_relaxed))) {
		hot->limit = limit;
		goto slow;
	}
	st_words_put(hot, st_word_ext(ST_EXT_MEMORY, 1 + words, dt));
	for (uint32_t i = 0; i < words; i++)
		st_words_put(hot, payload[i]);
	hot->last = now;
	st_words_publish(hot);
	atomic_signal_fence(memory_order_seq_cst);
	hot->limit = limit;
	return;
slow:
	block_slow(payload, words);
}
