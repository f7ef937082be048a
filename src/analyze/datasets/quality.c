// SPDX-License-Identifier: Apache-2.0
//
// The quality of a result in words.
#include "analyze/datasets/quality.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "store/events.h"
#include "store/result.h"
#include "store/samples.h"
#include "format/analysis.h"

/* CPU time in no sample is worth a word when it is a tenth of all, and more than a moment. */
enum { UNSEEN_PERIODS = 5, UNSEEN_SHARE = 20, PERIOD_USUAL_NS = 10000000 };
enum { MACHINE_TIME_MIN_NS = 200000000 };

/* Shares of samples from which something is a flaw: samples that are not there at all, a stack that ends too early or
 * in doubt, and callers that a scan found, which are mostly right. What any recording has is none. */
enum { FLAW_LOST = 1, FLAW_STACK = 5, FLAW_SCANNED = 25, NEVER_A_FLAW = 101 };

/* Only a clock domain makes them, and few programs have one: without it there is nothing to look for. */
static uint64_t estimated_times(const struct st_result *result)
{
	const struct st_events *events = st_result_events(result);
	uint32_t object_count;
	const struct st_object *objects = st_result_objects(result, &object_count);
	bool has_clock = false;
	uint64_t count = 0;

	for (uint32_t i = 0; i < object_count; i++)
		has_clock = has_clock || objects[i].kind == ST_OBJECT_CLOCK;
	for (uint32_t i = 0; has_clock && i < events->count; i++)
		count += (events->rows[i].flags & ST_EVENT_TIME_ESTIMATED) != 0;
	return count;
}

/* Only the object that stands for all beyond the limit can have them. */
static uint64_t events_of_others(const struct st_result *result)
{
	const struct st_events *events = st_result_events(result);
	uint32_t object_count;
	const struct st_object *objects = st_result_objects(result, &object_count);
	bool has_others = false;
	uint64_t count = 0;

	for (uint32_t i = 0; i < object_count; i++)
		has_others = has_others || objects[i].kind == ST_OBJECT_OTHERS;
	for (uint32_t i = 0; has_others && i < events->count; i++) {
		uint32_t object = events->rows[i].object;

		count += object < object_count && objects[object].kind == ST_OBJECT_OTHERS;
	}
	return count;
}

void st_quality_items(const struct st_result *result, struct st_quality_item out[ST_QUALITY_ITEMS])
{
	const struct st_quality *quality = st_result_quality(result);
	const struct st_loss *loss = &quality->loss;
	const struct st_sample_quality *samples = st_result_sample_quality(result);
	uint64_t taken = samples->samples, due = taken + samples->dropped + samples->not_taken;
	const struct st_quality_item items[ST_QUALITY_ITEMS] = {
		{"slices_dropped",
		 "tasks dropped (buffer full or nesting too deep; includes Python calls)",
		 loss->slices_dropped, 0, 0},
		{"no_slot", "records lost (too many threads or nested handlers)", loss->no_slot, 0,
		 0},
		{"suspect", "invalid records rejected", loss->suspect, 0, 0},
		{"chunks_not_written", "chunks not written", quality->chunks_not_written, 0, 0},
		{"missing_segments", "trace files missing", quality->missing_segments, 0, 0},
		{"damaged_chunks", "chunks damaged (not counted)", quality->damaged_chunks, 0, 0},
		{"damaged_bytes", "bytes damaged (not counted)", quality->damaged_bytes, 0, 0},
		{"missing_names", "tasks without a name", quality->missing_names, 0, 0},
		{"labels_unknown", "tasks known only by family (includes Python calls)",
		 loss->labels_unknown, 0, 0},
		{"labels_cut", "labels truncated", loss->labels_cut, 0, 0},
		{"unfinished", "tasks never ended (closed at the end of their thread)",
		 quality->unfinished, 0, 0},
		{"clipped", "tasks clipped by a pause or by the start or end of the collection",
		 quality->clipped, 0, 0},
		{"mismatched", "tasks ended out of order", quality->mismatched, 0, 0},
		{"unmatched_ends", "ends without a begin", loss->unmatched_ends, 0, 0},
		{"events_dropped",
		 "events other than tasks dropped (buffer full or regions nested too deep)",
		 loss->events_dropped, 0, 0},
		{"events_cut", "events with truncated data", loss->events_cut, 0, 0},
		{"spans_unfinished", "spans never ended (frames, regions, waits and so on)",
		 quality->spans_unfinished, 0, 0},
		{"times_estimated", "times converted from the program's own clock",
		 estimated_times(result), 0, NEVER_A_FLAW},
		{"objects_unknown", "events of unnamed counters (too many counters)",
		 events_of_others(result), 0, 0},
		{"copies", "tasks repeated by worker threads (counted as Worker Copies only)",
		 quality->copies, 0, NEVER_A_FLAW},
		{"twins", "ITT tasks that repeat an operator (not counted)", quality->twins, 0,
		 NEVER_A_FLAW},
		{"samples_dropped", "samples dropped (buffer full)", samples->dropped, due,
		 FLAW_LOST},
		{"samples_not_taken",
		 "samples not taken (thread or handler not ready, or the handler is too slow for "
		 "the interval)",
		 samples->not_taken, due, FLAW_LOST},
		{"stacks_truncated", "stacks truncated before the thread's start",
		 samples->truncated, taken, FLAW_STACK},
		{"stacks_recovered", "stacks with a caller found by scanning (likely, not certain)",
		 samples->recovered, taken, FLAW_SCANNED},
		{"stacks_no_table", "stacks truncated because an unwind table was not ready",
		 samples->no_table, taken, FLAW_STACK},
		{"stacks_depth_cut", "stacks truncated at the depth limit", samples->depth_cut,
		 taken, FLAW_STACK},
		{"stacks_mismatched", "stacks with native and Python frames that do not match",
		 samples->mismatched, taken, FLAW_STACK},
		{"python_cut", "stacks with truncated Python frames", samples->python_cut, taken,
		 FLAW_STACK},
		{"python_top_unknown", "stacks with an uncertain innermost Python function",
		 samples->python_top_unknown, taken, FLAW_STACK},
		{"weights_nominal", "samples weighted by the interval, not by measured time",
		 samples->nominal, 0, NEVER_A_FLAW},
		{"stacks_approximate", "stacks with Python frames read from outside",
		 samples->approximate, taken, FLAW_STACK},
		{"python_late",
		 "stacks without Python frames (the thread went on before they could be read from "
		 "outside)",
		 samples->python_late, taken, FLAW_STACK},
	};

	memcpy(out, items, sizeof(items));
}

uint64_t st_quality_lost(const struct st_result *result)
{
	const struct st_loss *loss = &st_result_quality(result)->loss;

	return loss->slices_dropped + loss->events_dropped + loss->no_slot + loss->suspect;
}

bool st_quality_cannot_record(const struct st_result *result)
{
	uint32_t count;
	const struct st_not_entered_program *programs = st_result_not_entered(result, &count);

	for (uint32_t i = 0; i < count; i++)
		if (programs[i].reason == ST_NOT_ENTERED_MEMORY ||
		    programs[i].reason == ST_NOT_ENTERED_LAYOUT)
			return true;
	return false;
}

static void add_state(const struct st_result_info *info, struct st_buf *out)
{
	if (strcmp(info->state, "torn") == 0)
		st_buf_append_text(
			out,
			"strata was killed: the result contains what was written until then\n");
	else if (strcmp(info->state, "running") == 0)
		st_buf_append_text(out, "the collection is still running\n");
	if (*info->stop_reason)
		st_buf_printf(out, "collection stopped before the program ended: %s\n",
			      info->stop_reason);
}

/* How often somebody paused. A program that is started paused and resumes itself is one pause of the family
 * and of its process; a stop is kept as the family's last pause, which never ends. */
static uint32_t count_pauses(const struct st_result *result)
{
	uint32_t count, family = 0, counted = 0;
	const struct st_pause_window *pauses = st_result_pauses(result, &count);

	while (family < count && pauses[family].process == ST_NO_ROW)
		family++; /* they come first */
	for (uint32_t i = family; i < count; i++) {
		bool inside = false;

		for (uint32_t j = 0; j < family && !inside; j++)
			inside = pauses[i].begin_ns >= pauses[j].begin_ns &&
				 pauses[i].end_ns <= pauses[j].end_ns;
		counted += !inside;
	}
	return counted + family - (family && *st_result_info(result)->stop_reason);
}

static void add_pauses(const struct st_result *result, struct st_buf *out)
{
	uint32_t count = count_pauses(result);

	if (count)
		st_buf_printf(out, "recording was paused %u time%s (strata report info)\n", count,
			      count == 1 ? "" : "s");
}

static void add_unsampled(const struct st_result *result, struct st_buf *out)
{
	uint32_t count, refused = 0;
	const struct st_sampler *samplers = st_result_samplers(result, &count);
	st_string_id why = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (samplers[i].rung != ST_RUNG_NONE)
			continue;
		refused++;
		why = why ? why : samplers[i].why;
	}
	if (!refused)
		return;
	st_buf_append_count(out, refused);
	st_buf_append_text(out, refused == 1 ? " process was not sampled"
					     : " processes were not sampled");
	if (why) {
		struct st_text text = st_result_text(result, why);

		st_buf_append_text(out, ": ");
		st_buf_append(out, text.bytes, text.size_bytes);
	}
	st_buf_append_u8(out, '\n');
}

/* Processes that end within their first interval may have no sample, and what comes after a last one is in none either. */
bool st_quality_cpu_seen(const struct st_result *result, struct st_cpu_seen *out)
{
	const struct st_result_info *info = st_result_info(result);
	uint64_t period_ns = 0;
	uint32_t count, pauses;
	const struct st_sampler *samplers = st_result_samplers(result, &count);

	*out = (struct st_cpu_seen){.used_ns = info->target_cpu_ns,
				    .seen_ns = st_result_sample_quality(result)->cpu_ns};
	st_result_pauses(result, &pauses);
	if (!info->target_cpu_ns || pauses || *info->stop_reason || info->kept_from_ns)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		out->handler_ns += samplers[i].handler_ns;
		if (samplers[i].period_ns > period_ns)
			period_ns = samplers[i].period_ns;
	}
	/* Of a program without any sample nobody has said how it was sampled. */
	if (!period_ns && st_analysis_is_for(info->type, ST_RECORDS_SAMPLES))
		period_ns = PERIOD_USUAL_NS;
	if (!period_ns)
		return false;
	if (out->used_ns > out->seen_ns + out->handler_ns)
		out->unseen_ns = out->used_ns - out->seen_ns - out->handler_ns;
	if (out->unseen_ns < UNSEEN_PERIODS * period_ns ||
	    out->unseen_ns < out->used_ns / UNSEEN_SHARE)
		out->unseen_ns = 0;
	return true;
}

static void add_unseen(const struct st_result *result, struct st_buf *out)
{
	uint64_t unarmed = st_result_info(result)->unarmed_threads;
	struct st_cpu_seen cpu;
	uint32_t not_entered;
	char bare[96] = "";

	if (!st_quality_cpu_seen(result, &cpu) || !cpu.unseen_ns)
		return;
	st_result_not_entered(result, &not_entered);
	if (unarmed)
		snprintf(bare, sizeof(bare), "%llu thread%s created by a direct system call, ",
			 (unsigned long long)unarmed, unarmed == 1 ? "" : "s");
	st_buf_printf(
		out,
		"%.1f %% of the program's CPU time was not sampled (%.3f of %.3f s): %s%sends of "
		"threads and processes, and those shorter than the interval%s\n",
		100.0 * (double)cpu.unseen_ns / (double)cpu.used_ns, (double)cpu.unseen_ns / 1e9,
		(double)cpu.used_ns / 1e9, bare,
		not_entered ? "programs that cannot be recorded, " : "",
		cpu.seen_ns ? "; CPU use is scaled to all of it" : "");
}

/* " tasks never ended", of one " task never ended". */
static void add_words(struct st_buf *out, const char *words, bool one)
{
	size_t first = strcspn(words, " ");
	bool plural = first > 1 && words[first - 1] == 's';

	st_buf_append_u8(out, ' ');
	st_buf_append(out, words, one && plural ? first - 1 : first);
	st_buf_append_text(out, words + first);
}

/* What is not there, or not under its name. */
static bool is_loss(const char *key)
{
	static const char *const keys[] = {
		"slices_dropped",     "no_slot",	  "suspect",
		"chunks_not_written", "missing_segments", "damaged_chunks",
		"missing_names",      "labels_unknown",	  "events_dropped",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

bool st_quality_losses(const struct st_result *result, struct st_buf *out)
{
	struct st_quality_item items[ST_QUALITY_ITEMS];

	st_quality_items(result, items);
	for (unsigned int i = 0; i < ST_QUALITY_ITEMS; i++) {
		if (!items[i].value || !is_loss(items[i].key))
			continue;
		st_buf_append_count(out, items[i].value);
		add_words(out, items[i].words, items[i].value == 1);
		st_buf_append_u8(out, '\n');
	}
	return !out->failed;
}

bool st_quality_is_flaw(const struct st_quality_item *item)
{
	if (!item->value || item->from_percent > 100)
		return false;
	return !item->of || item->value * 100 >= item->of * item->from_percent;
}

void st_quality_item_text(const struct st_quality_item *item, struct st_buf *out)
{
	st_buf_append_count(out, item->value);
	add_words(out, item->words, item->value == 1);
	if (item->of)
		st_buf_printf(out, " (%.1f %%)", 100.0 * (double)item->value / (double)item->of);
}

/* What the program used of the CPUs is known by the kernel's count at its end, or else by its samples. */
static bool knows_own(const struct st_result *result)
{
	uint32_t count;
	const struct st_sampler *samplers = st_result_samplers(result, &count);

	if (st_result_info(result)->machine.has_own)
		return true;
	while (count && samplers[count - 1].rung == ST_RUNG_NONE)
		count--;
	return count > 0;
}

/* /proc/stat counts in units of 10 ms: in a short run that says nothing. Without the program's own part, the others' would
 * be all of it. */
bool st_quality_machine(const struct st_result *result, struct st_machine_shares *out)
{
	const struct st_machine_info *machine = &st_result_info(result)->machine;
	uint64_t own_ns =
		machine->own_ns + (machine->has_own ? 0 : st_result_sample_quality(result)->cpu_ns);

	memset(out, 0, sizeof(*out));
	out->whole_ns = machine->busy_ns + machine->idle_ns + machine->stolen_ns;
	if (!machine->cpu_count || !knows_own(result) ||
	    out->whole_ns < (uint64_t)machine->cpu_count * MACHINE_TIME_MIN_NS)
		return false;
	out->cpu_count = machine->cpu_count;
	out->others = machine->busy_ns > own_ns
			      ? (double)(machine->busy_ns - own_ns) / (double)out->whole_ns
			      : 0.0;
	out->stolen = (double)machine->stolen_ns / (double)out->whole_ns;
	return true;
}

bool st_quality_shared(const struct st_result *result, double from, struct st_buf *out)
{
	struct st_machine_shares use;

	if (!st_quality_machine(result, &use) || use.others + use.stolen < from)
		return false;
	st_buf_printf(out, "other %s took %.0f %% of the %s",
		      use.stolen > use.others ? "virtual machines" : "programs",
		      100.0 * (use.others + use.stolen),
		      use.cpu_count > st_result_info(result)->cpu_count ? "machine's CPUs"
									: "CPUs");
	return true;
}

bool st_quality_sentences(const struct st_result *result, struct st_buf *out)
{
	const struct st_quality *quality = st_result_quality(result);

	add_state(st_result_info(result), out);
	add_pauses(result, out);
	add_unsampled(result, out);
	add_unseen(result, out);
	for (size_t i = 0; i < quality->note_count; i++)
		st_buf_printf(out, "%s\n", quality->notes[i]);
	return !out->failed;
}

static void add_items(const struct st_result *result, bool flaws, struct st_buf *out)
{
	struct st_quality_item items[ST_QUALITY_ITEMS];

	st_quality_items(result, items);
	for (unsigned int i = 0; i < ST_QUALITY_ITEMS; i++) {
		/* The first sample of a thread has nothing before it: not worth a word. */
		if (!items[i].value || strcmp(items[i].key, "weights_nominal") == 0 ||
		    st_quality_is_flaw(&items[i]) != flaws)
			continue;
		st_quality_item_text(&items[i], out);
		st_buf_append_u8(out, '\n');
	}
}

bool st_quality_flaws(const struct st_result *result, struct st_buf *out)
{
	add_items(result, true, out);
	return st_quality_sentences(result, out);
}

bool st_quality_trifles(const struct st_result *result, struct st_buf *out)
{
	add_items(result, false, out);
	return !out->failed;
}
