// SPDX-License-Identifier: Apache-2.0
//
// Exact unwinding out of code that a JIT compiler made: where a piece begins and ends came as an event, its bytes are
// read out of the process, and the helper thread reads rules off them. Pieces that lie near each other get one
// table. A piece that is too new, or cannot be read, is left to the scan of the stack.
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/search.h"
#include "collect/launch/drain/drain_state.h"
#include "collect/launch/drain/tables.h"
#include "unwind/code.h"
#include "unwind/derive.h"

enum {
	JIT_LOAD = 13, /* numbers of the JIT interface */
	JIT_UNLOAD = 14,
	JIT_UPDATE = 15,
	JIT_LOAD_V2 = 21,
	JIT_LOAD_V3 = 22,
	NEAR_BYTES = 1 << 20,	    /* between two pieces of one table */
	GROUP_MAX_BYTES = 64 << 20, /* from the first piece of a table to the last */
	READ_MAX_BYTES = 16 << 20,  /* of code, for one table */
	TABLES_AT_ONCE = 32,
	ADDRESS_BITS = 47,
};

static const uint64_t quick_ns = 10000000, slow_ns = 1000000000;

/* The first piece that ends behind the address. */
static uint32_t lower_bound(const struct st_jit_codes *jit, uint64_t address)
{
	return ST_SEARCH(i, 0, jit->count, jit->codes[i].end <= address);
}

static void take_out(struct st_jit_codes *jit, uint32_t at, uint32_t count)
{
	memmove(&jit->codes[at], &jit->codes[at + count],
		(jit->count - at - count) * sizeof(*jit->codes));
	jit->count -= count;
}

static void mark_new(struct st_drain *drain, struct st_jit_code *code)
{
	code->is_new = true;
	if (!drain->jit.waits)
		drain->jit.since_ns = drain->now_ns;
	drain->jit.waits = true;
}

/* What lay there before is gone. */
static void add(struct st_drain *drain, const struct st_jit_code *code)
{
	struct st_jit_codes *jit = &drain->jit;
	uint32_t at = lower_bound(jit, code->start), end = at;

	if (!jit->codes)
		jit->codes = calloc(ST_JIT_CODES_MAX, sizeof(*jit->codes));
	while (end < jit->count && jit->codes[end].start < code->end)
		end++;
	take_out(jit, at, end - at);
	if (!jit->codes || jit->count == ST_JIT_CODES_MAX)
		return;
	memmove(&jit->codes[at + 1], &jit->codes[at], (jit->count - at) * sizeof(*jit->codes));
	jit->count++;
	jit->codes[at] = *code;
	mark_new(drain, &jit->codes[at]);
}

void st_drain_jit_event(struct st_drain *drain, const struct st_event *event)
{
	struct st_jit_codes *jit = &drain->jit;
	struct st_jit_code code = {
		.start = event->value, .end = event->value + event->extra, .method = event->id[0]};

	if (!drain->shared->tables)
		return;
	if (event->detail == JIT_UNLOAD) {
		for (uint32_t i = 0; i < jit->count; i++)
			if (jit->codes[i].method == code.method)
				take_out(jit, i--, 1);
		return;
	}
	if ((event->detail == JIT_LOAD || event->detail == JIT_UPDATE ||
	     event->detail == JIT_LOAD_V2 || event->detail == JIT_LOAD_V3) &&
	    event->extra && event->extra <= ST_DERIVE_CODE_MAX_BYTES && event->value &&
	    !(event->value >> ADDRESS_BITS))
		add(drain, &code);
}

bool st_drain_wants_code(const struct st_drain *drain)
{
	const struct st_jit_codes *jit = &drain->jit;

	return jit->waits && drain->maps.reads && jit->tables < ST_JIT_TABLES_MAX &&
	       drain->now_ns - jit->since_ns >= (jit->tables < TABLES_AT_ONCE ? quick_ns : slow_ns);
}

/* The piece behind the last of the table that begins at `first`. A table must not lie over a file's. */
static uint32_t group_end(const struct st_drain *drain, uint32_t first)
{
	const struct st_jit_codes *jit = &drain->jit;
	uint64_t bytes = 0;
	uint32_t end = first;

	for (; end < jit->count; end++) {
		const struct st_jit_code *code = &jit->codes[end];

		bytes += code->end - code->start;
		if (end > first && (code->start - code[-1].end > NEAR_BYTES ||
				    code->end - jit->codes[first].start > GROUP_MAX_BYTES ||
				    bytes > READ_MAX_BYTES))
			break;
		if (st_code_maps_has_file(&drain->maps, jit->codes[first].start, code->end))
			break;
	}
	return end;
}

static bool read_bytes(int pid, const struct st_jit_code *code, uint8_t *out)
{
	struct iovec here = {out, code->end - code->start};
	struct iovec there = {(void *)(uintptr_t)code->start, code->end - code->start};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)here.iov_len;
}

static void ask_for(struct st_drain *drain, int pid, uint32_t first, uint32_t end)
{
	struct st_jit_code *codes = drain->jit.codes;
	struct st_table_want want = {.fd = -1, .process = drain->process};
	size_t bytes = 0;
	uint8_t *out;

	for (uint32_t i = first; i < end; i++)
		bytes += codes[i].end - codes[i].start;
	want.codes = malloc((end - first) * sizeof(*want.codes) + bytes);
	if (!want.codes)
		return;
	out = (uint8_t *)(want.codes + (end - first));
	for (uint32_t i = first; i < end; i++) {
		if (!read_bytes(pid, &codes[i], out))
			continue; /* its memory was given back */
		want.codes[want.code_count++] =
			(struct st_unwind_code){codes[i].start, out, codes[i].end - codes[i].start};
		out += codes[i].end - codes[i].start;
	}
	if (!want.code_count) {
		free(want.codes);
		return;
	}
	want.start = want.codes[0].address;
	if (st_tables_ask(drain->shared->tables, &want))
		drain->jit.tables++;
}

void st_drain_read_code(struct st_drain *drain, int pid)
{
	struct st_jit_codes *jit = &drain->jit;
	uint32_t end;

	jit->waits = false;
	for (uint32_t first = 0; first < jit->count; first = end) {
		bool any_new = false;

		end = group_end(drain, first);
		for (uint32_t i = first; i < end; i++) {
			any_new |= jit->codes[i].is_new;
			jit->codes[i].is_new = false;
		}
		if (any_new && jit->tables < ST_JIT_TABLES_MAX)
			ask_for(drain, pid, first, end);
		if (end == first)
			end++; /* inside a file, which has a table of its own */
	}
}

void st_drain_jit_covered(struct st_drain *drain, uint64_t start, uint64_t end)
{
	struct st_publisher *publisher = &drain->publisher;
	struct st_jit_codes *jit = &drain->jit;

	for (uint32_t i = 0; i < publisher->count; i++) {
		struct st_module_entry *entry = &publisher->entries[i];

		if (!entry->is_code || entry->start >= end || entry->end <= start)
			continue;
		entry->is_code = false; /* the target drops it as a whole */
		for (uint32_t j = lower_bound(jit, entry->start);
		     j < jit->count && jit->codes[j].start < entry->end; j++)
			if (jit->codes[j].start < start || jit->codes[j].end > end)
				mark_new(drain, &jit->codes[j]);
	}
}
