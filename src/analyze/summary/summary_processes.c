// SPDX-License-Identifier: Apache-2.0
//
// Sections of the summary about the run as a whole: which programs used the CPU, and how much of it was start-up.
#include "analyze/summary/report_summary.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/sample_set.h"
#include "analyze/steps/step_list.h"
#include "base/vec.h"
#include "store/result.h"

enum { SMALL_SHARE = 20 };

/* Processes of one program: a compiler that is started forty times is one row. */
struct program {
	st_string_id name;
	uint32_t pid, count;
	uint64_t cpu_ns;
	bool is_unseen; /* not entered */
};

struct programs {
	struct program *items;
	uint32_t count, capacity;
};

static bool add_process(struct programs *programs, const struct st_process *process,
			uint64_t cpu_ns)
{
	struct program *last;

	for (uint32_t i = 0; i < programs->count; i++)
		if (programs->items[i].name == process->name) {
			programs->items[i].count++;
			programs->items[i].cpu_ns += cpu_ns;
			return true;
		}
	if (!ST_VEC_ROOM(programs->items, programs->count, programs->capacity))
		return false;
	last = &programs->items[programs->count++];
	*last = (struct program){process->name, process->pid, 1, cpu_ns, false};
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : 1;
}

static void add_row(const struct st_summary *summary, struct st_cell name, uint64_t cpu_ns,
		    uint64_t all_ns)
{
	struct st_cell *cells = st_report_fact(summary->report, "process_cpu", "");

	cells[ST_SUMMARY_NAME] = name;
	cells[ST_SUMMARY_CPU_SELF] = st_cell_u64(cpu_ns);
	cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(cpu_ns, all_ns));
}

static struct st_text last_part(struct st_text path)
{
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);
	size_t before = slash ? (size_t)(slash + 1 - path.bytes) : 0;

	return (struct st_text){path.bytes + before, path.size_bytes - before};
}

/* Programs that could not be entered, by what was seen of their time while they ran. */
static bool add_unseen(struct programs *programs, const struct st_result *result)
{
	uint32_t count;
	const struct st_not_entered_program *others = st_result_not_entered(result, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (!others[i].cpu_ns)
			continue;
		if (!ST_VEC_ROOM(programs->items, programs->count, programs->capacity))
			return false;
		programs->items[programs->count++] =
			(struct program){others[i].executable, others[i].pid, others[i].count,
					 others[i].cpu_ns, true};
	}
	return true;
}

static const char *shown_name(const struct st_summary *summary, const struct program *program)
{
	struct st_arena *arena = st_report_arena(summary->report);
	struct st_text name = last_part(st_result_text(summary->result, program->name));
	const char *what = program->is_unseen ? ", not recorded" : "";

	if (program->count > 1)
		return st_arena_printf(arena, "%.*s, %u processes%s", (int)name.size_bytes,
				       name.bytes, program->count, what);
	return st_arena_printf(arena, "%.*s (%u)%s", (int)name.size_bytes, name.bytes, program->pid,
			       what);
}

/* The rest is what the kernel counted for the program and those it started, and nobody saw: of what was too short. */
static void add_programs(const struct st_summary *summary, const struct programs *programs)
{
	uint64_t known_ns = st_result_info(summary->result)->target_cpu_ns, seen_ns = 0, rest_ns;

	for (uint32_t i = 0; i < programs->count; i++)
		seen_ns += programs->items[i].cpu_ns;
	rest_ns = !summary->scope->has_time_range && known_ns > seen_ns ? known_ns - seen_ns : 0;
	for (uint32_t i = 0; i < programs->count; i++)
		add_row(summary, st_cell_text(shown_name(summary, &programs->items[i])),
			programs->items[i].cpu_ns, seen_ns + rest_ns);
	if (rest_ns && programs->count > 1)
		add_row(summary, st_cell_text("[not sampled]"), rest_ns, seen_ns + rest_ns);
}

enum st_status st_summary_add_processes(const struct st_summary *summary, struct st_sample_set *set)
{
	struct st_question question = st_summary_question(summary, ST_BY_PROCESS, ST_CPU_SELF);
	struct programs programs = {NULL, 0, 0};
	struct st_answer answer;
	uint32_t count;
	const struct st_process *processes = st_result_processes(summary->result, &count);
	enum st_status status;
	bool done = true;

	question.limit = 0;
	status = st_sample_ask(set, &question, &answer, summary->err);
	if (status)
		return status;
	for (uint32_t i = 0; i < answer.root_count && done; i++) {
		const struct st_answer_row *row = &answer.rows[answer.root_first + i];

		if (!row->is_others && row->slice < count && st_answer_value(row, ST_CPU_SELF))
			done = add_process(&programs, &processes[row->slice],
					   st_answer_value(row, ST_CPU_SELF));
	}
	if (done && !summary->scope->has_time_range && !summary->scope->filter_count)
		done = add_unseen(&programs, summary->result);
	if (programs.count)
		qsort(programs.items, programs.count, sizeof(*programs.items), by_time);
	if (done)
		add_programs(summary, &programs);
	else
		status = st_error_set(summary->err, ST_ENOMEM, 0, "out of memory for the summary");
	free(programs.items);
	st_answer_fini(&answer);
	return status;
}

static bool is_running(const struct st_samples *samples, uint32_t at)
{
	return !(samples->flags[at] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE));
}

static bool is_in(const struct st_question *scope, int64_t time_ns)
{
	return !scope->has_time_range ||
	       (time_ns >= scope->time_begin_ns && time_ns < scope->time_end_ns);
}

/* How long a thread was on a CPU in the time of the scope, and how much of that time lies between its first sample and its
 * last. */
struct presence {
	uint64_t cpu_ns;
	int64_t begin_ns, end_ns;
};

static struct presence presence_of(const struct st_summary *summary, uint32_t track)
{
	const struct st_samples *samples = st_result_samples(summary->result);
	const struct st_question *scope = summary->scope;
	struct presence out = {0, INT64_MAX, INT64_MIN};

	for (uint32_t i = samples->first_of_track[track]; i < samples->first_of_track[track + 1];
	     i++) {
		int64_t from_ns = samples->time_ns[i] - (int64_t)samples->weight_ns[i];

		if (!is_running(samples, i))
			continue;
		out.cpu_ns += is_in(scope, samples->time_ns[i]) ? samples->weight_ns[i] : 0;
		out.begin_ns = from_ns < out.begin_ns ? from_ns : out.begin_ns;
		out.end_ns = samples->time_ns[i] > out.end_ns ? samples->time_ns[i] : out.end_ns;
	}
	if (scope->has_time_range && out.begin_ns < scope->time_begin_ns)
		out.begin_ns = scope->time_begin_ns;
	if (scope->has_time_range && out.end_ns > scope->time_end_ns)
		out.end_ns = scope->time_end_ns;
	return out;
}

double st_summary_off_cpu(const struct st_summary *summary)
{
	const struct st_samples *samples = st_result_samples(summary->result);
	uint64_t all_ns = 0, on_ns = 0, there_ns = 0;
	uint32_t tracks, pauses;

	st_result_tracks(summary->result, &tracks);
	st_result_pauses(summary->result, &pauses);
	for (uint32_t i = 0; i < samples->count; i++)
		if (is_running(samples, i) && is_in(summary->scope, samples->time_ns[i]))
			all_ns += samples->weight_ns[i];
	for (uint32_t track = 0; samples->count && !pauses && track < tracks; track++) {
		struct presence its = presence_of(summary, track);

		/* Threads that only wait would be most of it. */
		if (its.cpu_ns < all_ns / SMALL_SHARE || its.end_ns <= its.begin_ns)
			continue;
		on_ns += its.cpu_ns;
		there_ns += (uint64_t)(its.end_ns - its.begin_ns);
	}
	return there_ns > on_ns ? 1.0 - st_share(on_ns, there_ns) : 0.0;
}

void st_summary_add_start_up(const struct st_summary *summary, const struct st_step_list *list)
{
	const struct st_samples *samples = st_result_samples(summary->result);
	int64_t begin_ns = INT64_MAX, elapsed_ns = st_result_info(summary->result)->elapsed_ns;
	uint64_t before_ns = 0, cpu_ns = 0;
	struct st_cell *cells;

	for (uint32_t i = 0; i < list->count; i++)
		if (list->steps[i].begin_ns < begin_ns)
			begin_ns = list->steps[i].begin_ns;
	if (!list->count || begin_ns <= 0 || elapsed_ns <= 0)
		return;
	for (uint32_t i = 0; i < samples->count; i++) {
		if (!is_running(samples, i))
			continue;
		cpu_ns += samples->weight_ns[i];
		before_ns += samples->time_ns[i] <= begin_ns ? samples->weight_ns[i] : 0;
	}
	cells = st_report_fact(summary->report, "start_up", "elapsed_ns");
	cells[ST_SUMMARY_VALUE] = st_cell_u64((uint64_t)begin_ns);
	cells[ST_SUMMARY_RATIO] = st_cell_double(
		begin_ns < elapsed_ns ? st_share((uint64_t)begin_ns, (uint64_t)elapsed_ns) : 1.0);
	if (!cpu_ns)
		return;
	cells = st_report_fact(summary->report, "start_up", "cpu_ns");
	cells[ST_SUMMARY_VALUE] = st_cell_u64(before_ns);
	cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(before_ns, cpu_ns));
}
