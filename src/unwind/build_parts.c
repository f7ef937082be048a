// SPDX-License-Identifier: Apache-2.0
//
// A part begins with a function that has CFI, begins behind the one before it, and can be read: then nothing in it depends
// on the part before, but for what lies between both, which st_unwind_rows_join sees to.
#include "unwind/build_parts.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	ROW_EH_BYTES = 6, /* .eh_frame bytes for a row, at the least */
	SPAN_MAX_BYTES = 0x7fffffff,
	PART_MIN_COST = 500000,
	/* Reading the CFI of a function takes about as long as so many bytes of code without. */
	FUNCTION_COST = 50,
};

struct part {
	size_t first, last; /* functions */
	size_t symbol;	    /* the first of its own */
	uint64_t limit;	    /* where the next part begins */
	struct st_unwind_rows *rows;
};

struct job {
	struct st_unwind_build *build;
	struct part parts[ST_UNWIND_PARTS_MAX];
	size_t part_count;
	atomic_size_t next;
};

/* What one thread works with. */
struct worker {
	const struct st_unwind_build *build;
	struct st_cfi *cfi; /* keeps what it has read */
	struct st_unwind_code_reader code_reader;
	struct part *part;
	size_t symbol;
};

static void add_row(void *arg, uint64_t address, const struct st_unwind_rule *rule)
{
	st_unwind_rows_add(arg, address, rule);
}

static bool read_function(const struct st_unwind_build *build, struct st_cfi *cfi, size_t index,
			  struct st_cfi_fde *fde)
{
	const struct st_unwind_function *function = &build->functions[index];
	uint64_t next;

	return st_cfi_fde(cfi, function->offset, fde, &next) && fde->start == function->start &&
	       fde->end != fde->start && fde->end - build->base <= SPAN_MAX_BYTES;
}

/* Functions without CFI that begin before `limit`. */
static void add_derived(struct worker *worker, uint64_t limit)
{
	const struct st_unwind_symbols *symbols = &worker->build->symbols;
	struct st_unwind_rows *rows = worker->part->rows;

	for (; worker->symbol < symbols->count; worker->symbol++) {
		const struct st_unwind_symbol *symbol = &symbols->symbols[worker->symbol];
		uint64_t end = symbol->start + symbol->size_bytes;

		if (symbol->start >= limit)
			return;
		if (rows->open && symbol->start < rows->end)
			continue;
		st_unwind_code_reader_run(&worker->code_reader, symbol->start,
					  end < limit ? end : limit, rows);
	}
}

static void make_part(struct worker *worker, struct part *part)
{
	worker->part = part;
	worker->symbol = part->symbol;
	for (size_t i = part->first; i < part->last; i++) {
		struct st_cfi_fde fde;

		if (!read_function(worker->build, worker->cfi, i, &fde))
			continue;
		add_derived(worker, fde.start);
		if (st_unwind_rows_begin(part->rows, fde.start, fde.end, false))
			st_cfi_rows(worker->cfi, &fde, add_row, part->rows);
	}
	add_derived(worker, part->limit);
}

/* Takes parts until there are no more. */
static void *work(void *arg)
{
	struct job *job = arg;
	struct worker worker = {.build = job->build, .code_reader = {.view = job->build->view}};
	size_t at;

	if (job->build->cfi) {
		worker.cfi = malloc(sizeof(*worker.cfi));
		if (!worker.cfi)
			return NULL; /* the caller sees to what nobody took */
		*worker.cfi = *job->build->cfi;
	}
	while ((at = atomic_fetch_add(&job->next, 1)) < job->part_count)
		make_part(&worker, &job->parts[at]);
	st_unwind_code_reader_fini(&worker.code_reader);
	free(worker.cfi);
	return NULL;
}

/* The first function from one on that a part may begin with. */
static size_t beginning(const struct st_unwind_build *build, size_t from)
{
	struct st_cfi_fde fde;

	for (; from < build->function_count; from++) {
		uint64_t start = build->functions[from].start;

		if (from && start > build->functions[from - 1].start && start > build->base &&
		    read_function(build, build->cfi, from, &fde))
			break;
	}
	return from;
}

static uint64_t cost_of(const struct st_unwind_build *build)
{
	uint64_t cost = (uint64_t)build->function_count * FUNCTION_COST;

	for (size_t i = 0; i < build->symbols.count; i++)
		cost += build->symbols.symbols[i].size_bytes;
	return cost;
}

static void add_part(struct job *job, size_t first)
{
	const struct st_unwind_build *build = job->build;
	struct part *part = &job->parts[job->part_count++];

	part->first = first;
	part->last = build->function_count;
	part->limit = build->base + SPAN_MAX_BYTES;
	if (job->part_count == 1)
		return;
	part->symbol = st_unwind_symbols_from(&build->symbols, build->functions[first].start);
	part[-1].last = first;
	part[-1].limit = build->functions[first].start;
}

/* Parts that take about the same time. */
static void cut(struct job *job, size_t wanted)
{
	const struct st_unwind_build *build = job->build;
	uint64_t step = cost_of(build) / wanted, cost = 0;
	size_t symbol = 0;

	add_part(job, 0);
	for (size_t i = 0; i < build->function_count && job->part_count < wanted; i++) {
		const struct st_unwind_symbol *symbols = build->symbols.symbols;

		cost += FUNCTION_COST;
		for (; symbol < build->symbols.count &&
		       symbols[symbol].start < build->functions[i].start;
		     symbol++)
			cost += symbols[symbol].size_bytes;
		if (cost < step * job->part_count)
			continue;
		i = beginning(build, i);
		if (i < build->function_count && i > job->parts[job->part_count - 1].first)
			add_part(job, i);
	}
}

static bool start_parts(struct job *job)
{
	struct st_unwind_build *build = job->build;
	size_t expected = build->eh_frame.size_bytes / ROW_EH_BYTES / job->part_count;

	for (size_t i = 0; i < job->part_count; i++) {
		job->parts[i].rows = &build->rows[i];
		build->part_count = i + 1;
		if (!st_unwind_rows_init(&build->rows[i], build->base, expected))
			return false;
		build->rows[i].is_later = i > 0;
	}
	return true;
}

/* The other thread takes no signals: they are for those who wait for them. */
static void run(struct job *job)
{
	sigset_t all, before;
	pthread_t thread;
	bool started = false;

	if (job->part_count > 1) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		started = pthread_create(&thread, NULL, work, job) == 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	work(job);
	if (started)
		pthread_join(thread, NULL);
}

static bool make(struct st_unwind_build *build, size_t wanted)
{
	struct job job = {.build = build};

	cut(&job, wanted);
	if (!start_parts(&job))
		return false;
	run(&job);
	if (atomic_load(&job.next) < job.part_count) /* no thread had the memory to take any */
		return false;
	return job.part_count == 1 ? !build->rows[0].failed
				   : st_unwind_rows_join(build->rows, job.part_count);
}

bool st_unwind_parts_make(struct st_unwind_build *build, uint32_t flags)
{
	uint64_t wanted = cost_of(build) / PART_MIN_COST;

	if (wanted > ST_UNWIND_PARTS_MAX || flags & ST_BUILD_MANY_PARTS)
		wanted = ST_UNWIND_PARTS_MAX;
	if (!wanted || flags & ST_BUILD_ONE_PART)
		wanted = 1;
	if (make(build, wanted))
		return true;
	/* More rules than a table has room for, or no memory. */
	st_unwind_parts_fini(build);
	return wanted > 1 && make(build, 1);
}

void st_unwind_parts_fini(struct st_unwind_build *build)
{
	for (size_t i = 0; i < build->part_count; i++)
		st_unwind_rows_fini(&build->rows[i]);
	build->part_count = 0;
}
