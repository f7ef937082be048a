// SPDX-License-Identifier: Apache-2.0
//
// The table of rules, and the ground they stand on.
#include "analyze/findings/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/findings/finding_rules.h"
#include "analyze/findings/recording_cost.h"
#include "analyze/datasets/quality.h"
#include "analyze/samples/sample_waits.h"
#include "base/quote.h"
#include "format/event_kind.h"
#include "store/samples.h"

enum { COMMAND_MAX_BYTES = 1 << 16 };

#define SURE_ENOUGH 0.9
#define NEARLY 0.03

/* What a rule is about. */
enum about {
	OPERATORS,
	STEPS,	   /* of PyTorch: steps and samples are known all the time, operators perhaps not */
	ANY_STEPS, /* whatever framework makes them; pools of others have as many threads as CPUs */
	ANY_PROGRAM, /* and programs that have neither */
};

/* A rule that comes first may claim rows for itself. Commands are words behind "strata report". */
static const struct rule {
	const char *name;
	st_finding_check *check;
	const char *threshold, *remedy, *command;
	enum about about;
} rules[] = {
	{"double-precision", st_find_double_precision, "float64 operators take 10 % of the time",
	 "use float32: call .float() on the model and its inputs, or torch.set_default_dtype",
	 "operators -group-by operator,input-types", OPERATORS},
	{"scalar-reads", st_find_scalar_reads,
	 "reading single values with .item() takes 10 % of the time",
	 "keep values in tensors; read them together and rarely (.tolist(), every n steps)",
	 "operators -filter operator=aten::item -group-by operator,nn-module", OPERATORS},
	{"data-wait", st_find_data_wait, "waiting for data takes 10 % of a step",
	 "DataLoader(num_workers=…, persistent_workers=True, prefetch_factor=…)", "steps", STEPS},
	{"work-in-range", st_find_work_in_range,
	 "a range of the program spends 20 % of the time outside operators",
	 "do it in torch, where it is multithreaded and stays in tensors (torch.nonzero instead of "
	 "numpy.argwhere)",
	 "hotspots -group-by task-type,python-line", OPERATORS},
	{"shape-churn", st_find_shape_churn,
	 "oneDNN compiles kernels for new shapes in every second step, which takes 10 % of the "
	 "time",
	 "pad inputs to one size or to a few (buckets): a kernel is compiled once for each",
	 "operators -group-by operator,input-shapes -sort-desc wall-avg", OPERATORS},
	{"allocation-churn", st_find_allocation_churn,
	 "page faults on new blocks of 32 MiB and more take 10 % of the time",
	 "reuse memory: out=, in-place operators (relu_, add_), or an allocator that keeps it "
	 "(LD_PRELOAD jemalloc or tcmalloc)",
	 "operators -sort-desc self-allocated", OPERATORS},
	{"tiny-operators", st_find_tiny_operators,
	 "operators shorter than 10 us or smaller than 32 KiB, and the gaps between them, take 40 "
	 "% of the time",
	 "do more work in each: larger batches, torch.stack and one operator, foreach optimizers, "
	 "torch.compile",
	 "operators -sort-desc count", OPERATORS},
	{"python", st_find_python,
	 "Python code of the program, beside PyTorch, takes 20 % of a step",
	 "do it for whole arrays at once (in torch, or NumPy and torch.from_numpy), or beside the "
	 "loop in DataLoader workers",
	 "hotspots -group-by python-line", STEPS},
	{"input", st_find_input, "tf.data takes 20 % of the CPU time of the steps",
	 "do less in map(), or use cache() before shuffle() and repeat() (it saves nothing in the "
	 "first epoch): batch() before map() does more at a time, in every epoch; cache() keeps "
	 "what is the same in all of them; num_parallel_calls and prefetch() help where CPUs are "
	 "idle",
	 "hotspots -group-by module,function", ANY_STEPS},
	{"layout", st_find_layout, "convolutions spend 15 % of the time reordering data",
	 "convert the model and its inputs with .to(memory_format=torch.channels_last)",
	 "tasks -filter task-type=*reorder* -group-by task-type", OPERATORS},
	{"reorders", st_find_reorders, "oneDNN reorders outside convolutions take 5 % of the time",
	 "keep one layout from primitive to primitive; prepack weights (torch.jit.freeze, "
	 "torch.compile)",
	 "tasks -filter task-type=*reorder* -group-by task-type", OPERATORS},
	{"oversubscription", st_find_oversubscription,
	 "more threads than CPUs are ready to run for 10 % of the time, by the kernel's count",
	 "use fewer threads: torch.set_num_threads, OMP_NUM_THREADS, num_workers", "utilization",
	 STEPS},
	{"spin", st_find_spin,
	 "spinning takes 10 % of the CPU time of the steps, and 2 % of a step on its own thread",
	 "use fewer threads (torch.set_num_threads, OMP_NUM_THREADS), or give each more work",
	 "hotspots -group-by cpu-class,function", ANY_STEPS},
	{"lock-across-io", st_find_lock_across_io,
	 "a thread waits 5 % of the time for a lock whose holders wait for I/O or sleep",
	 "take the I/O out of the lock (write afterwards what was taken under it, or let one "
	 "thread "
	 "write for all)",
	 "waits -group-by sync-object,python-line", ANY_PROGRAM},
	{"lock-contention", st_find_lock_contention,
	 "a thread waits 5 % of the time for a lock that others hold at work",
	 "hold the lock for less of the work, or use several (one per part of the data)",
	 "waits -group-by sync-object,python-line", ANY_PROGRAM},
	{"gil", st_find_gil, "a thread waits 10 % of the time for Python's GIL",
	 "use processes instead of threads (multiprocessing, ProcessPoolExecutor), or do the work "
	 "where the GIL is released (NumPy, PyTorch)",
	 "waits -group-by wait-class,thread", ANY_PROGRAM},
	{"barrier", st_find_barrier,
	 "a thread waits 5 % of the time at a barrier, most of it for one that comes last",
	 "give all threads as much to do (smaller pieces that they fetch one by one)",
	 "waits -group-by sync-object,waker", ANY_PROGRAM},
	{"openmp-imbalance", st_find_openmp_imbalance,
	 "threads wait 5 % of the time for the end of an OpenMP region that others still work on",
	 "give all threads as much to do: schedule(dynamic) or smaller chunks, or fewer threads",
	 "openmp", ANY_PROGRAM},
	{"io-wait", st_find_io_wait,
	 "the thread of the steps waits 5 % of a step for I/O, or sleeps",
	 "do it beside the loop (a thread, a DataLoader worker), less often, or in larger pieces",
	 "waits -group-by python-line,sync-object", ANY_PROGRAM},
};
_Static_assert(sizeof(rules) / sizeof(rules[0]) <= ST_FINDINGS_MAX, "there is room for all");

bool st_finding_counts(const struct st_finding_ground *ground, uint32_t row)
{
	const struct st_operator_rows *rows = ground->rows;

	return rows->begin_ns[row] >= ground->begin_ns && rows->end_ns[row] <= ground->end_ns &&
	       ground->track_counts[rows->track[row]] &&
	       st_row_is_counted(ground->operators, row) &&
	       st_finding_is_recorded(ground, rows->track[row], rows->begin_ns[row],
				      rows->end_ns[row]);
}

/* How much of the time from a moment to another operators were recorded. */
static int64_t recorded_ns(const struct st_finding_ground *ground, uint32_t track, int64_t begin_ns,
			   int64_t end_ns)
{
	uint32_t count;
	uint32_t process = st_result_tracks(ground->result, &count)[track].process;
	const struct st_turn *turn = st_operator_turn_at(&ground->turns, process, begin_ns);
	int64_t sum_ns = 0;

	for (; turn; turn++) {
		int64_t from = turn->begin_ns > begin_ns ? turn->begin_ns : begin_ns;
		int64_t to = turn->is_last || turn->end_ns > end_ns ? end_ns : turn->end_ns;

		if (turn->detail & ST_TURN_WITH && to > from)
			sum_ns += to - from;
		if (turn->is_last || turn->end_ns >= end_ns)
			break;
	}
	return sum_ns;
}

bool st_finding_is_recorded(const struct st_finding_ground *ground, uint32_t track,
			    int64_t begin_ns, int64_t end_ns)
{
	return !ground->turns.is_partial ||
	       recorded_ns(ground, track, begin_ns, end_ns) == end_ns - begin_ns;
}

/* Of the steps, or of the whole where there are none. */
static double recorded_part(const struct st_finding_ground *ground)
{
	const struct st_step_list *steps = ground->steps;
	double sum_ns = 0.0, all_ns = 0.0;

	if (!ground->turns.is_partial)
		return 1.0;
	if (!ground->figures.count)
		return ground->turns.recorded_ratio;
	for (uint32_t i = 0; i < steps->count; i++) {
		const struct st_one_step *step = &steps->steps[i];

		if (step->is_warm_up)
			continue;
		sum_ns += (double)recorded_ns(ground, step->track, step->begin_ns, step->end_ns);
		all_ns += (double)(step->end_ns - step->begin_ns);
	}
	return all_ns > 0 ? sum_ns / all_ns : 0.0;
}

const char *st_finding_where(const struct st_finding_ground *ground, uint32_t row)
{
	return st_text_copy(ground->arena, st_row_name(ground->rows, row)).bytes;
}

double st_finding_share(const struct st_finding_ground *ground, uint64_t all_ns)
{
	return (double)all_ns / ground->divisor / (double)ground->step_ns;
}

const struct st_finding_steps *st_finding_steps_of(const struct st_finding_ground *ground,
						   uint32_t track)
{
	uint32_t count;

	st_result_tracks(ground->result, &count);
	return &ground->steps_of[track < count ? track : count];
}

bool st_finding_piece(const struct st_finding_ground *ground, uint32_t track,
		      const int64_t whole_ns[2], uint32_t *at, int64_t piece_ns[2])
{
	const uint32_t *range = st_finding_steps_of(ground, track)->range;

	if (range[0] != range[1])
		return st_step_piece(ground->steps, range, whole_ns, at, piece_ns);
	if (*at != range[0])
		return false;
	++*at;
	piece_ns[0] = whole_ns[0] > ground->begin_ns ? whole_ns[0] : ground->begin_ns;
	piece_ns[1] = whole_ns[1] < ground->end_ns ? whole_ns[1] : ground->end_ns;
	return piece_ns[1] > piece_ns[0];
}

const char *st_finding_figure(struct st_arena *arena, double value, int digits)
{
	double limit = 10;

	for (digits--; digits > 0 && value >= limit - 0.5 / pow(10, digits); digits--)
		limit *= 10;
	return st_arena_printf(arena, "%.*f", digits, value);
}

const char *st_finding_duration(struct st_arena *arena, double ns, int digits)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned int unit = 0;

	for (; unit < 3 && ns >= 999.5; unit++)
		ns /= 1e3;
	return st_arena_printf(arena, "%s %s", st_finding_figure(arena, ns, digits), units[unit]);
}

const char *st_finding_time(const struct st_finding_ground *ground, uint64_t all_ns)
{
	return st_finding_duration(ground->arena, (double)all_ns / ground->divisor, 3);
}

const char *st_finding_number(const struct st_finding_ground *ground, uint64_t all)
{
	double number = (double)all / ground->divisor;

	/* Where operators were recorded in turns a number is an estimate: two operators are no 2.01. */
	if (ground->recorded < 1.0 && fabs(number - round(number)) < NEARLY * number)
		number = round(number);
	if (number < 999.5)
		return number == floor(number) ? st_arena_printf(ground->arena, "%.0f", number)
					       : st_finding_figure(ground->arena, number, 3);
	return number < 999.5e3 ? st_arena_printf(ground->arena, "%.1f k", number / 1e3)
				: st_arena_printf(ground->arena, "%.1f M", number / 1e6);
}

uint64_t st_finding_cost_ns(const struct st_finding_ground *ground, const uint8_t *is_part)
{
	const struct st_operator_rows *rows = ground->rows;
	double operator_ns = st_operator_cost_ns(ground->result);
	double allocation_ns = st_pair_cost_ns(ground->result) * ST_PAIRS_AN_ALLOCATION, sum = 0.0;

	for (uint32_t row = 0; row < rows->count; row++) {
		const struct st_operator *more;

		if (!is_part[row])
			continue;
		more = st_result_operator_of(ground->result, rows->slice[row]);
		sum += operator_ns + (more && more->allocated ? allocation_ns : 0.0);
	}
	return (uint64_t)sum;
}

/* Where steps are and, in programs without, where operators are. */
static void find_scope(struct st_finding_ground *ground, uint32_t track_count)
{
	const struct st_step_list *steps = ground->steps;
	const struct st_operator_rows *rows = ground->rows;
	bool any = false;

	ground->begin_ns = INT64_MAX;
	ground->end_ns = INT64_MIN;
	for (uint32_t i = 0; i < steps->count; i++) {
		const struct st_one_step *step = &steps->steps[i];

		if (step->is_warm_up)
			continue;
		any = true;
		ground->track_counts[step->track] = 1;
		if (step->begin_ns < ground->begin_ns)
			ground->begin_ns = step->begin_ns;
		if (step->end_ns > ground->end_ns)
			ground->end_ns = step->end_ns;
	}
	if (any && ground->figures.count) {
		ground->divisor = ground->figures.count;
		ground->step_ns = ground->figures.wall_ns / ground->figures.count;
		return;
	}
	memset(ground->track_counts, 1, track_count);
	for (uint32_t row = 0; row < rows->count; row++) {
		if (rows->begin_ns[row] < ground->begin_ns)
			ground->begin_ns = rows->begin_ns[row];
		if (rows->end_ns[row] > ground->end_ns)
			ground->end_ns = rows->end_ns[row];
	}
	ground->divisor = 1;
	if (ground->end_ns <= ground->begin_ns && ground->has_waits) {
		ground->is_plain = true;
		ground->begin_ns = 0;
		ground->end_ns = (int64_t)st_result_info(ground->result)->collected_ns;
	}
	if (ground->end_ns > ground->begin_ns)
		ground->step_ns = (uint64_t)(ground->end_ns - ground->begin_ns);
}

static void find_steps_of(struct st_finding_ground *ground, uint32_t track_count)
{
	for (uint32_t track = 0; track <= track_count; track++) {
		struct st_finding_steps *its = &ground->steps_of[track];

		if (track < track_count && ground->figures.count)
			st_step_range(ground->steps, ground->result, track, its->range);
		for (uint32_t i = its->range[0]; i < its->range[1]; i++) {
			const struct st_one_step *step = &ground->steps->steps[i];

			its->count += !step->is_warm_up;
			its->wall_ns += step->is_warm_up ? 0 : step->wall_ns;
		}
		if (its->wall_ns)
			continue;
		*its = (struct st_finding_steps){.count = 1};
		if (ground->end_ns > ground->begin_ns)
			its->wall_ns = (uint64_t)(ground->end_ns - ground->begin_ns);
	}
}

static int by_saving(const struct st_finding *a, const struct st_finding *b)
{
	/* In the middle of what may be saved: nothing speaks for one end. */
	uint64_t of_a = a->saving_low_ns + a->saving_high_ns;
	uint64_t of_b = b->saving_low_ns + b->saving_high_ns;

	if (of_a != of_b)
		return of_a < of_b ? 1 : -1;
	return strcmp(a->rule, b->rule);
}

/* Of a step: what is left of it, and how much of it findings are about. */
struct rest {
	uint64_t step_ns, left_ns, evidence_ns;
};

/* What a finding saves after those before it. Where they are about more time than a step has, they are about the same time:
 * what the others save is taken from the time that it is about, and it saves the same share of the rest. What it is not
 * about, a wait for data for example, it cannot save. */
static struct st_finding after(const struct st_finding *found, const struct rest *rest)
{
	struct st_finding less = *found;
	uint64_t saved_ns = rest->step_ns - rest->left_ns;

	if (rest->evidence_ns + found->evidence_ns > rest->step_ns && found->evidence_ns) {
		double share = saved_ns < found->evidence_ns
				       ? 1.0 - (double)saved_ns / (double)found->evidence_ns
				       : 0.0;

		less.saving_high_ns = (uint64_t)((double)found->saving_high_ns * share);
		less.saving_low_ns = (uint64_t)((double)found->saving_low_ns * share);
	}
	if (less.saving_high_ns > rest->left_ns)
		less.saving_high_ns = rest->left_ns;
	if (less.saving_low_ns > less.saving_high_ns)
		less.saving_low_ns = less.saving_high_ns;
	return less;
}

/* The largest saving first, then what is the largest after it. What is cut is said: else it would not fit to what was
 * found. */
static void keep_within_step(struct st_findings *out, struct st_arena *arena)
{
	struct rest rest = {.step_ns = out->step_ns, .left_ns = out->step_ns};
	uint32_t kept = 0;

	while (kept < out->count && rest.left_ns) {
		struct st_finding next = after(&out->items[kept], &rest);
		uint32_t at = kept;

		for (uint32_t i = kept + 1; i < out->count; i++) {
			struct st_finding other = after(&out->items[i], &rest);

			if (by_saving(&other, &next) < 0) {
				next = other;
				at = i;
			}
		}
		/* Nothing is left of it, nor of those behind it. */
		if (!next.saving_high_ns)
			break;
		if (next.saving_high_ns < out->items[at].saving_high_ns)
			next.what = st_arena_printf(
				arena, "%s; the saving is what is left after the changes above",
				next.what);
		out->items[at] = out->items[kept];
		out->items[kept++] = next;
		rest.left_ns -= next.saving_high_ns;
		rest.evidence_ns += next.evidence_ns;
	}
	out->count = kept;
}

/* As it is typed. */
static const char *whole_command(const struct st_finding_ground *ground, const char *words)
{
	struct st_buf out;

	st_buf_init(&out, COMMAND_MAX_BYTES);
	st_buf_printf(&out, "strata report %s -r ", words);
	st_quote_word(&out, st_result_info(ground->result)->path);
	return st_text_take(ground->arena, &out).bytes;
}

static uint64_t per_step(const struct st_finding_ground *ground, uint64_t all_ns)
{
	return (uint64_t)((double)all_ns / ground->divisor);
}

/* Of the thread of the steps: the part of their time in which it was at work. What a step waits for others is in the time
 * of its operators too, and it is not known how much of that goes with them. */
static double at_work(const struct st_finding_ground *ground)
{
	double wall_ns = (double)ground->step_ns * ground->divisor;
	double work_ns = (double)ground->step_cpu_ns - (double)ground->step_spin_ns;

	if (!ground->has_samples || !ground->figures.count)
		return *ground->disturbed ? 0.0 : 1.0;
	wall_ns -= (double)ground->figures.part_ns[ST_STEP_DATA];
	return work_ns < wall_ns && wall_ns > 0 ? work_ns / wall_ns : 1.0;
}

/* What was measured while threads waited for CPUs is no more than that long, and may be less. */
static void doubt(const struct st_finding_ground *ground, struct st_finding *found)
{
	double sure = ground->waits_for_cpus ? at_work(ground) : 1.0;

	if (sure < SURE_ENOUGH)
		found->saving_low_ns = (uint64_t)((double)found->saving_low_ns * sure);
	if (!*ground->disturbed)
		return;
	/* Threads that wait for each other on a full machine may not do so on a free one. */
	if (found->depends_on_cpus && ground->shared)
		found->what = st_arena_printf(
			ground->arena,
			"holds only on a machine this busy (%s), record again on a free one; %s",
			ground->disturbed, found->what);
	else
		found->what = st_arena_printf(ground->arena, "%s; meanwhile %s", found->what,
					      ground->disturbed);
}

/* Whether steps take longer because there are not CPUs enough: others have them, or threads of the program wait for them. */
static void look_at_machine(struct st_finding_ground *ground)
{
	const struct st_utilization *use = &ground->use;
	struct st_machine_shares shares;
	struct st_buf words;

	st_buf_init(&words, 256);
	ground->disturbed = "";
	if (st_quality_shared(ground->result, ST_MACHINE_DISTURBS, &words))
		ground->disturbed = st_text_take(ground->arena, &words).bytes;
	else
		st_buf_fini(&words);
	ground->shared = st_quality_machine(ground->result, &shares) &&
			 shares.others + shares.stolen >= ST_MACHINE_SHARED;
	ground->waits_for_cpus = *ground->disturbed || use->delay_ns > use->watched_ns / 10;
}

static bool is_about(const struct st_finding_ground *ground, enum about about)
{
	uint32_t sources;

	if (ground->is_plain || about == ANY_PROGRAM)
		return about == ANY_PROGRAM;
	st_result_operator_sources(ground->result, &sources);
	return about != STEPS || sources;
}

static void apply_rules(struct st_findings *out, struct st_finding_ground *ground)
{
	double steps = ground->divisor;

	ground->recorded = recorded_part(ground);
	look_at_machine(ground);
	out->step_count = ground->figures.count;
	out->is_guess = st_step_list_is_guess(ground->steps);
	out->step_ns = ground->step_ns;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && ground->step_ns; i++) {
		struct st_finding found = {.rule = rules[i].name,
					   .where = "",
					   .threshold = rules[i].threshold,
					   .remedy = rules[i].remedy,
					   .command = rules[i].command};

		ground->divisor = steps * (rules[i].about == OPERATORS ? ground->recorded : 1.0);
		if (ground->divisor <= 0 || !is_about(ground, rules[i].about) ||
		    !rules[i].check(ground, &found))
			continue;
		found.command = whole_command(ground, found.command);
		found.evidence_ns = per_step(ground, found.evidence_ns);
		found.saving_low_ns = per_step(ground, found.saving_low_ns);
		found.saving_high_ns = per_step(ground, found.saving_high_ns);
		doubt(ground, &found);
		out->items[out->count++] = found;
	}
	keep_within_step(out, ground->arena);
}

/* A part of the time of the steps that lies between two of them is no time of a step. */
static uint64_t of_steps(const struct st_finding_ground *ground, uint64_t ns)
{
	double span_ns = (double)(ground->end_ns - ground->begin_ns) * ground->step_tracks;

	return ground->figures.count && (double)ground->figures.wall_ns < span_ns
		       ? (uint64_t)((double)ns * (double)ground->figures.wall_ns / span_ns)
		       : ns;
}

/* CPU time of the threads that steps are on, where there are none of the one that spins most; and the work of all
 * threads of their processes. Samples are in the order of tracks. */
static void count_cpu(struct st_finding_ground *ground, const uint8_t *process_counts)
{
	const struct st_samples *samples = ground->samples.samples;
	const struct st_named *named = ground->samples.named;
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(ground->result, &count);
	uint64_t spin_ns = 0, cpu_ns = 0;

	for (uint32_t i = 0; i < samples->count; i++) {
		uint32_t node = samples->node[i], track = samples->track[i];
		uint32_t frame = node < named->node_count ? named->frame_of_node[node] : 0;
		enum st_cpu_class class = ground->samples.classes[frame];

		if (!ground->figures.count && i && track != samples->track[i - 1])
			spin_ns = cpu_ns = 0;
		if (samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE) ||
		    samples->time_ns[i] < ground->begin_ns ||
		    samples->time_ns[i] > ground->end_ns || !process_counts[tracks[track].process])
			continue;
		if (class == ST_CLASS_EFFECTIVE)
			ground->work_ns += samples->weight_ns[i];
		if (!ground->track_counts[track])
			continue;
		cpu_ns += samples->weight_ns[i];
		spin_ns += st_cpu_class_kind(class) == ST_CPU_SPIN ? samples->weight_ns[i] : 0;
		if (spin_ns >= ground->step_spin_ns) {
			ground->step_spin_ns = spin_ns;
			ground->step_cpu_ns = cpu_ns;
		}
	}
	if (ground->figures.count)
		ground->step_cpu_ns = cpu_ns;
	ground->work_ns = of_steps(ground, ground->work_ns);
	ground->step_cpu_ns = of_steps(ground, ground->step_cpu_ns);
	ground->step_spin_ns = of_steps(ground, ground->step_spin_ns);
}

static enum st_status add_cpu(struct st_finding_ground *ground, struct st_error *err)
{
	uint32_t count, processes;
	const struct st_track *tracks = st_result_tracks(ground->result, &count);
	uint8_t *process_counts;

	st_result_processes(ground->result, &processes);
	process_counts = calloc((size_t)processes + 1, 1);
	if (!process_counts)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for findings");
	for (uint32_t i = 0; i < count; i++) {
		if (!ground->track_counts[i] || tracks[i].process >= processes)
			continue;
		ground->step_tracks++;
		process_counts[tracks[i].process] = 1;
	}
	count_cpu(ground, process_counts);
	free(process_counts);
	return ST_OK;
}

static enum st_status ask_spin(struct st_finding_ground *ground, const struct st_question *question,
			       uint64_t *spin_ns, uint64_t *cpu_ns, struct st_error *err)
{
	struct st_answer answer;
	enum st_status status = st_sample_ask(&ground->samples, question, &answer, err);

	if (status)
		return status;
	*spin_ns = st_answer_value(&answer.total, ST_CPU_SPIN);
	*cpu_ns = st_answer_value(&answer.total, ST_CPU_SELF);
	st_answer_fini(&answer);
	return ST_OK;
}

/* Only the time of the steps: a program that loads and prepares for long does so once. */
static enum st_status add_samples(struct st_finding_ground *ground,
				  const struct st_report_options *options, struct st_error *err)
{
	struct st_question question = {.groupings = {ST_BY_PROCESS},
				       .grouping_count = 1,
				       .has_time_range = true,
				       .time_begin_ns = ground->begin_ns,
				       .time_end_ns = ground->end_ns};
	enum st_status status;

	if ((!st_result_sample_quality(ground->result)->samples && !ground->has_waits) ||
	    !ground->step_ns)
		return ST_OK;
	status = st_sample_set_open(&ground->samples, ground->result, &options->view, err);
	if (status)
		return status;
	ground->has_set = true;
	ground->has_samples = st_result_sample_quality(ground->result)->samples;
	status = add_cpu(ground, err);
	if (!status)
		status = st_utilization_make(&ground->use, &ground->samples, &question, err);
	if (!status)
		status = ask_spin(ground, &question, &ground->spin_ns, &ground->cpu_ns, err);
	return status;
}

static enum st_status apply(struct st_findings *out, struct st_finding_ground *ground,
			    const struct st_report_options *options, struct st_error *err)
{
	uint32_t track_count;
	enum st_status status;

	st_result_tracks(ground->result, &track_count);
	status = st_step_figures_make(ground->steps, &ground->figures, err);
	if (!status)
		status = st_operator_turns_make(&ground->turns, ground->result, err);
	if (!status) {
		find_scope(ground, track_count);
		find_steps_of(ground, track_count);
	}
	if (!status)
		status = add_samples(ground, options, err);
	if (!status)
		apply_rules(out, ground);
	return status;
}

static enum st_status look(struct st_findings *out, struct st_finding_ground *ground,
			   const struct st_report_options *options, struct st_error *err)
{
	uint32_t track_count;
	enum st_status status;

	st_result_tracks(ground->result, &track_count);
	ground->track_counts = calloc(track_count + 1, 1);
	ground->steps_of = calloc((size_t)track_count + 1, sizeof(*ground->steps_of));
	ground->claimed = calloc(ground->rows->count + 1, 1);
	ground->has_waits = st_sample_has_waits(ground->result);
	if (ground->track_counts && ground->steps_of && ground->claimed)
		status = apply(out, ground, options, err);
	else
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for findings");
	st_utilization_fini(&ground->use);
	if (ground->has_set)
		st_sample_set_close(&ground->samples);
	st_operator_turns_fini(&ground->turns);
	free(ground->track_counts);
	free(ground->steps_of);
	free(ground->claimed);
	return status;
}

enum st_status st_findings_make(struct st_findings *out, const struct st_result *result,
				const struct st_report_options *options, struct st_arena *arena,
				struct st_error *err)
{
	struct st_finding_ground ground = {.result = result, .arena = arena};
	struct st_dataset operators, slices;
	struct st_step_list steps;
	enum st_status status;

	memset(out, 0, sizeof(*out));
	status = st_dataset_slices_init(&slices, result, err);
	if (status)
		return status;
	status = st_step_list_make(&steps, &slices, result, err);
	if (!status) {
		status = st_dataset_operators_init(&operators, result, false, err);
		if (!status) {
			ground.operators = &operators;
			ground.rows = st_dataset_operators(&operators);
			ground.steps = &steps;
			status = look(out, &ground, options, err);
			st_dataset_operators_fini(&operators);
		}
		st_step_list_fini(&steps);
	}
	st_dataset_slices_fini(&slices);
	return status;
}
