/* SPDX-License-Identifier: Apache-2.0
 *
 * The code objects of a walk's frames. A thread remembers those that it has met; each is compared before its frame
 * is believed, but for those of files, of which a few are compared in turn.
 */
#include "collect/inproc/python/python_frames_walker.h"

#include <stdatomic.h>

#include "collect/inproc/core/handler_ring.h"

enum {
	KNOWN_PROBES = 8,
	CHECKED = 1, /* of those that can be trusted, compared in each sample ... */
	CHECK_EVERY =
		8, /* ... or so many times that in one of so many, where nothing else is copied */
	CONTENT_EVERY = 4,   /* ... and with their texts in one of so many */
	UNCOMPARED_MAX = 96, /* samples of one that is never chosen */
};

/* Code of a file was replaced at its place, which only its comparison has told: no code is trusted any more. */
static _Atomic bool replaced;

/* Modules, and with them the code of a file, hardly ever go. Code that ran once, for an import, does, and its place
 * is used again; but what runs there next belongs to another module. The rest is found out by comparing a few
 * of a sample's code objects in turn. */
static bool is_trusted(const struct st_frames_known *known, uint64_t globals)
{
	return known->content.of_file && known->id && known->fingerprint > 1 &&
	       known->globals == globals && !atomic_load_explicit(&replaced, memory_order_relaxed);
}

/* Has a code read. `whole`: and what tells it from others at the same place, which lies in many places. */
static void want(struct st_frames_walker *walker, struct st_frames_known *known,
		 struct st_frames_fetched *fetched, bool whole)
{
	struct st_python_batch *batch = &walker->scratch->batch;

	*fetched = (struct st_frames_fetched){.known = known, .in_batch = batch->count};
	fetched->code = st_batch_add(batch, known->address, walker->layout->code_bytes);
	if (!known->id || st_python_code_has_number(walker->runtime))
		return;
	fetched->as_before = !whole;
	if (!whole)
		return;
	fetched->content = batch->to + batch->size_bytes;
	for (uint32_t i = 0; i < ST_PYTHON_CONTENT_PARTS; i++)
		st_batch_add(batch, known->content.at[i], known->content.size_bytes[i]);
}

static void settle(const struct st_frames_walker *walker, struct st_frames_fetched *fetched)
{
	const bool *ok = &walker->scratch->batch.ok[fetched->in_batch];

	fetched->ok = ok[0];
	fetched->content_ok = fetched->content && ok[1] && ok[2] && ok[3];
}

void st_frames_want_codes(struct st_frames_walker *walker)
{
	struct st_frames_thread *thread = walker->thread;

	for (uint32_t i = 0; i < thread->ahead_count; i++) {
		struct st_frames_known *known = &thread->known[thread->met[i]];

		want(walker, known, &walker->scratch->ahead[i],
		     thread->with_content || !is_trusted(known, known->globals));
		known->ahead = i + 1;
		known->ahead_epoch = thread->epoch;
	}
}

void st_frames_settle_codes(struct st_frames_walker *walker)
{
	for (uint32_t i = 0; i < walker->thread->ahead_count; i++)
		settle(walker, &walker->scratch->ahead[i]);
	walker->ahead = true;
}

/* Where what is known of a code stands, or may stand; NULL: every place holds a code of this sample. */
static struct st_frames_known *find_known(struct st_frames_walker *walker, uint64_t code)
{
	struct st_frames_thread *thread = walker->thread;
	uint64_t hash = (code >> 4) * 0x9e3779b97f4a7c15ull >> 40;
	struct st_frames_known *victim = NULL; /* the one that was needed least recently */

	for (uint32_t i = 0; i < KNOWN_PROBES; i++) {
		struct st_frames_known *known = &thread->known[(hash + i) % ST_FRAMES_KNOWN_MAX];

		if (known->address == code)
			return known;
		if (!victim || known->epoch < victim->epoch)
			victim = known;
	}
	return victim->epoch == thread->epoch ? NULL : victim;
}

/* Which code this is. Of one that was known the content has been read along with it. */
static uint64_t identify(const struct st_frames_fetched *fetched,
			 const struct st_python_code_seen *code)
{
	struct st_frames_known *known = fetched->known;
	uint64_t object = fetched->ok ? st_python_code_fingerprint(code) : 0;
	bool numbered = st_python_code_has_number(code->runtime);
	bool same = object && object == known->object && known->id;

	known->object = object;
	if (!object)
		return 0;
	if (same && fetched->as_before)
		return known->fingerprint;
	same = same && (numbered || fetched->content_ok);
	if (!same)
		st_python_content_find(code, &known->content);
	if (numbered)
		return object;
	return st_python_content_mix(&known->content, object, same ? fetched->content : NULL);
}

static bool put_code(void *to, enum st_ring_ext subkind, const struct st_part *parts,
		     uint32_t part_count)
{
	return st_handler_put(to, subkind, parts, part_count);
}

/* Compares a code with what is known of it; a new one gets its id and is described. */
static void know(struct st_frames_walker *walker, const struct st_frames_fetched *fetched)
{
	struct st_frames_known *known = fetched->known;
	struct st_python_code_seen code = {
		.runtime = walker->runtime, .address = known->address, .bytes = fetched->code};
	bool was_trusted = is_trusted(known, known->globals_seen);
	uint64_t fingerprint = identify(fetched, &code);
	uint8_t copy[ST_PYTHON_CODE_BYTES_MAX];
	uint32_t described;
	bool define;

	known->uncompared = 0;
	if (fingerprint && known->fingerprint == fingerprint && known->id) {
		known->globals = known->globals_seen;
		return;
	}
	if (was_trusted)
		atomic_store_explicit(&replaced, true, memory_order_relaxed);
	known->fingerprint = fingerprint;
	known->globals = known->globals_seen;
	known->id = 0;
	if (!fingerprint)
		return;
	known->traceable = walker->layout->code_traceable
				   ? st_frames_load32(code.bytes + walker->layout->code_traceable)
				   : -1;
	known->id = st_python_code_id(fingerprint, &define);
	if (!define)
		return;
	/* The texts go where it may lie. */
	memcpy(copy, code.bytes, walker->layout->code_bytes);
	code.bytes = copy;
	described =
		st_python_code_describe(&(struct st_python_code_sink){put_code, walker->out->ring},
					&code, known->id, walker->scratch->description);
	if (described)
		known->id = described;
	st_python_code_described(fingerprint, known->id, described != 0);
	if (!described)
		known->fingerprint = 1; /* asked for again the next time */
	walker->piece_count = 0;
	walker->ahead = false;
	if (walker->own)
		return;
	walker->low = walker->high = 0;
	walker->older = walker->base;
}

/* For the next sample to read ahead. */
static void remember(struct st_frames_walker *walker, const struct st_frames_known *known)
{
	const struct st_frames_known *table = walker->thread->known;

	if (known >= table && known < table + ST_FRAMES_KNOWN_MAX &&
	    walker->met_count < ST_FRAMES_MET_MAX)
		walker->scratch->met[walker->met_count++] = (uint16_t)(known - table);
}

/* What was read ahead of a code, if that is enough to know it in a frame with these globals. */
static const struct st_frames_fetched *read_before(const struct st_frames_walker *walker,
						   const struct st_frames_known *known,
						   uint64_t globals)
{
	const struct st_frames_fetched *fetched;

	if (!walker->ahead || !known->ahead || known->ahead_epoch != walker->thread->epoch)
		return NULL;
	fetched = &walker->scratch->ahead[known->ahead - 1];
	return fetched->as_before && known->globals != globals ? NULL : fetched;
}

void st_frames_know_block(struct st_frames_walker *walker)
{
	struct st_frames_scratch *scratch = walker->scratch;
	uint32_t count = 0, epoch = walker->thread->epoch;

	st_frames_batch_begin(walker, scratch->codes);
	for (uint32_t i = 0; i < walker->item_count; i++) {
		struct st_frames_item *item = &scratch->block[i];
		const struct st_frames_fetched *before;
		struct st_frames_known *known;

		if (item->flags & ST_FRAMES_SHIM)
			continue;
		known = find_known(walker, item->code);
		if (!known) {
			known = &scratch->spare[i];
			*known = (struct st_frames_known){0};
		}
		item->known = known;
		if (known->address == item->code && known->epoch == epoch)
			continue;
		if (known->address != item->code)
			*known = (struct st_frames_known){.address = item->code};
		known->epoch = epoch;
		remember(walker, known);
		known->globals_seen = item->globals;
		before = read_before(walker, known, item->globals);
		if (before)
			know(walker, before);
		else if (!is_trusted(known, item->globals) || ++known->uncompared >= UNCOMPARED_MAX)
			want(walker, known, &scratch->wanted[count++], true);
	}
	if (!count)
		return;
	st_frames_batch_run(walker);
	for (uint32_t i = 0; i < count; i++) {
		settle(walker, &scratch->wanted[i]);
		know(walker, &scratch->wanted[i]);
	}
}

/* What the next sample will likely meet again: first, to be read ahead, what has to be compared then. By chance: a
 * turn that keeps step with the program's own may pass over the same code for ever. */
void st_frames_keep_codes(struct st_frames_walker *walker)
{
	struct st_frames_thread *thread = walker->thread;
	const uint16_t *met = walker->scratch->met;
	uint32_t count = walker->met_count, ahead = 0, rest = count;
	uint32_t turn, checked = CHECKED;

	thread->random = thread->random * 6364136223846793005u + 1442695040888963407u;
	turn = count ? (uint32_t)(thread->random >> 32) % count : 0;
	thread->with_content = (thread->random >> 60) % CONTENT_EVERY == 0;
	/* Hardly anything else has to be copied: seldom, and then more of them. */
	if (walker->own)
		checked = (thread->random >> 50) % CHECK_EVERY ? 0 : CHECKED * CHECK_EVERY;
	for (uint32_t i = 0; i < count; i++) {
		const struct st_frames_known *known = &thread->known[met[i]];

		if ((i + count - turn) % count >= checked && is_trusted(known, known->globals)) {
			thread->met[--rest] = met[i];
			continue;
		}
		thread->ahead_codes[ahead] = known->address;
		thread->met[ahead++] = met[i];
	}
	thread->met_count = count;
	thread->ahead_count = ahead;
}
