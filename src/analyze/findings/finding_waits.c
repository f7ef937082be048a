// SPDX-License-Identifier: Apache-2.0
//
// Rules about waits, where they were recorded: locks that threads queue for, and what their holders do meanwhile; Python's
// interpreter lock; barriers at which one thread arrives last; input and output in the loop. A worker of a pool that waits
// for work is none of these. What a remedy saves is no more than the thread that waits most waits, and no step or run is
// shorter than its work on all CPUs.
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/wait_links.h"
#include "analyze/findings/finding_places.h"
#include "analyze/findings/finding_rules.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "store/off_cpu.h"

/* What waits at one object, or of one class, come to. */
struct sum {
	uint32_t process, key; /* of the object: those of two processes may have one name */
	uint64_t ns, count;
	uint32_t
		most_track; /* that waits most of its time; of those of the steps, where there are steps */
	uint64_t most_ns; /* which that one waits */
	uint32_t threads;
};

struct study {
	struct st_finding_ground *ground;
	const struct st_dataset *waits;
	struct st_pair_map objects;   /* (process, key) */
	struct st_pair_map of_thread; /* (object, thread) → time */
	uint64_t *thread_ns;
	uint32_t thread_capacity;
	struct sum *sums; /* by object */
	uint32_t sum_capacity;
	bool failed;
};

typedef bool wanted_row(const struct study *study, uint32_t row);

static bool is_text(struct st_text text, const char *word)
{
	return text.size_bytes == strlen(word) && !memcmp(text.bytes, word, text.size_bytes);
}

static struct st_text text_of(const struct study *study, enum st_grouping grouping, uint32_t row)
{
	const struct st_dataset *waits = study->waits;

	return waits->text(waits, grouping, st_key_of(&waits->keys[grouping], row),
			   study->ground->arena);
}

static bool is_class(const struct study *study, uint32_t row, enum st_wait_class class)
{
	return is_text(text_of(study, ST_BY_WAIT_CLASS, row), st_wait_class_word(class));
}

static uint32_t track_of(const struct study *study, uint32_t row)
{
	return st_key_of(&study->waits->keys[ST_BY_THREAD], row);
}

/* The pieces of a row in the time that counts, one by one; *at is that of first_piece before the first one. */
static bool next_piece(const struct study *study, uint32_t row, uint32_t *at, int64_t piece_ns[2])
{
	const int64_t whole_ns[2] = {study->waits->begin_ns[row], study->waits->end_ns[row]};

	return st_row_is_counted(study->waits, row) &&
	       st_finding_piece(study->ground, track_of(study, row), whole_ns, at, piece_ns);
}

static uint32_t first_piece(const struct study *study, uint32_t row)
{
	return st_finding_steps_of(study->ground, track_of(study, row))->range[0];
}

/* How long a row waits in the time that counts. */
static uint64_t part_of(const struct study *study, uint32_t row)
{
	const struct st_dataset *waits = study->waits;
	uint32_t at = first_piece(study, row);
	uint64_t sum_ns = 0;
	int64_t piece_ns[2];

	while (next_piece(study, row, &at, piece_ns))
		sum_ns += waits->flags[row] & waits->slow_flags
				  ? waits->part_ns(waits, row, piece_ns[0], piece_ns[1])
				  : (uint64_t)(piece_ns[1] - piece_ns[0]);
	return sum_ns;
}

/* Of the time of the steps that a thread takes part in, or of all of it, the part that it waits. */
static double part_of_steps(const struct study *study, uint32_t track, uint64_t ns)
{
	return (double)ns / (double)st_finding_steps_of(study->ground, track)->wall_ns;
}

static double most_of(const struct study *study, const struct sum *sum)
{
	return part_of_steps(study, sum->most_track, sum->most_ns);
}

/* Sums are divided by the number of all steps later, also where several threads have steps. What comes out of that has to be
 * of a step of the thread that waits most. */
static uint64_t of_all_steps(const struct study *study, const struct sum *sum, uint64_t ns)
{
	uint32_t count = st_finding_steps_of(study->ground, sum->most_track)->count;

	return (uint64_t)((double)ns * (study->ground->divisor / count));
}

static uint32_t key_of(const struct study *study, uint32_t row)
{
	return st_key_of(&study->waits->keys[ST_BY_SYNC_OBJECT], row);
}

static uint32_t process_of(const struct study *study, uint32_t row)
{
	return st_key_of(&study->waits->keys[ST_BY_PROCESS], row);
}

/* Whether the wait of this thread makes a step longer; without steps of any. */
static bool counts(const struct study *study, uint32_t track)
{
	uint32_t count;

	st_result_tracks(study->ground->result, &count);
	return track < count && study->ground->track_counts[track];
}

static void add(struct study *study, uint32_t row, uint64_t ns)
{
	uint32_t key = key_of(study, row), process = process_of(study, row);
	uint32_t object = st_pair_map_add(&study->objects, process, key);
	uint32_t track = track_of(study, row), known = study->of_thread.count;
	uint32_t at = st_pair_map_add(&study->of_thread, object, track);
	struct sum *sum;

	if (study->objects.failed || study->of_thread.failed ||
	    !ST_VEC_ROOM_ZERO(study->thread_ns, at, study->thread_capacity) ||
	    !ST_VEC_ROOM_ZERO(study->sums, object, study->sum_capacity)) {
		study->failed = true;
		return;
	}
	sum = &study->sums[object];
	sum->process = process;
	sum->key = key;
	sum->threads += study->of_thread.count > known;
	sum->ns += ns;
	sum->count++;
	study->thread_ns[at] += ns;
	if (counts(study, track) &&
	    part_of_steps(study, track, study->thread_ns[at]) > most_of(study, sum)) {
		sum->most_track = track;
		sum->most_ns = study->thread_ns[at];
	}
}

static bool begin(struct study *study, struct st_finding_ground *ground, wanted_row *wanted)
{
	*study = (struct study){.ground = ground, .waits = &ground->samples.waits};
	st_pair_map_init(&study->objects);
	st_pair_map_init(&study->of_thread);
	for (uint32_t i = 0; i < study->waits->row_count && !study->failed; i++) {
		uint64_t ns = part_of(study, i);

		if (ns && wanted(study, i))
			add(study, i, ns);
	}
	return !study->failed;
}

static void end(struct study *study)
{
	st_pair_map_fini(&study->objects);
	st_pair_map_fini(&study->of_thread);
	free(study->thread_ns);
	free(study->sums);
}

/* The one that most of the time is waited for by a thread that counts; NULL: none. */
static const struct sum *largest(const struct study *study)
{
	const struct sum *found = NULL;

	for (uint32_t i = 0; i < study->objects.count; i++) {
		const struct sum *sum = &study->sums[i];

		if (sum->most_ns && (!found || most_of(study, sum) > most_of(study, found)))
			found = sum;
	}
	return found;
}

static bool is_of(const struct study *study, const struct sum *sum, uint32_t row)
{
	return key_of(study, row) == sum->key && process_of(study, row) == sum->process &&
	       part_of(study, row);
}

/* No more than is left when the CPUs do nothing but the work: that of all threads, in the time of the steps of the one that
 * waits most. */
static void set_saving(const struct study *study, const struct sum *sum, uint64_t ns,
		       struct st_finding *out)
{
	const struct st_finding_ground *ground = study->ground;
	uint64_t wall_ns = st_finding_steps_of(ground, sum->most_track)->wall_ns, left_ns;
	double work_ns =
		(double)ground->work_ns / (ground->use.cpu_count ? ground->use.cpu_count : 1);

	if (ground->figures.count)
		work_ns *= (double)wall_ns * ground->step_tracks / (double)ground->figures.wall_ns;
	left_ns = (double)wall_ns > work_ns ? wall_ns - (uint64_t)work_ns : 0;
	out->saving_low_ns = 0;
	out->saving_high_ns = of_all_steps(study, sum, ns < left_ns ? ns : left_ns);
}

static const char *span_words(const struct st_finding_ground *ground)
{
	return ground->figures.count ? "a step" : "the run";
}

static struct st_text object_name(const struct study *study, const struct sum *sum)
{
	const struct st_dataset *waits = study->waits;

	return waits->text(waits, ST_BY_SYNC_OBJECT, sum->key, study->ground->arena);
}

/* Where most of these waits are. */
static const char *place_of(const struct study *study, const struct sum *sum)
{
	struct st_finding_votes votes = {0};
	const char *place;

	for (uint32_t i = 0; i < study->waits->row_count; i++)
		if (is_of(study, sum, i))
			st_finding_vote(&votes, study->ground,
					st_dataset_waits_sample(study->waits, i),
					part_of(study, i));
	place = st_finding_elected(&votes, study->ground);
	st_finding_votes_fini(&votes);
	return place;
}

/* Locks ------------------------------------------------------------------------------------------------ */

/* Mutexes, reader/writer locks, and locks of Python that live on: whoever waits for such a one waits for its holder. */
static bool is_lock(const struct study *study, uint32_t row)
{
	static const char *const types[] = {"Mutex", "Reader/Writer Lock"};
	struct st_text type = text_of(study, ST_BY_SYNC_TYPE, row);
	struct st_text name = text_of(study, ST_BY_SYNC_OBJECT, row);

	if (!is_class(study, row, ST_WAITS_SYNC))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (is_text(type, types[i]))
			return true;
	return is_text(type, "Python Lock") && name.size_bytes > 7 &&
	       !memcmp(name.bytes, "Lock 0x", 7);
}

/* What holders do while others wait. */
struct holders {
	const struct study *study;
	uint64_t run_ns, io_ns, sleep_ns, other_ns;
	uint64_t ready_ns;	       /* of run_ns: without a CPU, as far as the kernel told */
	struct st_finding_votes votes; /* where they wait for input and output, or sleep */
};

static uint64_t preempted_in(const struct st_result *result, const struct st_wait_piece *piece)
{
	uint32_t count, at;
	const struct st_off_row *rows = st_result_off_cpu(result, &count);
	uint64_t sum_ns = 0, piece_ns = (uint64_t)(piece->end_ns - piece->begin_ns);

	at = ST_SEARCH(i, 0, count,
		       rows[i].track < piece->track ||
			       (rows[i].track == piece->track &&
				rows[i].begin_ns + (int64_t)rows[i].off_ns <= piece->begin_ns));
	for (; at < count && rows[at].track == piece->track && rows[at].begin_ns < piece->end_ns;
	     at++) {
		int64_t begin_ns = rows[at].begin_ns;
		int64_t end_ns = begin_ns + (int64_t)rows[at].off_ns;

		if (!(rows[at].flags & ST_OFF_PREEMPTED) ||
		    rows[at].flags & (ST_OFF_WOKEN | ST_OFF_RAN))
			continue;
		begin_ns = begin_ns > piece->begin_ns ? begin_ns : piece->begin_ns;
		end_ns = end_ns < piece->end_ns ? end_ns : piece->end_ns;
		sum_ns += end_ns > begin_ns ? (uint64_t)(end_ns - begin_ns) : 0;
	}
	/* Sums of short absences may lie over others. */
	return sum_ns < piece_ns ? sum_ns : piece_ns;
}

static bool take_piece(void *arg, const struct st_wait_piece *piece)
{
	struct holders *holders = arg;
	uint64_t ns = (uint64_t)(piece->end_ns - piece->begin_ns);
	bool io, sleep;

	if (piece->wait == ST_NO_ROW) {
		*(piece->depth ? &holders->run_ns : &holders->other_ns) += ns;
		if (piece->depth)
			holders->ready_ns += preempted_in(holders->study->ground->result, piece);
		return true;
	}
	io = is_class(holders->study, piece->wait, ST_WAITS_IO);
	sleep = is_class(holders->study, piece->wait, ST_WAITS_SLEEP);
	*(io ? &holders->io_ns : sleep ? &holders->sleep_ns : &holders->other_ns) += ns;
	if (io || sleep)
		st_finding_vote(&holders->votes, holders->study->ground,
				st_dataset_waits_sample(holders->study->waits, piece->wait), ns);
	return true;
}

static bool watch_holders(struct holders *holders, const struct study *study, const struct sum *sum)
{
	struct st_wait_links links;

	*holders = (struct holders){.study = study};
	if (!st_wait_links_init(&links, study->waits, study->ground->result))
		return false;
	for (uint32_t i = 0; i < study->waits->row_count; i++) {
		uint32_t at = first_piece(study, i);
		int64_t piece_ns[2];

		if (!is_of(study, sum, i))
			continue;
		while (next_piece(study, i, &at, piece_ns))
			st_wait_follow(&links, track_of(study, i), piece_ns, take_piece, holders);
	}
	st_wait_links_fini(&links);
	return true;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void tell_lock(const struct study *study, const struct sum *sum, struct holders *holders,
		      struct st_finding *out)
{
	const struct st_finding_ground *ground = study->ground;
	uint64_t all_ns = holders->run_ns + holders->io_ns + holders->sleep_ns + holders->other_ns;
	struct st_text name = object_name(study, sum);
	uint64_t blocked_ns = holders->io_ns + holders->sleep_ns;
	const char *place = st_finding_elected(&holders->votes, ground);
	const char *blocked =
		blocked_ns > all_ns / 20
			? st_arena_printf(ground->arena,
					  " and waits for I/O or sleeps %.0f %%%s%s%s",
					  share(blocked_ns, all_ns), *place ? " (" : "", place,
					  *place ? ")" : "")
			: "";
	const char *ready = holders->ready_ns > all_ns / 20
				    ? st_arena_printf(ground->arena, ", has no CPU %.0f %%",
						      share(holders->ready_ns, all_ns))
				    : "";
	bool has_place;

	out->where = place_of(study, sum);
	has_place = !*out->where || memchr(name.bytes, '(', name.size_bytes);
	out->evidence_ns = of_all_steps(study, sum, sum->ns);
	set_saving(study, sum, sum->most_ns, out);
	out->what = st_arena_printf(
		ground->arena,
		"%u %s for %.*s%s%s, %s%.0f %% of %s; its holder runs %.0f %% of that time%s%s",
		sum->threads, sum->threads == 1 ? "thread waits" : "threads wait",
		(int)name.size_bytes, name.bytes, has_place ? "" : " at ",
		has_place ? "" : out->where, sum->threads == 1 ? "" : "one of them ",
		most_of(study, sum) * 100.0, span_words(ground),
		share(holders->run_ns - holders->ready_ns, all_ns), ready, blocked);
}

/* at_io: whether it is about a lock whose holders wait for input and output. */
static bool find_lock(struct st_finding_ground *ground, bool at_io, struct st_finding *out)
{
	struct holders holders;
	struct study study;
	const struct sum *sum;
	bool found = false;

	if (!ground->has_waits)
		return false;
	sum = begin(&study, ground, is_lock) ? largest(&study) : NULL;
	if (sum && most_of(&study, sum) >= 0.05 && (sum->threads > 1 || ground->figures.count) &&
	    watch_holders(&holders, &study, sum)) {
		uint64_t blocked_ns = holders.io_ns + holders.sleep_ns;

		found = (blocked_ns > holders.run_ns) == at_io;
		if (found)
			tell_lock(&study, sum, &holders, out);
		st_finding_votes_fini(&holders.votes);
	}
	end(&study);
	return found && out->saving_high_ns > 0;
}

bool st_find_lock_contention(struct st_finding_ground *ground, struct st_finding *out)
{
	return find_lock(ground, false, out);
}

bool st_find_lock_across_io(struct st_finding_ground *ground, struct st_finding *out)
{
	return find_lock(ground, true, out);
}

/* The interpreter lock --------------------------------------------------------------------------------- */

static bool is_gil(const struct study *study, uint32_t row)
{
	return is_class(study, row, ST_WAITS_GIL);
}

/* Threads that wait a tenth of the time for it. */
static uint32_t bound_threads(const struct study *study, const struct sum *sum)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < study->of_thread.count; i++) {
		const struct st_pair *pair = &study->of_thread.pairs[i];

		count += pair->a == (uint64_t)(sum - study->sums) &&
			 part_of_steps(study, (uint32_t)pair->b, study->thread_ns[i]) >= 0.1;
	}
	return count;
}

bool st_find_gil(struct st_finding_ground *ground, struct st_finding *out)
{
	struct study study;
	const struct sum *sum;
	bool found = false;

	if (!ground->has_waits)
		return false;
	sum = begin(&study, ground, is_gil) ? largest(&study) : NULL;
	if (sum && most_of(&study, sum) >= 0.1) {
		uint32_t threads = bound_threads(&study, sum);

		found = true;
		out->where = place_of(&study, sum);
		out->evidence_ns = of_all_steps(&study, sum, sum->ns);
		set_saving(&study, sum, sum->most_ns, out);
		out->what = st_arena_printf(
			ground->arena,
			"%u %s for Python's GIL%s%s, %s%.0f %% of %s: only one thread of a process "
			"runs Python at a time",
			threads, threads == 1 ? "thread waits" : "threads wait",
			*out->where ? " at " : "", out->where, threads == 1 ? "" : "one of them ",
			most_of(&study, sum) * 100.0, span_words(ground));
	}
	end(&study);
	return found && out->saving_high_ns > 0;
}

/* Barriers --------------------------------------------------------------------------------------------- */

static bool is_barrier(const struct study *study, uint32_t row)
{
	return is_class(study, row, ST_WAITS_SYNC) &&
	       is_text(text_of(study, ST_BY_SYNC_TYPE, row), "Barrier");
}

/* The thread that others wait for most, and how much of their time. */
static uint64_t last_to_come(const struct study *study, const struct sum *sum, uint32_t *out)
{
	const struct st_dataset *waits = study->waits;
	uint32_t count = waits->keys[ST_BY_WAKER].key_count, best = 0;
	uint64_t *ns = calloc((size_t)count + 1, sizeof(*ns)), most;

	for (uint32_t i = 0; ns && i < waits->row_count; i++)
		if (is_of(study, sum, i))
			ns[st_key_of(&waits->keys[ST_BY_WAKER], i)] += part_of(study, i);
	for (uint32_t i = 0; ns && i < count; i++)
		best = ns[i] > ns[best] ? i : best;
	most = ns ? ns[best] : 0;
	free(ns);
	*out = best;
	return most;
}

/* With as much to do for each, all would come when they come now on average. */
bool st_find_barrier(struct st_finding_ground *ground, struct st_finding *out)
{
	struct study study;
	const struct sum *sum;
	bool found = false;
	uint32_t last;

	if (!ground->has_waits)
		return false;
	sum = begin(&study, ground, is_barrier) ? largest(&study) : NULL;
	if (sum && sum->threads > 1 && most_of(&study, sum) >= 0.05 &&
	    5 * last_to_come(&study, sum, &last) >= 3 * sum->ns) {
		struct st_text name = object_name(&study, sum);
		struct st_text waker =
			study.waits->text(study.waits, ST_BY_WAKER, last, ground->arena);

		found = waker.size_bytes && waker.bytes[0] != '[';
		out->where = place_of(&study, sum);
		out->evidence_ns = of_all_steps(&study, sum, sum->ns);
		set_saving(&study, sum, sum->ns / sum->threads, out);
		out->what = st_arena_printf(
			ground->arena,
			"%u threads wait at %.*s%s%s%s, one of them %.0f %% of %s, %.0f %% of that "
			"for %.*s, which comes last",
			sum->threads, (int)name.size_bytes, name.bytes, *out->where ? " (" : "",
			out->where, *out->where ? ")" : "", most_of(&study, sum) * 100.0,
			span_words(ground), share(last_to_come(&study, sum, &last), sum->ns),
			(int)waker.size_bytes, waker.bytes);
	}
	end(&study);
	return found && out->saving_high_ns > 0;
}

/* Input and output ------------------------------------------------------------------------------------- */

/* Of the thread of the steps, and not for its DataLoader, which has a rule of its own. */
static bool is_io(const struct study *study, uint32_t row)
{
	if (!study->ground->figures.count || !counts(study, track_of(study, row)) ||
	    !(is_class(study, row, ST_WAITS_IO) || is_class(study, row, ST_WAITS_SLEEP)))
		return false;
	return !st_finding_is_in(study->ground, st_dataset_waits_sample(study->waits, row),
				 "*/torch/utils/data/*");
}

bool st_find_io_wait(struct st_finding_ground *ground, struct st_finding *out)
{
	struct study study;
	const struct sum *sum;
	bool found = false;

	if (!ground->has_waits)
		return false;
	sum = begin(&study, ground, is_io) ? largest(&study) : NULL;
	if (sum && most_of(&study, sum) >= 0.05) {
		struct st_text name = object_name(&study, sum);
		uint32_t steps = st_finding_steps_of(ground, sum->most_track)->count;

		found = true;
		out->where = place_of(&study, sum);
		out->evidence_ns = of_all_steps(&study, sum, sum->most_ns);
		out->saving_high_ns = out->evidence_ns;
		out->saving_low_ns = 0;
		out->what = st_arena_printf(
			ground->arena, "%s of a step (%.0f %%) the loop itself waits: %.*s",
			st_finding_duration(ground->arena, (double)sum->most_ns / steps, 3),
			most_of(&study, sum) * 100.0, (int)name.size_bytes, name.bytes);
	}
	end(&study);
	return found;
}
